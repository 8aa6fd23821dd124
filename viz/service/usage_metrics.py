"""Usage metrics: answers, latencies, rejected requests. No user text is stored."""

from __future__ import annotations

import dataclasses
from collections import Counter
from threading import Lock
from typing import Literal

from headlight.model.records import Translation

Purpose = Literal["page", "api", "view"]  # visitors' translations, API clients, and other views of the page
BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # upper bounds of the buckets of a stage, in seconds


class UsageMetrics:
    """Counts of answers by model, purpose and outcome, and seconds per stage. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._answers: Counter[tuple[str, str, str]] = Counter()  # model, purpose, outcome
        self._rejected: Counter[str] = Counter()  # by error key
        self._tokens: Counter[str] = Counter()  # read, written
        self._stages: dict[str, list[int]] = {}  # stage → cumulative count per bucket, then the total
        self._seconds: dict[str, float] = {}  # stage → total

    def count_answer(self, model: str, purpose: Purpose, translation: Translation, *, cached: bool) -> None:
        """Count an answer."""
        with self._lock:
            self._answers[model, purpose, "cached" if cached else "made"] += 1
            if cached:
                return
            self._tokens["read"] += len(translation.source_tokens)
            self._tokens["written"] += len(translation.target_tokens)
            for field in dataclasses.fields(translation.timing):
                self._observe(field.name, getattr(translation.timing, field.name))

    def count_unfinished(self, model: str, purpose: Purpose, outcome: Literal["stopped", "failed"]) -> None:
        """Count a request that ended without an answer: cancelled or failed."""
        with self._lock:
            self._answers[model, purpose, outcome] += 1

    def count_rejection(self, word: str) -> None:
        """Count a rejected request, by the key of its error."""
        with self._lock:
            self._rejected[word] += 1

    def snapshot(self) -> UsageSnapshot:
        """Return a copy of the current values."""
        with self._lock:
            stages = {name: StageHistogram(tuple(counts), self._seconds[name]) for name, counts in self._stages.items()}
            return UsageSnapshot(dict(self._answers), dict(self._rejected), dict(self._tokens), stages)

    def _observe(self, stage: str, seconds: float) -> None:
        counts = self._stages.setdefault(stage, [0] * (len(BUCKETS) + 1))
        for index, bound in enumerate((*BUCKETS, float("inf"))):
            counts[index] += seconds <= bound
        self._seconds[stage] = self._seconds.get(stage, 0.0) + seconds


@dataclasses.dataclass(frozen=True, slots=True)
class StageHistogram:
    """A histogram of the durations of one stage."""

    counts: tuple[int, ...]  # cumulative count per bound in `BUCKETS`, then the total count
    seconds: float  # sum of all durations


@dataclasses.dataclass(frozen=True, slots=True)
class UsageSnapshot:
    """A copy of the values of `UsageMetrics`."""

    answers: dict[tuple[str, str, str], int]
    rejected: dict[str, int]
    tokens: dict[str, int]
    stages: dict[str, StageHistogram]

"""Exponential moving average of the duration of each kind of computation, to estimate waiting times."""

from __future__ import annotations

DEFAULT_SECONDS = 0.5  # seconds; used before the first measurement
WEIGHT = 1 / 16  # weight of the newest measurement
MAX_GROWTH = 4  # clips outliers: a computation that loads a model takes a hundred times as long as the next one


class Pace:
    """Mean seconds by kind. Not thread-safe: callers hold a lock."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def expected_seconds(self, kind: str) -> float:
        """Return the expected seconds of one computation."""
        return self._seconds.get(kind, DEFAULT_SECONDS)

    def record(self, kind: str, seconds: float) -> None:
        """Record the duration of one computation."""
        mean = self.expected_seconds(kind)
        self._seconds[kind] = mean + WEIGHT * (min(seconds, MAX_GROWTH * mean) - mean)

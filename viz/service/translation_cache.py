"""The answer cache: translations by request, bounded by bytes. Equal requests at one time are computed once.

A request and the revision of the model's files decide a translation, so that pair is the key: two visitors get the same
translation if, and only if, their requests are equal. The first request computes; equal ones wait for its result.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import NamedTuple

from headlight.model.records import KINDS, Translation, TranslationRequest
from headlight.viz.service.lru import ByteLru
from headlight.viz.service.single_flight import Leader, SingleFlight

STRING_OVERHEAD_BYTES = 64  # overhead of a string in bytes
LEADER_TIMEOUT_SECONDS = 30.0  # seconds without progress after which the leader is considered dead


class CacheKey(NamedTuple):
    """Cache key: model revision and request."""

    revision: str  # of the model's files
    request: TranslationRequest


class TranslationCache:
    """Translations by key, bounded by bytes. Threads may share it."""

    def __init__(self, limit_bytes: int, *, patience: float = LEADER_TIMEOUT_SECONDS) -> None:
        self._answers: ByteLru[Translation] = ByteLru(limit_bytes)
        self._flights: SingleFlight[Translation] = SingleFlight(patience=patience)

    def __len__(self) -> int:
        with self._flights.changed:
            return len(self._answers)

    @property
    def bytes(self) -> int:
        """The size of all cached translations."""
        with self._flights.changed:
            return self._answers.bytes

    def get_or_compute(self, key: CacheKey, make: Callable[[], Translation]) -> Translation:
        """The translation: from the cache, from an equal request that runs now, or from `make`."""
        found = self.get_or_lead(key)
        if isinstance(found, Translation):
            return found
        assert found is not None  # noqa: S101 - only a request that can be cancelled gets nothing
        with found as lead:
            return lead.finish(make())

    def get_or_lead(self, key: CacheKey, left: Event | None = None) -> Translation | Leader[Translation] | None:
        """Return the cached or awaited translation, or become the leader; `None` if cancelled."""
        return self._flights.get_or_lead(
            key, find=lambda: self._answers.get(key), keep=lambda answer: self._store(key, answer), left=left
        )

    def waiter_count(self, key: CacheKey) -> int:
        """How many requests wait for a translation that is being computed."""
        return self._flights.waiter_count(key)

    def _store(self, key: CacheKey, answer: Translation) -> None:
        size = translation_bytes(answer)
        if size <= self._answers.limit_bytes:
            self._answers.put(key, answer, size)


def translation_bytes(translation: Translation) -> int:
    """The memory that a translation takes: its arrays exactly, its records estimated by their number and texts."""
    arrays = [translation.attention.of(kind) for kind in KINDS]
    arrays += [*translation.positions.values(), *translation.captured.values()]
    tokens = (*translation.source_tokens, *translation.target_tokens)
    alternatives = [alternative for token in tokens for alternative in token.alternatives]
    texts = [
        translation.text,
        translation.source_text,
        translation.request.text,
        *(token.text for token in tokens),
        *(alternative.text for alternative in alternatives),
        *(node.text for node in translation.tree.nodes),
        *(hypothesis.text for hypothesis in translation.hypotheses),
    ]
    numbers = 8 * sum(len(hypothesis.ids) for hypothesis in translation.hypotheses)
    changes = translation.request.interventions
    texts += [getattr(change, "text", "") for change in changes]
    # Of each record: its slots, and the number objects that they refer to.
    records = 240 * len(tokens) + 120 * len(alternatives) + 200 * len(translation.tree.nodes)
    whole = 4096 + 300 * len(translation.hypotheses) + numbers + records + 240 * len(changes)
    # Not `sys.getsizeof`: a string grows when it is encoded, and an entry must have one size from `put` to its end.
    return whole + sum(array.nbytes for array in arrays) + sum(STRING_OVERHEAD_BYTES + 4 * len(text) for text in texts)

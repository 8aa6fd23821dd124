"""Cache of translations by request, bounded by bytes. Concurrent equal requests are computed once.

A translation is determined by the request and the revision of the model's files, so this pair is the key. The first
request computes; equal ones wait for its result.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import NamedTuple

from headlight.model.records import KINDS, Translation, TranslationRequest
from headlight.viz.service.lru import ByteLru
from headlight.viz.service.single_flight import Leader, SingleFlight

STRING_OVERHEAD_BYTES = 64
LEADER_TIMEOUT_SECONDS = 30.0  # seconds without progress until the leader is considered dead


class CacheKey(NamedTuple):
    """Model revision and request, which determine a translation."""

    revision: str  # revision of the model's files
    request: TranslationRequest


class TranslationCache:
    """Translations by key, bounded by bytes. Thread-safe."""

    def __init__(self, limit_bytes: int, *, leader_timeout_s: float = LEADER_TIMEOUT_SECONDS) -> None:
        self._answers: ByteLru[Translation] = ByteLru(limit_bytes)
        self._flights: SingleFlight[Translation] = SingleFlight(leader_timeout_s=leader_timeout_s)

    def __len__(self) -> int:
        with self._flights.changed:
            return len(self._answers)

    @property
    def bytes(self) -> int:
        """Size of all cached translations."""
        with self._flights.changed:
            return self._answers.bytes

    def get_or_compute(self, key: CacheKey, make: Callable[[], Translation]) -> Translation:
        """Return the translation from the cache, from an equal request that is running, or from `make`."""
        result = self.get_or_lead(key)
        if isinstance(result, Translation):
            return result
        assert result is not None  # noqa: S101 - None is only returned to cancellable requests
        with result as lead:
            return lead.finish(make())

    def get_or_lead(self, key: CacheKey, stop: Event | None = None) -> Translation | Leader[Translation] | None:
        """Return the cached or awaited translation, or become the leader; `None` if cancelled."""
        return self._flights.get_or_lead(
            key, find=lambda: self._answers.get(key), keep=lambda answer: self._store(key, answer), stop=stop
        )

    def waiter_count(self, key: CacheKey) -> int:
        """Return the number of requests that wait for this translation."""
        return self._flights.waiter_count(key)

    def _store(self, key: CacheKey, answer: Translation) -> None:
        size = translation_bytes(answer)
        if size <= self._answers.limit_bytes:
            self._answers.put(key, answer, size)


def translation_bytes(translation: Translation) -> int:
    """Estimate the memory of a translation: exact for arrays, estimated for records by their number and texts."""
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
    id_bytes = 8 * sum(len(hypothesis.ids) for hypothesis in translation.hypotheses)
    interventions = translation.request.interventions
    texts += [getattr(intervention, "text", "") for intervention in interventions]
    # The factors are bytes per record, with the number objects that it contains.
    record_bytes = 240 * len(tokens) + 120 * len(alternatives) + 200 * len(translation.tree.nodes)
    size = 4096 + 300 * len(translation.hypotheses) + id_bytes + record_bytes + 240 * len(interventions)
    # Not `sys.getsizeof`: a string grows when it is first encoded, but the size of an entry must not change.
    return size + sum(array.nbytes for array in arrays) + sum(STRING_OVERHEAD_BYTES + 4 * len(text) for text in texts)

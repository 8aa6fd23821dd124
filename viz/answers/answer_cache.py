"""The answer cache: translations by request, bounded by bytes. Equal requests at one time are computed once.

A request and the revision of the model's files decide a translation, so that pair is the key: two visitors get the same
translation if, and only if, their requests are equal. The first request computes; equal ones wait for its result.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import NamedTuple

from headlight.model.records import KINDS, Translation, TranslationRequest
from headlight.viz.answers.lru import ByteLru
from headlight.viz.answers.single_flight import Lead, SingleFlight

TEXT = 64  # overhead of a string in bytes
PATIENCE = 30.0  # seconds without progress after which the leader is considered dead


class Key(NamedTuple):
    """Cache key: model revision and request."""

    revision: str  # of the model's files
    request: TranslationRequest


class AnswerCache:
    """Translations by key, bounded by bytes. Threads may share it."""

    def __init__(self, limit_bytes: int, *, patience: float = PATIENCE) -> None:
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

    def answer(self, key: Key, make: Callable[[], Translation]) -> Translation:
        """The translation: from the cache, from an equal request that runs now, or from `make`."""
        found = self.enter(key)
        if isinstance(found, Translation):
            return found
        assert found is not None  # noqa: S101 - only a request that can be cancelled gets nothing
        with found as lead:
            return lead.done(make())

    def enter(self, key: Key, left: Event | None = None) -> Translation | Lead[Translation] | None:
        """Return the cached or awaited translation, or become the leader; `None` if cancelled."""
        return self._flights.enter(
            key, find=lambda: self._answers.get(key), keep=lambda answer: self._keep(key, answer), left=left
        )

    def waiting(self, key: Key) -> int:
        """How many requests wait for a translation that is being computed."""
        return self._flights.waiting(key)

    def _keep(self, key: Key, answer: Translation) -> None:
        size = bytes_of(answer)
        if size <= self._answers.limit_bytes:
            self._answers.put(key, answer, size)


def bytes_of(translation: Translation) -> int:
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
    return whole + sum(array.nbytes for array in arrays) + sum(TEXT + 4 * len(text) for text in texts)

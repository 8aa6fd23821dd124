"""Translations by request, kept while there is room, and no translation made twice at once.

A request and the revision of the model's files decide an answer, so that pair is the key: two visitors get the same
answer if, and only if, their requests are equal. The first request leads; equal ones wait for its answer.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import NamedTuple

from headlight.model.records import KINDS, Translation, TranslationRequest
from headlight.viz.answers.lru import ByteLru
from headlight.viz.answers.single_flight import Lead, SingleFlight

TEXT = 64  # bytes of a text beside its characters
PATIENCE = 30.0  # seconds without a sign of life after which a lead counts as given up


class Key(NamedTuple):
    """What decides an answer."""

    revision: str  # of the model's files
    request: TranslationRequest


class AnswerCache:
    """Answers by key, bounded by bytes. Threads may share it."""

    def __init__(self, limit_bytes: int, *, patience: float = PATIENCE) -> None:
        self._answers: ByteLru[Translation] = ByteLru(limit_bytes)
        self._flights: SingleFlight[Translation] = SingleFlight(patience=patience)

    def __len__(self) -> int:
        with self._flights.changed:
            return len(self._answers)

    @property
    def bytes(self) -> int:
        """Of all answers that are kept."""
        with self._flights.changed:
            return self._answers.bytes

    def answer(self, key: Key, make: Callable[[], Translation]) -> Translation:
        """The answer: cached, made by another request meanwhile, or made now."""
        found = self.enter(key)
        if isinstance(found, Translation):
            return found
        assert found is not None  # noqa: S101 - only a request that can be cancelled gets nothing
        with found as lead:
            return lead.done(make())

    def enter(self, key: Key, left: Event | None = None) -> Translation | Lead[Translation] | None:
        """The answer, after waiting while another request makes it; or the lead; or None once `left` is set."""
        return self._flights.enter(
            key, find=lambda: self._answers.get(key), keep=lambda answer: self._keep(key, answer), left=left
        )

    def waiting(self, key: Key) -> int:
        """How many requests wait for an answer that is being made."""
        return self._flights.waiting(key)

    def _keep(self, key: Key, answer: Translation) -> None:
        size = bytes_of(answer)
        if size <= self._answers.limit_bytes:
            self._answers.put(key, answer, size)


def bytes_of(translation: Translation) -> int:
    """About how much memory a translation takes: its arrays exactly, its records by their number and their texts."""
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
    # Of each record: its slots, and the numbers in them that Python keeps apart.
    records = 240 * len(tokens) + 120 * len(alternatives) + 200 * len(translation.tree.nodes)
    whole = 4096 + 300 * len(translation.hypotheses) + numbers + records
    # Not `sys.getsizeof`: a text grows when it is encoded, and what leaves must count as it did when it came.
    return whole + sum(array.nbytes for array in arrays) + sum(TEXT + 4 * len(text) for text in texts)

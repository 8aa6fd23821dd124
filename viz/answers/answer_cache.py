"""Finished translations, kept while there is room, and no translation made twice at once.

An answer is decided by its request and the model's revision alone, so that pair is the key: two visitors get the same
answer if, and only if, they ask the same. Whoever asks first makes it and holds a `Lead`; others who ask the same in
the meantime wait for it. Where the first gives up, the next who waits takes the lead.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Condition, Event
from types import TracebackType
from typing import NamedTuple, Self

from headlight.model.records import KINDS, Translation, TranslationRequest

GLANCE = 0.05  # seconds between two looks at whether a waiting visitor has left
TEXT = 64  # bytes of a text beside its characters
PATIENCE = 30.0  # seconds without a sign of life after which a lead counts as given up


class Key(NamedTuple):
    """What decides an answer."""

    revision: str  # of the model's files
    request: TranslationRequest


@dataclass(eq=False)
class _Flight:
    """An answer that is being made."""

    alive: float  # when its lead was last heard of
    over: bool = False
    answer: Translation | None = None
    error: Exception | None = None
    waiting: int = field(default=0)


class AnswerCache:
    """Answers by key, bounded by bytes; the one that was least recently asked for leaves first."""

    def __init__(self, limit_bytes: int, *, patience: float = PATIENCE) -> None:
        self.limit_bytes = limit_bytes
        self.patience = patience
        self.bytes = 0
        self._kept: OrderedDict[Key, tuple[Translation, int]] = OrderedDict()
        self._flights: dict[Key, _Flight] = {}
        self._changed = Condition()

    def __len__(self) -> int:
        with self._changed:
            return len(self._kept)

    def answer(self, key: Key, make: Callable[[], Translation]) -> Translation:
        """The answer: kept, or being made by somebody else, or made now."""
        found = self.enter(key)
        if isinstance(found, Translation):
            return found
        assert found is not None  # noqa: S101 - only those who can leave get nothing
        with found as lead:
            return lead.done(make())

    def enter(self, key: Key, left: Event | None = None) -> Translation | Lead | None:
        """The answer, after waiting for it if somebody makes it; or the lead; or nothing, if one has `left` by then.

        An error of the one who made it is raised for those who waited, too: they would come to the same.
        """
        with self._changed:
            while left is None or not left.is_set():
                if key in self._kept:
                    self._kept.move_to_end(key)
                    return self._kept[key][0]
                flight = self._flights.get(key)
                if flight is None or time.monotonic() - flight.alive > self.patience:
                    self._flights[key] = flight = _Flight(time.monotonic())
                    return Lead(self, key, flight)
                flight.waiting += 1
                try:
                    while not self._changed.wait_for(lambda flight=flight: flight.over, GLANCE):  # type: ignore[misc]
                        stuck = time.monotonic() - flight.alive > self.patience
                        if stuck or (left is not None and left.is_set()):
                            break
                finally:
                    flight.waiting -= 1
                if flight.error is not None:
                    raise flight.error
                if flight.answer is not None:  # it may be too large to be kept
                    return flight.answer
            return None

    def waiting(self, key: Key) -> int:
        """How many wait for an answer that is being made."""
        with self._changed:
            return self._flights[key].waiting if key in self._flights else 0

    def land(self, key: Key, flight: _Flight, answer: Translation | None, error: Exception | None) -> None:
        """A lead is over: with an answer, with an error, or, with neither, given up."""
        with self._changed:
            if flight.over:
                return
            flight.over, flight.answer, flight.error = True, answer, error
            if self._flights.get(key) is flight:  # another may have taken over from a lead that seemed dead
                del self._flights[key]
            if answer is not None:
                self._keep(key, answer)
            self._changed.notify_all()

    def _keep(self, key: Key, answer: Translation) -> None:
        size = bytes_of(answer)
        if size > self.limit_bytes:
            return
        if key in self._kept:
            self.bytes -= self._kept.pop(key)[1]
        self._kept[key] = answer, size
        self.bytes += size
        while self.bytes > self.limit_bytes:
            _, (_, freed) = self._kept.popitem(last=False)
            self.bytes -= freed


class Lead:
    """The right, and the duty, to make an answer; used in a `with` block, which gives it up if it ends without one."""

    def __init__(self, store: AnswerCache, key: Key, flight: _Flight) -> None:
        self._store, self._key, self._flight = store, key, flight

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A closed generator and an interrupt are no `Exception`: they say nothing about the request.
        self._store.land(self._key, self._flight, None, error if isinstance(error, Exception) else None)

    def alive(self) -> None:
        """Tell those who wait that the work goes on."""
        self._flight.alive = time.monotonic()

    def done(self, answer: Translation) -> Translation:
        """Give the answer to all who wait, and to those who come later."""
        self._store.land(self._key, self._flight, answer, None)
        return answer


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
    # Not `sys.getsizeof`: a text grows when somebody else encodes it, and what left must count as what came.
    return whole + sum(array.nbytes for array in arrays) + sum(TEXT + 4 * len(text) for text in texts)

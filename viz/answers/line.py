"""The queue before the models: a limit on computations at a time, a limit on waiting requests, and fair turns.

    with line.turn(visitor):
        translator.translate(text)

The next turn goes to the address that has the fewest turns and has waited longest; within an address, to the session by
the same rule. So many requests from one address delay that address alone. In a line `by_session` addresses do not
count for turns: a class at one address waits no longer than anybody else. A visitor holds one turn less than there are,
so that a second visitor never waits for all work of the first.

A request of somebody who still types waits apart (`join_live`). It has a turn only while no other request waits or
runs, and gives it up once one comes (`is_quiet`), so that typing delays no answer that somebody asked for.

A background request, which the page makes by itself, waits apart, too: it begins while nothing else waits or runs, and
takes no place of those who ask. Neither it nor a request of somebody who types counts against its visitor's turns: the
visitor's next request runs beside it.
"""

from __future__ import annotations

import ipaddress
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from threading import Condition, Lock
from typing import NamedTuple, Self

from headlight.viz.errors import PageError

REMEMBERED = 1000  # visitors whose last turn is remembered
GLANCE = 0.3  # seconds between two looks at whether a visitor has left
MOST_LIVE = 32  # waiting requests of people who type: each keeps a thread
MOST_BACKGROUND = 64  # waiting requests that pages make by themselves
FORGOTTEN = 10.0  # seconds after which an abandoned place is dropped


class Visitor(NamedTuple):
    """A visitor: the address of the request, and the session that the browser claims."""

    address: str = ""
    session: str = ""


class Place:
    """One visitor's place in the queue, then the turn itself. Leaving the `with` block gives it back."""

    def __init__(
        self, line: Line, visitor: Visitor, number: int, *, live: bool = False, background: bool = False
    ) -> None:
        self.visitor, self.number, self.live, self.background = visitor, number, live, background
        self.name = secrets.token_urlsafe(12)  # the browser names it to come back to it
        self.granted = self.over = False
        self.left_at: float | None = None  # when its request left it, to come back later
        self._line = line

    def wait(self, seconds: float | None = None) -> bool:
        """Wait at most `seconds`; whether it is this visitor's turn."""
        return self._line.wait(self, seconds)

    def before(self) -> int:
        """How many requests have their turn first, as of now."""
        return self._line.before(self)

    def leave(self) -> None:
        """Give back the place, or the turn."""
        self._line.leave(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()


class Line:
    """A queue with `at_once` turns at a time and at most `most` waiting places. Threads may share it."""

    def __init__(
        self,
        at_once: int,
        most: int,
        on_refused: Callable[[str], None] = lambda word: None,
        *,
        by_session: bool = False,
    ) -> None:
        self.at_once, self.most, self.by_session = at_once, most, by_session
        self._on_refused = on_refused  # gets the word of each refusal
        self.closed = False
        self._number = 0
        self._waiting: list[Place] = []
        self._running: list[Place] = []
        self._live: list[Place] = []  # waiting requests of those who type
        self._background: list[Place] = []  # waiting requests that pages make by themselves
        self._last: OrderedDict[Visitor | str, int] = OrderedDict()  # the number of each visitor's last turn
        self._lock = Lock()
        self._changed = Condition(self._lock)

    def join(self, visitor: Visitor) -> Place:
        """A place at the end of the queue. A full queue, or a full part of this visitor's, raises a `PageError`."""
        with self._changed:
            self._drop_forgotten()
            if self.closed:
                raise self._refusal("leaving")
            theirs = sum(place.visitor.address == visitor.address for place in self._waiting)
            # One address may fill half of the queue; the other half is for all others.
            if len(self._waiting) >= self.most or theirs >= max(1, self.most // 2):
                if self._free(visitor) and not self._waiting:
                    pass  # without places, a free turn is taken at once
                else:
                    raise self._refusal("line_full", before=len(self._waiting))
            self._number += 1
            place = Place(self, visitor, self._number)
            self._waiting.append(place)
            self._grant()
            return place

    def join_live(self, visitor: Visitor) -> Place:
        """A place after all others, of which a visitor has one at a time: an older one is over."""
        return self._join_apart(self._live, MOST_LIVE, visitor, live=True)

    def join_background(self, visitor: Visitor) -> Place:
        """The same for what a page does by itself."""
        return self._join_apart(self._background, MOST_BACKGROUND, visitor, background=True)

    def _join_apart(self, places: list[Place], most: int, visitor: Visitor, **kind: bool) -> Place:
        with self._changed:
            if self.closed:
                raise self._refusal("leaving")
            self._drop_forgotten()
            for place in [each for each in places if each.visitor == visitor]:
                place.over = True
                places.remove(place)
            if len(places) >= most:
                raise self._refusal("line_full", before=len(places))
            self._number += 1
            place = Place(self, visitor, self._number, **kind)
            places.append(place)
            self._grant()
            return place

    def is_quiet(self) -> bool:
        """Whether no request but those of people who type waits or runs."""
        with self._changed:
            self._drop_forgotten()
            return self._is_quiet()

    def find(self, name: str, visitor: Visitor) -> Place | None:
        """The place of this name, if it was parked by this visitor and is not forgotten yet."""
        with self._changed:
            self._drop_forgotten()
            for place in (*self._waiting, *self._background):
                if place.name == name and place.visitor == visitor:
                    place.left_at = None
                    self._grant()
                    return place
        return None

    def park(self, place: Place) -> bool:
        """Keep a place for a request that comes back with its name. `False` if its turn has come."""
        with self._changed:
            if place.granted:
                return False
            place.left_at = time.monotonic()
            return True

    @contextmanager
    def turn(self, visitor: Visitor, gone: Callable[[], bool] = lambda: False) -> Iterator[Place]:
        """A turn, after waiting without a limit, or until its visitor has `gone`."""
        with self.join(visitor) as place:
            while not place.wait(GLANCE):
                if gone():
                    raise PageError("data", "no_answer")
            yield place

    def wait(self, place: Place, seconds: float | None) -> bool:
        """See `Place.wait`."""
        with self._changed:
            self._changed.wait_for(lambda: place.granted or place.over, seconds)
            return place.granted

    def before(self, place: Place) -> int:
        """See `Place.before`."""
        with self._changed:
            return next((ahead for ahead, each in enumerate(self._order()) if each is place), 0)

    def leave(self, place: Place) -> None:
        """See `Place.leave`."""
        with self._changed:
            place.over = True
            for places in (self._waiting, self._running, self._live, self._background):
                if place in places:
                    places.remove(place)
            self._grant()

    def close(self) -> None:
        """Refuse new requests. Those in the queue still have their turn."""
        with self._changed:
            self.closed = True

    def empty(self, seconds: float) -> bool:
        """Wait at most `seconds`; whether the queue is empty."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while self._waiting or self._running:
                if (left := deadline - time.monotonic()) <= 0:
                    return False
                self._changed.wait(min(left, 0.5))
                self._drop_forgotten()
            return True

    @property
    def full(self) -> bool:
        """Whether nobody else may join."""
        with self._changed:
            return len(self._waiting) >= self.most and len(self._running) >= self.at_once

    def now(self) -> dict[str, int]:
        """How many requests run, wait, and wait while their visitor types."""
        with self._changed:
            return {"running": len(self._running), "waiting": len(self._waiting), "typing": len(self._live)}

    @property
    def running(self) -> int:
        """How many requests compute now."""
        with self._changed:
            return len(self._running)

    # ------------------------------------------------------------ whose turn it is; the lock is held

    def _refusal(self, word: str, **values: int) -> PageError:
        self._on_refused(word)
        return PageError("text", word, values)

    def _grant(self) -> None:
        while len(self._running) < self.at_once:
            able = [place for place in self._order() if place.left_at is None and self._free(place.visitor)]
            place = able[0] if able else self._next_live() or self._next_background()
            if place is None:
                break
            for places in (self._waiting, self._live, self._background):
                if place in places:
                    places.remove(place)
            self._running.append(place)
            place.granted = True
            self._served(self._last, place)
            while len(self._last) > REMEMBERED:
                self._last.popitem(last=False)
        self._changed.notify_all()

    def _is_quiet(self) -> bool:
        return not self._waiting and all(place.live or place.background for place in self._running)

    def _next_live(self) -> Place | None:
        """Who types and is next: one turn stays free for a request that somebody asks for."""
        typed = sum(not place.background for place in self._running)
        if not self._is_quiet() or typed >= max(1, self.at_once - 1):
            return None
        running = Counter(key for place in self._running if not place.background for key in self._keys(place))
        able = [place for place in self._live if not running[place.visitor]]  # the last one of a visitor ends first
        return min(able, key=lambda place: self._rank(place, running, self._last), default=None)

    def _next_background(self) -> Place | None:
        """What a page does by itself and is next: it cannot be stopped halfway, so one turn stays free, too."""
        able = [place for place in self._background if place.left_at is None]
        if self._waiting or self._live or len(self._running) >= max(1, self.at_once - 1):
            return None
        return min(able, key=lambda place: place.number, default=None)

    def _free(self, visitor: Visitor) -> bool:
        """Whether a turn is free for this visitor."""
        share = max(1, self.at_once - 1)
        running = [place.visitor for place in self._running if not (place.live or place.background)]
        if len(self._running) >= self.at_once or running.count(visitor) >= share:
            return False
        return own_machine(visitor.address) or sum(each.address == visitor.address for each in running) < share

    def _order(self) -> list[Place]:
        """All waiting places in the order of their turns, if no other request came."""
        left, order = list(self._waiting), []
        running = Counter(key for place in self._running for key in self._keys(place))
        last = OrderedDict(self._last)
        while left:
            place = min(left, key=lambda each: self._rank(each, running, last))
            left.remove(place)
            order.append(place)
            running.update(self._keys(place))
            self._served(last, place)
        return order

    def _keys(self, place: Place) -> tuple[Visitor | str, ...]:
        """Among whom turns are shared, the widest first."""
        return (place.visitor,) if self.by_session else (place.visitor.address, place.visitor)

    def _rank(
        self, place: Place, running: Counter[Visitor | str], last: OrderedDict[Visitor | str, int]
    ) -> tuple[int, ...]:
        turns = ((running[key], last.get(key, 0)) for key in self._keys(place))
        return *chain.from_iterable(turns), place.number

    def _served(self, last: OrderedDict[Visitor | str, int], place: Place) -> None:
        number = 1 + (last[next(reversed(last))] if last else 0)
        for key in self._keys(place):
            last[key] = number
            last.move_to_end(key)

    def _drop_forgotten(self) -> None:
        long_ago = time.monotonic() - FORGOTTEN
        for places in (self._waiting, self._background):
            for place in [each for each in places if each.left_at is not None and each.left_at < long_ago]:
                place.over = True
                places.remove(place)


def own_machine(address: str) -> bool:
    """Whether an address is this computer's own, or empty: many visitors may share it."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return True

"""The queue before the models: a limit on computations at a time, a limit on the time to wait, and fair turns.

    with line.join(visitor, kind="translate") as place:
        if await place.comes(seconds):
            translator.translate(text)

A request is refused where it would wait longer than `max_wait_s`, by the order of turns (`fair_order`) and by what a
computation of each kind takes at present (`Pace`). So many requests from one address delay that address alone, and are
refused alone. In a line `by_session` addresses do not count for turns: a class at one address waits no longer than
anybody else. A visitor holds one turn less than there are, so that a second visitor never waits for all work of the
first.

Equal requests have one turn: while one waits or runs, the others stand behind it, and get its result. Where it ends
without one, the next of them takes its place.

Live requests (`join_live`) wait in a queue of lower priority. They run only while no full request waits or
runs, and gives it up once one comes (`is_quiet`), so that typing delays no answer that somebody asked for.

A background request, which the page makes by itself, waits apart, too: it begins while nothing else waits or runs, and
does not count as waiting. Neither background nor live requests count against the visitor's limit: the
visitor's next request runs beside it.
"""

from __future__ import annotations

import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import chain, takewhile
from threading import Condition, Lock
from typing import Any

from headlight.viz.errors import PageError
from headlight.viz.service.fair_order import fair_order
from headlight.viz.service.pace import Pace
from headlight.viz.service.tickets import Ticket, Visitor, fingerprint, is_loopback

__all__ = ["RequestQueue", "Ticket", "Visitor", "fingerprint", "is_loopback"]
MAX_REMEMBERED_VISITORS = 3000  # addresses, visitors and their kinds of work whose last turn is remembered
MAX_BYTES = 64_000_000  # of all waiting requests; one address fills half of it
MAX_RETRY_S = 60  # a refused request may ask again after this at the latest
MAX_LIVE_TICKETS = 256  # waiting requests of people who type
MAX_BACKGROUND_TICKETS = 256  # waiting requests that pages make by themselves
ABANDONED_AFTER_SECONDS = 10.0  # seconds after which an abandoned place is dropped


class RequestQueue:
    """A queue with `at_once` turns at a time and at most `most` waiting places. Threads may share it."""

    def __init__(
        self,
        at_once: int,
        most: int,
        on_refused: Callable[[str], None] = lambda word: None,
        *,
        by_session: bool = False,
        max_wait_s: float = math.inf,
    ) -> None:
        self.slots, self.max_waiting, self.by_session, self.max_wait_s = at_once, most, by_session, max_wait_s
        self._on_refused = on_refused  # gets the word of each refusal
        self.closed = False
        self._number = 0
        self._pace = Pace()
        self._waiting: list[Ticket] = []
        self._running: list[Ticket] = []
        self._live: list[Ticket] = []  # waiting requests of those who type
        self._background: list[Ticket] = []  # waiting requests that pages make by themselves
        self._same: dict[Hashable, Ticket] = {}  # the first of equal requests, which waits or runs
        self._last: OrderedDict[Hashable, int] = OrderedDict()  # by key of a place: the number of the last turn
        self._ahead: dict[int, int] | None = None  # by id of a place: how many others come first
        self._lock = Lock()
        self._changed = Condition(self._lock)

    def enqueue(
        self, visitor: Visitor, *, kind: str = "", size: int = 0, same: Hashable = None, admitted: bool = False
    ) -> Ticket:
        """A place in the queue; a `PageError` where it would wait too long, or where the queue is full.

        `kind`: what is computed. `size`: bytes of the request. `same`: what is equal for equal requests. `admitted`:
        the request was taken already (`admit`).
        """
        with self._changed:
            self._drop_abandoned()
            place = self._new(visitor, kind=kind, size=size)
            first = self._same.get(same) if same is not None else None
            if not admitted:
                self._check_room(place, wait=first is None)
            place.request_key = same
            if first is not None:
                place.leader = first
                first.followers.append(place)
                return place
            if same is not None:
                self._same[same] = place
            self._waiting.append(place)
            self._grant_slots()
            return place

    def admit(self, visitor: Visitor, *, kind: str = "", besides: int = 0) -> None:
        """A `PageError` where a request would be refused that comes after `besides` others of its address."""
        with self._changed:
            self._drop_abandoned()
            self._check_room(self._new(visitor, kind=kind), besides=besides)

    def enqueue_live(self, visitor: Visitor) -> Ticket:
        """A low-priority ticket. A visitor has at most one; a new one cancels the old."""
        return self._enqueue_low_priority(self._live, MAX_LIVE_TICKETS, visitor, live=True)

    def enqueue_background(self, visitor: Visitor) -> Ticket:
        """The same for background requests of the page."""
        return self._enqueue_low_priority(self._background, MAX_BACKGROUND_TICKETS, visitor, background=True)

    def _enqueue_low_priority(self, places: list[Ticket], most: int, visitor: Visitor, **kind: bool) -> Ticket:
        with self._changed:
            self._drop_abandoned()
            place = self._new(visitor, **kind)
            for older in [each for each in places if each.visitor == visitor]:
                self._end(older)
                places.remove(older)
            if len(places) >= most:
                raise self._refusal("line_full", before=len(places), seconds=MAX_RETRY_S)
            places.append(place)
            self._grant_slots()
            return place

    def is_idle(self) -> bool:
        """Whether no full request waits or runs."""
        with self._changed:
            self._drop_abandoned()
            return self._is_idle()

    def resume(self, name: str, visitor: Visitor) -> Ticket | None:
        """The visitor's parked ticket of this name, unless it has expired."""
        with self._changed:
            self._drop_abandoned()
            for place in (*self._waiting, *self._background):
                if place.token == name and place.visitor == visitor:
                    place.parked_at = None
                    self._grant_slots()
                    return place
        return None

    def park(self, place: Ticket) -> bool:
        """Keep a place for a request that comes back with its name. `False` if its turn has come."""
        with self._changed:
            if place.granted:
                return False
            place.parked_at = time.monotonic()
            return True

    def wait(self, place: Ticket, seconds: float | None) -> bool:
        """See `Place.wait`."""
        with self._changed:
            self._changed.wait_for(lambda: place.settled, seconds)
            return place.granted

    def position(self, place: Ticket) -> int | None:
        """See `Place.before`."""
        with self._changed:
            place = place.leader or place
            if ahead := self._others_ahead().get(id(place), 0):
                return ahead
            own = [each.visitor == place.visitor for each in self._running]
            others_run = len(own) >= self.slots and not all(own)
            return None if any(own) and not place.granted and not others_run else 0

    def finish(self, place: Ticket, result: Any) -> None:
        """See `Place.done`."""
        with self._changed:
            behind, place.followers = place.followers, []
            if self._same.get(place.request_key) is place:
                del self._same[place.request_key]  # a later one finds the result in a cache, or computes it anew
            for each in behind:
                each.result = result
                self._wake(each)
            self._changed.notify_all()

    def release(self, place: Ticket) -> None:
        """See `Place.leave`."""
        with self._changed:
            if place in self._running and not place.cancelled:
                self._pace.note(place.kind, time.monotonic() - place.granted_at)
            self._end(place)
            for places in (self._waiting, self._running, self._live, self._background):
                if place in places:
                    places.remove(place)
            if place.leader is not None and place in place.leader.followers:
                place.leader.followers.remove(place)
            self._follow(place)
            self._grant_slots()

    def close(self) -> None:
        """Refuse new requests. Those in the queue still have their turn."""
        with self._changed:
            self.closed = True

    def wait_until_empty(self, seconds: float) -> bool:
        """Wait at most `seconds`; whether the queue is empty."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while self._waiting or self._running:
                if (left := deadline - time.monotonic()) <= 0:
                    return False
                self._changed.wait(min(left, 0.5))
                self._drop_abandoned()
            return True

    @property
    def is_full(self) -> bool:
        """Whether a new visitor would be refused."""
        with self._changed:
            nobody = Ticket(self, Visitor("\0"), self._number + 1)
            return len(self._running) >= self.slots and (
                len(self._waiting) >= self.max_waiting or self._expected_s(nobody) > self.max_wait_s
            )

    def counts(self) -> dict[str, int]:
        """How many requests run, wait, and wait while their visitor types."""
        with self._changed:
            return {"running": len(self._running), "waiting": len(self._waiting), "typing": len(self._live)}

    @property
    def running_count(self) -> int:
        """How many requests compute now."""
        with self._changed:
            return len(self._running)

    # ------------------------------------------------------------ who may wait; the lock is held

    def _new(self, visitor: Visitor, **kind: Any) -> Ticket:
        if self.closed:
            raise self._refusal("leaving")
        self._number += 1
        return Ticket(self, visitor, self._number, **kind)

    def _check_room(self, place: Ticket, *, wait: bool = True, besides: int = 0) -> None:
        held = [*self._waiting, *chain.from_iterable(each.followers for each in self._same.values())]
        theirs = [each for each in held if each.visitor.address == place.visitor.address]
        # One address may fill half of the queue; the other half is for all others.
        full = len(held) >= self.max_waiting or len(theirs) + besides >= max(1, self.max_waiting // 2)
        full |= _total_bytes((*held, place)) > MAX_BYTES or _total_bytes((*theirs, place)) > MAX_BYTES // 2
        if full and self._waiting_is_needless(place):
            return
        expected = self._expected_s(place, besides) if wait or full else 0.0
        if full or expected > self.max_wait_s:
            seconds = max(expected - self.max_wait_s, expected / 4)
            raise self._refusal(
                "line_full", before=len(self._waiting), seconds=min(MAX_RETRY_S, max(1, math.ceil(seconds)))
            )

    def _waiting_is_needless(self, place: Ticket) -> bool:
        """Without places, a free turn is taken at once."""
        return not self._waiting and self._has_slot_for(place.visitor)

    def _expected_s(self, place: Ticket, besides: int = 0) -> float:
        """How long a new place would wait, at the present pace."""
        at_most = self._wait_s(place, self._waiting, besides)
        if at_most <= self.max_wait_s:  # which is quicker to say than whom it comes after
            return at_most
        return self._wait_s(
            place, takewhile(lambda each: each is not place, self._ordered_tickets((*self._waiting, place))), besides
        )

    def _wait_s(self, place: Ticket, before: Iterable[Ticket], besides: int) -> float:
        ahead = [*self._running, *before]
        seconds = [self._pace.of(each.kind) / (2 if each.granted else 1) for each in ahead]  # half of what runs is over
        share, later = max(1, self.slots - 1), besides * self._pace.of(place.kind)
        waits = [(sum(seconds) + later) / self.slots]
        shared = self.by_session or is_loopback(place.visitor.address)
        for key in (place.visitor,) if shared else (place.visitor, place.visitor.address):  # one turn less than all
            theirs = sum(spent for spent, each in zip(seconds, ahead, strict=True) if key in each.keys)
            waits.append((theirs + later) / share)
        return max(waits) if ahead or besides else 0.0

    def _refusal(self, word: str, **values: int) -> PageError:
        self._on_refused(word)
        return PageError("text", word, values)

    # ------------------------------------------------------------ whose turn it is; the lock is held

    def _grant_slots(self) -> None:
        self._ahead = None
        while len(self._running) < self.slots:
            able = [place for place in self._waiting if place.parked_at is None and self._has_slot_for(place.visitor)]
            place = next(self._ordered_tickets(able), None) or self._next_live() or self._next_background()
            if place is None:
                break
            for places in (self._waiting, self._live, self._background):
                if place in places:
                    places.remove(place)
            self._running.append(place)
            place.granted, place.granted_at = True, time.monotonic()
            self._wake(place)
            self._mark_served(place)
        self._changed.notify_all()

    def _follow(self, place: Ticket) -> None:
        """Its equal requests, which still have no result: the first of them takes its place."""
        if place.request_key is None or self._same.get(place.request_key) is not place:
            return
        del self._same[place.request_key]
        if place.followers:
            first, *rest = place.followers
            place.followers, first.leader, first.followers = [], None, rest
            for each in rest:
                each.leader = first
            self._same[first.request_key] = first
            self._waiting.append(first)

    def _end(self, place: Ticket) -> None:
        place.cancelled = True
        self._wake(place)

    def _wake(self, place: Ticket) -> None:
        if place.wake is not None:
            place.wake()

    def _is_idle(self) -> bool:
        return not self._waiting and all(place.live or place.background for place in self._running)

    def _next_live(self) -> Ticket | None:
        """Next live ticket. One slot is kept free for full requests."""
        typed = [place for place in self._running if not place.background]
        if not self._is_idle() or len(typed) >= max(1, self.slots - 1):
            return None
        busy = {place.visitor for place in typed}
        able = [place for place in self._live if place.visitor not in busy]  # the last one of a visitor ends first
        return next(self._ordered_tickets(able, typed), None)

    def _next_background(self) -> Ticket | None:
        """Next background ticket. Background work cannot be cancelled, so one slot is kept free."""
        able = [place for place in self._background if place.parked_at is None]
        if self._waiting or self._live or len(self._running) >= max(1, self.slots - 1):
            return None
        return min(able, key=lambda place: place.sequence, default=None)

    def _has_slot_for(self, visitor: Visitor) -> bool:
        """Whether a turn is free for this visitor."""
        share = max(1, self.slots - 1)
        running = [place.visitor for place in self._running if not (place.live or place.background)]
        if len(self._running) >= self.slots or running.count(visitor) >= share:
            return False
        return sum(each.address == visitor.address for each in running) < share or is_loopback(visitor.address)

    def _ordered_tickets(self, waiting: Iterable[Ticket], running: Iterable[Ticket] | None = None) -> Iterator[Ticket]:
        """The places in the order of their turns, if no other request came."""
        held = self._running if running is None else running
        return fair_order(waiting, Counter(key for place in held for key in place.keys), self._last)

    def _others_ahead(self) -> dict[int, int]:
        if self._ahead is None:
            own: Counter[Visitor] = Counter()
            self._ahead = {}
            for number, place in enumerate(self._ordered_tickets(self._waiting)):
                self._ahead[id(place)] = number - own[place.visitor]
                own[place.visitor] += 1
        return self._ahead

    def _mark_served(self, place: Ticket) -> None:
        number = 1 + (self._last[next(reversed(self._last))] if self._last else 0)
        for key in place.keys:
            self._last[key] = number
            self._last.move_to_end(key)
        while len(self._last) > MAX_REMEMBERED_VISITORS:
            self._last.popitem(last=False)

    def _drop_abandoned(self) -> None:
        long_ago = time.monotonic() - ABANDONED_AFTER_SECONDS
        for places in (self._waiting, self._background):
            for place in [each for each in places if each.parked_at is not None and each.parked_at < long_ago]:
                self._end(place)
                places.remove(place)
                self._ahead = None


def _total_bytes(places: Iterable[Ticket]) -> int:
    return sum(place.size for place in places)

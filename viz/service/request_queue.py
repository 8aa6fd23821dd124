"""The request queue in front of the models: limits parallel computations and waiting times, and schedules fairly.

    with queue.enqueue(visitor, kind="translate") as ticket:
        if await ticket.comes(seconds):
            translator.translate(text)

A request is rejected if its estimated waiting time exceeds `max_wait_s`. The estimate uses the scheduling order
(`fair_order`) and the recent duration of each kind of work (`Pace`). A burst of requests from one address therefore
delays or rejects only requests from that address. With `by_session`, slots are shared by session and not by address,
for classes behind one address. A visitor can use all slots but one, so other visitors never wait for all of its work.

Equal requests share one slot: while the first waits or runs, the others wait for its result. If the first ends without
a result, the next one replaces it.

Live requests (`enqueue_live`) have a lower priority. They start only while no full request waits or runs, and should
stop when one arrives (`is_idle`), so that typing never delays full requests.

Background requests (`enqueue_background`) start only if nothing else waits, leave one slot free, and do not count as
waiting. Live and background requests do not count against the visitor's limit.
"""

from __future__ import annotations

import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import chain
from threading import Condition, Lock
from typing import Any

from headlight.viz.errors import PageError
from headlight.viz.service.fair_order import fair_order
from headlight.viz.service.pace import Pace
from headlight.viz.service.tickets import Ticket, Visitor, fingerprint, is_loopback

__all__ = ["RequestQueue", "Ticket", "Visitor", "fingerprint", "is_loopback"]
MAX_REMEMBERED_VISITORS = 3000  # addresses, visitors and kinds of work with a recorded last slot
MAX_BYTES = 64_000_000  # size of all waiting requests; one address may use half of it
MAX_RETRY_S = 60  # maximum retry delay of a rejected request
SHORT_QUEUE, POSITION_SECONDS = 32, 0.5  # above this length, positions are computed at most twice a second
MAX_LIVE_TICKETS = 256
MAX_BACKGROUND_TICKETS = 256
ABANDONED_AFTER_SECONDS = 10.0  # seconds without a poll after which a parked ticket is dropped


class RequestQueue:
    """A queue with `at_once` slots and at most `most` waiting requests. Thread-safe."""

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
        self._on_refused = on_refused  # receives the error key of each rejection
        self.closed = False
        self._number = 0
        self._pace = Pace()
        self._waiting: list[Ticket] = []
        self._running: list[Ticket] = []
        self._live: list[Ticket] = []  # waiting live requests
        self._background: list[Ticket] = []  # waiting background requests
        self._same: dict[Hashable, Ticket] = {}  # request key → the first of equal requests
        self._last: OrderedDict[Hashable, int] = OrderedDict()  # ticket key → number of its last slot
        self._last_ahead: dict[int, int] = {}  # `_ahead` as of `_ordered_at`
        self._ordered_at = -math.inf
        self._ahead: dict[int, int] | None = None  # sequence number of a ticket → other visitors' requests ahead
        self._lock = Lock()
        self._changed = Condition(self._lock)

    def enqueue(
        self, visitor: Visitor, *, kind: str = "", size: int = 0, same: Hashable = None, admitted: bool = False
    ) -> Ticket:
        """Add a request. Raises `PageError` if the queue is full or the estimated waiting time is too long.

        `kind`: kind of work. `size`: bytes of the request. `same`: key that is equal for equal requests. `admitted`:
        the request has passed `admit` already.
        """
        with self._changed:
            self._drop_abandoned()
            ticket = self._new(visitor, kind=kind, size=size)
            leader = self._same.get(same) if same is not None else None
            if not admitted:
                self._check_room(ticket, wait=leader is None)
            ticket.request_key = same
            if leader is not None:
                ticket.leader = leader
                leader.followers.append(ticket)
                return ticket
            if same is not None:
                self._same[same] = ticket
            self._waiting.append(ticket)
            self._grant_slots()
            return ticket

    def admit(self, visitor: Visitor, *, kind: str = "", besides: int = 0) -> None:
        """Raise `PageError` if a request after `besides` others from its address would be rejected."""
        with self._changed:
            self._drop_abandoned()
            self._check_room(self._new(visitor, kind=kind), besides=besides)

    def enqueue_live(self, visitor: Visitor) -> Ticket:
        """Add a live request. A visitor has at most one: a new one cancels the previous one."""
        return self._enqueue_low_priority(self._live, MAX_LIVE_TICKETS, visitor, live=True)

    def enqueue_background(self, visitor: Visitor) -> Ticket:
        """Add a background request. A visitor has at most one waiting: a new one cancels it."""
        return self._enqueue_low_priority(self._background, MAX_BACKGROUND_TICKETS, visitor, background=True)

    def _enqueue_low_priority(self, places: list[Ticket], most: int, visitor: Visitor, **kind: bool) -> Ticket:
        with self._changed:
            self._drop_abandoned()
            ticket = self._new(visitor, **kind)
            for previous in [waiting for waiting in places if waiting.visitor == visitor]:
                self._end(previous)
                places.remove(previous)
            if len(places) >= most:
                raise self._refusal("line_full", before=len(places), seconds=MAX_RETRY_S)
            places.append(ticket)
            self._grant_slots()
            return ticket

    def is_idle(self) -> bool:
        """Whether no full request waits or runs."""
        with self._changed:
            self._drop_abandoned()
            return self._is_idle()

    def resume(self, name: str, visitor: Visitor) -> Ticket | None:
        """Return the visitor's parked ticket with this token, unless it has expired."""
        with self._changed:
            self._drop_abandoned()
            for ticket in (*self._waiting, *self._background):
                if ticket.token == name and ticket.visitor == visitor:
                    ticket.parked_at = None
                    self._grant_slots()
                    return ticket
        return None

    def park(self, place: Ticket) -> bool:
        """Keep a ticket for a client that polls with its token. Returns `False` if the ticket already has a slot."""
        with self._changed:
            if place.granted:
                return False
            place.parked_at = time.monotonic()
            return True

    def wait(self, place: Ticket, seconds: float | None) -> bool:
        """See `Ticket.wait`."""
        with self._changed:
            self._changed.wait_for(lambda: place.settled, seconds)
            return place.granted

    def position(self, place: Ticket) -> int | None:
        """See `Ticket.position`."""
        with self._changed:
            place = place.leader or place
            if ahead := self._count_ahead(place):
                return ahead
            is_own = [running.visitor == place.visitor for running in self._running]
            others_run = len(is_own) >= self.slots and not all(is_own)
            return None if any(is_own) and not place.granted and not others_run else 0

    def finish(self, place: Ticket, result: Any) -> None:
        """See `Ticket.finish`."""
        with self._changed:
            followers, place.followers = place.followers, []
            if self._same.get(place.request_key) is place:
                del self._same[place.request_key]  # later requests use the cache or compute again
            for follower in followers:
                follower.result = result
                self._wake(follower)
            self._changed.notify_all()

    def release(self, place: Ticket) -> None:
        """See `Ticket.release`."""
        with self._changed:
            if place in self._running and not place.cancelled:
                self._pace.note(place.kind, time.monotonic() - place.granted_at)
            self._end(place)
            for tickets in (self._waiting, self._running, self._live, self._background):
                if place in tickets:
                    tickets.remove(place)
            if place.leader is not None and place in place.leader.followers:
                place.leader.followers.remove(place)
            self._follow(place)
            self._grant_slots()

    def close(self) -> None:
        """Reject new requests. Waiting requests still run."""
        with self._changed:
            self.closed = True

    def wait_until_empty(self, seconds: float) -> bool:
        """Wait at most `seconds` and return whether the queue is empty."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while self._waiting or self._running:
                if (remaining := deadline - time.monotonic()) <= 0:
                    return False
                self._changed.wait(min(remaining, 0.5))
                self._drop_abandoned()
            return True

    @property
    def is_full(self) -> bool:
        """Whether a request of a new visitor would be rejected."""
        with self._changed:
            newcomer = Ticket(self, Visitor("\0"), self._number + 1)
            return len(self._running) >= self.slots and (
                len(self._waiting) >= self.max_waiting or self._expected_s(newcomer) > self.max_wait_s
            )

    def counts(self) -> dict[str, int]:
        """Return the numbers of running, waiting and waiting live requests."""
        with self._changed:
            return {"running": len(self._running), "waiting": len(self._waiting), "typing": len(self._live)}

    @property
    def running_count(self) -> int:
        """Number of running requests."""
        with self._changed:
            return len(self._running)

    # ------------------------------------------------------------ admission; the lock is held

    def _new(self, visitor: Visitor, **kind: Any) -> Ticket:
        if self.closed:
            raise self._refusal("leaving")
        self._number += 1
        return Ticket(self, visitor, self._number, **kind)

    def _check_room(self, place: Ticket, *, wait: bool = True, besides: int = 0) -> None:
        pending = [*self._waiting, *chain.from_iterable(ticket.followers for ticket in self._same.values())]
        from_address = [ticket for ticket in pending if ticket.visitor.address == place.visitor.address]
        # One address may use half of the queue.
        full = len(pending) >= self.max_waiting or len(from_address) + besides >= max(1, self.max_waiting // 2)
        full |= _total_bytes((*pending, place)) > MAX_BYTES or _total_bytes((*from_address, place)) > MAX_BYTES // 2
        if full and self._waiting_is_needless(place):
            return
        expected = self._expected_s(place, besides) if wait or full else 0.0
        if full or expected > self.max_wait_s:
            seconds = max(expected - self.max_wait_s, expected / 4)
            raise self._refusal(
                "line_full", before=len(self._waiting), seconds=min(MAX_RETRY_S, max(1, math.ceil(seconds)))
            )

    def _waiting_is_needless(self, place: Ticket) -> bool:
        """Whether a slot is free, so that a queue without waiting places still accepts the request."""
        return not self._waiting and self._has_slot_for(place.visitor)

    def _expected_s(self, place: Ticket, besides: int = 0) -> float:
        """Estimate the waiting time of a new ticket, in seconds."""
        longest = self._wait_s(place, self._waiting, besides)
        return longest if longest <= self.max_wait_s else self._wait_s(place, self._tickets_before(place), besides)

    def _tickets_before(self, place: Ticket) -> list[Ticket]:
        """Estimate the tickets ahead of a new one: all of its group, and one more than that from each other group.

        The exact scheduling order of hundreds of tickets takes milliseconds, too long if they arrive within a second.
        """
        before: list[Ticket] = []
        for level in reversed(range(len(place.keys) - 1)):  # from the visitor to the address
            group = place.keys[level]
            outer = place.keys[level - 1] if level else None
            peers = [ticket for ticket in self._waiting if outer is None or ticket.keys[level - 1] == outer]
            if not before:
                before = [ticket for ticket in peers if ticket.keys[level] == group]
            before += _first_of_each(peers, level, group, len(before) + 1)
        return before

    def _wait_s(self, place: Ticket, before: Iterable[Ticket], besides: int) -> float:
        ahead = [*self._running, *before]
        # A running request is half done on average.
        seconds = [self._pace.of(ticket.kind) / (2 if ticket.granted else 1) for ticket in ahead]
        share, extra = max(1, self.slots - 1), besides * self._pace.of(place.kind)
        waits = [(sum(seconds) + extra) / self.slots]
        shared = self.by_session or is_loopback(place.visitor.address)
        # Each visitor and each address can use all slots but one.
        for key in (place.visitor,) if shared else (place.visitor, place.visitor.address):
            own_work = sum(duration for duration, ticket in zip(seconds, ahead, strict=True) if key in ticket.keys)
            waits.append((own_work + extra) / share)
        return max(waits) if ahead or besides else 0.0

    def _refusal(self, word: str, **values: int) -> PageError:
        self._on_refused(word)
        return PageError("text", word, values)

    # ------------------------------------------------------------ scheduling; the lock is held

    def _grant_slots(self) -> None:
        self._ahead = None
        while len(self._running) < self.slots:
            eligible = [
                ticket for ticket in self._waiting if ticket.parked_at is None and self._has_slot_for(ticket.visitor)
            ]
            ticket = next(self._ordered_tickets(eligible), None) or self._next_live() or self._next_background()
            if ticket is None:
                break
            for tickets in (self._waiting, self._live, self._background):
                if ticket in tickets:
                    tickets.remove(ticket)
            self._running.append(ticket)
            ticket.granted, ticket.granted_at = True, time.monotonic()
            self._wake(ticket)
            self._mark_served(ticket)
        self._changed.notify_all()

    def _follow(self, place: Ticket) -> None:
        """Replace a ticket that ended without a result by the first of its equal requests."""
        if place.request_key is None or self._same.get(place.request_key) is not place:
            return
        del self._same[place.request_key]
        if place.followers:
            successor, *other_followers = place.followers
            place.followers, successor.leader, successor.followers = [], None, other_followers
            for follower in other_followers:
                follower.leader = successor
            self._same[successor.request_key] = successor
            self._waiting.append(successor)

    def _end(self, place: Ticket) -> None:
        place.cancelled = True
        self._wake(place)

    def _wake(self, place: Ticket) -> None:
        if place.wake is not None:
            place.wake()

    def _is_idle(self) -> bool:
        return not self._waiting and all(ticket.live or ticket.background for ticket in self._running)

    def _next_live(self) -> Ticket | None:
        """Return the next live ticket. One slot stays free for full requests."""
        foreground = [ticket for ticket in self._running if not ticket.background]
        if not self._is_idle() or len(foreground) >= max(1, self.slots - 1):
            return None
        busy_visitors = {ticket.visitor for ticket in foreground}
        # A visitor runs at most one live request.
        eligible = [ticket for ticket in self._live if ticket.visitor not in busy_visitors]
        return next(self._ordered_tickets(eligible, foreground), None)

    def _next_background(self) -> Ticket | None:
        """Return the next background ticket. Background work cannot be cancelled, so one slot stays free."""
        eligible = [ticket for ticket in self._background if ticket.parked_at is None]
        if self._waiting or self._live or len(self._running) >= max(1, self.slots - 1):
            return None
        return min(eligible, key=lambda ticket: ticket.sequence, default=None)

    def _has_slot_for(self, visitor: Visitor) -> bool:
        """Whether this visitor can get a slot now."""
        share = max(1, self.slots - 1)
        running = [ticket.visitor for ticket in self._running if not (ticket.live or ticket.background)]
        if len(self._running) >= self.slots or running.count(visitor) >= share:
            return False
        return sum(owner.address == visitor.address for owner in running) < share or is_loopback(visitor.address)

    def _ordered_tickets(self, waiting: Iterable[Ticket], running: Iterable[Ticket] | None = None) -> Iterator[Ticket]:
        """Return tickets in the current scheduling order."""
        waiting, running_tickets = list(waiting), self._running if running is None else running
        if not waiting:
            return iter(())
        return fair_order(waiting, Counter(key for ticket in running_tickets for key in ticket.keys), self._last)

    def _count_ahead(self, place: Ticket) -> int:
        """Count the requests of other visitors ahead of a ticket."""
        if place.granted:
            return 0
        ahead = self._others_ahead().get(place.sequence)
        if ahead is None and place in self._waiting:  # the ticket arrived after the last ordering
            return sum(ticket.visitor != place.visitor for ticket in self._tickets_before(place))
        return ahead or 0

    def _others_ahead(self) -> dict[int, int]:
        """Map sequence numbers to positions. A long queue reuses recent positions to avoid a sort after each change."""
        recent = len(self._waiting) > SHORT_QUEUE and time.monotonic() - self._ordered_at < POSITION_SECONDS
        if self._ahead is None and recent:
            return self._last_ahead
        if self._ahead is None:
            counts: Counter[Visitor] = Counter()
            self._ahead = self._last_ahead = {}
            self._ordered_at = time.monotonic()
            for index, ticket in enumerate(self._ordered_tickets(self._waiting)):
                self._ahead[ticket.sequence] = index - counts[ticket.visitor]
                counts[ticket.visitor] += 1
        return self._ahead

    def _mark_served(self, place: Ticket) -> None:
        number = 1 + (self._last[next(reversed(self._last))] if self._last else 0)
        for key in place.keys:
            self._last[key] = number
            self._last.move_to_end(key)
        while len(self._last) > MAX_REMEMBERED_VISITORS:
            self._last.popitem(last=False)

    def _drop_abandoned(self) -> None:
        cutoff = time.monotonic() - ABANDONED_AFTER_SECONDS
        for tickets in (self._waiting, self._background):
            for ticket in [
                candidate for candidate in tickets if candidate.parked_at is not None and candidate.parked_at < cutoff
            ]:
                self._end(ticket)
                tickets.remove(ticket)
                self._ahead = None


def _first_of_each(tickets: Iterable[Ticket], level: int, but: Hashable, most: int) -> Iterator[Ticket]:
    """Yield the first `most` tickets of each group at a level, except the group `but`."""
    counts = Counter[Hashable]()
    for ticket in tickets:
        counts[ticket.keys[level]] += 1
        if ticket.keys[level] != but and counts[ticket.keys[level]] <= most:
            yield ticket


def _total_bytes(places: Iterable[Ticket]) -> int:
    return sum(ticket.size for ticket in places)

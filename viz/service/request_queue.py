"""The request queue in front of the models: limits parallel computations and waiting times, and schedules fairly.

    with queue.enqueue(visitor, kind="translate") as ticket:
        if await ticket.wait_async(seconds):
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
MAX_LIVE_TICKETS = 256  # waiting live requests of all visitors
MAX_BACKGROUND_TICKETS = 256  # waiting background requests of all visitors
ABANDONED_AFTER_SECONDS = 10.0  # seconds without a poll after which a parked ticket is dropped


class RequestQueue:
    """A queue with `slots` and at most `max_waiting` requests. Thread-safe."""

    def __init__(
        self,
        slots: int,
        max_waiting: int,
        on_rejected: Callable[[str], None] = lambda word: None,
        *,
        by_session: bool = False,
        max_wait_s: float = math.inf,
    ) -> None:
        self.slots, self.max_waiting, self.by_session, self.max_wait_s = slots, max_waiting, by_session, max_wait_s
        self._on_rejected = on_rejected  # receives the error key of each rejection
        self.closed = False
        self._number = 0
        self._pace = Pace()
        self._waiting: list[Ticket] = []
        self._running: list[Ticket] = []
        self._live: list[Ticket] = []  # waiting live requests
        self._background: list[Ticket] = []  # waiting background requests
        self._leaders: dict[Hashable, Ticket] = {}  # request key → the first of equal requests
        self._last_slots: OrderedDict[Hashable, int] = OrderedDict()  # ticket key → number of its last slot
        self._last_ahead: dict[int, int] = {}  # `_ahead` as of `_ordered_at`
        self._ordered_at = -math.inf
        self._ahead: dict[int, int] | None = None  # sequence number of a ticket → other visitors' requests ahead
        self._lock = Lock()
        self._changed = Condition(self._lock)

    def enqueue(
        self,
        visitor: Visitor,
        *,
        kind: str = "",
        size: int = 0,
        request_key: Hashable = None,
        admitted: bool = False,
    ) -> Ticket:
        """Add a request. Raises `PageError` if the queue is full or the estimated waiting time is too long.

        `kind`: kind of work. `size`: bytes of the request. `request_key`: equal for requests that share a result.
        `admitted`: the request has passed `admit` already.
        """
        with self._changed:
            self._drop_abandoned()
            ticket = self._make_ticket(visitor, kind=kind, size=size)
            leader = self._leaders.get(request_key) if request_key is not None else None
            if not admitted:
                self._check_capacity(ticket, wait=leader is None)
            ticket.request_key = request_key
            if leader is not None:
                ticket.leader = leader
                leader.followers.append(ticket)
                return ticket
            if request_key is not None:
                self._leaders[request_key] = ticket
            self._waiting.append(ticket)
            self._grant_slots()
            return ticket

    def admit(self, visitor: Visitor, *, kind: str = "", preceding: int = 0) -> None:
        """Raise `PageError` if a request would be rejected after `preceding` others from its address."""
        with self._changed:
            self._drop_abandoned()
            self._check_capacity(self._make_ticket(visitor, kind=kind), preceding=preceding)

    def enqueue_live(self, visitor: Visitor) -> Ticket:
        """Add a live request. A visitor has at most one: a new one cancels the previous one."""
        return self._enqueue_low_priority(self._live, MAX_LIVE_TICKETS, visitor, live=True)

    def enqueue_background(self, visitor: Visitor) -> Ticket:
        """Add a background request. A visitor has at most one waiting: a new one cancels it."""
        return self._enqueue_low_priority(self._background, MAX_BACKGROUND_TICKETS, visitor, background=True)

    def _enqueue_low_priority(self, tickets: list[Ticket], limit: int, visitor: Visitor, **properties: bool) -> Ticket:
        with self._changed:
            self._drop_abandoned()
            ticket = self._make_ticket(visitor, **properties)
            for previous in [waiting for waiting in tickets if waiting.visitor == visitor]:
                self._cancel(previous)
                tickets.remove(previous)
            if len(tickets) >= limit:
                raise self._make_rejection("line_full", before=len(tickets), seconds=MAX_RETRY_S)
            tickets.append(ticket)
            self._grant_slots()
            return ticket

    def is_idle(self) -> bool:
        """Whether no full request waits or runs."""
        with self._changed:
            self._drop_abandoned()
            return self._is_idle()

    def resume(self, token: str, visitor: Visitor) -> Ticket | None:
        """Return the visitor's parked ticket with this token, unless it has expired."""
        with self._changed:
            self._drop_abandoned()
            for ticket in (*self._waiting, *self._background):
                if ticket.token == token and ticket.visitor == visitor:
                    ticket.parked_at = None
                    self._grant_slots()
                    return ticket
        return None

    def park(self, ticket: Ticket) -> bool:
        """Keep a ticket for a client that polls with its token. Returns `False` if the ticket already has a slot."""
        with self._changed:
            if ticket.granted:
                return False
            ticket.parked_at = time.monotonic()
            return True

    def wait(self, ticket: Ticket, seconds: float | None) -> bool:
        """See `Ticket.wait`."""
        with self._changed:
            self._changed.wait_for(lambda: ticket.settled, seconds)
            return ticket.granted

    def position(self, ticket: Ticket) -> int | None:
        """See `Ticket.position`."""
        with self._changed:
            ticket = ticket.leader or ticket
            if ahead := self._count_ahead(ticket):
                return ahead
            is_own = [running.visitor == ticket.visitor for running in self._running]
            others_run = len(is_own) >= self.slots and not all(is_own)
            return None if any(is_own) and not ticket.granted and not others_run else 0

    def finish(self, ticket: Ticket, result: Any) -> None:
        """See `Ticket.finish`."""
        with self._changed:
            followers, ticket.followers = ticket.followers, []
            if self._leaders.get(ticket.request_key) is ticket:
                del self._leaders[ticket.request_key]  # later requests use the cache or compute again
            for follower in followers:
                follower.result = result
                self._wake(follower)
            self._changed.notify_all()

    def release(self, ticket: Ticket) -> None:
        """See `Ticket.release`."""
        with self._changed:
            if ticket in self._running and not ticket.cancelled:
                self._pace.record(ticket.kind, time.monotonic() - ticket.granted_at)
            self._cancel(ticket)
            for tickets in (self._waiting, self._running, self._live, self._background):
                if ticket in tickets:
                    tickets.remove(ticket)
            if ticket.leader is not None and ticket in ticket.leader.followers:
                ticket.leader.followers.remove(ticket)
            self._promote_follower(ticket)
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
                len(self._waiting) >= self.max_waiting or self._estimate_wait_s(newcomer) > self.max_wait_s
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

    def _make_ticket(self, visitor: Visitor, **properties: Any) -> Ticket:
        if self.closed:
            raise self._make_rejection("leaving")
        self._number += 1
        return Ticket(self, visitor, self._number, **properties)

    def _check_capacity(self, ticket: Ticket, *, wait: bool = True, preceding: int = 0) -> None:
        pending = [*self._waiting, *chain.from_iterable(ticket.followers for ticket in self._leaders.values())]
        from_address = [other for other in pending if other.visitor.address == ticket.visitor.address]
        # One address may use half of the queue.
        full = len(pending) >= self.max_waiting or len(from_address) + preceding >= max(1, self.max_waiting // 2)
        full |= _sum_bytes((*pending, ticket)) > MAX_BYTES or _sum_bytes((*from_address, ticket)) > MAX_BYTES // 2
        if full and self._can_start_at_once(ticket):
            return
        expected = self._estimate_wait_s(ticket, preceding) if wait or full else 0.0
        if full or expected > self.max_wait_s:
            seconds = max(expected - self.max_wait_s, expected / 4)
            raise self._make_rejection(
                "line_full", before=len(self._waiting), seconds=min(MAX_RETRY_S, max(1, math.ceil(seconds)))
            )

    def _can_start_at_once(self, ticket: Ticket) -> bool:
        """Whether a slot is free. If so, even a queue with `max_waiting` 0 accepts the request."""
        return not self._waiting and self._has_slot_for(ticket.visitor)

    def _estimate_wait_s(self, ticket: Ticket, preceding: int = 0) -> float:
        """Estimate the waiting time of a new ticket, in seconds."""
        upper_bound = self._compute_wait_s(ticket, self._waiting, preceding)
        if upper_bound <= self.max_wait_s:
            return upper_bound
        return self._compute_wait_s(ticket, self._estimate_tickets_before(ticket), preceding)

    def _estimate_tickets_before(self, ticket: Ticket) -> list[Ticket]:
        """Estimate the tickets ahead of a new one: all of its group, and one more than that from each other group.

        The exact scheduling order of hundreds of tickets takes milliseconds, too long if they arrive within a second.
        """
        before: list[Ticket] = []
        for level in reversed(range(len(ticket.keys) - 1)):  # from the visitor to the address
            group = ticket.keys[level]
            outer = ticket.keys[level - 1] if level else None
            peers = [other for other in self._waiting if outer is None or other.keys[level - 1] == outer]
            if not before:
                before = [other for other in peers if other.keys[level] == group]
            before += _take_first_of_each(peers, level, group, len(before) + 1)
        return before

    def _compute_wait_s(self, ticket: Ticket, before: Iterable[Ticket], preceding: int) -> float:
        """Return the seconds until a slot is free if the tickets `before`, and `preceding` more, run first."""
        ahead = [*self._running, *before]
        # A running request is half done on average.
        seconds = [self._pace.expected_seconds(other.kind) / (2 if other.granted else 1) for other in ahead]
        share, extra = max(1, self.slots - 1), preceding * self._pace.expected_seconds(ticket.kind)
        waits = [(sum(seconds) + extra) / self.slots]
        shared = self.by_session or is_loopback(ticket.visitor.address)
        # Each visitor and each address can use all slots but one.
        for key in (ticket.visitor,) if shared else (ticket.visitor, ticket.visitor.address):
            own_work = sum(duration for duration, other in zip(seconds, ahead, strict=True) if key in other.keys)
            waits.append((own_work + extra) / share)
        return max(waits) if ahead or preceding else 0.0

    def _make_rejection(self, word: str, **values: int) -> PageError:
        self._on_rejected(word)
        return PageError("text", word, values)

    # ------------------------------------------------------------ scheduling; the lock is held

    def _grant_slots(self) -> None:
        self._ahead = None
        while len(self._running) < self.slots:
            eligible = [
                ticket for ticket in self._waiting if ticket.parked_at is None and self._has_slot_for(ticket.visitor)
            ]
            ticket = next(self._order_tickets(eligible), None) or self._find_next_live() or self._find_next_background()
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

    def _promote_follower(self, ticket: Ticket) -> None:
        """Replace a ticket that ended without a result by the first of its equal requests."""
        if ticket.request_key is None or self._leaders.get(ticket.request_key) is not ticket:
            return
        del self._leaders[ticket.request_key]
        if ticket.followers:
            successor, *other_followers = ticket.followers
            ticket.followers, successor.leader, successor.followers = [], None, other_followers
            for follower in other_followers:
                follower.leader = successor
            self._leaders[successor.request_key] = successor
            self._waiting.append(successor)

    def _cancel(self, ticket: Ticket) -> None:
        ticket.cancelled = True
        self._wake(ticket)

    def _wake(self, ticket: Ticket) -> None:
        if ticket.wake is not None:
            ticket.wake()

    def _is_idle(self) -> bool:
        return not self._waiting and all(ticket.live or ticket.background for ticket in self._running)

    def _find_next_live(self) -> Ticket | None:
        """Return the next live ticket. One slot stays free for full requests."""
        foreground = [ticket for ticket in self._running if not ticket.background]
        if not self._is_idle() or len(foreground) >= max(1, self.slots - 1):
            return None
        busy_visitors = {ticket.visitor for ticket in foreground}
        # A visitor runs at most one live request.
        eligible = [ticket for ticket in self._live if ticket.visitor not in busy_visitors]
        return next(self._order_tickets(eligible, foreground), None)

    def _find_next_background(self) -> Ticket | None:
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

    def _order_tickets(self, waiting: Iterable[Ticket], running: Iterable[Ticket] | None = None) -> Iterator[Ticket]:
        """Return tickets in the current scheduling order."""
        waiting, running_tickets = list(waiting), self._running if running is None else running
        if not waiting:
            return iter(())
        return fair_order(waiting, Counter(key for ticket in running_tickets for key in ticket.keys), self._last_slots)

    def _count_ahead(self, ticket: Ticket) -> int:
        """Count the requests of other visitors ahead of a ticket."""
        if ticket.granted:
            return 0
        ahead = self._map_requests_ahead().get(ticket.sequence)
        if ahead is None and ticket in self._waiting:  # the ticket arrived after the last ordering
            return sum(other.visitor != ticket.visitor for other in self._estimate_tickets_before(ticket))
        return ahead or 0

    def _map_requests_ahead(self) -> dict[int, int]:
        """Map sequence numbers to positions. A long queue reuses recent positions to avoid a sort after each change."""
        recent = len(self._waiting) > SHORT_QUEUE and time.monotonic() - self._ordered_at < POSITION_SECONDS
        if self._ahead is None and recent:
            return self._last_ahead
        if self._ahead is None:
            counts: Counter[Visitor] = Counter()
            self._ahead = self._last_ahead = {}
            self._ordered_at = time.monotonic()
            for index, ticket in enumerate(self._order_tickets(self._waiting)):
                self._ahead[ticket.sequence] = index - counts[ticket.visitor]
                counts[ticket.visitor] += 1
        return self._ahead

    def _mark_served(self, ticket: Ticket) -> None:
        number = 1 + (self._last_slots[next(reversed(self._last_slots))] if self._last_slots else 0)
        for key in ticket.keys:
            self._last_slots[key] = number
            self._last_slots.move_to_end(key)
        while len(self._last_slots) > MAX_REMEMBERED_VISITORS:
            self._last_slots.popitem(last=False)

    def _drop_abandoned(self) -> None:
        cutoff = time.monotonic() - ABANDONED_AFTER_SECONDS
        for tickets in (self._waiting, self._background):
            for ticket in [
                candidate for candidate in tickets if candidate.parked_at is not None and candidate.parked_at < cutoff
            ]:
                self._cancel(ticket)
                tickets.remove(ticket)
                self._ahead = None


def _take_first_of_each(tickets: Iterable[Ticket], level: int, excluded: Hashable, limit: int) -> Iterator[Ticket]:
    """Yield the first `limit` tickets of each group, except the group `excluded`. Groups have equal `keys[level]`."""
    counts = Counter[Hashable]()
    for ticket in tickets:
        counts[ticket.keys[level]] += 1
        if ticket.keys[level] != excluded and counts[ticket.keys[level]] <= limit:
            yield ticket


def _sum_bytes(tickets: Iterable[Ticket]) -> int:
    return sum(ticket.size for ticket in tickets)

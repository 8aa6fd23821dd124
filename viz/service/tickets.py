"""Tickets of the request queue, and their visitors."""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import json
import secrets
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any, NamedTuple, Protocol, Self


class Visitor(NamedTuple):
    """A visitor: IP address of the request, and session as sent by the browser."""

    address: str = ""
    session: str = ""


class Queue(Protocol):
    """The `RequestQueue` methods that a ticket calls. A protocol, because the queue imports this module."""

    by_session: bool

    def wait(self, ticket: Ticket, seconds: float | None) -> bool:
        """See `Ticket.wait`."""

    def position(self, ticket: Ticket) -> int | None:
        """See `Ticket.position`."""

    def finish(self, ticket: Ticket, result: Any) -> None:
        """See `Ticket.finish`."""

    def release(self, ticket: Ticket) -> None:
        """See `Ticket.release`."""


class Ticket:
    """A queued request. Once granted, it occupies a slot until `release` or the end of its `with` block."""

    def __init__(
        self,
        queue: Queue,
        visitor: Visitor,
        sequence: int,
        *,
        kind: str = "",
        size: int = 0,
        live: bool = False,
        background: bool = False,
    ) -> None:
        self.visitor, self.sequence, self.live, self.background = visitor, sequence, live, background
        self.kind, self.size = kind, size  # kind of work; bytes of the request
        self.token = secrets.token_urlsafe(12)  # the browser polls with it
        self.granted = self.cancelled = False
        self.granted_at = 0.0
        self.parked_at: float | None = None  # monotonic time at which the client left to poll later
        self.request_key: Hashable = None  # equal for equal requests
        self.followers: list[Ticket] = []  # equal requests that wait for this one's result
        self.leader: Ticket | None = None  # the equal request whose result this one waits for
        self.result: Any = None  # result of the leader
        self.wake: Callable[[], None] | None = None
        self._queue = queue
        session_keys = (visitor, (visitor, kind))
        # The groups that share slots, from the widest to the narrowest: address, session, kind of work.
        self.keys: tuple[Hashable, ...] = session_keys if queue.by_session else (visitor.address, *session_keys)

    @property
    def settled(self) -> bool:
        """Whether waiting is over: the ticket has a slot or the result of an equal request, or is cancelled."""
        return self.granted or self.cancelled or self.result is not None

    def wait(self, seconds: float | None = None) -> bool:
        """Block for at most `seconds` and return whether the ticket has a slot."""
        return self._queue.wait(self, seconds)

    async def wait_async(self, seconds: float) -> bool:
        """Wait at most `seconds` without blocking a thread, and return whether the ticket is settled."""
        loop, event = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(event.set)

        self.wake = wake
        if not self.settled:
            with suppress(TimeoutError):
                await asyncio.wait_for(event.wait(), seconds)
        return self.settled

    def position(self) -> int | None:
        """Return the number of other visitors' requests ahead; `None` if only the visitor's own are ahead."""
        return self._queue.position(self)

    def finish(self, result: Any) -> None:
        """Pass the result to equal requests, which then need no slot."""
        self._queue.finish(self, result)

    def release(self) -> None:
        """Leave the queue, or free the slot."""
        self._queue.release(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def fingerprint(values: Any) -> bytes:
    """Return a digest that is equal for equal requests."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).digest()


def is_loopback(address: str) -> bool:
    """Whether an address is loopback or not an IP address, in which case many visitors may share it."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return True

"""A place in the queue before the models, and whose it is."""

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
    """A visitor: the address of the request, and the session that the browser claims."""

    address: str = ""
    session: str = ""


class Queue(Protocol):
    """The methods of the queue (`RequestQueue`) that a ticket calls; the queue itself imports this module."""

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
    """One visitor's place in the queue, then the turn itself. Leaving the `with` block gives it back."""

    def __init__(
        self,
        line: Queue,
        visitor: Visitor,
        number: int,
        *,
        kind: str = "",
        size: int = 0,
        live: bool = False,
        background: bool = False,
    ) -> None:
        self.visitor, self.sequence, self.live, self.background = visitor, number, live, background
        self.kind, self.size = kind, size  # what it computes; bytes of the request
        self.token = secrets.token_urlsafe(12)  # the browser names it to come back to it
        self.granted = self.cancelled = False
        self.granted_at = 0.0
        self.parked_at: float | None = None  # when its request left it, to come back later
        self.request_key: Hashable = None  # equal requests have an equal one
        self.followers: list[Ticket] = []  # equal requests, which get this one's result
        self.leader: Ticket | None = None  # the equal request that this one stands behind
        self.result: Any = None  # of an equal request
        self.wake: Callable[[], None] | None = None
        self._queue = line

    @property
    def keys(self) -> tuple[Hashable, ...]:
        """Among whom turns are shared, the widest first: the address, the session, the kind of work."""
        own = (self.visitor, (self.visitor, self.kind))
        return own if self._queue.by_session else (self.visitor.address, *own)

    @property
    def settled(self) -> bool:
        """Whether there is nothing to wait for: a turn, the result of an equal request, or the end."""
        return self.granted or self.cancelled or self.result is not None

    def wait(self, seconds: float | None = None) -> bool:
        """Wait at most `seconds`, in a thread; whether it is this visitor's turn."""
        return self._queue.wait(self, seconds)

    async def comes(self, seconds: float) -> bool:
        """Wait at most `seconds`, without a thread; whether the place is settled."""
        loop, settles = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(settles.set)

        self.wake = wake
        if not self.settled:
            with suppress(TimeoutError):
                await asyncio.wait_for(settles.wait(), seconds)
        return self.settled

    def position(self) -> int | None:
        """How many requests of others have their turn first, as of now; `None` while only own ones are in the way."""
        return self._queue.position(self)

    def finish(self, result: Any) -> None:
        """Give the result to equal requests, which have no turn of their own then."""
        self._queue.finish(self, result)

    def release(self) -> None:
        """Give back the place, or the turn."""
        self._queue.release(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def fingerprint(values: Any) -> bytes:
    """Bytes that are equal for equal requests."""
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).digest()


def is_loopback(address: str) -> bool:
    """Whether an address is this computer's own, or empty: many visitors may share it."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return True

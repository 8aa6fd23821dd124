"""Limit on the requests of one address that are computed at the same time, until their responses start.

A page takes tens of milliseconds. If one address requests hundreds at once, its requests wait here for each other, and
requests of other addresses do not wait for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.types import Message, Send

MAX_PARALLEL = 2  # a third request would only compete for the same core


class Turns:
    """A semaphore per address, which grants turns in order of arrival. Used by the server's event loop only."""

    def __init__(self, max_parallel: int = MAX_PARALLEL) -> None:
        self.max_parallel = max_parallel
        self._semaphores: dict[
            str, tuple[asyncio.Semaphore, int]
        ] = {}  # address → its semaphore, and the number of its requests

    async def run(self, address: str, respond: Callable[[Send], Awaitable[None]], send: Send) -> None:
        """Call `respond` once a turn is free. The turn ends when the response starts: clients may read it slowly."""
        semaphore, count = self._semaphores.get(address) or (asyncio.Semaphore(self.max_parallel), 0)
        self._semaphores[address] = semaphore, count + 1
        has_turn = False

        def end_turn() -> None:
            nonlocal has_turn
            if has_turn:
                has_turn = False
                semaphore.release()

        async def send_and_end_turn(message: Message) -> None:
            end_turn()
            await send(message)

        try:
            await semaphore.acquire()
            has_turn = True
            await respond(send_and_end_turn)
        finally:
            end_turn()
            semaphore, count = self._semaphores.pop(address)
            if count > 1:
                self._semaphores[address] = semaphore, count - 1

    def __len__(self) -> int:
        """Return the number of addresses with requests."""
        return len(self._semaphores)

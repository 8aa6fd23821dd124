"""Turns of addresses: how many requests of one address are computed at a time, until their responses start.

A page takes tens of milliseconds. If one address asks for hundreds at once, its requests wait here for each other, and
those of other addresses do not wait behind them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.types import Message, Send

MAX_PARALLEL = 2  # a third one would only compete for the same core


class Turns:
    """Counts of running requests by address, in order of arrival. Used by the server's event loop only."""

    def __init__(self, max_parallel: int = MAX_PARALLEL) -> None:
        self.max_parallel = max_parallel
        self._semaphores: dict[str, tuple[asyncio.Semaphore, int]] = {}  # with the number of requests

    async def run(self, address: str, respond: Callable[[Send], Awaitable[None]], send: Send) -> None:
        """Respond in turn. The turn ends when the response starts, because the client may read it slowly."""
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

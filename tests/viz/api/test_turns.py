"""Requests of one address wait for each other, and not for those of other addresses."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headlight.viz.api.middleware import RequestGuard
from headlight.viz.api.turns import MAX_PARALLEL, Turns
from headlight.viz.settings import Settings

START: dict[str, Any] = {"type": "http.response.start", "status": 200, "headers": []}
BODY: dict[str, Any] = {"type": "http.response.body", "body": b"page"}
NO_DATA: dict[str, Any] = {"type": "http.request", "body": b"", "more_body": False}


class SlowApp:
    """An app that computes for some turns of the loop, then sends to a client that never reads."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.running = self.most = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.running += 1
        self.most = max(self.most, self.running)
        for _ in range(3):
            await asyncio.sleep(0)
        self.running -= 1
        self.order.append(scope["client"][0])
        await send(START)
        await send(BODY)


def request(guard: RequestGuard, address: str, path: str, send: Any) -> asyncio.Task[None]:
    async def receive() -> Any:
        return NO_DATA

    headers = [(b"host", b"localhost")]
    scope = {"type": "http", "method": "GET", "path": path, "headers": headers, "client": (address, 1)}
    return asyncio.create_task(guard(scope, receive, send))


@pytest.mark.parametrize("path", ["/", "/config", "/gradio_api/info"])
def test_neighbour_does_not_wait_for_all_requests_of_an_address(path: str) -> None:
    async def visit() -> None:
        app = SlowApp()
        guard = RequestGuard(app, settings=Settings(), endpoints={})
        never = asyncio.Event()

        async def send(message: Any) -> None:
            if message["type"] == "http.response.body":
                await never.wait()

        tasks = [request(guard, "192.0.2.1", path, send) for _ in range(100)]
        tasks.append(request(guard, "192.0.2.2", path, send))
        while len(app.order) < len(tasks):  # also after clients that do not read
            await asyncio.sleep(0)
        assert app.order.index("192.0.2.2") <= MAX_PARALLEL
        assert app.most == MAX_PARALLEL + 1
        never.set()
        await asyncio.gather(*tasks)
        assert len(guard.turns) == 0

    asyncio.run(asyncio.wait_for(visit(), 60))


def test_turn_ends_with_an_error_or_a_cancellation() -> None:
    async def visit() -> None:
        turns, never = Turns(1), asyncio.Event()

        async def wait(_send: Any) -> None:
            await never.wait()

        async def fail(_send: Any) -> None:
            raise ZeroDivisionError

        async def send(_message: Any) -> None:
            pass

        tasks = [asyncio.create_task(turns.run("a", wait, send)) for _ in range(3)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert len(turns) == 0
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                await turns.run("a", fail, send)
        assert len(turns) == 0

    asyncio.run(asyncio.wait_for(visit(), 60))

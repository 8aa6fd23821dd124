"""A function's messages, told while it works, in the response to the request that asked.

Gradio's queue tells them in a stream of its own, and its part of the page reads, copies and compares every message
before a widget gets it. Here a request is answered by its messages, and a browser that lets go of it ends the work.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Generator
from contextlib import suppress
from threading import Event
from typing import Any

import anyio
import anyio.to_thread
from starlette.types import Receive, Send

from headlight.viz.wire.visitors import GONE

Telling = Callable[[str, Event], Generator[str]]

SLOWEST = 60.0  # seconds for the last message to arrive
SILENCE = 15.0  # seconds between two messages: a proxy ends what says nothing for a minute
ALIVE = b": \n\n"  # a comment
EVENTS = b"text/event-stream"
HEADERS = [
    (b"content-type", EVENTS + b"; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),  # nginx would keep messages until it has enough of them
]


def telling(function: Telling) -> Telling:
    """`function(asked, stop)` as a server function of `gr.HTML`, which only the middleware calls.

    It yields messages of one line each, and ends soon after `stop` is set.
    """

    @functools.wraps(function)
    def call(asked: str, stop: Event) -> Generator[str]:
        return function(asked, stop)

    call.tells = True  # type: ignore[attr-defined]
    return call


async def tell_all(function: Telling, asked: str, limiter: Any, receive: Receive, send: Send) -> None:
    """Send every message as it comes; a reader who leaves sets the function's `stop`. `limiter` bounds the threads.

    A function does not wait for its reader: on a slow line it would keep its turn from all others.
    """
    stop = Event()
    GONE.set(stop.is_set)
    messages = function(asked, stop)
    ready: asyncio.Queue[str | None] = asyncio.Queue()
    hearing, sending = asyncio.create_task(_hear(receive, stop)), asyncio.create_task(_send(ready, send))
    try:
        while (message := await _next(messages, stop, limiter)) is not None:
            ready.put_nowait(message)
        ready.put_nowait(None)
        with suppress(TimeoutError):
            await asyncio.wait_for(sending, SLOWEST)
    finally:
        hearing.cancel()
        sending.cancel()


async def _next(messages: Generator[str], stop: Event, limiter: Any) -> str | None:
    """The next message, made in a thread. Where nobody waits for it any more, the function stops and is closed."""
    step: asyncio.Future[str | None] = asyncio.ensure_future(
        anyio.to_thread.run_sync(next, messages, None, limiter=limiter)
    )
    try:
        return await asyncio.shield(step)
    except asyncio.CancelledError:  # the server ends; the step may still run
        stop.set()
        step.add_done_callback(lambda done: messages.close())
        raise


async def _hear(receive: Receive, stop: Event) -> None:
    """Set `stop` once the reader has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
    stop.set()


async def _send(ready: asyncio.Queue[str | None], send: Send) -> None:
    """Send what is ready; and a sign of life where nothing is, as proxies end what is silent."""
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    while True:
        try:
            message = await asyncio.wait_for(ready.get(), SILENCE)
        except TimeoutError:
            body = ALIVE
        else:
            if message is None:
                break
            body = f"data: {message}\n\n".encode()
        await send({"type": "http.response.body", "body": body, "more_body": True})
    await send({"type": "http.response.body", "body": b""})

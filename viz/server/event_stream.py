"""Server-sent events: streams a function's messages in the response.

Gradio's queue tells them in a stream of its own, and its part of the page reads, copies and compares every message
before a widget gets it. Here a request is answered by its messages, and a browser that lets go of it ends the work.
"""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator
from contextlib import aclosing, suppress
from threading import Event
from typing import Any, NamedTuple

import anyio
import anyio.to_thread
from starlette.types import Receive, Send

from headlight.viz.server.visitors import HAS_LEFT
from headlight.viz.service.request_queue import Ticket


class Wait(NamedTuple):
    """In place of a message: the next one may be made once `place` is settled, or after `seconds`."""

    place: Ticket
    seconds: float | None = None
    says: Callable[[int | None], str] | None = None  # the message about how many requests come first


Step = str | Wait
MessageStream = Callable[[str, Event], Generator[Step]]

GLANCE = 0.3  # seconds between two looks at whether the visitor has left
POSITION_SECONDS = 1.0  # between two messages about the position: 180 waiting pages get no more than 180 a second
SEND_TIMEOUT = 60.0  # seconds for the last message to arrive
KEEP_ALIVE_SECONDS = 15.0  # keep-alive interval; proxies close idle connections after a minute
KEEP_ALIVE_COMMENT = b": \n\n"  # a comment
EVENT_STREAM_TYPE = b"text/event-stream"
HEADERS = [
    (b"content-type", EVENT_STREAM_TYPE + b"; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),  # nginx would keep messages until it has enough of them
]


def streams_messages(source: MessageStream) -> MessageStream:
    """`function(asked, stop)` as a server function of `gr.HTML`, which only the middleware calls.

    It yields messages of one line each, and ends soon after `stop` is set. A function that waits for its turn yields a
    `Wait`, so that nobody who waits keeps a thread.
    """

    @functools.wraps(source)
    def call(asked: str, stop: Event) -> Generator[Step]:
        return source(asked, stop)

    call.tells = True  # type: ignore[attr-defined]
    return call


async def stream_response(function: MessageStream, asked: str, limiter: Any, receive: Receive, send: Send) -> None:
    """Stream messages as they are produced. A client disconnect sets `stop`; `limiter` bounds the threads.

    A function does not wait for its reader: on a slow line it would keep its turn from all others.
    """
    stop = Event()
    HAS_LEFT.set(stop.is_set)
    ready: asyncio.Queue[str | None] = asyncio.Queue()
    hearing, sending = asyncio.create_task(_watch_disconnect(receive, stop)), asyncio.create_task(_send(ready, send))
    try:
        async with aclosing(stream_messages(function(asked, stop), stop, limiter)) as messages:
            async for message in messages:
                ready.put_nowait(message)
        ready.put_nowait(None)
        with suppress(TimeoutError):
            await asyncio.wait_for(sending, SEND_TIMEOUT)
    finally:
        hearing.cancel()
        sending.cancel()


async def stream_messages(steps: Generator[Step], stop: Event, limiter: Any) -> AsyncGenerator[str]:
    """All messages, each made in a thread; between them a `Wait` takes none."""
    try:
        while (step := await _next(steps, stop, limiter)) is not None:
            if isinstance(step, str):
                yield step
            else:
                async with aclosing(_waiting(step, stop)) as messages:
                    async for message in messages:
                        yield message
    finally:
        stop.set()
        with suppress(ValueError):  # it still makes a step, and is closed after that
            steps.close()


async def _waiting(wait: Wait, stop: Event) -> AsyncGenerator[str]:
    """How many come first, each time that it changes, until the place is settled or nobody waits any more."""
    told: int | str | None = ""
    next_look = 0.0
    until = None if wait.seconds is None else time.monotonic() + wait.seconds
    while not wait.place.settled and not stop.is_set() and not HAS_LEFT.get()():
        if until is not None and time.monotonic() >= until:
            return
        if wait.says is not None and time.monotonic() >= next_look:
            next_look = time.monotonic() + POSITION_SECONDS
            if (before := wait.place.position()) != told:
                told = before
                yield wait.says(before)
        await wait.place.comes(GLANCE if until is None else min(GLANCE, max(0.0, until - time.monotonic())))


def waited(steps: Iterable[Step]) -> Iterator[str]:
    """All messages, where a thread may wait for turns: without those about the line."""
    for step in steps:
        if isinstance(step, str):
            yield step
        else:
            step.place.wait(step.seconds)


async def _next(messages: Generator[Step], stop: Event, limiter: Any) -> Step | None:
    """The next step, made in a thread. Where nobody waits for it any more, the function stops and is closed."""
    step: asyncio.Future[Step | None] = asyncio.ensure_future(
        anyio.to_thread.run_sync(next, messages, None, limiter=limiter)
    )
    try:
        return await asyncio.shield(step)
    except asyncio.CancelledError:  # the server ends; the step may still run
        stop.set()
        step.add_done_callback(lambda done: messages.close())
        raise


async def _watch_disconnect(receive: Receive, stop: Event) -> None:
    """Set `stop` once the reader has left."""
    while (await receive())["type"] != "http.disconnect":
        pass
    stop.set()


async def _send(ready: asyncio.Queue[str | None], send: Send) -> None:
    """Send queued messages, and keep-alive comments when idle."""
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    while True:
        try:
            message = await asyncio.wait_for(ready.get(), KEEP_ALIVE_SECONDS)
        except TimeoutError:
            body = KEEP_ALIVE_COMMENT
        else:
            if message is None:
                break
            body = f"data: {message}\n\n".encode()
        await send({"type": "http.response.body", "body": body, "more_body": True})
    await send({"type": "http.response.body", "body": b""})

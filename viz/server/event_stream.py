"""Server-sent events: streams a function's messages in the response.

Gradio's queue sends messages in a separate stream, and its frontend reads, copies and compares each one before a widget
gets it. Here the messages are the response to the request, and a client disconnect stops the work.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator, Mapping
from contextlib import aclosing, suppress
from threading import Event
from typing import Any, NamedTuple

import anyio
import anyio.to_thread
from starlette.types import Receive, Send

from headlight.viz.server.visitors import HAS_LEFT
from headlight.viz.service.request_queue import Ticket


class Wait(NamedTuple):
    """Yielded instead of a message: resume once `place` is settled, or after `seconds`."""

    place: Ticket
    seconds: float | None = None
    says: Callable[[int | None], str] | None = None  # formats the queue position as a message


Step = str | Wait
# Yields single-line messages, and a `Wait` to wait for a queue slot without holding a thread.
MessageStream = Callable[[Mapping[str, Any], Event], Generator[Step]]

GLANCE = 0.3  # seconds between disconnect checks
POSITION_SECONDS = 1.0  # between queue position messages: 180 waiting pages get at most 180 per second
SEND_TIMEOUT = 60.0  # seconds to deliver the remaining messages
KEEP_ALIVE_SECONDS = 15.0  # keep-alive interval; proxies close idle connections after a minute
KEEP_ALIVE_COMMENT = b": \n\n"
EVENT_STREAM_TYPE = b"text/event-stream"
HEADERS = [
    (b"content-type", EVENT_STREAM_TYPE + b"; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),  # disables buffering in nginx
]


async def stream_response(
    function: MessageStream, values: Mapping[str, Any], limiter: Any, receive: Receive, send: Send
) -> None:
    """Stream messages as they are produced. A client disconnect sets `stop`; `limiter` bounds the threads.

    The function does not wait for the client: on a slow connection it would block its queue slot.
    """
    stop = Event()
    HAS_LEFT.set(stop.is_set)
    ready: asyncio.Queue[str | None] = asyncio.Queue()
    hearing, sending = asyncio.create_task(watch_disconnect(receive, stop)), asyncio.create_task(_send(ready, send))
    try:
        async with aclosing(stream_messages(function(values, stop), stop, limiter)) as messages:
            async for message in messages:
                ready.put_nowait(message)
        ready.put_nowait(None)
        with suppress(TimeoutError):
            await asyncio.wait_for(sending, SEND_TIMEOUT)
    finally:
        hearing.cancel()
        sending.cancel()


async def stream_messages(steps: Generator[Step], stop: Event, limiter: Any) -> AsyncGenerator[str]:
    """All messages, each produced in a worker thread; a `Wait` holds no thread."""
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
        with suppress(ValueError):  # a step is still running; `_next` closes the generator after it
            steps.close()


async def _waiting(wait: Wait, stop: Event) -> AsyncGenerator[str]:
    """Queue position messages on every change, until the ticket is settled or the client disconnects."""
    last_position: int | str | None = ""
    next_look = 0.0
    until = None if wait.seconds is None else time.monotonic() + wait.seconds
    while not wait.place.settled and not stop.is_set() and not HAS_LEFT.get()():
        if until is not None and time.monotonic() >= until:
            return
        if wait.says is not None and time.monotonic() >= next_look:
            next_look = time.monotonic() + POSITION_SECONDS
            if (before := wait.place.position()) != last_position:
                last_position = before
                yield wait.says(before)
        await wait.place.comes(GLANCE if until is None else min(GLANCE, max(0.0, until - time.monotonic())))


def waited(steps: Iterable[Step]) -> Iterator[str]:
    """All messages for a caller that may block its thread, without queue positions."""
    for step in steps:
        if isinstance(step, str):
            yield step
        else:
            step.place.wait(step.seconds)


async def _next(messages: Generator[Step], stop: Event, limiter: Any) -> Step | None:
    """Run the next step in a thread. If the caller is cancelled, stop and close the generator."""
    step: asyncio.Future[Step | None] = asyncio.ensure_future(
        anyio.to_thread.run_sync(next, messages, None, limiter=limiter)
    )
    try:
        return await asyncio.shield(step)
    except asyncio.CancelledError:  # server shutdown; the step may still be running
        stop.set()
        step.add_done_callback(lambda done: messages.close())
        raise


async def watch_disconnect(receive: Receive, stop: Event) -> None:
    """Set `stop` when the client disconnects."""
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

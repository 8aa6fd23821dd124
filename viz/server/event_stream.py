"""Server-sent events: a function's messages are streamed in the response.

Gradio's queue sends messages in a separate stream, and its frontend reads, copies and compares each one before a widget
receives it. Here, the messages are the response to the request, and a client disconnect stops the work.
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
    """A step without a message: the stream resumes once `ticket` is settled, or after `seconds`."""

    ticket: Ticket
    seconds: float | None = None
    format_position: Callable[[int | None], str] | None = None  # formats the queue position as a message


Step = str | Wait
# Yields single-line messages, and a `Wait` to wait for a queue slot without blocking a thread.
MessageStream = Callable[[Mapping[str, Any], Event], Generator[Step]]

DISCONNECT_POLL_SECONDS = 0.3  # seconds between disconnect checks
POSITION_SECONDS = 1.0  # seconds between queue position messages: 180 waiting pages get at most 180 per second
SEND_TIMEOUT_SECONDS = 60.0  # seconds to deliver the remaining messages
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

    The function does not wait for the client, because a slow connection would then block a queue slot.
    """
    stop = Event()
    HAS_LEFT.set(stop.is_set)
    outgoing: asyncio.Queue[str | None] = asyncio.Queue()
    watcher, sender = asyncio.create_task(watch_disconnect(receive, stop)), asyncio.create_task(_send(outgoing, send))
    try:
        async with aclosing(stream_messages(function(values, stop), stop, limiter)) as messages:
            async for message in messages:
                outgoing.put_nowait(message)
        outgoing.put_nowait(None)
        with suppress(TimeoutError):
            await asyncio.wait_for(sender, SEND_TIMEOUT_SECONDS)
    finally:
        watcher.cancel()
        sender.cancel()


async def stream_messages(steps: Generator[Step], stop: Event, limiter: Any) -> AsyncGenerator[str]:
    """Yield all messages, each produced in a worker thread. A `Wait` blocks no thread."""
    try:
        while (step := await _run_step(steps, stop, limiter)) is not None:
            if isinstance(step, str):
                yield step
            else:
                async with aclosing(_stream_positions(step, stop)) as messages:
                    async for message in messages:
                        yield message
    finally:
        stop.set()
        with suppress(ValueError):  # a step is still running, and `_run_step` closes the generator after it
            steps.close()


async def _stream_positions(wait: Wait, stop: Event) -> AsyncGenerator[str]:
    """Yield a queue position message on every change, until the ticket is settled or the client disconnects."""
    last_position: int | str | None = ""
    next_update = 0.0
    deadline = None if wait.seconds is None else time.monotonic() + wait.seconds
    while not wait.ticket.settled and not stop.is_set() and not HAS_LEFT.get()():
        if deadline is not None and time.monotonic() >= deadline:
            return
        if wait.format_position is not None and time.monotonic() >= next_update:
            next_update = time.monotonic() + POSITION_SECONDS
            if (position := wait.ticket.position()) != last_position:
                last_position = position
                yield wait.format_position(position)
        await wait.ticket.wait_async(
            DISCONNECT_POLL_SECONDS
            if deadline is None
            else min(DISCONNECT_POLL_SECONDS, max(0.0, deadline - time.monotonic()))
        )


def blocking_messages(steps: Iterable[Step]) -> Iterator[str]:
    """Yield all messages for a caller that may block its thread, without queue positions."""
    for step in steps:
        if isinstance(step, str):
            yield step
        else:
            step.ticket.wait(step.seconds)


async def _run_step(messages: Generator[Step], stop: Event, limiter: Any) -> Step | None:
    """Run the next step in a thread. If the caller is cancelled, stop and close the generator."""
    step: asyncio.Future[Step | None] = asyncio.ensure_future(
        anyio.to_thread.run_sync(next, messages, None, limiter=limiter)
    )
    try:
        return await asyncio.shield(step)
    except asyncio.CancelledError:  # server shutdown; the step may still be running
        stop.set()
        step.add_done_callback(lambda future: messages.close())
        raise


async def watch_disconnect(receive: Receive, stop: Event) -> None:
    """Set `stop` when the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass
    stop.set()


async def _send(outgoing: asyncio.Queue[str | None], send: Send) -> None:
    """Send queued messages, and keep-alive comments when idle."""
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    while True:
        try:
            message = await asyncio.wait_for(outgoing.get(), KEEP_ALIVE_SECONDS)
        except TimeoutError:
            body = KEEP_ALIVE_COMMENT
        else:
            if message is None:
                break
            body = f"data: {message}\n\n".encode()
        await send({"type": "http.response.body", "body": body, "more_body": True})
    await send({"type": "http.response.body", "body": b""})

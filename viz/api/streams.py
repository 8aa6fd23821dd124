"""Event streams for browsers and API clients, forwarded while messages are pending and then closed.

Gradio's browser client opens one stream for all its jobs, and considers it open until it receives `close_stream`. A
stream therefore always ends with that message, and then waits for the client to disconnect. A job submitted meanwhile
gets its id afterwards (`SubscriberQueue.push`), so the client opens a new stream and never waits on a closed one.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headlight.viz.errors import PageError
from headlight.viz.server.event_stream import HEADERS, KEEP_ALIVE_SECONDS
from headlight.viz.server.gradio_queue import SubscriberQueue

POLL_SECONDS = 1.0  # seconds between checks for pending messages
CLOSE_TIMEOUT_SECONDS = 10.0  # seconds for the client to receive the last message and close the stream
HEARTBEAT_EVENT = b"event: heartbeat\ndata: null\n\n"  # Gradio's format
CLOSE_EVENT = b'data: {"msg":"close_stream","event_id":null}\n\n'


def make_error_event(error: PageError) -> bytes:
    """Encode an error as an event."""
    return f"event: error\ndata: {json.dumps(error.as_json())}\n\n".encode()


async def stream_job(queue: SubscriberQueue, job: str, receive: Receive, send: Send) -> None:
    """Stream the result of an API job. It stays stored if the client disconnects first."""
    if job not in queue.results:
        raise PageError("data", "no_answer")
    with queue.fetching(job):
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        disconnect = asyncio.ensure_future(wait_for_disconnect(receive))
        try:
            body = await _wait_for_answer(queue, job, disconnect, send)
        finally:
            disconnect.cancel()
        await send({"type": "http.response.body", "body": body})


async def _wait_for_answer(queue: SubscriberQueue, job: str, disconnect: asyncio.Future[None], send: Send) -> bytes:
    """Wait for the result, sending heartbeats; empty if the client disconnects."""
    last_sent = time.monotonic()
    while not disconnect.done():
        answer = await queue.results.wait(job, POLL_SECONDS)
        if disconnect.done():
            break
        if answer is not None:
            queue.results.delete(job)
            return answer
        if (partial := queue.results.take_partial(job)) is not None:
            last_sent = time.monotonic()
            await send({"type": "http.response.body", "body": partial, "more_body": True})
            continue
        if job not in queue.results:  # fetched by another request, or cancelled
            return make_error_event(PageError("data", "no_answer"))
        if time.monotonic() - last_sent > KEEP_ALIVE_SECONDS:
            last_sent = time.monotonic()
            await send({"type": "http.response.body", "body": HEARTBEAT_EVENT, "more_body": True})
    return b""


async def stream_session(queue: SubscriberQueue, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Stream the messages of a session while any are pending."""
    query = parse_qs(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
    session = next(reversed(query.get("session_hash", [])), "")  # Gradio uses the last value
    if not session:
        raise PageError("data", "no_answer")
    with queue.subscribe(session) as end_subscription:
        proxy = _StreamProxy(queue, session, receive, send, end_subscription)
        if queue.has_pending(session):
            await app(scope, proxy.receive, proxy.send)
            if not proxy.has_started:
                return
        else:  # the previous stream delivered the result before the client knew the job id
            await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        end_subscription()
        if not proxy.closed:
            await send({"type": "http.response.body", "body": CLOSE_EVENT, "more_body": True})
        with suppress(TimeoutError):
            await asyncio.wait_for(wait_for_disconnect(receive), CLOSE_TIMEOUT_SECONDS)
    await proxy.send_final()


async def wait_for_disconnect(receive: Receive) -> None:
    """Wait until the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass


class _StreamProxy:
    """An ASGI proxy between Gradio and the client that holds back the final message."""

    def __init__(
        self,
        queue: SubscriberQueue,
        session: str,
        receive: Receive,
        send: Send,
        end_subscription: Callable[[], None],
    ) -> None:
        self._queue, self._session, self._receive, self._send = queue, session, receive, send
        self._end_subscription = end_subscription
        self.has_started = self.closed = False
        self.final_message: Message | None = None

    async def receive(self) -> Message:
        """Forward client messages. Report a disconnect if no message is pending: Gradio never ends the stream."""
        incoming, was_expecting = asyncio.ensure_future(self._receive()), True
        try:
            while not incoming.done():
                # Checked twice, to include Gradio's last message.
                if not was_expecting and not self._queue.is_expecting(self._session):
                    return {"type": "http.disconnect"}
                was_expecting = self._queue.is_expecting(self._session)
                await asyncio.wait((incoming,), timeout=POLL_SECONDS)
            return incoming.result()
        finally:
            incoming.cancel()

    async def send(self, message: Message) -> None:
        """Forward all messages except the last, which `send_final` sends."""
        if message["type"] == "http.response.start":
            self.has_started = True
        elif not message.get("more_body", False):
            self.final_message = message
            return
        elif not self._queue.has_pending(self._session):  # Gradio's closing message
            self.closed = True
            self._end_subscription()
        await self._send(message)

    async def send_final(self) -> None:
        """Send the final message."""
        await self._send(self.final_message or {"type": "http.response.body", "body": b""})

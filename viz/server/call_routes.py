"""Routes of the calls: `POST call/NAME` answers with JSON, `POST stream/NAME` with a stream of messages.

The body is `{"session": …, "values": {…}}`. A call that computes waits in the request queue; after
`LONG_POLL_SECONDS` the response is its position, and the browser calls again with the `ticket` of the response.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from threading import Event
from typing import Any, NamedTuple

import anyio.to_thread
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from headlight.viz.browser_files.static_files import FOLDER
from headlight.viz.errors import PageError
from headlight.viz.server.calls import Call, CallTable, call_json, parse_json_object
from headlight.viz.server.event_stream import stream_response, watch_disconnect
from headlight.viz.server.visitors import ADDRESS, HAS_LEFT, VISITOR
from headlight.viz.service.payload import encode_error, encode_queue_position
from headlight.viz.service.request_queue import RequestQueue, Ticket, Visitor
from headlight.viz.service.service import MEGABYTE
from headlight.viz.settings import Settings

LONG_POLL_SECONDS = 1.0
MAX_SESSION_CHARACTERS = 64  # clients use about a dozen


class Body(NamedTuple):
    """The body of a call."""

    session: str
    values: dict[str, Any]
    ticket: str  # ticket of a call that has already waited, or ""
    size: int  # bytes


def call_routes(table: CallTable, request_queue: RequestQueue, settings: Settings) -> list[Route]:
    """Return the routes of a page's calls and streams."""
    return [
        Route(f"/{FOLDER}/call/{{name}}", CallRoute(table, request_queue, settings), methods=["POST"]),
        Route(f"/{FOLDER}/stream/{{name}}", StreamRoute(table), methods=["POST"]),
    ]


class StreamRoute:
    """An ASGI app that streams messages as they are produced."""

    def __init__(self, table: CallTable) -> None:
        self.table = table

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream the messages of one request."""
        function = _find_function(self.table.streams, scope)
        body = await parse_body(scope, receive)
        VISITOR.set(Visitor(scope.get(ADDRESS, ""), body.session))
        await stream_response(function, body.values, self.table.threads, receive, send)


class CallRoute:
    """An ASGI app that responds with one JSON value."""

    def __init__(self, table: CallTable, request_queue: RequestQueue, settings: Settings) -> None:
        self.table, self.request_queue = table, request_queue
        self.max_bytes = settings.max_answer_mb * MEGABYTE

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one call. If the client disconnects, the call leaves the queue and its function stops early."""
        name, call = scope["path_params"]["name"], _find_function(self.table.calls, scope)
        body = await parse_body(scope, receive)
        visitor, disconnected = Visitor(scope.get(ADDRESS, ""), body.session), Event()
        VISITOR.set(visitor)
        HAS_LEFT.set(disconnected.is_set)
        watcher = asyncio.create_task(watch_disconnect(receive, disconnected))
        try:
            content = await self._answer(name, call, body, visitor, disconnected)
        finally:
            watcher.cancel()
        await Response(content, media_type="application/json")(scope, receive, send)

    async def _answer(self, name: str, call: Call, body: Body, visitor: Visitor, disconnected: Event) -> bytes:
        if not call.computes:
            return await self._run(call, body)
        ticket = await wait_for_slot(
            self.request_queue,
            visitor,
            body.ticket,
            disconnected,
            kind=name,
            size=body.size,
            background=call.background,
        )
        if isinstance(ticket, str):
            return ticket.encode()
        with ticket:
            return await self._run(call, body)

    async def _run(self, call: Call, body: Body) -> bytes:
        content = await anyio.to_thread.run_sync(call_json, call.function, body.values, limiter=self.table.threads)
        if len(content) <= self.max_bytes:
            return content
        sizes = {"given": -(-len(content) // MEGABYTE), "limit": self.max_bytes // MEGABYTE}
        return encode_error("form", "answer_too_large", sizes).encode()


async def wait_for_slot(
    request_queue: RequestQueue,
    visitor: Visitor,
    token: str,
    disconnected: Event,
    *,
    kind: str = "",
    size: int = 0,
    background: bool = False,
) -> Ticket | str:
    """Return a granted ticket, or JSON for the browser after `LONG_POLL_SECONDS` or if the queue is full.

    `token`: ticket of an earlier poll, or "". `kind` and `size` (bytes of the body) describe the work to the queue.
    """
    ticket = request_queue.resume(token, visitor)
    try:
        if ticket is None and background:
            ticket = request_queue.enqueue_background(visitor)
        elif ticket is None:
            ticket = request_queue.enqueue(visitor, kind=kind, size=size)
    except PageError as error:
        return encode_error(error.field, error.word, error.values)
    try:
        await ticket.wait_async(LONG_POLL_SECONDS)
        if disconnected.is_set() and not ticket.granted:
            ticket.release()
        if ticket.cancelled:  # released, or replaced by a later call of this visitor
            return encode_error("data", "no_answer", {})
        position = ticket.position()
        return encode_queue_position(position, ticket.token) if request_queue.park(ticket) else ticket
    except BaseException:  # the request was cancelled
        ticket.release()
        raise


async def parse_body(scope: Scope, receive: Receive) -> Body:
    """Parse the body of a call. The input is untrusted.

    Its content type must be JSON: browsers send plain text from other sites' pages without a CORS preflight request.
    """
    if Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise PageError("data", "wrong_field", {"name": "content-type"})
    content = await Request(scope, receive).body()
    body = parse_json_object(content)
    if not isinstance(body.get("values"), dict):
        raise PageError("data", "wrong_field", {"name": "values"})
    session, ticket = body.get("session", ""), body.get("ticket", "")
    if not isinstance(session, str) or len(session) > MAX_SESSION_CHARACTERS:
        raise PageError("data", "wrong_field", {"name": "session"})
    return Body(session, body["values"], ticket if isinstance(ticket, str) else "", len(content))


def _find_function(functions: Mapping[str, Any], scope: Scope) -> Any:
    with suppress(KeyError):
        return functions[scope["path_params"]["name"]]
    raise PageError("data", "unknown_endpoint", {"choices": "those of the page"})

"""ASGI middleware that rejects oversized, malformed and unknown requests.

Gradio serves far more than the page needs. It has no limit on request size, and returns validator output for malformed
requests and a bare "Internal Server Error" for unknown names. The middleware is plain ASGI and wraps any ASGI app.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import re
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import gradio as gr
from fastapi.exceptions import RequestValidationError
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headlight.viz.api.arguments import bind, check_names, check_nesting, parse_json
from headlight.viz.api.direct_calls import send_result
from headlight.viz.api.endpoints import ENDPOINTS
from headlight.viz.api.hosts import MCP_PATH, VARY_HEADERS, check_host
from headlight.viz.api.openapi import OPENAPI_PATH, make_openapi_document
from headlight.viz.api.routes import get_request_path, is_served
from headlight.viz.api.streams import make_error_event, stream_job, stream_session
from headlight.viz.api.turns import Turns
from headlight.viz.browser_files.static_files import FOLDER
from headlight.viz.errors import PageError, repr_short
from headlight.viz.server.call_routes import MAX_SESSION_CHARACTERS
from headlight.viz.server.content_policy import SCRIPT_HASHES, content_policy
from headlight.viz.server.event_stream import EVENT_STREAM_TYPE
from headlight.viz.server.gradio_queue import SubscriberQueue, find_queue
from headlight.viz.server.page_config import PageFunction, list_page_functions
from headlight.viz.server.visitors import ADDRESS, PROGRAM, VISITOR, client_address
from headlight.viz.service.request_queue import Visitor
from headlight.viz.settings import Settings

NAMED_CALL_PATH = re.compile(r"/gradio_api/(?P<route>call/v2|call|run|api)/(?P<name>[^/]+)/?$")
DIRECT_ROUTES = ("run", "api")  # Gradio's routes for calls whose response is the result
DIRECT_CALL = "headlight.direct"  # ASGI scope key: the endpoint and the arguments of such a call
ANSWER_PATH = re.compile(r"/gradio_api/(?:call/(?:v2/)?[^/]+/(?P<event>[^/]+)|queue/data)/?$")
REQUEST_TIMEOUT_SECONDS = 30.0  # seconds until the request must be complete
QUEUE_JOIN_PATH = re.compile(r"/gradio_api/queue/join/?$")
FORMER_CALLS_PATH = "/gradio_api/component_server"
STATUS_BY_ERROR = {
    "too_large": 413,
    "too_slow": 408,
    "not_json": 400,
    "unknown_endpoint": 404,
    "nothing_here": 404,
    "foreign_host": 421,
    "no_answer": 404,
    "line_full": 503,
    "leaving": 503,
    "our_fault": 500,
}  # all others: 422
# Requested by the page's API panel, which logs a rejection as an error.
CANNED_RESPONSES: dict[str, tuple[int, Any]] = {
    "/monitoring/summary": (200, {"functions": {}}),  # usage statistics are not public
    "/gradio_api/mcp/schema": (300, {"error": "No tools are served here."}),  # 200 means served, 404 is logged
}

LOG = logging.getLogger(__name__)


def app_kwargs(
    settings: Settings, page: gr.Blocks | None = None, endpoints: Mapping[str, inspect.Signature] = ENDPOINTS
) -> dict[str, Any]:
    """Return the value of `launch(app_kwargs=…)`: the middleware, and our phrase for FastAPI validation errors."""
    guard = Middleware(RequestGuard, settings=settings, page=page, endpoints=endpoints)
    return {"middleware": [guard], "exception_handlers": {RequestValidationError: _make_field_error}}


def response_headers(settings: Settings, script_hashes: Sequence[str] = ()) -> list[tuple[bytes, bytes]]:
    """Return the headers of every response: no MIME sniffing, no referrer to other sites, no content of other hosts."""
    return [
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"same-origin"),
        (b"content-security-policy", content_policy(settings.frames, script_hashes)),
    ]


def cache_headers(message: Message) -> list[tuple[bytes, bytes]]:
    """Return headers that forbid shared caches to store HTML and JSON, which may contain the host of the request."""
    headers = dict(message["headers"])
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip()
    if b"cache-control" in headers or kind not in (b"text/html", b"application/json"):
        return []
    return [(b"cache-control", b"private, no-cache"), (b"vary", VARY_HEADERS)]


async def _make_field_error(_: Request, error: Any) -> JSONResponse:
    """Replace a FastAPI validation error, which would echo the input."""
    location = [str(part) for entry in error.errors() for part in entry.get("loc", ())][-1:]
    page_error = PageError("data", "wrong_field", {"name": repr_short(location[0] if location else "data").strip('"')})
    return JSONResponse(page_error.as_json(), status_code=422)


class ToolError(Exception):
    """Invalid arguments of an MCP tool. The response is a JSON-RPC error, because an HTTP error ends the session."""

    def __init__(self, request_id: str | int, message: str) -> None:
        super().__init__(message)
        self.request_id = request_id

    def as_json(self) -> dict[str, Any]:
        """Return the JSON-RPC response. -32602: invalid parameters."""
        return {"jsonrpc": "2.0", "id": self.request_id, "error": {"code": -32602, "message": str(self)}}


class RequestGuard:
    """Middleware that serves only the page's routes, rejects malformed requests and hides internal errors."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        settings: Settings,
        endpoints: Mapping[str, inspect.Signature],
        page: gr.Blocks | None = None,
    ) -> None:
        self.app, self.page = app, page
        self.settings = settings
        self.max_bytes = settings.max_request_kb * 1000
        self.endpoints = endpoints
        self.turns = Turns()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward or reject a request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            else:  # the page uses no WebSocket
                await send({"type": "websocket.close"})  # before the handshake: status 403
            return
        started = is_stream = False
        script_hashes: list[str] = []  # filled before the response starts

        async def send_with_headers(message: Message) -> None:
            nonlocal started, is_stream
            if message["type"] == "http.response.start":
                started, is_stream = (
                    True,
                    dict(message["headers"]).get(b"content-type", b"").startswith(EVENT_STREAM_TYPE),
                )
                own_headers = response_headers(self.settings, script_hashes)
                message = {**message, "headers": [*message["headers"], *own_headers, *cache_headers(message)]}
            await send(message)

        try:
            await self._handle({**scope, SCRIPT_HASHES: script_hashes}, receive, send_with_headers)
        except ToolError as error:
            await JSONResponse(error.as_json())(scope, receive, send_with_headers)
        except PageError as error:
            await refuse(send_with_headers, error)
        except Exception:
            page_error = PageError("data", "our_fault")
            values = {"method": scope["method"]}  # the path may contain a session id
            LOG.exception(
                "A request failed: %s %s.", scope["method"], repr_short(scope["path"]), extra={"values": values}
            )
            if not started:
                await refuse(send_with_headers, page_error)
            elif is_stream:  # send the error as an event; other responses can only be aborted
                await send({"type": "http.response.body", "body": make_error_event(page_error)})

    @property
    def queue(self) -> SubscriberQueue | None:
        """The page's queue."""
        return find_queue(self.page)

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        method, path = scope["method"], get_request_path(scope)
        check_host(scope, path, self.settings)
        if not is_served(method, path):
            raise PageError("data", "nothing_here")
        scope = {**scope, ADDRESS: client_address(scope, on_a_space=self.settings.on_a_space)}
        VISITOR.set(Visitor(scope[ADDRESS]))
        if (
            path.rstrip("/") == FORMER_CALLS_PATH
        ):  # from a page that was opened before an update; the error makes it reload
            raise self._make_unknown_endpoint_error()
        if path in CANNED_RESPONSES and not (path.endswith("/schema") and getattr(self.page, "mcp_server", False)):
            status, values = CANNED_RESPONSES[path]
            await JSONResponse(values, status)(scope, receive, send)
            return
        if self.queue is not None and method == "GET" and (answer := ANSWER_PATH.search(path)):
            if answer["event"]:
                await stream_job(self.queue, answer["event"], receive, send)
            else:
                await stream_session(self.queue, self.app, scope, receive, send)
            return
        if method == "GET" and path.rstrip("/") == OPENAPI_PATH:
            await JSONResponse(make_openapi_document())(scope, receive, send)
            return
        checked_request = await self._read_and_check(scope, receive)
        if checked_request is None:
            return
        if DIRECT_CALL in checked_request[0]:
            name, arguments = checked_request[0][DIRECT_CALL]
            await send_result(self._endpoint(name), arguments, *checked_request, send)
            return
        if method in ("GET", "HEAD") and not MCP_PATH.match(path):
            await self.turns.run(scope[ADDRESS], partial(self.app, *checked_request), send)
            return
        await self.app(*checked_request, send)

    # ------------------------------------------------------------ request bodies

    async def _read_and_check(self, scope: Scope, receive: Receive) -> tuple[Scope, Receive] | None:
        """Read and validate the request; `None` if the client disconnected."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        length = headers.get(b"content-length", b"")
        if length.isdigit() and (len(length) > 18 or int(length) > self.max_bytes):
            raise self._make_too_large_error()
        if not length and b"transfer-encoding" not in headers and scope["method"] in ("GET", "HEAD", "OPTIONS"):
            return scope, receive  # no body
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_SECONDS):
                body = await self._read(receive)
        except TimeoutError as error:
            raise PageError("data", "too_slow", {"limit": round(REQUEST_TIMEOUT_SECONDS)}) from error
        if body is None:
            return None
        if scope["method"] == "POST":
            completed = self._check(scope, headers.get(b"content-type", b""), body)
            if completed is not None:
                body = json.dumps(completed).encode()
                other_headers = [(name, value) for name, value in scope["headers"] if name != b"content-length"]
                scope = {**scope, "headers": [*other_headers, (b"content-length", str(len(body)).encode())]}
        pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_buffered() -> Message:
            return pending.pop() if pending else await receive()

        return scope, receive_buffered

    async def _read(self, receive: Receive) -> bytes | None:
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return None
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self.max_bytes:  # the body is longer than its content-length
                raise self._make_too_large_error()
            if not message.get("more_body", False):
                return b"".join(parts)

    def _make_too_large_error(self) -> PageError:
        return PageError("data", "too_large", {"limit": self.max_bytes // 1000})

    def _check(self, scope: Scope, content_type: bytes, body: bytes) -> dict[str, Any] | None:
        """Reject a body that does not match its route. Returns the completed body if arguments are missing."""
        path = get_request_path(scope)
        named_call, queue_join, is_widget_call = (
            NAMED_CALL_PATH.search(path),
            QUEUE_JOIN_PATH.search(path),
            path.startswith(f"/{FOLDER}/"),
        )
        route, name = (named_call["route"], named_call["name"]) if named_call else ("", "")
        if route.startswith("call") and name not in self.endpoints:
            raise self._make_unknown_endpoint_error()
        scope[PROGRAM] = route.startswith("call")
        if not named_call and not queue_join and not is_widget_call and b"json" not in content_type.lower():
            return None
        values = parse_json(body)
        try:
            check_nesting(values)
        except PageError as error:
            if MCP_PATH.match(path) and isinstance(values, dict) and isinstance(values.get("id"), str | int):
                raise ToolError(values["id"], str(error)) from error
            raise
        if route == "call/v2":
            check_names(self.endpoints[name], values)
            self._admit(scope, name)
        elif named_call or queue_join:
            if not isinstance(values, dict) or not isinstance(values.get("data"), list):
                raise PageError("data", "not_data", {"example": '{"data": ["Guten Tag."]}'})
            check_session(values)
            arguments = self._arguments(scope, route, name, values)
            return values | {"data": arguments} if len(arguments) != len(values["data"]) else None
        else:
            check_session(values)
        return None

    def _arguments(self, scope: Scope, route: str, name: str, values: dict[str, Any]) -> list[Any]:
        """Return all arguments of the function, with defaults."""
        data: list[Any] = values["data"]
        if route != "call":
            if not isinstance(values.get("fn_index"), int | None):
                raise PageError("data", "wrong_field", {"name": "fn_index"})
            function = self._function(name, values.get("fn_index"))
            if function is None:
                if self.page is not None:  # unknown function, on which Gradio would fail
                    raise self._make_unknown_endpoint_error()
                return data
            if route and function.is_queued and name not in self.endpoints:
                raise self._make_unknown_endpoint_error()
            name = function.api_name
            if name not in self.endpoints and len(data) < function.input_count and not function.cancels_others:
                raise PageError("data", "too_few_values", {"limit": function.input_count, "given": len(data)})
            if function.needs_event_data and not isinstance(values.get("event_data"), dict):
                raise PageError("data", "wrong_field", {"name": "event_data"})
        if name not in self.endpoints:
            return data
        arguments = bind(self.endpoints[name], data)
        self._admit(scope, name)
        if route in DIRECT_ROUTES:
            scope[DIRECT_CALL] = name, arguments
        return arguments

    def _admit(self, scope: Scope, name: str) -> None:
        """Reject a call at once if it would wait too long, so that accepted calls are always answered."""
        if self.queue is not None:
            self.queue.admit(name, Visitor(scope[ADDRESS]))

    def _function(self, name: str, index: Any) -> PageFunction | None:
        """Return the function that Gradio will call, or `None`."""
        if type(index) is int:
            return self._functions.get(index)
        return next((function for function in self._functions.values() if function.api_name == name), None)

    def _endpoint(self, name: str) -> Any:
        """Return the function of an endpoint."""
        index = next(index for index, function in self._functions.items() if function.api_name == name)
        return self.page.fns[index].fn if self.page is not None else None

    @cached_property
    def _functions(self) -> dict[int, PageFunction]:
        return list_page_functions(self.page)

    def _make_unknown_endpoint_error(self) -> PageError:
        return PageError("data", "unknown_endpoint", {"choices": ", ".join(f"/{name}" for name in self.endpoints)})


def check_session(values: Any) -> None:
    """Reject session names that are not short strings; Gradio would store any value."""
    session = values.get("session_hash") if isinstance(values, dict) else None
    if session is not None and (not isinstance(session, str) or len(session) > MAX_SESSION_CHARACTERS):
        raise PageError("data", "wrong_field", {"name": "session_hash"})


async def refuse(send: Send, error: PageError) -> None:
    """Send an error as JSON."""
    body = json.dumps(error.as_json(), ensure_ascii=False).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if error.word in ("too_large", "too_slow"):
        headers.append((b"connection", b"close"))  # the rest of the body is not read
    if STATUS_BY_ERROR.get(error.word) == 503:
        headers.append((b"retry-after", str(error.values.get("seconds", 60)).encode()))
    await send({"type": "http.response.start", "status": STATUS_BY_ERROR.get(error.word, 422), "headers": headers})
    await send({"type": "http.response.body", "body": body})

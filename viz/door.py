"""What stands before the app: a request that is too large, or makes no sense, goes no further than here.

It is plain ASGI and wraps whatever speaks that. Gradio has no limit on a request's size, answers a malformed one with
what its validators happen to say, and an unknown name with a bare "Internal Server Error".
"""

from __future__ import annotations

import inspect
import json
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse

from viz.api import ENDPOINTS
from viz.arguments import bind, check_names, check_plain, parsed
from viz.errors import PageError, shown
from viz.settings import Settings

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

# At the end, since a page may be served below any path.
BY_NAME = re.compile(r"/gradio_api/(?P<way>call/v2|call|run|api)/(?P<name>[^/]+)/?$")
ANSWER = re.compile(r"/gradio_api/(?:call/(?:v2/)?[^/]+/[^/]+|queue/data)/?$")
EVENTS = b"text/event-stream"
QUEUE = re.compile(r"/gradio_api/queue/join/?$")
STATUS = {
    "too_large": 413,
    "not_json": 400,
    "unknown_endpoint": 404,
    "no_answer": 404,
    "our_fault": 500,
}  # of the rest: 422

LOG = logging.getLogger(__name__)


def door(settings: Settings, endpoints: Mapping[str, inspect.Signature] = ENDPOINTS) -> list[Middleware]:
    """The door alone, as a list of middleware."""
    return [Middleware(Door, most_bytes=settings.max_request_kb * 1000, endpoints=endpoints)]


def app_kwargs(settings: Settings, endpoints: Mapping[str, inspect.Signature] = ENDPOINTS) -> dict[str, Any]:
    """What `launch(app_kwargs=…)` needs: the door, and our words for what FastAPI's validator finds behind it."""
    return {"middleware": door(settings, endpoints), "exception_handlers": {RequestValidationError: _wrong_field}}


async def _wrong_field(_: Request, error: Any) -> JSONResponse:
    """What FastAPI's validator finds, without its repeating what was sent."""
    where = [str(part) for fault in error.errors() for part in fault.get("loc", ())][-1:]
    refusal = PageError("data", "wrong_field", {"name": shown(where[0] if where else "data").strip('"')})
    return JSONResponse(refusal.as_json(), status_code=422)


class Door:
    """Middleware: no request is larger than this, none is malformed, and no fault of ours shows its inside."""

    def __init__(self, app: App, *, most_bytes: int, endpoints: Mapping[str, inspect.Signature]) -> None:
        self.app = app
        self.most_bytes = most_bytes
        self.endpoints = endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it here."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = streams = False

        async def sending(message: Message) -> None:
            nonlocal begun, streams
            if message["type"] == "http.response.start":
                begun, streams = True, dict(message["headers"]).get(b"content-type", b"").startswith(EVENTS)
            await send(message)

        try:
            checked = await self._checked(scope, receive)
            if checked is not None:
                await self.app(*checked, sending)
        except PageError as error:
            await refuse(send, error)
        except Exception as error:
            refusal = self._refusal(scope, error)
            if refusal.word == "our_fault":
                LOG.exception("%s %s failed.", scope["method"], shown(scope["path"]))
            if not begun:
                await refuse(send, refusal)
            elif streams:  # one more event; any other answer is cut short, which is all that can be done
                event = f"event: error\ndata: {json.dumps(refusal.as_json())}\n\n".encode()
                await send({"type": "http.response.body", "body": event})

    async def _checked(self, scope: Scope, receive: Receive) -> tuple[Scope, Receive] | None:
        """The same request, read and checked; nothing if its sender has left in between."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        length = headers.get(b"content-length", b"")
        if length.isdigit() and (len(length) > 18 or int(length) > self.most_bytes):
            raise self._too_large()
        if not length and b"transfer-encoding" not in headers and scope["method"] in ("GET", "HEAD", "OPTIONS"):
            return scope, receive  # it has no body
        body = await self._read(receive)
        if body is None:
            return None
        if scope["method"] == "POST":
            filled = self._check(scope, headers.get(b"content-type", b""), body)
            if filled is not None:
                body = json.dumps(filled).encode()
                inner = [(name, value) for name, value in scope["headers"] if name != b"content-length"]
                scope = {**scope, "headers": [*inner, (b"content-length", str(len(body)).encode())]}
        whole: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def inward() -> Message:
            return whole.pop() if whole else await receive()

        return scope, inward

    async def _read(self, receive: Receive) -> bytes | None:
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return None
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self.most_bytes:  # its sender did not say so before
                raise self._too_large()
            if not message.get("more_body", False):
                return b"".join(parts)

    def _too_large(self) -> PageError:
        return PageError("data", "too_large", {"limit": self.most_bytes // 1000})

    def _check(self, scope: Scope, content_type: bytes, body: bytes) -> dict[str, Any] | None:
        """Complain of a body that its address cannot take; where arguments were left out, the body with all of them."""
        named, queued = BY_NAME.search(scope["path"]), QUEUE.search(scope["path"])
        way, name = (named["way"], named["name"]) if named else ("", "")
        if way.startswith("call") and name not in self.endpoints:
            raise self._unknown()
        if not named and not queued and b"json" not in content_type.lower():
            return None
        values = parsed(body)
        check_plain(values)
        if way == "call/v2":
            check_names(self.endpoints[name], values)
        elif named or queued:
            if not isinstance(values, dict) or not isinstance(values.get("data"), list):
                raise PageError("data", "not_data", {"example": '{"data": ["Guten Tag."]}'})
            filled = self._arguments(scope, way, name, values)
            return values | {"data": filled} if len(filled) != len(values["data"]) else None
        return None

    def _arguments(self, scope: Scope, way: str, name: str, values: dict[str, Any]) -> list[Any]:
        """All that a function takes."""
        data: list[Any] = values["data"]
        if way != "call":
            function = _function(scope, name, values.get("fn_index"))
            if function is None:  # Gradio may know of one that belongs to this visitor alone
                return data
            if way and function.queue:  # it would pass by everybody who waits in the queue
                raise self._unknown()
            name = str(function.api_name)
            if name not in self.endpoints and len(data) < len(function.inputs) and not function.cancels:
                raise PageError("data", "too_few_values", {"limit": len(function.inputs), "given": len(data)})
        return bind(self.endpoints[name], data) if name in self.endpoints else data

    def _unknown(self) -> PageError:
        return PageError("data", "unknown_endpoint", {"choices": ", ".join(f"/{name}" for name in self.endpoints)})

    def _refusal(self, scope: Scope, error: Exception) -> PageError:
        """What is said of an exception: Gradio looks up functions and answers without asking whether they are there."""
        lookup = isinstance(error, KeyError) or type(error).__name__ == "FnIndexInferError"
        if lookup and (QUEUE.search(scope["path"]) or BY_NAME.search(scope["path"])):
            return self._unknown()
        if (
            scope["method"] == "GET"
            and ANSWER.search(scope["path"])
            and getattr(error.__cause__, "status_code", 0) == 404
        ):
            return PageError("data", "no_answer")
        return PageError("data", "our_fault")


def _function(scope: Scope, name: str, index: Any) -> Any:
    """The function that Gradio will call, if it belongs to the page itself."""
    page = getattr(scope.get("app"), "get_blocks", lambda: None)()
    if page is None:
        return None
    if type(index) is int:
        return page.fns.get(index)
    return next((function for function in page.fns.values() if function.api_name == name), None)


async def refuse(send: Send, error: PageError) -> None:
    """Answer with an error as JSON."""
    body = json.dumps(error.as_json(), ensure_ascii=False).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if error.word == "too_large":
        headers.append((b"connection", b"close"))  # the rest of it is not read
    await send({"type": "http.response.start", "status": STATUS.get(error.word, 422), "headers": headers})
    await send({"type": "http.response.body", "body": body})

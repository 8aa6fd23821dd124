"""Calls of widget functions in the middleware: validated, and queued if they compute.

Gradio runs each call at once in a separate thread, bypassing its queue. It looks up functions without checking that
they exist, and sends results of any size.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from starlette.types import Message, Send

from headlight.viz.errors import PageError
from headlight.viz.service.payload import error_json, queue_position_json
from headlight.viz.service.request_queue import RequestQueue, Ticket, Visitor

LONG_POLL_SECONDS = 1.0  # long-poll interval: a waiting call returns its position and the browser calls again
MAX_SESSION_CHARACTERS = 64  # clients use about a dozen


def check_session(values: Any) -> None:
    """Reject session names that are not short strings; Gradio would store any value."""
    session = values.get("session_hash") if isinstance(values, dict) else None
    if session is not None and (not isinstance(session, str) or len(session) > MAX_SESSION_CHARACTERS):
        raise PageError("data", "wrong_field", {"name": "session_hash"})


def called_function(page: Any, values: Any) -> Callable[..., Any]:
    """Look up the widget function of a request."""
    for name, kind in (("component_id", int), ("fn_name", str), ("session_hash", str), ("data", str)):
        if not isinstance(values, dict) or type(values.get(name)) is not kind:
            raise PageError("data", "wrong_field", {"name": name})
    function: Any = getattr(page.blocks.get(values["component_id"]), values["fn_name"], None)
    if not getattr(function, "_is_server_fn", False):
        raise PageError("data", "unknown_endpoint", {"choices": "those of the page"})
    found: Callable[..., Any] = function
    return found


async def wait_for_slot(
    line: RequestQueue, visitor: Visitor, data: str, *, kind: str = "", background: bool = False
) -> Ticket | str:
    """A granted ticket, or JSON for the browser after `LONG_POLL_SECONDS` or if the queue is full."""
    place = line.resume(_ticket_name(data), visitor)
    try:
        if place is None and background:
            place = line.enqueue_background(visitor)
        elif place is None:
            place = line.enqueue(visitor, kind=kind, size=len(data))
    except PageError as error:
        return error_json(error.field, error.word, error.values)
    try:
        await place.comes(LONG_POLL_SECONDS)
        if place.cancelled:  # replaced by a later call of this visitor
            return error_json("data", "no_answer", {})
        before = place.position()
        return queue_position_json(before, place.token) if line.park(place) else place
    except BaseException:  # the request was cancelled
        place.release()
        raise


def _ticket_name(data: str) -> str:
    """Name of the parked ticket in a repeated call, or ""."""
    try:
        name = json.loads(data).get("place", "")
    except (ValueError, RecursionError, AttributeError):
        return ""
    return name if isinstance(name, str) else ""


async def send_json(send: Send, text: str) -> None:
    """Send a string as the function's result."""
    await send_raw_json(send, json.dumps(text, ensure_ascii=False).encode())


async def send_raw_json(send: Send, body: bytes) -> None:
    """Send a result that is already JSON."""
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def limit_response(most_bytes: int, send: Send) -> Send:
    """Wrap `send` to replace results over the limit with an error."""
    refused = False

    async def sending(message: Message) -> None:
        nonlocal refused
        if message["type"] == "http.response.start":
            length = int(dict(message["headers"]).get(b"content-length", b"0"))
            if length > most_bytes:
                refused = True
                sizes = {"given": -(-length // 1_000_000), "limit": most_bytes // 1_000_000}
                await send_json(send, error_json("form", "answer_too_large", sizes))
        if not refused:
            await send(message)

    return sending

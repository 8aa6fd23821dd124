"""Calls of a widget's functions in the middleware: checked, and those that compute wait for their turn.

Gradio runs each call at once in a thread of its own without using its queue, looks functions up without checking that
they exist, and sends results of any size.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from starlette.types import Message, Send

from headlight.viz.answers.line import Line, Place, Visitor
from headlight.viz.answers.payload import error_json, waiting_json
from headlight.viz.errors import PageError

PATIENCE = 1.0  # long-poll interval: a waiting call returns its position and the browser calls again
LONGEST_SESSION = 64  # characters; browsers and programs use a dozen


def check_session(values: Any) -> None:
    """Refuse a session name that is no short text: Gradio would keep anything."""
    session = values.get("session_hash") if isinstance(values, dict) else None
    if session is not None and (not isinstance(session, str) or len(session) > LONGEST_SESSION):
        raise PageError("data", "wrong_field", {"name": "session_hash"})


def called_function(page: Any, values: Any) -> Callable[..., Any]:
    """The function of a widget that a request names."""
    for name, kind in (("component_id", int), ("fn_name", str), ("session_hash", str), ("data", str)):
        if not isinstance(values, dict) or type(values.get(name)) is not kind:
            raise PageError("data", "wrong_field", {"name": name})
    function: Any = getattr(page.blocks.get(values["component_id"]), values["fn_name"], None)
    if not getattr(function, "_is_server_fn", False):
        raise PageError("data", "unknown_endpoint", {"choices": "those of the page"})
    found: Callable[..., Any] = function
    return found


async def place_in(line: Line, visitor: Visitor, data: str, *, kind: str = "", background: bool = False) -> Place | str:
    """This visitor's turn; or the JSON for the browser, after `PATIENCE` seconds or when the queue is full."""
    place = line.find(_named(data), visitor)
    try:
        if place is None and background:
            place = line.join_background(visitor)
        elif place is None:
            place = line.join(visitor, kind=kind, size=len(data))
    except PageError as error:
        return error_json(error.field, error.word, error.values)
    try:
        await place.comes(PATIENCE)
        if place.over:  # a later one of this visitor has taken its place
            return error_json("data", "no_answer", {})
        before = place.before()
        return waiting_json(before, place.name) if line.park(place) else place
    except BaseException:  # the request was cancelled
        place.leave()
        raise


def _named(data: str) -> str:
    """Name of the parked ticket of a repeated call, or ""."""
    try:
        name = json.loads(data).get("place", "")
    except (ValueError, RecursionError, AttributeError):
        return ""
    return name if isinstance(name, str) else ""


async def say(send: Send, text: str) -> None:
    """Send a result in place of the function."""
    await say_written(send, json.dumps(text, ensure_ascii=False).encode())


async def say_written(send: Send, body: bytes) -> None:
    """Send a result that is JSON already."""
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def no_larger_than(most_bytes: int, send: Send) -> Send:
    """A `send` that replaces a result above the limit by an error."""
    refused = False

    async def sending(message: Message) -> None:
        nonlocal refused
        if message["type"] == "http.response.start":
            length = int(dict(message["headers"]).get(b"content-length", b"0"))
            if length > most_bytes:
                refused = True
                sizes = {"given": -(-length // 1_000_000), "limit": most_bytes // 1_000_000}
                await say(send, error_json("form", "answer_too_large", sizes))
        if not refused:
            await send(message)

    return sending

"""Calls of a widget's functions as the door sees them: checked, and those that compute let in one after the other.

Gradio runs each of them at once in a thread of its own, whatever its queue says, looks them up without asking whether
they are there, and sends whatever they return.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from headlight.viz.answers.line import Line, Place, Visitor
from headlight.viz.answers.payload import error_json, waiting_json
from headlight.viz.errors import PageError

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]

PATIENCE = 1.0  # seconds until a browser hears how many are before it, and asks again
GLANCE = 0.02  # seconds between two looks at whose turn it is
LONGEST_SESSION = 64  # characters; browsers and programs write a dozen


def check_session(values: Any) -> None:
    """Gradio keeps what is called so, whatever it is: a short text, or nothing."""
    session = values.get("session_hash") if isinstance(values, dict) else None
    if session is not None and (not isinstance(session, str) or len(session) > LONGEST_SESSION):
        raise PageError("data", "wrong_field", {"name": "session_hash"})


def called_function(page: Any, values: Any) -> Callable[..., Any]:
    """The function of a widget that a body names."""
    for name, kind in (("component_id", int), ("fn_name", str), ("session_hash", str), ("data", str)):
        if not isinstance(values, dict) or type(values.get(name)) is not kind:
            raise PageError("data", "wrong_field", {"name": name})
    function: Any = getattr(page.blocks.get(values["component_id"]), values["fn_name"], None)
    if not getattr(function, "_is_server_fn", False):
        raise PageError("data", "unknown_endpoint", {"choices": "those of the page"})
    found: Callable[..., Any] = function
    return found


async def place_in(line: Line, visitor: Visitor, data: str) -> Place | str:
    """This visitor's turn; or, after a while of waiting, or where there is no place, what the browser is told."""
    place = line.find(_named(data), visitor)
    try:
        place = place or line.join(visitor)
    except PageError as error:
        return error_json(error.field, error.word, error.values)
    try:
        for _ in range(round(PATIENCE / GLANCE)):
            if place.granted:
                return place
            await asyncio.sleep(GLANCE)
        before = place.before()
        return waiting_json(before, place.name) if line.park(place) else place
    except BaseException:  # whoever asked has gone
        place.leave()
        raise


def _named(data: str) -> str:
    """The place that a call names, if it comes back to one."""
    try:
        name = json.loads(data).get("place", "")
    except (ValueError, RecursionError, AttributeError):
        return ""
    return name if isinstance(name, str) else ""


async def say(send: Send, text: str) -> None:
    """Answer as the function would have done."""
    body = json.dumps(text, ensure_ascii=False).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def no_larger_than(most_bytes: int, send: Send) -> Send:
    """The same way out; in place of an answer that is too large goes a sentence that says so."""
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

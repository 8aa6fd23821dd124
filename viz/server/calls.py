"""Server functions that widgets call by name. Their input is JSON, their output JSON or a stream of messages.

Errors become phrases for the page. `call_routes` serves the table below `/gradio_api/headlight/`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from anyio import CapacityLimiter

from headlight.model.errors import ModelError
from headlight.viz.errors import PageError, repr_short, to_page_error
from headlight.viz.server.event_stream import MessageStream
from headlight.viz.service.payload import encode_error

LOG = logging.getLogger(__name__)

Function = Callable[[Mapping[str, Any]], Any]  # the argument is untrusted


class Call(NamedTuple):
    """A function from named values to a JSON-serialisable result, or to JSON as bytes."""

    function: Function
    computes: bool = True  # whether it waits in the queue; other functions only look up data or query the Hub
    background: bool = False  # called without user action, so it runs after all user requests


class CallTable:
    """The calls and streams of a page by name. Tabs register them while the page is built."""

    def __init__(self, threads: int) -> None:
        self.threads = CapacityLimiter(threads)  # threads for the functions
        self.calls: dict[str, Call] = {}
        self.streams: dict[str, MessageStream] = {}

    def add(self, *functions: Function, computes: bool = True, background: bool = False) -> None:
        """Register functions by their names."""
        for function in functions:
            self._reserve(function.__name__)
            self.calls[function.__name__] = Call(function, computes, background)

    def add_stream(self, function: MessageStream) -> None:
        """Register `function(values, stop)` by its name. It yields messages and returns soon after `stop` is set."""
        self._reserve(function.__name__)
        self.streams[function.__name__] = function

    def _reserve(self, name: str) -> None:
        if name in self.calls or name in self.streams:
            raise ValueError(f"Two functions of the page are called {name}.")


def parse_json_object(text: object) -> dict[str, Any]:
    """Parse a JSON object. The input is untrusted."""
    try:
        values = json.loads(text)  # type: ignore[arg-type]
    except (TypeError, ValueError, RecursionError) as error:
        raise PageError("data", "not_json") from error
    if not isinstance(values, dict):
        raise PageError("data", "not_names", {"given": repr_short(values), "example": '{"text": "Guten Tag."}'})
    return values


def call_json(function: Function, values: Mapping[str, Any]) -> bytes:
    """Return the result of a call, or its error, as UTF-8 JSON."""
    try:
        result = function(values)
        if isinstance(result, bytes):
            return result
        return json.dumps(result, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except ModelError as error:
        page_error = to_page_error(error)
        return encode_error(page_error.field, page_error.word, page_error.values).encode()
    except Exception:
        name = function.__name__
        LOG.exception("A call of a widget failed: %s.", name, extra={"values": {"function": name}})
        return encode_error("text", "our_fault", {}).encode()

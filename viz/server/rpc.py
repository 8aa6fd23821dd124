"""Calls from a widget to the server: JSON text in, JSON text out. Errors become phrases for the page."""

from __future__ import annotations

import functools
import json
import logging
from collections.abc import Callable, Mapping
from typing import Any

from headlight.model.errors import ModelError
from headlight.viz.errors import PageError, repr_short, to_page_error
from headlight.viz.service.payload import error_json

LOG = logging.getLogger(__name__)


def rpc_function(
    function: Callable[[Mapping[str, Any]], Any],
    *,
    computes: bool = True,
    background: bool = False,
    written: bool = False,
) -> Callable[[str], str | bytes]:
    """Wrap a function of named values as a server function of `gr.HTML`; its input is untrusted.

    `computes`: the call waits in the queue; other functions only look something up or query the Hub. `background`: the
    page calls it without user action, so it waits for all user requests. `written`: it returns UTF-8 JSON, which is
    sent unchanged; Gradio would encode megabytes of text as JSON again, and the browser would parse both layers.
    """

    @functools.wraps(function)
    def call(asked: str) -> str | bytes:
        try:
            found = function(_values(asked))
            if written:
                return bytes(found)
            return json.dumps(found, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        except ModelError as error:
            told = to_page_error(error)
            return error_json(told.field, told.word, told.values)
        except Exception:
            name = function.__name__
            LOG.exception("A call of a widget failed: %s.", name, extra={"values": {"function": name}})
            return error_json("text", "our_fault", {})

    call.__annotations__ = {"asked": str, "return": str}
    call.written = written  # type: ignore[attr-defined]
    call.computes = computes  # type: ignore[attr-defined]
    call.background = background  # type: ignore[attr-defined]
    return call


def _values(asked: Any) -> Mapping[str, Any]:
    try:
        values = json.loads(asked)
    except (TypeError, ValueError, RecursionError) as error:
        raise PageError("data", "not_json") from error
    if not isinstance(values, dict):
        raise PageError("data", "not_names", {"given": repr_short(values), "example": '{"text": "Guten Tag."}'})
    return values


def parse_call(asked: object) -> tuple[dict[str, Any], Any]:
    """Parse the values of a widget call and its request number. The input is untrusted."""
    values = dict(_values(asked))
    return values, values.pop("turn", None)

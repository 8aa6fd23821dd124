"""Arguments of a request: parsed from JSON and checked against the function's signature."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Sequence
from typing import Any

from headlight.viz.errors import PageError, repr_short

MAX_DEPTH = 32  # levels of nested lists and objects; the page needs far fewer


def parse_json(body: bytes) -> Any:
    """Parse JSON. Rejects NaN and infinity, which Python accepts but JSON does not define."""

    def reject_constant(_: str) -> Any:
        raise PageError("data", "not_json")

    try:
        return json.loads(body, parse_constant=reject_constant)
    except (ValueError, RecursionError) as error:  # invalid UTF-8, a number of 5,000 digits, deep nesting
        raise PageError("data", "not_json") from error


def check_nesting(values: Any) -> None:
    """Reject deep nesting, which Gradio would recurse into, and file references, which it would fetch."""
    level = [values]
    for _ in range(MAX_DEPTH):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return
        if any(isinstance(value, dict) and isinstance(value.get("meta"), dict) for value in level):
            raise PageError("data", "no_files")
    raise PageError("data", "too_deep")


def _children(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def bind(signature: inspect.Signature, positional: Sequence[Any]) -> list[Any]:
    """Return all arguments in order, with defaults filled in."""
    limit = len(signature.parameters)
    if len(positional) > limit:
        names = ", ".join(signature.parameters)
        raise PageError("data", "too_many_values", {"limit": limit, "choices": names, "given": len(positional)})
    missing = list(signature.parameters.values())[len(positional) :]
    for parameter in missing:
        require_argument(parameter)
    return [*positional, *(parameter.default for parameter in missing)]


def check_names(signature: inspect.Signature, values: Any) -> None:
    """Reject unknown and missing keyword arguments."""
    if not isinstance(values, dict):
        raise PageError("data", "not_names", {"given": repr_short(values), "example": '{"text": "Guten Tag."}'})
    for name in values:
        if name not in signature.parameters:
            choices = ", ".join(signature.parameters)
            raise PageError("data", "unknown_name", {"given": repr_short(name), "choices": choices})
    for name, parameter in signature.parameters.items():
        if name not in values:
            require_argument(parameter)


def require_argument(parameter: inspect.Parameter) -> None:
    """Raise an error for a missing argument without a default."""
    if parameter.default is parameter.empty:
        raise PageError(parameter.name, "missing", {"name": parameter.name})

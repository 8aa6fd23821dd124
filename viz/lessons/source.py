"""The source of a function of the running code, with its real line numbers and the line that a step is about."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def source_listing(function: Callable[..., Any], lit: str) -> dict[str, Any]:
    """File, name, numbered lines, and the numbers of those that hold `lit`.

    Raises:
        LookupError: no line contains it. The code has changed; update the step.
    """
    function = inspect.unwrap(function)  # a decorator is in another file
    lines, first = inspect.getsourcelines(function)
    numbered = [(first + place, line.rstrip("\n")) for place, line in enumerate(lines)]
    results = [number for number, line in numbered if lit in line]
    if not results:
        raise LookupError(f"{function.__qualname__} has no line with {lit!r} any more. Name the line that does it now.")
    file = Path(inspect.getsourcefile(function) or "").resolve()
    named = file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else file.name
    return {"file": named, "name": function.__qualname__, "lines": _dedent(numbered), "lit": results}


def _dedent(lines: list[tuple[int, str]]) -> list[list[Any]]:
    """Without the indentation that all lines share."""
    shared = min((len(line) - len(line.lstrip()) for _, line in lines if line.strip()), default=0)
    return [[number, line[shared:]] for number, line in lines]

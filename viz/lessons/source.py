"""The source of a function in the running code, with its line numbers and the highlighted line of a step."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def make_source_listing(function: Callable[..., Any], text: str) -> dict[str, Any]:
    """Return the file, the name, the numbered lines, and the numbers of the lines that contain `text`.

    Raises:
        LookupError: no line contains `text`. The code has changed; update the step.
    """
    function = inspect.unwrap(function)  # a decorator may be in another file
    lines, first = inspect.getsourcelines(function)
    numbered_lines = [(first + offset, line.rstrip("\n")) for offset, line in enumerate(lines)]
    highlighted = [number for number, line in numbered_lines if text in line]
    if not highlighted:
        raise LookupError(
            f"{function.__qualname__} has no line with {text!r}. Update the text of the highlighted line."
        )
    file = Path(inspect.getsourcefile(function) or "").resolve()
    relative_path = file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else file.name
    return {"file": relative_path, "name": function.__qualname__, "lines": _dedent(numbered_lines), "lit": highlighted}


def _dedent(lines: list[tuple[int, str]]) -> list[list[Any]]:
    """Remove the indentation that all lines share."""
    indent = min((len(line) - len(line.lstrip()) for _, line in lines if line.strip()), default=0)
    return [[number, line[indent:]] for number, line in lines]

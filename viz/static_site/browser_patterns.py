"""Regular expressions of Python in the syntax of JavaScript."""

from __future__ import annotations

import re

PARTS = re.compile(r"\[\^\\W(?:\\d)?_\]|\(\?P[<=]\w*\)?|\\.|.", re.DOTALL)
LETTERS = {r"[^\W\d_]": r"[\p{L}\p{Nl}\p{No}]", r"[^\W_]": r"[\p{L}\p{N}]"}
# Python's classes of characters include those of all scripts; JavaScript's are ASCII.
CLASSES = {r"\w": r"\p{L}\p{N}_", r"\d": r"\p{Nd}", r"\s": r"\s\x1c-\x1f\x85"}
WORD = r"[\p{L}\p{N}_]"
BOUNDARY = f"(?:(?<={WORD})(?!{WORD})|(?<!{WORD})(?={WORD}))"


def browser_pattern(pattern: re.Pattern[str]) -> tuple[str, str]:
    """Return the source and the flags of a pattern in JavaScript."""
    parts: list[str] = []
    in_class = False
    for part in PARTS.findall(pattern.pattern):
        if part in "[]":
            in_class = part == "["
        parts.append(_convert(part, in_class=in_class))
    return "".join(parts), "iu" if pattern.flags & re.IGNORECASE else "u"


def _convert(part: str, *, in_class: bool) -> str:
    if part in LETTERS:
        return LETTERS[part]
    if part in CLASSES:
        return CLASSES[part] if in_class else f"[{CLASSES[part]}]"
    if part.startswith("(?P="):
        return rf"\k<{part[4:-1]}>"
    return BOUNDARY if part == r"\b" else part.replace("(?P<", "(?<")

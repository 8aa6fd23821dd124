"""The lessons of a static page, and the verdicts of "Build it yourself" on every line that a reader can choose."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from headlight.model.training.build_lesson.lines import GAPS, SIDES

LESSONS = ("walk",)  # those whose tensors the engine computes


def static_lessons(lessons: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the lessons that need no server, without links to others."""
    return [
        {**lesson, "steps": [step | {"see": _known_link(step["see"])} for step in lesson["steps"]]}
        for lesson in lessons
        if lesson["name"] in LESSONS
    ]


def _known_link(link: str) -> str:
    return link if link.partition(".")[0] in LESSONS else ""


def build_verdicts(run: Callable[[Mapping[str, Any]], Any]) -> dict[str, Any]:
    """Run every candidate and every choice of sides. `core/stored-answers.js` makes the same keys."""
    return {line_key(values): run(values) for values in _lines()}


def _lines() -> Iterator[dict[str, Any]]:
    for part, gap in GAPS.items():
        yield from ({"part": part, "text": candidate.text} for candidate in gap.candidates)
    for sides in product(SIDES, repeat=3):
        yield {"part": "cross", "sides": dict(zip("qkv", sides, strict=True))}


def line_key(values: Mapping[str, Any]) -> str:
    """Return the key of a line in the stored verdicts."""
    return " ".join([values["part"], *([values["text"]] if "text" in values else values["sides"].values())])

"""The steps named in `docs/lessons.md` exist."""

from __future__ import annotations

import re
from pathlib import Path

from headlight.viz.lessons import LESSONS

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "lessons.md"
ROW = re.compile(r"^\| (?P<question>[^|]+\?) \| (?P<steps>.+) \|$", re.MULTILINE)
QUESTIONS = {
    "Where do Q, K and V come from?",
    "Why divide by √d_k?",
    "Why several heads?",
    "What does the mask do?",
    "Why layer norm?",
    "Why add positions?",
    "What shape is it now?",
}


def test_reader_questions_link_to_existing_steps() -> None:
    steps_by_question = {
        row["question"]: re.findall(r"`([^`]+)`", row["steps"]) for row in ROW.finditer(DOCUMENT.read_text("utf-8"))
    }
    assert set(steps_by_question) >= QUESTIONS
    known = {f"{lesson.name}.{step.name}" for lesson in LESSONS for step in lesson.steps}
    for question, steps in steps_by_question.items():
        assert steps, question
        assert set(steps) <= known, question

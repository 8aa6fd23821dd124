"""The question bank and its parallel forms, which ask the same questions with different words and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from headlight.model.training.build_lesson.trained import ALIGNED
from headlight.viz.lessons.quiz.attention_items import ATTENTION_ITEMS
from headlight.viz.lessons.quiz.case import Item
from headlight.viz.lessons.quiz.decoder_items import DECODER_ITEMS

ITEMS: tuple[Item, ...] = (*ATTENTION_ITEMS, *DECODER_ITEMS)
# Seeds of the forms: A is used before the lessons, B after them, and C two days later.
FORMS: Mapping[str, int] = {"A": 18, "B": 19, "C": 1}


def read_quiz(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the questions of all forms with their keys. The browser grades the answers and does not send them."""
    return _encode_quiz()


@cache
def _encode_quiz() -> dict[str, Any]:
    questions = {form: {item.name: item.question(seed).as_json() for item in ITEMS} for form, seed in FORMS.items()}
    return {"items": [item.name for item in ITEMS], "forms": questions, "glosses": ALIGNED}

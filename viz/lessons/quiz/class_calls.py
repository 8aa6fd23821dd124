"""Calls of a school class: create a class, add an answer, read and delete the counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headlight.viz.errors import PageError, repr_short
from headlight.viz.lessons.quiz.forms import FORMS, ITEMS, read_quiz
from headlight.viz.lessons.quiz.question import OPEN_OUTCOMES
from headlight.viz.server.visitors import VISITOR
from headlight.viz.service.class_scores import ClassScores

STAGES = ("before", "after", "again")  # quiz before the lessons, after them, and weeks later
ClassCall = Callable[[Mapping[str, Any]], dict[str, Any]]


def make_class_calls(scores: ClassScores) -> tuple[Sequence[ClassCall], Sequence[ClassCall]]:
    """Return (queued calls, direct calls). The queue limits requests per address."""

    def make_class(values: Mapping[str, Any]) -> dict[str, Any]:
        code, secret = scores.create(VISITOR.get().address)
        return {"code": code, "secret": secret}

    def join_class(values: Mapping[str, Any]) -> dict[str, Any]:
        return {"code": scores.check(values.get("code"))}

    def add_class_answer(values: Mapping[str, Any]) -> dict[str, Any]:
        scores.add(values.get("code"), counter_key(values))
        return {}

    def read_class(values: Mapping[str, Any]) -> dict[str, Any]:
        return {"counts": scores.counts(values.get("code"), values.get("secret"))}

    def delete_class(values: Mapping[str, Any]) -> dict[str, Any]:
        scores.delete(values.get("code"), values.get("secret"))
        return {}

    return (make_class, join_class, add_class_answer), (read_class, delete_class)


def counter_key(values: Mapping[str, Any]) -> str:
    """Return the key of an answer's counter, such as "before.A.dot.turned". Raise a `PageError` for unknown values."""
    form = _check_choice("form", values, FORMS)
    item = _check_choice("item", values, [item.name for item in ITEMS])
    item_outcomes = [outcome["name"] for outcome in read_quiz({})["forms"][form][item]["outcomes"]]
    outcome = _check_choice("outcome", values, [*item_outcomes, *OPEN_OUTCOMES])
    return f"{_check_choice('stage', values, STAGES)}.{form}.{item}.{outcome}"


def _check_choice(name: str, values: Mapping[str, Any], choices: Sequence[str] | Mapping[str, int]) -> str:
    """Return `values[name]`, or raise a `PageError` if it is none of `choices`."""
    value = values.get(name)
    if not isinstance(value, str) or value not in choices:
        raise PageError(name, "unknown_name", {"given": repr_short(value), "choices": ", ".join(choices)})
    return value

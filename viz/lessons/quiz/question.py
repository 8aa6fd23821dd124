"""A question of the quiz: the numbers that it shows, its right answer, and the wrong answers of known mistakes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["numbers", "choice", "cells"]
Cell = tuple[int, int]
Answer = tuple[float, ...] | str | frozenset[Cell]  # of the three kinds, in this order
RIGHT = "right"
OPEN_OUTCOMES = ("other", "unknown")  # an answer of no known mistake, and "I do not know"
TOLERANCE = 0.02  # of a typed number
MIN_GAP = 0.06  # between a right number and that of a mistake, so that rounding never turns one into the other
SHOWN_DECIMALS = 2


@dataclass(frozen=True)
class Table:
    """Numbers that the question shows. Labels that begin with @ are phrases, `quiz_word_…`."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Outcome:
    """An answer with a name: `RIGHT`, or a mistake, which has the phrase `quiz_why_ITEM_NAME`."""

    name: str
    answer: Answer


@dataclass(frozen=True)
class Question:
    """A question with its outcomes, the right one first.

    `values`: words and numbers of its text. `labels`: the typed numbers' names. `rows`, `columns`: the grid to click.
    """

    kind: Kind
    outcomes: tuple[Outcome, ...]
    values: Mapping[str, str | int | float] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    labels: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    one_per_row: bool = False
    options: tuple[str, ...] = ()  # of a choice, in the order of the page

    @property
    def key(self) -> Answer:
        """Return the right answer."""
        return self.outcomes[0].answer

    def as_json(self) -> dict[str, Any]:
        """Return the question for the page."""
        values = {name: getattr(self, name) for name in ("kind", "labels", "rows", "columns", "one_per_row", "options")}
        return {
            **values,
            "values": dict(self.values),
            "tables": [{"rows": table.rows, "columns": table.columns, "cells": table.cells} for table in self.tables],
            "outcomes": [{"name": each.name, "answer": _answer_json(each.answer)} for each in self.outcomes],
        }


def _answer_json(answer: Answer) -> Any:
    return sorted(answer) if isinstance(answer, frozenset) else answer


def table(rows: Sequence[str], columns: Sequence[str], cells: Iterable[Iterable[float]]) -> Table:
    """Return a table with numbers as the page shows them."""
    rounded = tuple(tuple(round(float(cell), SHOWN_DECIMALS) for cell in row) for row in cells)
    return Table(tuple(rows), tuple(columns), rounded)


def outcomes(**answers: Answer | Iterable[float] | float | None) -> tuple[Outcome, ...]:
    """Return outcomes by name, the right one first, without mistakes that have no answer or that of another one."""
    result: list[Outcome] = []
    for name, value in answers.items():
        answer = _answer(value)
        if answer is not None and (not result or not any(_same(answer, each.answer) for each in result[1:])):
            result.append(Outcome(name, answer))
    return tuple(result)


def _answer(value: Any) -> Answer | None:
    if value is None or isinstance(value, str | frozenset):
        return value
    return tuple(float(number) for number in value) if isinstance(value, Iterable) else (float(value),)


def _same(first: Answer, second: Answer) -> bool:
    if isinstance(first, tuple) and isinstance(second, tuple):
        return largest_gap(first, second) < MIN_GAP
    return first == second


def largest_gap(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the largest difference between numbers at the same place."""
    return max(abs(one - other) for one, other in zip(first, second, strict=True))


def is_clear(question: Question) -> bool:
    """Return whether exactly one answer is right, and at least two mistakes are known."""
    _, *mistakes = question.outcomes
    return len(mistakes) >= 2 and not any(_same(question.key, mistake.answer) for mistake in mistakes)

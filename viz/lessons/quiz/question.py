"""A question of the quiz: its numbers, its right answer, and the wrong answers that known mistakes lead to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["numbers", "choice", "cells"]
Cell = tuple[int, int]
Answer = tuple[float, ...] | str | frozenset[Cell]  # for the kinds "numbers", "choice" and "cells"
RIGHT = "right"
OPEN_OUTCOMES = ("other", "unknown")  # an answer that no known mistake explains, and "I do not know"
TOLERANCE = 0.02  # largest accepted error of a typed number
MIN_GAP = 0.06  # smallest difference between right and wrong numbers, more than rounding can change
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
    """A question with its outcomes, the right one first."""

    kind: Kind
    outcomes: tuple[Outcome, ...]
    values: Mapping[str, str | int | float] = field(default_factory=dict)  # words and numbers of the phrase
    tables: tuple[Table, ...] = ()
    labels: tuple[str, ...] = ()  # "numbers": names of the input fields
    rows: tuple[str, ...] = ()  # "cells": labels of the grid to click
    columns: tuple[str, ...] = ()
    one_per_row: bool = False
    options: tuple[str, ...] = ()  # "choice": in the order of the page

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
            "outcomes": [{"name": outcome.name, "answer": _encode_answer(outcome.answer)} for outcome in self.outcomes],
        }


def _encode_answer(answer: Answer) -> Any:
    return sorted(answer) if isinstance(answer, frozenset) else answer


def make_table(rows: Sequence[str], columns: Sequence[str], cells: Iterable[Iterable[float]]) -> Table:
    """Return a table with numbers rounded to `SHOWN_DECIMALS`."""
    rounded = tuple(tuple(round(float(cell), SHOWN_DECIMALS) for cell in row) for row in cells)
    return Table(tuple(rows), tuple(columns), rounded)


def make_outcomes(**answers: Answer | Iterable[float] | float | None) -> tuple[Outcome, ...]:
    """Return outcomes by name, the right one first.

    A mistake is left out if its answer is None or equals that of another mistake.
    """
    result: list[Outcome] = []
    for name, value in answers.items():
        answer = _parse_answer(value)
        if answer is not None and (not result or not any(_are_equal(answer, mistake.answer) for mistake in result[1:])):
            result.append(Outcome(name, answer))
    return tuple(result)


def _parse_answer(value: Any) -> Answer | None:
    if value is None or isinstance(value, str | frozenset):
        return value
    return tuple(float(number) for number in value) if isinstance(value, Iterable) else (float(value),)


def _are_equal(first: Answer, second: Answer) -> bool:
    if isinstance(first, tuple) and isinstance(second, tuple):
        return find_largest_gap(first, second) < MIN_GAP
    return first == second


def find_largest_gap(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the largest difference between numbers at the same index."""
    return max(abs(one - other) for one, other in zip(first, second, strict=True))


def is_clear(question: Question) -> bool:
    """Whether exactly one answer is right, and at least two mistakes are known."""
    _, *mistakes = question.outcomes
    return len(mistakes) >= 2 and not any(_are_equal(question.key, mistake.answer) for mistake in mistakes)

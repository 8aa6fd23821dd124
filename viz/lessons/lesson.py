"""Lesson format: steps as data, drawn by the same code for every lesson.

A step shows one operation four times at once: where (a part of the drawing), what (figures over tensors), how (its
formula, with this step's numbers put in), and by what (the source of the very function). Its words are in the tables:
`lesson_LESSON_STEP_title`, `…_words`, and where there are such `…_note`, `…_ask`, `…_answer` and `…_part_PART`.
Where words differ from model to model, a key ends in what holds: `…_words_pre`, or `_post` for a norm after the sum.

If no tensor of the finished sentence shows it, an `Experiment` computes it from the visitor's settings
(`experiment.py`): the step has controls (`controls.py`), and a pure function returns figures and numbers
(`result_figures.py`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from headlight.model.records import Kind
from headlight.viz.lessons.experiment import Experiment
from headlight.viz.lessons.source import source_listing

FigureForm = Literal["tokens", "heat", "strip", "stack", "pair", "table", "bars", "histogram", "curve"]
Scale = Literal["signed", "share", "positive"]  # orange to blue, 0 to 1, or 0 to the largest
PickTarget = Literal["token", "key", "layer", "head", "written", "dimension"]


@dataclass(frozen=True)
class Code:
    """The function that computes a step, and the text of the line that does it, by what holds for the model."""

    function: Callable[..., Any]
    highlighted: str
    highlighted_if: tuple[str, str] | None = None  # ("post", the line that runs for that variant)

    def as_json(self) -> dict[str, Any]:
        """The source as it stands in the running code."""
        values = source_listing(self.function, self.highlighted)
        if self.highlighted_if is not None:
            holds, text = self.highlighted_if
            values["otherwise"] = {holds: source_listing(self.function, text)["lit"]}
        return values


@dataclass(frozen=True)
class TensorView:
    """One tensor of a figure. `path` is the path of a probe, or the name of a tensor that the browser computes.

    `{side}`, `{place}` and `{layer}` in a path are the chosen ones. Of a tensor with heads, the chosen head is shown.
    """

    name: str  # its caption is `lesson_tensor_NAME`
    path: str
    add: str = ""  # another tensor, added
    subtract: str = ""  # another tensor, taken away
    divide_by: str = ""  # the name of a number, divided by
    rows: str = "tokens"  # the rows: tokens, keys, positions, stages, or a single one
    visible_if: str = ""  # shown only where this holds for the model: pre, post, …

    def as_json(self) -> dict[str, str]:
        """As the page reads it."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class Figure:
    """One of the few pictures. `stack` and `pair` have one scale for all their tensors, and signs between them."""

    form: FigureForm
    tensors: tuple[TensorView, ...] = ()
    scale: Scale = "signed"
    square: bool = False  # tokens × tokens, with names above the columns and numbers in the cells
    masked: bool = False  # later columns are hatched
    heads: bool = False  # the columns of each head are named above
    signs: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """As the page reads it."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class QuestionSpec:
    """A question before the answer is seen. What is right is computed from the numbers and never written down.

    Options are numbers of tokens (`counts`), the tokens of a row (`keys`), candidates for the next token
    (`candidates`), or words `lesson_LESSON_STEP_option_NAME`. `right` names the function of the page that finds the
    right one, or is "found", where the experiment says it; where the numbers are unclear, nothing is asked.
    """

    answer_function: str
    options: tuple[str, ...]
    hides_answer: bool = True  # what would give the answer away is absent until it is answered
    ask_per_setting: bool = False  # another setting of the controls is another question

    def as_json(self) -> dict[str, Any]:
        """As the page reads it."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class FormulaVariant:
    """Formula of a step for models that meet all conditions in `when` (names: `lessons/step-scene.js`)."""

    conditions: tuple[str, ...]
    formula: str  # empty: no formula
    numbers: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """As the page reads it."""
        return {"when": list(self.conditions), "formula": self.formula, "numbers": list(self.numbers)}


@dataclass(frozen=True)
class Step:
    """One operation."""

    name: str
    code: Code
    formula: str
    node: str = ""  # the part of the drawing, in a lesson that has one
    figures: tuple[Figure, ...] = ()
    experiment: Experiment | None = None  # its figures follow
    numbers: tuple[str, ...] = ()  # the formula with this step's numbers: `@name` stands for one, `@its_…` for a part
    formula_variants: tuple[
        FormulaVariant, ...
    ] = ()  # the first of these that fits the model stands in the place of both
    kind: Kind = "encoder"  # whose layers, heads, rows and columns
    picks: tuple[PickTarget, ...] = ()  # selections of the reader
    concerns: tuple[str, ...] | None = None  # of whom the numbers are: row, token, key, written, best_key
    parts: tuple[str, ...] = ()  # sub-steps
    question: QuestionSpec | None = None
    tab: str = ""  # of the page, which shows more of this
    follow_up: str = ""  # the address of a step that goes on from here: its words are `…_see`
    claims: tuple[str, ...] = ()  # claims of its words about the numbers; each is a test

    @property
    def _default_concerns(self) -> tuple[str, ...]:
        """Without being named: the row, where something is picked."""
        return (("row",) if self.picks else ()) if self.concerns is None else self.concerns

    def as_json(self) -> dict[str, Any]:
        """As the page reads it."""
        return {
            "name": self.name,
            "node": self.node,
            "code": self.code.as_json(),
            "figures": [figure.as_json() for figure in self.figures],
            "experiment": None if self.experiment is None else self.experiment.as_json(),
            "formula": self.formula,
            "numbers": list(self.numbers),
            "otherwise": [each.as_json() for each in self.formula_variants],
            "kind": self.kind,
            "picks": list(self.picks),
            "about": list(self._default_concerns),
            "parts": list(self.parts),
            "tab": self.tab,
            "see": self.follow_up,
            "ask": None if self.question is None else self.question.as_json(),
        }


@dataclass(frozen=True)
class Lesson:
    """Steps in order. In the list of lessons: `lesson_NAME_name`, `…_promise`, the minutes, and a picture."""

    name: str
    minutes: int
    picture: tuple[TensorView, ...]
    steps: tuple[Step, ...]
    drawing: bool = False  # shown next to the drawing of the architecture

    def as_json(self) -> dict[str, Any]:
        """As the page reads it."""
        return {
            "name": self.name,
            "minutes": self.minutes,
            "picture": [show.as_json() for show in self.picture],
            "steps": [step.as_json() for step in self.steps],
            "drawing": self.drawing,
        }

"""Lesson format: steps as data, rendered by the same code for every lesson.

A step shows one operation in four ways: a part of the architecture diagram, figures of tensors, a formula with the
step's numbers, and the source of the function. Its phrases are in the phrase tables: `lesson_LESSON_STEP_title`,
`…_words`, and optionally `…_note`, `…_ask`, `…_answer` and `…_part_PART`. If a phrase differs between models, its key
ends in a variant: `…_words_pre` for a norm before the sublayer, `…_words_post` for a norm after the sum.

If no tensor of the translation shows the operation, an `Experiment` (`experiment.py`) does: the step has controls
(`controls.py`), and a pure function of their values returns figures and numbers (`result_figures.py`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from headlight.model.records import Kind
from headlight.viz.lessons.experiment import Experiment
from headlight.viz.lessons.source import make_source_listing

FigureForm = Literal["tokens", "heat", "strip", "stack", "pair", "table", "bars", "histogram", "curve", "shift"]
Scale = Literal["signed", "share", "positive"]  # orange to blue, 0 to 1, or 0 to the largest
PickTarget = Literal["token", "key", "layer", "head", "written", "dimension"]


@dataclass(frozen=True)
class Code:
    """The function that computes a step, with its highlighted line."""

    function: Callable[..., Any]
    highlighted: str  # text from the highlighted line
    highlighted_if: tuple[str, str] | None = None  # a variant of the model, and text from the line that it runs

    def as_json(self) -> dict[str, Any]:
        """Return the source of the running code and its highlighted lines."""
        values = make_source_listing(self.function, self.highlighted)
        if self.highlighted_if is not None:
            condition, line = self.highlighted_if
            values["otherwise"] = {condition: make_source_listing(self.function, line)["lit"]}
        return values


@dataclass(frozen=True)
class TensorView:
    """One tensor of a figure. `path` is a probe, or the name of a tensor that the browser computes.

    `{side}`, `{place}` and `{layer}` in a path stand for the selection. A tensor with heads shows the selected head.
    """

    name: str  # its caption is `lesson_tensor_NAME`
    path: str
    add: str = ""  # name of a tensor to add
    subtract: str = ""  # name of a tensor to subtract
    divide_by: str = ""  # name of the divisor
    rows: str = "tokens"  # axis of the rows: tokens, keys, positions, stages, or one
    visible_if: str = ""  # variant of the model that shows this tensor: pre, post, …
    own_scale: bool = False  # in a stack, a separate colour scale instead of the common one

    def as_json(self) -> dict[str, Any]:
        """Return the JSON for the page."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class Figure:
    """One figure. In a `stack` or `pair`, all tensors share one colour scale, and `signs` appear between them."""

    form: FigureForm
    tensors: tuple[TensorView, ...] = ()
    scale: Scale = "signed"
    square: bool = False  # tokens × tokens, with labels above the columns and numbers in the cells
    masked: bool = False  # hatch later columns
    heads: bool = False  # label the columns of each head
    signs: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the JSON for the page."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class Product:
    """One product x·W of a step, which the page shows number by number: the row, the column and their sum.

    `weight` is the path of a linear layer. The column is that of the selected dimension (`output`: the tensor with the
    result), or of the written token (`column` is "written").
    """

    name: str  # `W_Q`, in formulas and in `lesson_product_NAME`
    row: str  # name of the tensor whose selected row is multiplied
    weight: str
    output: str = ""
    column: str = "dimension"
    visible_if: str = ""  # variant of the model that computes it

    def as_json(self) -> dict[str, str]:
        """Return the JSON for the page."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class QuestionSpec:
    """A question that the visitor answers before the step shows its result. The correct option is always computed.

    Options are token counts (`counts`), the tokens of a row (`keys`), candidates for the next token (`candidates`), or
    phrases `lesson_LESSON_STEP_option_NAME`. `answer_function` is the page's function that finds the correct option,
    or "experiment" if the experiment returns it. If the numbers are inconclusive, the step has no question.
    """

    answer_function: str
    options: tuple[str, ...]
    hides_answer: bool = True  # hide the parts of the step that reveal the answer
    ask_per_setting: bool = False  # a new question for each setting of the controls

    def as_json(self) -> dict[str, Any]:
        """Return the JSON for the page."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class FormulaVariant:
    """Formula of a step for models that meet all `conditions` (names: `lessons/step-scene.js`)."""

    conditions: tuple[str, ...]
    formula: str  # empty: no formula
    numbers: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the JSON for the page."""
        return {"when": list(self.conditions), "formula": self.formula, "numbers": list(self.numbers)}


@dataclass(frozen=True)
class Step:
    """One operation of a lesson."""

    name: str
    code: Code
    formula: str
    node: str = ""  # part of the architecture diagram, if the lesson has one
    figures: tuple[Figure, ...] = ()
    products: tuple[Product, ...] = ()  # opened below the figures
    experiment: Experiment | None = None  # adds its figures after `figures`
    numbers: tuple[str, ...] = ()  # the formula with numbers: `@name` stands for a number, `@its_…` for a subformula
    formula_variants: tuple[FormulaVariant, ...] = ()  # the first that fits the model replaces `formula` and `numbers`
    kind: Kind = "encoder"  # the attention of the selected layer, head, row and column
    picks: tuple[PickTarget, ...] = ()  # what the visitor can select
    concerns: tuple[str, ...] | None = None  # items that the numbers describe: row, token, key, written, best_key
    parts: tuple[str, ...] = ()  # sub-steps
    question: QuestionSpec | None = None
    tab: str = ""  # tab of the page with more on this topic
    follow_up: str = ""  # permalink of a step that continues this one; its phrase is `…_see`
    moved: tuple[str, str] | None = None  # (variant, step): in such a model, this step follows that one
    claims: tuple[str, ...] = ()  # claims that the words make about the numbers; each has a test

    @property
    def _default_concerns(self) -> tuple[str, ...]:
        """`concerns`, by default the row if the step has selections."""
        return (("row",) if self.picks else ()) if self.concerns is None else self.concerns

    def as_json(self) -> dict[str, Any]:
        """Return the JSON for the page."""
        return {
            "name": self.name,
            "node": self.node,
            "code": self.code.as_json(),
            "figures": [figure.as_json() for figure in self.figures],
            "products": [product.as_json() for product in self.products],
            "moved": list(self.moved) if self.moved else None,
            "experiment": None if self.experiment is None else self.experiment.as_json(),
            "formula": self.formula,
            "numbers": list(self.numbers),
            "otherwise": [variant.as_json() for variant in self.formula_variants],
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
    """Steps in order. The list of lessons shows `lesson_NAME_name`, `…_promise`, the minutes and a picture."""

    name: str
    minutes: int
    picture: tuple[TensorView, ...]
    steps: tuple[Step, ...]
    drawing: bool = False  # show the architecture diagram

    def as_json(self) -> dict[str, Any]:
        """Return the JSON for the page."""
        return {
            "name": self.name,
            "minutes": self.minutes,
            "picture": [view.as_json() for view in self.picture],
            "steps": [step.as_json() for step in self.steps],
            "drawing": self.drawing,
        }

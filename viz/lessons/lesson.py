"""Lesson format: steps as data, drawn by the same code for every lesson.

A step shows one operation four times at once: where (a part of the drawing), what (figures over tensors), how (its
formula, with this step's numbers put in), and by what (the source of the very function). Its words are in the tables:
`lesson_LESSON_STEP_title`, `…_words`, and where there are such `…_note`, `…_ask`, `…_answer` and `…_part_PART`.
Where words differ from model to model, a key ends in what holds: `…_words_pre`, or `_post` for a norm after the sum.

What no tensor of the finished sentence shows, an `Experiment` computes from what a visitor sets (`experiment.py`): a
step then has controls as data (`controls.py`), and one pure function answers with figures and numbers (`drawn.py`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from headlight.model.records import Kind
from headlight.viz.lessons.experiment import Experiment
from headlight.viz.lessons.source import source_values

Form = Literal["tokens", "heat", "strip", "stack", "pair", "table", "bars", "histogram", "curve"]
Scale = Literal["signed", "share", "positive"]  # orange to blue, 0 to 1, or 0 to the largest
Pick = Literal["token", "key", "layer", "head", "written", "dimension"]


@dataclass(frozen=True)
class Code:
    """The function that computes a step, and the text of the line that does it, by what holds for the model."""

    function: Callable[..., Any]
    lit: str
    lit_otherwise: tuple[str, str] | None = None  # ("post", the line that runs for that variant)

    def as_json(self) -> dict[str, Any]:
        """The source as it stands in the running code."""
        values = source_values(self.function, self.lit)
        if self.lit_otherwise is not None:
            holds, text = self.lit_otherwise
            values["otherwise"] = {holds: source_values(self.function, text)["lit"]}
        return values


@dataclass(frozen=True)
class Show:
    """One tensor of a figure. `path` is the path of a probe, or the name of a tensor that the browser computes.

    `{side}`, `{place}` and `{layer}` in a path are the chosen ones. Of a tensor with heads, the chosen head is shown.
    """

    name: str  # its caption is `lesson_tensor_NAME`
    path: str
    plus: str = ""  # another tensor, added
    minus: str = ""  # another tensor, taken away
    over: str = ""  # the name of a number, divided by
    rows: str = "tokens"  # the rows: tokens, keys, positions, stages, or a single one
    when: str = ""  # shown only where this holds for the model: pre, post, …

    def as_json(self) -> dict[str, str]:
        """As the page reads it."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class Figure:
    """One of the few pictures. `stack` and `pair` have one scale for all their tensors, and signs between them."""

    form: Form
    shows: tuple[Show, ...] = ()
    scale: Scale = "signed"
    square: bool = False  # tokens × tokens, with names above the columns and numbers in the cells
    masked: bool = False  # later columns are hatched
    heads: bool = False  # the columns of each head are named above
    signs: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """As the page reads it."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class Ask:
    """A question before the answer is seen. What is right is computed from the numbers and never written down.

    Options are numbers of tokens (`counts`), the tokens of a row (`keys`), candidates for the next token
    (`candidates`), or words `lesson_LESSON_STEP_option_NAME`. `right` names the function of the page that finds the
    right one, or is "found", where the experiment says it; where the numbers are unclear, nothing is asked.
    """

    right: str
    options: tuple[str, ...]
    hides: bool = True  # what would give the answer away is absent until it is answered
    each: bool = False  # another setting of the controls is another question

    def as_json(self) -> dict[str, Any]:
        """As the page reads it."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class Written:
    """Formula of a step for models that meet all conditions in `when` (names: `lessons/scene.js`)."""

    when: tuple[str, ...]
    formula: str  # empty: no formula
    numbers: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """As the page reads it."""
        return {"when": list(self.when), "formula": self.formula, "numbers": list(self.numbers)}


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
    otherwise: tuple[Written, ...] = ()  # the first of these that fits the model stands in the place of both
    kind: Kind = "encoder"  # whose layers, heads, rows and columns
    picks: tuple[Pick, ...] = ()  # selections of the reader
    about: tuple[str, ...] | None = None  # of whom the numbers are: row, token, key, written, best_key
    parts: tuple[str, ...] = ()  # sub-steps
    ask: Ask | None = None
    tab: str = ""  # of the page, which shows more of this
    see: str = ""  # the address of a step that goes on from here: its words are `…_see`
    claims: tuple[str, ...] = ()  # claims of its words about the numbers; each is a test

    @property
    def _about(self) -> tuple[str, ...]:
        """Without being named: the row, where something is picked."""
        return (("row",) if self.picks else ()) if self.about is None else self.about

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
            "otherwise": [each.as_json() for each in self.otherwise],
            "kind": self.kind,
            "picks": list(self.picks),
            "about": list(self._about),
            "parts": list(self.parts),
            "tab": self.tab,
            "see": self.see,
            "ask": None if self.ask is None else self.ask.as_json(),
        }


@dataclass(frozen=True)
class Lesson:
    """Steps in order. In the list of lessons: `lesson_NAME_name`, `…_promise`, the minutes, and a picture."""

    name: str
    minutes: int
    picture: tuple[Show, ...]
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

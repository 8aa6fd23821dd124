"""Figures of an experiment's result, in the forms that the page can draw.

Words in them are phrases of the lesson, `Say("name", {"count": 3})` for `lesson_LESSON_say_name`; a plain text is a
token, a number, or what a visitor typed, and stands as it is. Numbers are written here, once, so that both languages
say the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from headlight.model.folders.packed import packed
from headlight.model.records import FloatArray

MINUS = "−"
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
SMALL = 5e-4  # below, a number is written with a power of ten
LARGE = 1e6
MOST_CELLS = 200_000  # of one picture


@dataclass(frozen=True)
class Say:
    """A phrase key with values: a key of the lesson, or a full key of the page."""

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)


Label = str | Say
Cell = str | Say | int | float


def said(number: float, digits: int = 4) -> str:
    """A number as text: 0.4119, 23.634, 1940.8, 4.8·10⁻⁷."""
    number = float(number)
    size = abs(number)
    if not math.isfinite(number):
        return "∞" if number > 0 else f"{MINUS}∞" if number < 0 else "–"
    if not size:
        return "0"
    if size < SMALL or size >= LARGE:
        digits_shown, power = f"{number:.1e}".split("e")
        text = f"{digits_shown}·10{str(int(power)).translate(RAISED)}"
    elif float(size).is_integer() and size >= 1:
        text = str(int(number))
    else:
        kept = max(0, digits - 3) if size >= 1000 else max(0, digits - 1) if size >= 10 else digits
        text = f"{number:.{kept}f}"
    return text.replace("-", MINUS)


@dataclass(frozen=True)
class Drawn:
    """One of them."""

    form: ClassVar[str]

    def as_json(self) -> dict[str, Any]:
        """As the page reads it."""
        found = {name: plain(value) for name, value in vars(self).items()}
        return {"form": self.form} | found


@dataclass(frozen=True)
class Heat(Drawn):
    """A matrix. Pictures that stand together may share `most`, the size that is as dark as can be."""

    form = "heat"
    title: Label
    numbers: FloatArray  # [rows, columns]
    rows: Sequence[Label] = ()
    columns: Sequence[Label] = ()
    scale: Literal["signed", "share", "positive"] = "signed"
    most: float = 0.0  # 0: three quarters of the largest
    digits: int = 0  # of the numbers in the cells, if they fit
    row: int | None = None  # framed cells
    column: int | None = None
    bare: bool = False  # names of rows and columns are said under the pointer only

    def __post_init__(self) -> None:
        if self.numbers.ndim != 2 or self.numbers.size > MOST_CELLS:
            raise ValueError(f"A heat map has rows and columns, at most {MOST_CELLS} cells: {self.numbers.shape}")


@dataclass(frozen=True)
class Beside(Drawn):
    """Figures side by side if they fit, else below each other."""

    form = "beside"
    parts: Sequence[Drawn]
    small: bool = False  # many of them in a row, on one scale


@dataclass(frozen=True)
class Line:
    """One line of several: its name, and its height at each place."""

    name: Label
    y: Sequence[float]


@dataclass(frozen=True)
class Lines(Drawn):
    """Lines over one axis, with a legend. `mark` is the place on the axis that the controls are at."""

    form = "lines"
    title: Label
    x: Sequence[float]
    lines: Sequence[Line]
    x_name: Label = ""
    powers: tuple[str, ...] = ()  # "x", "y": that axis counts in powers
    mark: float | None = None
    floor: float | None = None  # start of the axis; None: the minimum


@dataclass(frozen=True)
class Bars(Drawn):
    """One bar per name, from zero; negative values to the left."""

    form = "bars"
    title: Label
    names: Sequence[Label]
    values: Sequence[float]
    most: float = 0.0  # 0: the largest
    digits: int = 4
    lit: Sequence[int] = ()

    def as_json(self) -> dict[str, Any]:
        return super().as_json() | {"says": [self._said(float(value)) for value in self.values]}

    def _said(self, value: float) -> str:
        if value and abs(value) < 0.5 * 10**-self.digits:
            return said(value)  # short bars stay visible, so that they differ from zero
        return f"{value:.{self.digits}f}".replace("-", MINUS)


@dataclass(frozen=True)
class Table(Drawn):
    """Rows, of which the first cell is the name. `lit` is the row that stands out."""

    form = "table"
    title: Label
    columns: Sequence[Label]
    rows: Sequence[Sequence[Cell]]
    lit: int | None = None

    def as_json(self) -> dict[str, Any]:
        return super().as_json() | {"rows": [[_cell(cell) for cell in row] for row in self.rows]}


@dataclass(frozen=True)
class Text:
    """One text under its name."""

    name: Label
    text: Label
    says: Label = ""  # below it
    language: str = ""  # of the text, as models call it


@dataclass(frozen=True)
class Texts(Drawn):
    """Texts side by side."""

    form = "texts"
    texts: Sequence[Text]


@dataclass(frozen=True)
class Trains(Drawn):
    """One or two runs that start on request; `kept`: the messages of the untrained models."""

    form = "trains"
    runs: Sequence[Mapping[str, Any]]  # what `WatchedRun` takes
    kept: Sequence[Mapping[str, Any]]
    sentence: int = 0  # the one that is looked at first

    def as_json(self) -> dict[str, Any]:
        return {"form": self.form, "runs": list(self.runs), "kept": list(self.kept), "sentence": self.sentence}


@dataclass(frozen=True)
class Source:
    """The source of one function (`source_values`), its title and its caption."""

    title: Label
    code: Mapping[str, Any]
    says: Label = ""


@dataclass(frozen=True)
class Sources(Drawn):
    """Sources of functions, one below the other."""

    form = "sources"
    sources: Sequence[Source]


@dataclass(frozen=True)
class Found:
    """Result of an experiment."""

    figures: Sequence[Drawn]
    numbers: Mapping[str, Cell] = field(default_factory=dict)  # for the words and the formula, by name
    holds: tuple[str, ...] = ()  # endings of the words that are now true
    right: str = ""  # the option of the step's question that is right; empty: the numbers are unclear, nothing is asked
    # Options of a `Places` control; `None` leaves a gap.
    shown: Mapping[str, Sequence[Label | None]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """As the page reads it."""
        return {
            "figures": [figure.as_json() for figure in self.figures],
            "numbers": {name: _cell(value) for name, value in self.numbers.items()},
            "holds": list(self.holds),
            "right": self.right,
            "shown": {name: [plain(label) for label in labels] for name, labels in self.shown.items()},
        }


def plain(value: Any) -> Any:
    """A part of a form as JSON."""
    if isinstance(value, Say):
        return {"say": value.name, "values": {name: _cell(each) for name, each in value.values.items()}}
    if isinstance(value, Drawn):
        return value.as_json()
    if isinstance(value, np.ndarray):
        return packed(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {name: plain(each) for name, each in vars(value).items()}
    if isinstance(value, np.floating | np.integer):
        return value.item()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(each) for each in value]
    return value


def _cell(value: Cell) -> Any:
    """Numbers become text."""
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return said(float(value))
    return plain(value)

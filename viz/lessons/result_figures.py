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

from headlight.model.checkpoints.base64_arrays import encode_array
from headlight.model.records import FloatArray

MINUS_SIGN = "−"
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
SCIENTIFIC_BELOW = 5e-4  # below, a number is written with a power of ten
SCIENTIFIC_FROM = 1e6
MAX_CELLS = 200_000  # of one picture


@dataclass(frozen=True)
class Phrase:
    """A phrase key with values: a key of the lesson, or a full key of the page."""

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)


TextOrPhrase = str | Phrase
TextPhraseOrNumber = str | Phrase | int | float


def format_number(number: float, digits: int = 4) -> str:
    """A number as text: 0.4119, 23.634, 1940.8, 4.8·10⁻⁷."""
    number = float(number)
    size = abs(number)
    if not math.isfinite(number):
        return "∞" if number > 0 else f"{MINUS_SIGN}∞" if number < 0 else "–"
    if not size:
        return "0"
    if size < SCIENTIFIC_BELOW or size >= SCIENTIFIC_FROM:
        digits_shown, power = f"{number:.1e}".split("e")
        text = f"{digits_shown}·10{str(int(power)).translate(SUPERSCRIPTS)}"
    elif float(size).is_integer() and size >= 1:
        text = str(int(number))
    else:
        decimals = max(0, digits - 3) if size >= 1000 else max(0, digits - 1) if size >= 10 else digits
        text = f"{number:.{decimals}f}"
    return text.replace("-", MINUS_SIGN)


@dataclass(frozen=True)
class ResultFigure:
    """One of them."""

    form: ClassVar[str]

    def as_json(self) -> dict[str, Any]:
        """As the page reads it."""
        results = {name: to_json(value) for name, value in vars(self).items()}
        return {"form": self.form} | results


@dataclass(frozen=True)
class Heatmap(ResultFigure):
    """A matrix. Pictures that stand together may share `most`, the size that is as dark as can be."""

    form = "heat"
    title: TextOrPhrase
    numbers: FloatArray  # [rows, columns]
    rows: Sequence[TextOrPhrase] = ()
    columns: Sequence[TextOrPhrase] = ()
    scale: Literal["signed", "share", "positive"] = "signed"
    max_abs: float = 0.0  # 0: three quarters of the largest
    digits: int = 0  # of the numbers in the cells, if they fit
    row: int | None = None  # framed cells
    column: int | None = None
    without_labels: bool = False  # names of rows and columns are said under the pointer only

    def __post_init__(self) -> None:
        if self.numbers.ndim != 2 or self.numbers.size > MAX_CELLS:
            raise ValueError(f"A heat map has rows and columns, at most {MAX_CELLS} cells: {self.numbers.shape}")


@dataclass(frozen=True)
class SideBySide(ResultFigure):
    """Figures side by side if they fit, else below each other."""

    form = "beside"
    parts: Sequence[ResultFigure]
    small: bool = False  # many of them in a row, on one scale


@dataclass(frozen=True)
class CurveSeries:
    """One line of several: its name, and its height at each place."""

    name: TextOrPhrase
    y: Sequence[float]


@dataclass(frozen=True)
class LinePlot(ResultFigure):
    """Lines over one axis, with a legend. `mark` is the place on the axis that the controls are at."""

    form = "lines"
    title: TextOrPhrase
    x: Sequence[float]
    lines: Sequence[CurveSeries]
    x_name: TextOrPhrase = ""
    powers: tuple[str, ...] = ()  # "x", "y": that axis counts in powers
    mark: float | None = None
    floor: float | None = None  # start of the axis; None: the minimum


@dataclass(frozen=True)
class BarChart(ResultFigure):
    """One bar per name, from zero; negative values to the left."""

    form = "bars"
    title: TextOrPhrase
    names: Sequence[TextOrPhrase]
    values: Sequence[float]
    most: float = 0.0  # 0: the largest
    digits: int = 4
    highlighted: Sequence[int] = ()

    def as_json(self) -> dict[str, Any]:
        return super().as_json() | {"says": [self._format_value(float(value)) for value in self.values]}

    def _format_value(self, value: float) -> str:
        if value and abs(value) < 0.5 * 10**-self.digits:
            return format_number(value)  # short bars stay visible, so that they differ from zero
        return f"{value:.{self.digits}f}".replace("-", MINUS_SIGN)


@dataclass(frozen=True)
class Table(ResultFigure):
    """Rows, of which the first cell is the name. `lit` is the row that stands out."""

    form = "table"
    title: TextOrPhrase
    columns: Sequence[TextOrPhrase]
    rows: Sequence[Sequence[TextPhraseOrNumber]]
    highlighted_row: int | None = None

    def as_json(self) -> dict[str, Any]:
        return super().as_json() | {"rows": [[_cell(cell) for cell in row] for row in self.rows]}


@dataclass(frozen=True)
class TextBlock:
    """One text under its name."""

    name: TextOrPhrase
    text: TextOrPhrase
    says: TextOrPhrase = ""  # below it
    language: str = ""  # of the text, as models call it


@dataclass(frozen=True)
class TextColumns(ResultFigure):
    """Texts side by side."""

    form = "texts"
    texts: Sequence[TextBlock]


@dataclass(frozen=True)
class TrainingRuns(ResultFigure):
    """One or two runs that start on request; `kept`: the messages of the untrained models."""

    form = "trains"
    runs: Sequence[Mapping[str, Any]]  # what `WatchedRun` takes
    kept: Sequence[Mapping[str, Any]]
    sentence: int = 0  # the one that is looked at first

    def as_json(self) -> dict[str, Any]:
        return {"form": self.form, "runs": list(self.runs), "kept": list(self.kept), "sentence": self.sentence}


@dataclass(frozen=True)
class CodeListing:
    """The source of one function (`source_values`), its title and its caption."""

    title: TextOrPhrase
    code: Mapping[str, Any]
    says: TextOrPhrase = ""


@dataclass(frozen=True)
class CodeListings(ResultFigure):
    """Sources of functions, one below the other."""

    form = "sources"
    sources: Sequence[CodeListing]


@dataclass(frozen=True)
class ExperimentResult:
    """Result of an experiment."""

    figures: Sequence[ResultFigure]
    numbers: Mapping[str, TextPhraseOrNumber] = field(default_factory=dict)  # for the words and the formula, by name
    facts: tuple[str, ...] = ()  # endings of the words that are now true
    correct_option: str = (
        ""  # the option of the step's question that is right; empty: the numbers are unclear, nothing is asked
    )
    # Options of a `Places` control; `None` leaves a gap.
    position_labels: Mapping[str, Sequence[TextOrPhrase | None]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """As the page reads it."""
        return {
            "figures": [figure.as_json() for figure in self.figures],
            "numbers": {name: _cell(value) for name, value in self.numbers.items()},
            "holds": list(self.facts),
            "right": self.correct_option,
            "shown": {name: [to_json(label) for label in labels] for name, labels in self.position_labels.items()},
        }


def to_json(value: Any) -> Any:
    """A part of a form as JSON."""
    if isinstance(value, Phrase):
        return {"say": value.name, "values": {name: _cell(each) for name, each in value.values.items()}}
    if isinstance(value, ResultFigure):
        return value.as_json()
    if isinstance(value, np.ndarray):
        return encode_array(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {name: to_json(each) for name, each in vars(value).items()}
    if isinstance(value, np.floating | np.integer):
        return value.item()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [to_json(each) for each in value]
    return value


def _cell(value: TextPhraseOrNumber) -> Any:
    """Numbers become text."""
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return format_number(float(value))
    return to_json(value)

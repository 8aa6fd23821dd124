"""Figures of an experiment's result, in the forms that the page can render.

Their words are phrases of the lesson: `Phrase("name", {"count": 3})` for `lesson_LESSON_say_name`. A plain string is a
token, a number or a visitor's text, and is not translated. Numbers are formatted here, once, for all languages.
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
MIN_DECIMAL, MAX_DECIMAL = 5e-4, 1e6  # numbers outside this range are formatted with a power of ten
MAX_CELLS = 200_000  # per heat map


@dataclass(frozen=True)
class Phrase:
    """A phrase with values: its key within the lesson, or its full key."""

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)


TextOrPhrase = str | Phrase
TextPhraseOrNumber = str | Phrase | int | float


def format_number(number: float, digits: int = 4) -> str:
    """Format a number: 0.4119, 23.634, 1940.8, 4.8·10⁻⁷."""
    number = float(number)
    magnitude = abs(number)
    if not math.isfinite(number):
        return "∞" if number > 0 else f"{MINUS_SIGN}∞" if number < 0 else "–"
    if not magnitude:
        return "0"
    if magnitude < MIN_DECIMAL or magnitude >= MAX_DECIMAL:
        mantissa, power = f"{number:.1e}".split("e")
        text = f"{mantissa}·10{str(int(power)).translate(SUPERSCRIPTS)}"
    elif float(magnitude).is_integer() and magnitude >= 1:
        text = str(int(number))
    else:
        decimals = max(0, digits - 3) if magnitude >= 1000 else max(0, digits - 1) if magnitude >= 10 else digits
        text = f"{number:.{decimals}f}"
    return text.replace("-", MINUS_SIGN)


@dataclass(frozen=True)
class ResultFigure:
    """A figure; `form` is its name in JSON."""

    form: ClassVar[str]

    def as_json(self) -> dict[str, Any]:
        """Return the JSON for the page."""
        fields = {name: to_json(value) for name, value in vars(self).items()}
        return {"form": self.form} | fields


@dataclass(frozen=True)
class Heatmap(ResultFigure):
    """A matrix. Heat maps side by side may share `max_abs`, the absolute value with the darkest colour."""

    form = "heat"
    title: TextOrPhrase
    numbers: FloatArray  # [rows, columns]
    rows: Sequence[TextOrPhrase] = ()
    columns: Sequence[TextOrPhrase] = ()
    scale: Literal["signed", "share", "positive"] = "signed"
    max_abs: float = 0.0  # 0: three quarters of the largest absolute value
    digits: int = 0  # decimals of the numbers in the cells, if they fit
    row: int | None = None  # framed row
    column: int | None = None  # framed column
    without_labels: bool = False  # show the labels of rows and columns only on hover

    def __post_init__(self) -> None:
        if self.numbers.ndim != 2 or self.numbers.size > MAX_CELLS:
            raise ValueError(f"A heat map has rows and columns, at most {MAX_CELLS} cells: {self.numbers.shape}")


@dataclass(frozen=True)
class SideBySide(ResultFigure):
    """Figures side by side, or stacked if they do not fit."""

    form = "beside"
    parts: Sequence[ResultFigure]
    small: bool = False  # many small figures per row, on one scale


@dataclass(frozen=True)
class CurveSeries:
    """One curve of a plot: its name and its y values."""

    name: TextOrPhrase
    y: Sequence[float]


@dataclass(frozen=True)
class LinePlot(ResultFigure):
    """Curves over one axis, with a legend. `mark` is the x value that the controls select."""

    form = "lines"
    title: TextOrPhrase
    x: Sequence[float]
    lines: Sequence[CurveSeries]
    x_name: TextOrPhrase = ""
    powers: tuple[str, ...] = ()  # logarithmic axes: "x", "y"
    mark: float | None = None
    floor: float | None = None  # start of the y axis; None: the minimum


@dataclass(frozen=True)
class BarChart(ResultFigure):
    """One bar per name, from zero. Negative bars point left."""

    form = "bars"
    title: TextOrPhrase
    names: Sequence[TextOrPhrase]
    values: Sequence[float]
    most: float = 0.0  # end of the axis; 0: the largest value
    digits: int = 4
    highlighted: Sequence[int] = ()

    def as_json(self) -> dict[str, Any]:
        return super().as_json() | {"says": [self._format_value(float(value)) for value in self.values]}

    def _format_value(self, value: float) -> str:
        if value and abs(value) < 0.5 * 10**-self.digits:
            return format_number(value)  # a small value must not read as zero
        return f"{value:.{self.digits}f}".replace("-", MINUS_SIGN)


@dataclass(frozen=True)
class Table(ResultFigure):
    """A table. The first cell of a row is its name."""

    form = "table"
    title: TextOrPhrase
    columns: Sequence[TextOrPhrase]
    rows: Sequence[Sequence[TextPhraseOrNumber]]
    highlighted_row: int | None = None

    def as_json(self) -> dict[str, Any]:
        return super().as_json() | {"rows": [[_encode_cell(cell) for cell in row] for row in self.rows]}


@dataclass(frozen=True)
class TextBlock:
    """One text with its name above it."""

    name: TextOrPhrase
    text: TextOrPhrase
    says: TextOrPhrase = ""  # caption below the text
    language: str = ""  # language code of the text


@dataclass(frozen=True)
class TextColumns(ResultFigure):
    """Texts side by side."""

    form = "texts"
    texts: Sequence[TextBlock]


@dataclass(frozen=True)
class TrainingRuns(ResultFigure):
    """One or two runs that the visitor starts. `untrained` are the messages of the untrained models."""

    form = "trains"
    runs: Sequence[Mapping[str, Any]]  # fields of `LiveRunSettings`
    untrained: Sequence[Mapping[str, Any]]
    sentence: int = 0  # index of the initially selected sentence

    def as_json(self) -> dict[str, Any]:
        return {
            "form": self.form,
            "runs": list(self.runs),
            "untrained": list(self.untrained),
            "sentence": self.sentence,
        }


@dataclass(frozen=True)
class CodeListing:
    """The source of one function, its title and its caption."""

    title: TextOrPhrase
    code: Mapping[str, Any]  # from `make_source_listing`
    says: TextOrPhrase = ""


@dataclass(frozen=True)
class CodeListings(ResultFigure):
    """Stacked sources of functions."""

    form = "sources"
    sources: Sequence[CodeListing]


@dataclass(frozen=True)
class ExperimentResult:
    """The result of an experiment."""

    figures: Sequence[ResultFigure]
    numbers: Mapping[str, TextPhraseOrNumber] = field(default_factory=dict)  # for phrases and the formula, by name
    facts: tuple[str, ...] = ()  # variants of the phrases that apply to this result
    correct_option: str = ""  # of the step's question; empty: no question, because the numbers are inconclusive
    # Options of a `PositionPicker`; None skips an index.
    position_labels: Mapping[str, Sequence[TextOrPhrase | None]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the JSON for the page."""
        return {
            "figures": [figure.as_json() for figure in self.figures],
            "numbers": {name: _encode_cell(value) for name, value in self.numbers.items()},
            "holds": list(self.facts),
            "right": self.correct_option,
            "shown": {name: [to_json(label) for label in labels] for name, labels in self.position_labels.items()},
        }


def to_json(value: Any) -> Any:
    """Convert a value of a figure to JSON."""
    if isinstance(value, Phrase):
        return {"say": value.name, "values": {name: _encode_cell(nested) for name, nested in value.values.items()}}
    if isinstance(value, ResultFigure):
        return value.as_json()
    if isinstance(value, np.ndarray):
        return encode_array(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {name: to_json(nested) for name, nested in vars(value).items()}
    if isinstance(value, np.floating | np.integer):
        return value.item()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [to_json(nested) for nested in value]
    return value


def _encode_cell(value: TextPhraseOrNumber) -> Any:
    """Convert a table cell to JSON, with numbers as text."""
    if isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return format_number(float(value))
    return to_json(value)

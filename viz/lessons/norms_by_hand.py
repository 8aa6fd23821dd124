"""First step of the lesson on norms: a table of twelve numbers, normalised along a row and down a column."""

from __future__ import annotations

import numpy as np

from headlight.model.core.blocks import make_norm
from headlight.model.experiments.normalisation import NORMS, normalise
from headlight.model.records import FloatArray
from headlight.viz.lessons.controls import Choice, Slider
from headlight.viz.lessons.experiment import Experiment, ExperimentInput
from headlight.viz.lessons.lesson import Code, FormulaVariant, Step
from headlight.viz.lessons.result_figures import ExperimentResult, Phrase, Table, TextPhraseOrNumber
from headlight.viz.lessons.worked_figures import format_fixed

NAMES = tuple(NORMS)
NORM = Choice("norm", NAMES, "layer")
NUMBERS = np.array([[2, 2, 6, 6], [1, 5, 1, 5], [9, 2, 5, 4]], dtype=np.float32)  # [tokens, dimensions]
DIGITS, TABLE_DIGITS = 3, 2
FACTS = {"layer": "by_row", "batch": "by_column", "rms": "by_root"}  # variants of words and formula
CELL = Slider("cell", 0, NUMBERS.size - 1, 0)
BY_MEAN = (
    r"\mu = \frac{@terms}{@count} = @mu",
    r"\sigma^2 = \frac{@squares}{@count} = @square",
    r"\sigma = \sqrt{@square} = @sigma",
    r"y = \frac{@x - @mu}{@sigma} = @y",
)
BY_ROOT = (r"\frac{@squares}{@count} = @square", r"\sqrt{@square} = @root", r"y = \frac{@x}{@root} = @y")


def run_hand_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Normalise the table, and show the computation of one cell."""
    norm = inputs.values["norm"]
    row, column = divmod(inputs.values["cell"], NUMBERS.shape[1])
    after = normalise(NUMBERS, norm)
    line = NUMBERS[:, column] if norm == "batch" else NUMBERS[row]
    mean, deviation = float(line.mean()), float(line.std())
    squares = line**2 if norm == "rms" else (line - mean) ** 2
    numbers: dict[str, TextPhraseOrNumber] = {
        "row_number": row + 1, "dimension": column, "count": len(line), "x": format_short(NUMBERS[row, column]),
        "terms": " + ".join(map(format_short, line)), "squares": " + ".join(map(format_short, squares)),
        "square": format_short(squares.mean()), "mu": format_short(mean), "sigma": format_short(deviation),
        "root": format_short(squares.mean() ** 0.5), "y": format_fixed(after[row, column], DIGITS),
    }  # fmt: skip
    figures = (
        make_number_table("numbers_before", NUMBERS, 0, row),
        make_number_table("numbers_after", after, TABLE_DIGITS, row),
    )
    return ExperimentResult(figures, numbers, (FACTS[norm],))


def format_short(number: float) -> str:
    """Format a number; whole numbers have no decimals."""
    return format_fixed(number, 0 if float(number).is_integer() else DIGITS)


def make_number_table(title: str, matrix: FloatArray, digits: int, row: int) -> Table:
    """Return the numbers with the mean and the standard deviation of each row and column."""

    def line(values: FloatArray) -> list[str]:
        return [format_fixed(value, digits) for value in values]

    def statistics(values: FloatArray) -> tuple[str, str]:
        return format_fixed(values.mean(), TABLE_DIGITS), format_fixed(values.std(), TABLE_DIGITS)

    rows: list[list[TextPhraseOrNumber]] = [
        [Phrase("token_row", {"token": index + 1}), *line(values), *statistics(values)]
        for index, values in enumerate(matrix)
    ]
    means, deviations = zip(*(statistics(values) for values in matrix.T), strict=True)
    rows.append([Phrase("column_mean"), *means, "", ""])
    rows.append([Phrase("column_deviation"), *deviations, "", ""])
    dimensions = [Phrase("dimension", {"dimension": index}) for index in range(matrix.shape[1])]
    columns = (Phrase("token"), *dimensions, Phrase("row_mean"), Phrase("row_deviation"))
    return Table(Phrase(title), columns, rows, highlighted_row=row)


HAND_STEP = Step(
    "hand",
    code=Code(make_norm, "return nn.LayerNorm(", ("by_root", "return RMSNorm(")),
    formula=r"y = \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}}",
    numbers=BY_MEAN,
    formula_variants=(
        FormulaVariant(("by_root",), r"y = \frac{x}{\sqrt{\frac{1}{d} \sum_i x_i^2 + \epsilon}}", BY_ROOT),
    ),
    experiment=Experiment(run_hand_experiment, (NORM, CELL)),
    claims=("twelve_numbers_can_be_normalised_by_hand",),
)

"""Step of the lesson on positions: a shift by k positions is the same rotation everywhere."""

from __future__ import annotations

import math

from headlight.model.core.positions import sinusoidal_table
from headlight.model.experiments.shift_rotation import Float64Array, shift_rotation
from headlight.viz.lessons.controls import Slider
from headlight.viz.lessons.experiment import Experiment, ExperimentInput
from headlight.viz.lessons.lesson import Code, QuestionSpec, Step
from headlight.viz.lessons.result_figures import ExperimentResult, Phrase, Table, TextPhraseOrNumber
from headlight.viz.lessons.worked_figures import (
    CirclePoint,
    MatrixProduct,
    NumberMatrix,
    UnitCircle,
    format_fixed,
    format_term,
)

WIDTH = 64  # width of the encoding
POSITIONS = 64  # number of positions at which the matrix is tested
FACTOR_DIGITS, RESULT_DIGITS = 6, 4  # enough that the product of the printed factors has the printed result
EQUAL_TOLERANCE = 1e-5

POSITION, SHIFT = Slider("position", 0, 24, 4), Slider("shift", 0, 12, 3)
PAIR = Slider("pair", 0, WIDTH // 2 - 1, 4)


def run_rotation_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Rotate one pair of values of a position by the matrix of a shift."""
    position, shift, pair = (inputs.values[name] for name in ("position", "shift", "pair"))
    result = shift_rotation(WIDTH, pair, shift, POSITIONS)
    before, after = result.pairs[position], result.matrix @ result.pairs[position]
    angle = shift * result.frequency
    circle = UnitCircle(
        Phrase("circle", {"even": 2 * pair, "odd": 2 * pair + 1}),
        (
            CirclePoint(f"p = {position}", float(before[0]), float(before[1])),
            CirclePoint(f"p + k = {position + shift}", float(after[0]), float(after[1])),
        ),
        [[round(float(x), 3), round(float(y), 3)] for x, y in result.pairs[:POSITIONS]],
        Phrase("even_dimension", {"dimension": 2 * pair}),
        Phrase("odd_dimension", {"dimension": 2 * pair + 1}),
        Phrase("turn", {"degrees": f"{math.degrees(angle):.1f}", "angle": format_fixed(angle, FACTOR_DIGITS)}),
    )
    product = MatrixProduct(
        Phrase("rotation"),
        (
            NumberMatrix(f"M({shift})", number_rows(result.matrix, FACTOR_DIGITS)),
            NumberMatrix(f"PE({position})", number_rows(before[:, None], FACTOR_DIGITS)),
            NumberMatrix(f"PE({position + shift})", number_rows(after[:, None], RESULT_DIGITS)),
        ),
        ("·", "="),
    )
    sums: list[list[TextPhraseOrNumber]] = [
        [name, sum_text(row, before), format_fixed(value, RESULT_DIGITS)]
        for name, row, value in zip(("sin (p + k)ω", "cos (p + k)ω"), result.matrix, after, strict=True)
    ]
    worked_table = Table(Phrase("by_hand"), (Phrase("number"), Phrase("sum"), "="), sums)
    cosine, sine = float(result.matrix[0, 0]), float(result.matrix[0, 1])
    rows: list[list[TextPhraseOrNumber]] = [
        [Phrase("by_matrix"), result.error],
        [Phrase("by_sum"), result.fixed_error],
    ]
    table = Table(
        Phrase("every_position", {"last": POSITIONS - 1, "shift": shift}), (Phrase("means"), Phrase("error")), rows
    )
    numbers: dict[str, TextPhraseOrNumber] = {
        "position": position, "shift": shift, "target": position + shift,
        "other": POSITIONS - 1, "other_target": POSITIONS - 1 + shift,
        "pair": pair, "even": 2 * pair, "odd": 2 * pair + 1, "pairs": WIDTH // 2, "width": WIDTH,
        "frequency": format_fixed(result.frequency, FACTOR_DIGITS), "angle": format_fixed(angle, FACTOR_DIGITS),
        "cos": format_fixed(cosine, FACTOR_DIGITS), "sin": format_fixed(sine, FACTOR_DIGITS),
        "error": result.error, "fixed_error": result.fixed_error,
    }  # fmt: skip
    return ExperimentResult(
        (circle, product, worked_table, table),
        numbers,
        correct_option="same" if result.error < EQUAL_TOLERANCE else "other",
    )


def sum_text(row: Float64Array, pair: Float64Array) -> str:
    """Return the dot product of a matrix row and a pair as text: `a · b + c · d`."""
    return " + ".join(
        f"{format_term(one, FACTOR_DIGITS)} · {format_term(other, FACTOR_DIGITS)}"
        for one, other in zip(row, pair, strict=True)
    )


def number_rows(matrix: Float64Array, digits: int) -> list[list[str]]:
    """Format a matrix."""
    return [[format_fixed(float(number), digits) for number in row] for row in matrix]


ROTATION_STEP = Step(
    "rotation",
    code=Code(sinusoidal_table, "sines, cosines = angles.sin(), angles.cos()"),
    formula=(
        r"PE(p + k) = M(k) \, PE(p) \\ M_1 = [\,\cos k \omega, \, \sin k \omega\,]"
        r" \\ M_2 = [\,-\sin k \omega, \, \cos k \omega\,]"
    ),
    numbers=(
        r"\omega = 10000^{-2 \cdot @pair / @width} = @frequency",
        r"k \omega = @shift \cdot @frequency = @angle",
        r"\cos k \omega = @cos, \quad \sin k \omega = @sin",
    ),
    experiment=Experiment(run_rotation_experiment, (POSITION, SHIFT, PAIR)),
    question=QuestionSpec("experiment", options=("other", "same", "none")),
    claims=("one_matrix_shifts_every_position", "the_rotation_can_be_checked_by_hand"),
)

"""Lesson on positions: positional encodings side by side, and the effect of removing them from the encoder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headlight.model.core.config import TransformerConfig
from headlight.model.core.positions import AddedPositions, make_positions, sinusoidal_table
from headlight.model.core.transformer import Encoder
from headlight.model.experiments.encodings import make_encoding_array, periods
from headlight.model.experiments.position_joining import count_extra_parameters, join_position
from headlight.model.experiments.queries import encode_both_orders
from headlight.model.records import FloatArray
from headlight.viz.lessons.controls import Button, Choice, Slider, Switch
from headlight.viz.lessons.experiment import Experiment, ExperimentInput
from headlight.viz.lessons.lesson import Code, FormulaVariant, Lesson, QuestionSpec, Scale, Step, TensorView
from headlight.viz.lessons.position_rotation import ROTATION_STEP
from headlight.viz.lessons.result_figures import (
    BarChart,
    CurveSeries,
    ExperimentResult,
    Heatmap,
    LinePlot,
    Phrase,
    SideBySide,
    TextBlock,
    TextColumns,
    TextOrPhrase,
    TextPhraseOrNumber,
)

# Encodings are shown for a model of width 64: wide enough to see their structure, and the same for all encodings.
CONFIG = TransformerConfig(source_vocabulary=8, target_vocabulary=8, d_model=64, heads=8, head_width=64)
# Without the learned encoding, which is noise before training.
DRAWN_ENCODINGS = ("sinusoidal", "sinusoidal_halves", "rotary", "alibi", "relative")
WAVES = ("sinusoidal", "sinusoidal_halves", "rotary")
FORMULA_VARIANTS = {"sinusoidal_halves": ("halves",), "rotary": ("turns",)}  # variants of the formula, by encoding
PERIOD = (r"i = @pair, \quad 2 \pi \cdot 10000^{2i/d} = @period",)
MAX_LENGTH = 64
BIAS_HEAD = 0  # displayed head of an encoding that adds a bias to scores
CONCATENATED_WIDTH = 16  # width of a concatenated position
SHOWN_DIMENSIONS = 64  # number of displayed dimensions
EQUAL_TOLERANCE = 1e-5  # smaller differences between vectors count as none
MIN_CHANGE = 0.1  # smallest change for which the question is asked

LENGTH = Slider("length", 4, MAX_LENGTH, 24)
EMBEDDED, POSITIONED = "encoder.embedding.embedded", "encoder.embedding.positioned"

# The control selects how word and position are joined, independently of the model in use.
LENGTHS = r"|E| = @length_word, \quad |PE| = @length_place"
ADDED = FormulaVariant(("add",), r"x = E[\text{id}] + PE(p)", (LENGTHS, r"\cos(E, x) = @kept"))
CONCATENATED = FormulaVariant(
    ("beside",),
    r"x = [\,E[\text{id}];\, PE(p)\,]",
    (LENGTHS, r"@d_model + @beside = @width", r"\cos(E, x_{0 \ldots @last}) = @kept"),
)


def find_encoding_name(encoding: str) -> Phrase:
    """Return the page's phrase for the name of an encoding."""
    return Phrase(f"positions_name_{encoding}")


def run_encodings_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Show all encodings that need no training, side by side."""
    length = inputs.values["length"]
    heatmaps = []
    for encoding in DRAWN_ENCODINGS:
        table = make_encoding_array(CONFIG, encoding, length)
        is_bias = table.ndim == 3
        labels: Sequence[TextOrPhrase] = [str(position) for position in range(length)]
        columns = labels if is_bias else [str(dimension) for dimension in range(table.shape[1])]
        scale: Scale = "positive" if encoding == "relative" else "signed"  # buckets are counted from 0
        matrix = table[BIAS_HEAD] if is_bias else table
        title = Phrase("buckets") if encoding == "relative" else find_encoding_name(encoding)
        heatmaps.append(Heatmap(title, matrix, labels, columns, scale, without_labels=True))
    return ExperimentResult((SideBySide(heatmaps),), {"length": length})


def run_similarity_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Compare any two positions by cosine similarity, which for waves depends only on the distance."""
    length = inputs.values["length"]
    labels = [str(position) for position in range(length)]
    similarities = {encoding: compute_cosine_matrix(encoding, length) for encoding in WAVES}
    heatmaps = [
        Heatmap(find_encoding_name(encoding), matrix, labels, labels, max_abs=1.0, without_labels=True)
        for encoding, matrix in similarities.items()
    ]
    distances = list(range(length))
    curves = [
        CurveSeries(find_encoding_name(encoding), [float(matrix[0, position]) for position in distances])
        for encoding, matrix in similarities.items()
    ]
    table = similarities["sinusoidal"]
    first, second = float(table[0, 1]), float(table[length - 2, length - 1])
    correct = "same" if abs(first - second) < EQUAL_TOLERANCE else "more" if first > second else "less"
    numbers: dict[str, TextPhraseOrNumber] = {
        "near": first, "far": float(table[0, length - 1]), "distance": length - 1, "length": length,
        "first": first, "second": second, "before": length - 2, "last": length - 1,
    }  # fmt: skip
    side_by_side = SideBySide(heatmaps)
    return ExperimentResult(
        (side_by_side, LinePlot(Phrase("by_distance"), distances, curves, Phrase("distance"))),
        numbers,
        correct_option=correct,
    )


def compute_cosine_matrix(encoding: str, length: int) -> FloatArray:
    """Return the cosine similarity of any two positions, `[positions, positions]`."""
    rows = make_encoding_array(CONFIG, encoding, length).astype(np.float64)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(unit @ unit.T, dtype=np.float32)


def run_wave_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Plot one dimension over all positions, with the fastest one for comparison."""
    encoding, dimension = inputs.values["encoding"], inputs.values["dimension"]
    table = make_encoding_array(CONFIG, encoding, MAX_LENGTH)
    wavelengths = periods(CONFIG, encoding) or []
    curves = [
        CurveSeries(
            Phrase("dimension", {"dimension": curve_dimension}), [float(value) for value in table[:, curve_dimension]]
        )
        for curve_dimension in dict.fromkeys((dimension, 0))
    ]
    numbers: dict[str, TextPhraseOrNumber] = {
        "dimension": dimension, "period": wavelengths[dimension],
        "fastest": min(wavelengths), "slowest": max(wavelengths),
    }  # fmt: skip
    pair = dimension % (table.shape[1] // 2) if encoding == "sinusoidal_halves" else dimension // 2
    plot = LinePlot(Phrase("wave"), list(range(MAX_LENGTH)), curves, Phrase("position"))
    return ExperimentResult((plot,), numbers | {"pair": pair}, FORMULA_VARIANTS.get(encoding, ()))


def run_word_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Join a word of the sentence and a position by addition or concatenation."""
    embedded = inputs.tensors(EMBEDDED)[EMBEDDED]
    index = find_longest_token(inputs)
    token, position, is_concatenated = (
        inputs.tokens[index],
        inputs.values["place"],
        inputs.values["joining"] == "beside",
    )
    result = join_position(embedded[index], position, MAX_LENGTH, concatenate=is_concatenated, width=CONCATENATED_WIDTH)
    width = len(result.result)
    rows = np.zeros((3, width), dtype=np.float32)
    rows[0, : len(result.word)] = result.word
    rows[1, width - len(result.position) :] = result.position
    rows[2] = result.result
    labels: list[TextOrPhrase] = [token, Phrase("place", {"place": str(position)}), Phrase("result")]
    heatmap = Heatmap(Phrase("joined"), rows, labels)
    plot = LinePlot(
        Phrase("elsewhere"),
        list(range(MAX_LENGTH)),
        [CurveSeries(token, result.similarities_by_position)],
        Phrase("position"),
        mark=position,
    )
    numbers: dict[str, TextPhraseOrNumber] = {
        "token": token, "place": position,
        "kept": result.similarity_to_word, "d_model": len(result.word), "width": width,
        "last": len(result.word) - 1,  # the last dimension
        "length_word": float(np.linalg.norm(result.word)), "length_place": float(np.linalg.norm(result.position)),
        "lowest": min(result.similarities_by_position),
        "extra": f"{count_extra_parameters(len(result.word), CONCATENATED_WIDTH):,}", "beside": CONCATENATED_WIDTH,
    }  # fmt: skip
    return ExperimentResult((heatmap, plot), numbers, (inputs.values["joining"],))


def find_longest_token(inputs: ExperimentInput) -> int:
    """Return the index of the longest token of the sentence."""
    return int(np.argmax([0 if token.special else len(token.text) for token in inputs.translation.source_tokens]))


def run_shuffle_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Shuffle the tokens and run the live encoder on them, with and without positions."""
    ids = [token.id for token in inputs.translation.source_tokens]
    tokens, index = inputs.tokens, find_longest_token(inputs)
    with_positions, without_positions = inputs.run(encode_both_orders, ids, inputs.values["seed"])
    result = with_positions if inputs.values["positions"] else without_positions
    max_abs = max(float(np.abs(result.before[:, :SHOWN_DIMENSIONS]).max()), EQUAL_TOLERANCE)
    texts = TextColumns(
        (
            TextBlock(Phrase("sentence"), " ".join(tokens), language=inputs.translation.request.source_language or ""),
            TextBlock(Phrase("shuffled"), " ".join(tokens[position] for position in result.order)),
        )
    )
    heatmaps = [
        Heatmap(Phrase(name), vectors[:, :SHOWN_DIMENSIONS], tokens, max_abs=0.75 * max_abs)
        for name, vectors in (("vectors", result.before), ("vectors_after", result.after))
    ]
    largest = float(with_positions.max_change.max())  # one scale with and without positions
    bars = BarChart(
        Phrase("moved"), tokens, [float(change) for change in result.max_change], most=largest, highlighted=(index,)
    )
    numbers: dict[str, TextPhraseOrNumber] = {
        "token": tokens[index],
        "without": float(without_positions.max_change.max()), "with": float(with_positions.max_change.max()),
    }  # fmt: skip
    is_conclusive = (
        without_positions.max_change.max() < EQUAL_TOLERANCE and with_positions.max_change.max() > MIN_CHANGE
    )
    fact = "with" if inputs.values["positions"] and result.max_change.max() > EQUAL_TOLERANCE else "without"
    return ExperimentResult((texts, SideBySide(heatmaps), bars), numbers, (fact,), "same" if is_conclusive else "")


POSITIONS = Lesson(
    "positions",
    minutes=7,
    picture=(TensorView("position", POSITIONED, subtract=EMBEDDED, rows="positions"),),
    steps=(
        Step(
            "doors",
            code=Code(make_positions, "return POSITIONS["),
            formula=r"x_p = E[\text{id}] + PE(p)",
            experiment=Experiment(run_encodings_experiment, (LENGTH,)),
            tab="positions",
            claims=("encodings_use_one_of_three_doors",),
        ),
        Step(
            "similarity",
            code=Code(sinusoidal_table, "sines, cosines = angles.sin(), angles.cos()"),
            formula=r"\cos(PE(p), PE(q)) = f(p - q)",
            numbers=(r"\cos(PE(0), PE(1)) = @near", r"\cos(PE(0), PE(@distance)) = @far"),
            experiment=Experiment(run_similarity_experiment, (LENGTH,)),
            question=QuestionSpec("experiment", options=("more", "same", "less")),
            tab="positions",
            claims=(
                "likeness_depends_on_the_distance",
                "sorting_columns_changes_no_likeness",
                "formulas_of_likeness_give_their_numbers",
            ),
        ),
        Step(
            "wave",
            code=Code(sinusoidal_table, "wavelengths = 10_000 **"),
            formula=r"PE(p, 2i) = \sin \frac{p}{10000^{2i/d}} \\ PE(p, 2i + 1) = \cos \frac{p}{10000^{2i/d}}",
            numbers=PERIOD,
            formula_variants=(
                FormulaVariant(
                    ("halves",),
                    r"PE(p, i) = \sin \frac{p}{10000^{2i/d}} \\ PE(p, d/2 + i) = \cos \frac{p}{10000^{2i/d}}",
                    PERIOD,
                ),
                FormulaVariant(("turns",), r"\theta_i = \frac{p}{10000^{2i/d}}", PERIOD),
            ),
            experiment=Experiment(
                run_wave_experiment, (Choice("encoding", WAVES, "sinusoidal"), Slider("dimension", 0, 63, 20))
            ),
            tab="positions",
            claims=("waves_have_their_periods",),
        ),
        ROTATION_STEP,
        Step(
            "word",
            code=Code(AddedPositions.forward, "return embedded + rows", ("beside", "torch.cat([embedded, rows")),
            formula=ADDED.formula,
            numbers=ADDED.numbers,
            formula_variants=(ADDED, CONCATENATED),
            experiment=Experiment(
                run_word_experiment,
                (Choice("joining", ("add", "beside"), "add"), Slider("place", 0, MAX_LENGTH - 1, 5)),
            ),
            claims=(
                "adding_changes_every_number",
                "what_stands_beside_leaves_the_word",
                "the_formula_joins_as_the_control_does",
            ),
        ),
        Step(
            "shuffle",
            code=Code(Encoder.forward, "self.embedding(ids)"),
            formula=r"f(\pi(x)) = \pi(f(x))",
            numbers=(r"\max|f(\pi(x)) - \pi(f(x))| = @without",),
            formula_variants=(
                FormulaVariant(("with",), r"f(\pi(x)) \neq \pi(f(x))", (r"\max|f(\pi(x)) - \pi(f(x))| = @with",)),
            ),
            experiment=Experiment(run_shuffle_experiment, (Switch("positions"), Button("seed"))),
            question=QuestionSpec("experiment", options=("same", "little", "other")),
            claims=(
                "without_positions_order_is_lost",
                "with_positions_it_is_not",
                "the_formula_says_whether_order_counts",
            ),
        ),
    ),
)

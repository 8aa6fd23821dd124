"""Positional encodings side by side, and the effect of removing them from the encoder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headlight.model.core.config import TransformerConfig
from headlight.model.core.positions import AddedPositions, make_positions, sinusoidal_table
from headlight.model.core.transformer import Encoder
from headlight.model.experiments.encodings import encoding_array, periods
from headlight.model.experiments.position_joining import extra_parameters, join_position
from headlight.model.experiments.queries import encode_both_orders
from headlight.model.records import FloatArray
from headlight.viz.lessons.controls import Button, Choice, Slider, Switch
from headlight.viz.lessons.experiment import Experiment, ExperimentInput
from headlight.viz.lessons.lesson import Code, FormulaVariant, Lesson, QuestionSpec, Scale, Step, TensorView
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

# As a model of 64 numbers a token would have them: wide enough to see, and equal for all.
CONFIG = TransformerConfig(source_vocabulary=8, target_vocabulary=8, d_model=64, heads=8, head_width=64)
# Not the learned encoding: before training it is noise.
DRAWN_ENCODINGS = ("sinusoidal", "sinusoidal_halves", "rotary", "alibi", "relative")
WAVES = ("sinusoidal", "sinusoidal_halves", "rotary")
HOLDS = {"sinusoidal_halves": ("halves",), "rotary": ("turns",)}  # which formula is that of an encoding
PERIOD = (r"i = @pair, \quad 2 \pi \cdot 10000^{2i/d} = @period",)
MAX_LENGTH = 64
BIAS_HEAD = 0  # of those that add to scores
CONCATENATED_WIDTH = 16  # width of a concatenated position
SHOWN_DIMENSIONS = 64  # dimensions
EQUAL_TOLERANCE = 1e-5  # vectors that differ less are the same
MIN_CHANGE = 0.1

LENGTH = Slider("length", 4, MAX_LENGTH, 24)
EMBEDDED, POSITIONED = "encoder.embedding.embedded", "encoder.embedding.positioned"

# How word and place are joined by the control, whichever way the model in use does it.
LENGTHS = r"|E| = @length_word, \quad |PE| = @length_place"
ADDED = FormulaVariant(("add",), r"x = E[\text{id}] + PE(p)", (LENGTHS, r"\cos(E, x) = @kept"))
CONCATENATED = FormulaVariant(
    ("beside",),
    r"x = [\,E[\text{id}];\, PE(p)\,]",
    (LENGTHS, r"@d_model + @beside = @width", r"\cos(E, x_{0 \ldots @last}) = @kept"),
)


def encoding_name(encoding: str) -> Phrase:
    """The name that the page has for it."""
    return Phrase(f"positions_name_{encoding}")


def encodings_experiment(value: ExperimentInput) -> ExperimentResult:
    """All encodings that need no training, side by side."""
    length = value.values["length"]
    pictures = []
    for encoding in DRAWN_ENCODINGS:
        table = encoding_array(CONFIG, encoding, length)
        biases = table.ndim == 3
        axis: Sequence[TextOrPhrase] = [str(place) for place in range(length)]
        columns = axis if biases else [str(dimension) for dimension in range(table.shape[1])]
        scale: Scale = "positive" if encoding == "relative" else "signed"  # buckets are counted from 0
        matrix = table[BIAS_HEAD] if biases else table
        pictures.append(Heatmap(encoding_name(encoding), matrix, axis, columns, scale, without_labels=True))
    return ExperimentResult((SideBySide(pictures),), {"length": length})


def similarity_experiment(value: ExperimentInput) -> ExperimentResult:
    """Dot products of two positions; for waves they depend only on the distance."""
    length = value.values["length"]
    axis = [str(place) for place in range(length)]
    alike = {encoding: cosine_matrix(encoding, length) for encoding in WAVES}
    pictures = [
        Heatmap(encoding_name(encoding), matrix, axis, axis, max_abs=1.0, without_labels=True)
        for encoding, matrix in alike.items()
    ]
    far = list(range(length))
    lines = [
        CurveSeries(encoding_name(encoding), [float(matrix[0, place]) for place in far])
        for encoding, matrix in alike.items()
    ]
    table = alike["sinusoidal"]
    first, second = float(table[0, 1]), float(table[length - 2, length - 1])
    right = "same" if abs(first - second) < EQUAL_TOLERANCE else "more" if first > second else "less"
    numbers: dict[str, TextPhraseOrNumber] = {
        "near": first, "far": float(table[0, length - 1]), "distance": length - 1, "length": length,
        "first": first, "second": second, "before": length - 2, "last": length - 1,
    }  # fmt: skip
    pictured = SideBySide(pictures)
    return ExperimentResult(
        (pictured, LinePlot(Phrase("by_distance"), far, lines, Phrase("distance"))), numbers, correct_option=right
    )


def cosine_matrix(encoding: str, length: int) -> FloatArray:
    """The cosine between the rows of any two positions, `[positions, positions]`."""
    rows = encoding_array(CONFIG, encoding, length).astype(np.float64)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(unit @ unit.T, dtype=np.float32)


def wave_experiment(argument: ExperimentInput) -> ExperimentResult:
    """One dimension at every position, next to the fastest one."""
    encoding, dimension = argument.values["encoding"], argument.values["dimension"]
    table = encoding_array(CONFIG, encoding, MAX_LENGTH)
    lengths = periods(CONFIG, encoding) or []
    lines = [
        CurveSeries(Phrase("dimension", {"dimension": each}), [float(value) for value in table[:, each]])
        for each in dict.fromkeys((dimension, 0))
    ]
    numbers: dict[str, TextPhraseOrNumber] = {
        "dimension": dimension, "period": lengths[dimension], "fastest": min(lengths), "slowest": max(lengths),
    }  # fmt: skip
    pair = dimension % (table.shape[1] // 2) if encoding == "sinusoidal_halves" else dimension // 2
    pictured = LinePlot(Phrase("wave"), list(range(MAX_LENGTH)), lines, Phrase("position"))
    return ExperimentResult((pictured,), numbers | {"pair": pair}, HOLDS.get(encoding, ()))


def word_experiment(value: ExperimentInput) -> ExperimentResult:
    """A word of the sentence and a place: added, or side by side."""
    embedded = value.tensors(EMBEDDED)[EMBEDDED]
    at = longest_token(value)
    token, place, beside = value.tokens[at], value.values["place"], value.values["joining"] == "beside"
    result = join_position(embedded[at], place, MAX_LENGTH, beside=beside, width=CONCATENATED_WIDTH)
    width = len(result.result)
    rows = np.zeros((3, width), dtype=np.float32)
    rows[0, : len(result.word)] = result.word
    rows[1, width - len(result.position) :] = result.position
    rows[2] = result.result
    names: list[TextOrPhrase] = [token, Phrase("place", {"place": str(place)}), Phrase("result")]
    heat = Heatmap(Phrase("joined"), rows, names)
    lines = LinePlot(
        Phrase("elsewhere"),
        list(range(MAX_LENGTH)),
        [CurveSeries(token, result.similarities_by_position)],
        Phrase("position"),
        mark=place,
    )
    numbers: dict[str, TextPhraseOrNumber] = {
        "token": token, "place": place, "kept": result.similarity_to_word, "d_model": len(result.word), "width": width,
        "last": len(result.word) - 1,  # dimension
        "length_word": float(np.linalg.norm(result.word)), "length_place": float(np.linalg.norm(result.position)),
        "lowest": min(result.similarities_by_position),
        "extra": f"{extra_parameters(len(result.word), CONCATENATED_WIDTH):,}", "beside": CONCATENATED_WIDTH,
    }  # fmt: skip
    return ExperimentResult((heat, lines), numbers, (value.values["joining"],))


def longest_token(value: ExperimentInput) -> int:
    """The longest token of the sentence: its place."""
    return int(np.argmax([0 if token.special else len(token.text) for token in value.translation.source_tokens]))


def shuffle_experiment(value: ExperimentInput) -> ExperimentResult:
    """The same tokens in another order, through the live encoder, with its positions and without."""
    ids = [token.id for token in value.translation.source_tokens]
    tokens, at = value.tokens, longest_token(value)
    with_positions, without = value.run(encode_both_orders, ids, value.values["seed"])
    result = with_positions if value.values["positions"] else without
    most = max(float(np.abs(result.before[:, :SHOWN_DIMENSIONS]).max()), EQUAL_TOLERANCE)
    texts = TextColumns(
        (
            TextBlock(Phrase("sentence"), " ".join(tokens), language=value.translation.request.source_language or ""),
            TextBlock(Phrase("shuffled"), " ".join(tokens[place] for place in result.order)),
        )
    )
    pictures = [
        Heatmap(Phrase(name), vectors[:, :SHOWN_DIMENSIONS], tokens, max_abs=0.75 * most)
        for name, vectors in (("vectors", result.before), ("vectors_after", result.after))
    ]
    largest = float(with_positions.max_change.max())  # one scale for both
    bars = BarChart(
        Phrase("moved"), tokens, [float(each) for each in result.max_change], most=largest, highlighted=(at,)
    )
    numbers: dict[str, TextPhraseOrNumber] = {
        "token": tokens[at], "without": float(without.max_change.max()), "with": float(with_positions.max_change.max()),
    }  # fmt: skip
    clear = without.max_change.max() < EQUAL_TOLERANCE and with_positions.max_change.max() > MIN_CHANGE
    holds = "with" if value.values["positions"] and result.max_change.max() > EQUAL_TOLERANCE else "without"
    return ExperimentResult((texts, SideBySide(pictures), bars), numbers, (holds,), "same" if clear else "")


POSITIONS = Lesson(
    "positions",
    minutes=6,
    picture=(TensorView("position", POSITIONED, subtract=EMBEDDED, rows="positions"),),
    steps=(
        Step(
            "doors",
            code=Code(make_positions, "return POSITIONS["),
            formula=r"x_p = E[\text{id}] + PE(p)",
            experiment=Experiment(encodings_experiment, (LENGTH,)),
            tab="positions",
            claims=("encodings_use_one_of_three_doors",),
        ),
        Step(
            "similarity",
            code=Code(sinusoidal_table, "sines, cosines = angles.sin(), angles.cos()"),
            formula=r"\cos(PE(p), PE(q)) = f(p - q)",
            numbers=(r"\cos(PE(0), PE(1)) = @near", r"\cos(PE(0), PE(@distance)) = @far"),
            experiment=Experiment(similarity_experiment, (LENGTH,)),
            question=QuestionSpec("found", options=("more", "same", "less")),
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
            formula=r"PE(p, 2i) = \sin \frac{p}{10000^{2i/d}}",
            numbers=PERIOD,
            formula_variants=(
                FormulaVariant(("halves",), r"PE(p, i) = \sin \frac{p}{10000^{2i/d}}", PERIOD),
                FormulaVariant(("turns",), r"\theta_i = \frac{p}{10000^{2i/d}}", PERIOD),
            ),
            experiment=Experiment(
                wave_experiment, (Choice("encoding", WAVES, "sinusoidal"), Slider("dimension", 0, 63, 20))
            ),
            tab="positions",
            claims=("waves_have_their_periods",),
        ),
        Step(
            "word",
            code=Code(AddedPositions.forward, "return embedded + rows", ("beside", "torch.cat([embedded, rows")),
            formula=ADDED.formula,
            numbers=ADDED.numbers,
            formula_variants=(ADDED, CONCATENATED),
            experiment=Experiment(
                word_experiment, (Choice("joining", ("add", "beside"), "add"), Slider("place", 0, MAX_LENGTH - 1, 5))
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
            experiment=Experiment(shuffle_experiment, (Switch("positions"), Button("seed"))),
            question=QuestionSpec("found", options=("same", "little", "other")),
            claims=(
                "without_positions_order_is_lost",
                "with_positions_it_is_not",
                "the_formula_says_whether_order_counts",
            ),
        ),
    ),
)

"""Lesson on heads: one head or many, on the visitor's sentence; why scores are divided by √d_k, on random vectors."""

from __future__ import annotations

import numpy as np

from headlight.model.core.attention import MultiHeadAttention, attention_scores, masked_softmax
from headlight.model.experiments.head_splits import (
    compute_unscaled_weights,
    count_attention_parameters,
    make_random_projections,
    resplit_attention,
)
from headlight.model.experiments.scaling import measure_scaling, softmax_gradient
from headlight.model.records import FloatArray
from headlight.viz.lessons.controls import Button, Choice
from headlight.viz.lessons.experiment import Experiment, ExperimentInput
from headlight.viz.lessons.head_shapes import SHAPES_STEP
from headlight.viz.lessons.lesson import Code, Lesson, QuestionSpec, Step, TensorView
from headlight.viz.lessons.result_figures import (
    BarChart,
    CurveSeries,
    ExperimentResult,
    Heatmap,
    LinePlot,
    Phrase,
    SideBySide,
    Table,
    TextPhraseOrNumber,
)

COUNTS = (1, 2, 4, 8)
WIDTHS = (4, 8, 16, 32, 64, 128, 256, 512)
SHOWN_WEIGHTS = 8  # weights per row
FIRST_WIDTH, LATER_WIDTH = 4, 64  # widths that the question compares
MIN_SATURATED_WEIGHT = 0.75  # softmax counts as saturated if the mean of the rows' largest weights is at least this
MIN_GRADIENT = 0.03  # w(1 - w), at most 0.25, at the largest weight; a smaller gradient counts as vanished
WIDTH_RATIOS = {"twice": 2, "four": 4, "sixteen": 16}

HEADS_CONTROL = Choice("heads", tuple(map(str, COUNTS)), "8")
MATRICES = Choice("matrices", ("trained", "random"), "trained")
WIDTH = Choice("width", tuple(map(str, WIDTHS)), "512", as_slider=True)
SEED = Button("seed")
ATTENTION = "encoder.layers.{}.self_attention"
STREAM = "encoder.embedding.stream"


# ---------------------------------------------------------------- one head or many


def run_split_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Split the queries and keys of one layer into another number of heads."""
    layer, queries, keys = find_most_diverse_layer(inputs)
    heads = find_head_count(int(inputs.values["heads"]), queries)
    maps = resplit_attention(queries, keys, heads)
    tokens, row = (
        inputs.tokens,
        find_most_diverse_row(
            maps if heads > 1 else resplit_attention(queries, keys, find_head_count(COUNTS[-1], queries))
        ),
    )
    best = maps[:, row].argmax(axis=-1)
    heatmaps = [
        Heatmap(Phrase("head", {"head": str(head + 1)}), weights, tokens, tokens, "share", row=row, without_labels=True)
        for head, weights in enumerate(maps)
    ]
    rows: list[list[TextPhraseOrNumber]] = [
        [str(head + 1), tokens[key], float(maps[head, row, key])] for head, key in enumerate(best)
    ]
    table = Table(
        Phrase("row", {"token": tokens[row]}), (Phrase("one_head"), Phrase("favours"), Phrase("weight")), rows
    )
    joined = queries.shape[0] * queries.shape[2]
    numbers: dict[str, TextPhraseOrNumber] = {
        "heads": heads, "width": joined // heads, "joined": joined, "layer": layer + 1,
        "token": tokens[row], "different": len(set(best.tolist())),
    }  # fmt: skip
    return ExperimentResult((SideBySide(heatmaps, small=True), table), numbers, ("one",) if heads == 1 else ())


def run_head_counts_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Compare the cost and benefit of each number of heads."""
    layer, queries, keys = find_most_diverse_layer(inputs)
    joined = queries.shape[0] * queries.shape[2]
    d_model = inputs.model_info.model.config.d_model
    rows: list[list[TextPhraseOrNumber]] = []
    counts: dict[int, float] = {}
    for heads in dict.fromkeys(find_head_count(count, queries) for count in COUNTS):
        maps = resplit_attention(queries, keys, heads)
        counts[heads] = count_distinct_keys(maps)
        cost = count_attention_parameters(d_model, heads, joined // heads)
        rows.append(
            [str(heads), str(joined // heads), f"{cost:,}", f"{counts[heads]:.2f}", float(maps.max(axis=-1).mean())]
        )
    columns = (Phrase("heads"), Phrase("width"), Phrase("numbers"), Phrase("different"), Phrase("largest"))
    table = Table(Phrase("cost"), columns, rows)
    bars = BarChart(
        Phrase("different"),
        [str(count) for count in counts],
        list(counts.values()),
        digits=2,
        highlighted=(len(rows) - 1,),
    )
    best_count = max(counts)
    numbers: dict[str, TextPhraseOrNumber] = {
        "parameters": rows[0][2], "most": best_count, "many": f"{counts[best_count]:.2f}", "d_model": d_model,
        "layer": layer + 1,
    }  # fmt: skip
    return ExperimentResult((table, bars), numbers)


def find_most_diverse_layer(inputs: ExperimentInput) -> tuple[int, FloatArray, FloatArray]:
    """Return the encoder layer whose heads differ most, and its queries and keys, `[heads, tokens, width]`.

    The queries and keys come from the model, or from random projections of the same size.
    """
    pairs = capture_queries_and_keys(inputs)
    variety = [count_distinct_keys(resplit_attention(*pair, len(pair[0]))) for pair in pairs]
    layer = int(np.argmax(variety))
    queries, keys = pairs[layer]
    if inputs.values.get("matrices") == "random":
        stream = inputs.tensors(STREAM)[STREAM]
        queries, keys = make_random_projections(stream, queries.shape[0] * queries.shape[2], inputs.values["seed"])
    return layer, queries, keys


def capture_queries_and_keys(inputs: ExperimentInput) -> list[tuple[FloatArray, FloatArray]]:
    """Return the queries and keys of each encoder layer, `[heads, tokens, width]`."""
    layers = range(len(inputs.translation.attention.encoder))
    names = [(f"{ATTENTION.format(layer)}.queries", f"{ATTENTION.format(layer)}.keys") for layer in layers]
    result = inputs.tensors(*(name for pair in names for name in pair))
    return [(result[queries], result[keys]) for queries, keys in names]


def find_head_count(heads: int, queries: FloatArray) -> int:
    """Return the largest number in `COUNTS` that is at most `heads` and divides the joined width of all heads."""
    joined = queries.shape[0] * queries.shape[2]
    return max(count for count in COUNTS if count <= heads and joined % count == 0)


def find_most_diverse_row(maps: FloatArray) -> int:
    """Return the index of the row whose heads favour the most distinct keys; `maps` is `[heads, rows, keys]`."""
    return int(np.argmax([len(set(column.tolist())) for column in maps.argmax(axis=-1).T]))


def count_distinct_keys(maps: FloatArray) -> float:
    """Return how many distinct keys the heads of a row favour, averaged over rows; `maps` is `[heads, rows, keys]`."""
    best = maps.argmax(axis=-1)  # [heads, rows]
    return float(np.mean([len(set(column.tolist())) for column in best.T]))


# ---------------------------------------------------------------- why √d_k


def run_spread_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Plot the scores' standard deviation over the width of the vectors, with and without the division by √d_k."""
    results = {width: measure_scaling(width, inputs.values["seed"]) for width in WIDTHS}
    width = int(inputs.values["width"])
    measurement = results[width]
    ratio = results[LATER_WIDTH].raw / results[FIRST_WIDTH].raw
    numbers: dict[str, TextPhraseOrNumber] = {
        "width": width, "root": width**0.5, "raw": measurement.raw, "scaled": measurement.scaled,
        "first": results[FIRST_WIDTH].raw, "later": results[LATER_WIDTH].raw, "ratio": ratio,
    }  # fmt: skip
    correct = min(WIDTH_RATIOS, key=lambda name: abs(np.log(ratio / WIDTH_RATIOS[name])))
    return ExperimentResult((_plot_over_widths("spread", inputs, "raw", "scaled"),), numbers, correct_option=correct)


def run_saturation_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Show how softmax saturates if scores are far apart: one weight becomes almost 1."""
    measurement = measure_scaling(int(inputs.values["width"]), inputs.values["seed"])
    labels = [str(index + 1) for index in range(SHOWN_WEIGHTS)]
    charts = [
        BarChart(Phrase(name), labels, row[:SHOWN_WEIGHTS], most=1.0, highlighted=(0,))
        for name, row in (("row_without", measurement.raw_row), ("row_with", measurement.scaled_row))
    ]
    numbers: dict[str, TextPhraseOrNumber] = {
        "width": measurement.width,
        "raw": measurement.raw_largest,
        "scaled": measurement.scaled_largest,
    }
    plot = _plot_over_widths("largest", inputs, "raw_largest", "scaled_largest")
    return ExperimentResult(
        (SideBySide(charts), plot), numbers, () if measurement.raw_largest >= MIN_SATURATED_WEIGHT else ("narrow",)
    )


def run_gradient_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Show the gradient of softmax, which vanishes if one weight is almost 1."""
    measurement = measure_scaling(int(inputs.values["width"]), inputs.values["seed"])
    plot = _plot_over_widths("slope", inputs, "raw_gradient", "scaled_gradient", powers=("x", "y"))
    numbers: dict[str, TextPhraseOrNumber] = {
        "width": measurement.width, "raw": measurement.raw_gradient, "scaled": measurement.scaled_gradient,
        "times": measurement.scaled_gradient / measurement.raw_gradient,
    }  # fmt: skip
    return ExperimentResult((plot,), numbers, () if measurement.raw_gradient < MIN_GRADIENT else ("narrow",))


def _plot_over_widths(
    title: str, inputs: ExperimentInput, raw: str, scaled: str, powers: tuple[str, ...] = ("x",)
) -> LinePlot:
    results = [measure_scaling(width, inputs.values["seed"]) for width in WIDTHS]
    curves = [
        CurveSeries(Phrase(name), [getattr(measurement, field) for measurement in results])
        for name, field in (("without", raw), ("with", scaled))
    ]
    floor = None if "y" in powers else 0.0
    return LinePlot(Phrase(title), WIDTHS, curves, "dₖ", powers, mark=int(inputs.values["width"]), floor=floor)


def run_live_model_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Compare the mean largest weight of each layer, with and without the division by √d_k, in the visitor's model."""
    pairs = capture_queries_and_keys(inputs)
    scaled = [float(resplit_attention(*pair, len(pair[0])).max(axis=-1).mean()) for pair in pairs]
    unscaled = [float(compute_unscaled_weights(*pair).max(axis=-1).mean()) for pair in pairs]
    bars = [
        BarChart(
            Phrase(name), [Phrase("layer", {"layer": str(layer + 1)}) for layer in range(len(pairs))], values, most=1.0
        )
        for name, values in (("row_with", scaled), ("row_without", unscaled))
    ]
    width = pairs[0][0].shape[-1]
    numbers: dict[str, TextPhraseOrNumber] = {
        "scaled": float(np.mean(scaled)), "raw": float(np.mean(unscaled)), "width": width, "root": width**0.5,
    }  # fmt: skip
    return ExperimentResult((SideBySide(bars),), numbers)


HEADS = Lesson(
    "heads",
    minutes=8,
    picture=(TensorView("queries", f"{ATTENTION.format(0)}.queries"),),
    steps=(
        SHAPES_STEP,
        Step(
            "split",
            code=Code(MultiHeadAttention.split_heads, "x.view(batch, tokens, self.heads, self.head_width)"),
            formula=r"@heads \cdot @width = @joined",
            experiment=Experiment(
                run_split_experiment, (HEADS_CONTROL, MATRICES, Button("seed", visible_if=("matrices", "random")))
            ),
            claims=("cut_as_the_model_cuts_it_is_the_model", "heads_of_a_row_may_differ"),
        ),
        Step(
            "several",
            code=Code(MultiHeadAttention.__init__, "self.head_width = head_width or d_model // heads"),
            formula=r"4 d^2 + 4 d",
            numbers=(r"d = @d_model \to @parameters",),
            experiment=Experiment(run_head_counts_experiment),
            claims=("heads_cost_nothing", "one_head_favours_one_key"),
        ),
        Step(
            "spread",
            code=Code(attention_scores, "* scale"),
            formula=r"\sigma(q \cdot k) = \sqrt{d_k}",
            numbers=(r"\sqrt{@width} = @root \approx @raw", r"\frac{@raw}{\sqrt{@width}} = @scaled"),
            experiment=Experiment(run_spread_experiment, (WIDTH, SEED)),
            question=QuestionSpec("experiment", options=tuple(WIDTH_RATIOS)),
            claims=("raw_scores_spread_by_the_root", "scaled_scores_spread_by_one", "axes_name_the_width"),
        ),
        Step(
            "saturate",
            code=Code(masked_softmax, "return scores.softmax"),
            formula=r"w_j = \frac{e^{s_j}}{\sum_k e^{s_k}}",
            numbers=(r"\max_j w_j = @raw \to @scaled",),
            experiment=Experiment(run_saturation_experiment, (WIDTH, SEED)),
            claims=("wide_scores_choose_one", "titles_and_words_fit_every_width"),
        ),
        Step(
            "slope",
            code=Code(softmax_gradient, "torch.autograd.grad"),
            formula=r"\frac{dw}{ds} = w (1 - w)",
            numbers=(r"\frac{@scaled}{@raw} = @times",),
            experiment=Experiment(run_gradient_experiment, (WIDTH, SEED)),
            claims=(
                "slope_is_w_times_the_rest",
                "slope_vanishes_without_the_division",
                "titles_and_words_fit_every_width",
            ),
        ),
        Step(
            "live",
            code=Code(attention_scores, "1 / math.sqrt(query.shape[-1])"),
            formula=r"s = \frac{q \cdot k}{\sqrt{d_k}}",
            numbers=(r"\sqrt{@width} = @root", r"\max_j w_j = @scaled \to @raw"),
            experiment=Experiment(run_live_model_experiment),
            claims=("the_live_model_leans_on_one_word",),
        ),
    ),
)

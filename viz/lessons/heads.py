"""One head or many, on the visitor's own sentence; and why scores are divided by √d_k, on random vectors."""

from __future__ import annotations

import numpy as np

from headlight.model.core.attention import MultiHeadAttention, attention_scores, softmax_where
from headlight.model.experiments.regrouped import parameters_of, random_projections, regrouped, undivided
from headlight.model.experiments.scaling import gradient, spread_of
from headlight.model.records import FloatArray
from headlight.viz.lessons.controls import Button, Choice
from headlight.viz.lessons.drawn import Bars, Beside, Cell, Found, Heat, Line, Lines, Say, Table
from headlight.viz.lessons.experiment import Experiment, Given
from headlight.viz.lessons.lesson import Ask, Code, Lesson, Show, Step

COUNTS = (1, 2, 4, 8)
WIDTHS = (4, 8, 16, 32, 64, 128, 256, 512)
SHOWN = 8  # weights of a row
FIRST, LATER = 4, 64  # widths that the question is about
ALMOST_ALL = 0.75  # of the weight of a row, on average: from here on, one weight has it
ALMOST_NONE = 0.03  # slope of the largest weight, at most 0.25: below, nothing is learned
TIMES = {"twice": 2, "four": 4, "sixteen": 16}

HEADS_CONTROL = Choice("heads", tuple(map(str, COUNTS)), "8")
MATRICES = Choice("matrices", ("trained", "random"), "trained")
WIDTH = Choice("width", tuple(map(str, WIDTHS)), "512", slides=True)
SEED = Button("seed")
ATTENTION = "encoder.layers.{}.self_attention"
STREAM = "encoder.embedding.stream"


# ---------------------------------------------------------------- one head or many


def split(given: Given) -> Found:
    """Queries and keys of one layer, cut into another number of heads."""
    layer, queries, keys = vectors(given)
    heads = fitting(int(given.values["heads"]), queries)
    maps = regrouped(queries, keys, heads)
    tokens, row = (
        given.tokens,
        telling_row(maps if heads > 1 else regrouped(queries, keys, fitting(COUNTS[-1], queries))),
    )
    best = maps[:, row].argmax(axis=-1)
    pictures = [
        Heat(Say("head", {"head": str(head + 1)}), weights, tokens, tokens, "share", row=row, bare=True)
        for head, weights in enumerate(maps)
    ]
    lines: list[list[Cell]] = [
        [str(head + 1), tokens[key], float(maps[head, row, key])] for head, key in enumerate(best)
    ]
    table = Table(Say("row", {"token": tokens[row]}), (Say("one_head"), Say("favours"), Say("weight")), lines)
    joined = queries.shape[0] * queries.shape[2]
    numbers: dict[str, Cell] = {
        "heads": heads, "width": joined // heads, "joined": joined, "layer": layer + 1,
        "token": tokens[row], "different": len(set(best.tolist())),
    }  # fmt: skip
    return Found((Beside(pictures, small=True), table), numbers, ("one",) if heads == 1 else ())


def several(given: Given) -> Found:
    """Cost and benefit of each number of heads."""
    layer, queries, keys = vectors(given)
    joined = queries.shape[0] * queries.shape[2]
    d_model = given.outline.model.config.d_model
    rows: list[list[Cell]] = []
    counts: dict[int, float] = {}
    for heads in dict.fromkeys(fitting(each, queries) for each in COUNTS):
        maps = regrouped(queries, keys, heads)
        counts[heads] = different(maps)
        cost = parameters_of(d_model, heads, joined // heads)
        rows.append(
            [str(heads), str(joined // heads), f"{cost:,}", f"{counts[heads]:.2f}", float(maps.max(axis=-1).mean())]
        )
    columns = (Say("heads"), Say("width"), Say("numbers"), Say("different"), Say("largest"))
    table = Table(Say("cost"), columns, rows)
    bars = Bars(Say("different"), [str(each) for each in counts], list(counts.values()), digits=2, lit=(len(rows) - 1,))
    most = max(counts)
    numbers: dict[str, Cell] = {
        "parameters": rows[0][2], "most": most, "many": f"{counts[most]:.2f}", "d_model": d_model, "layer": layer + 1,
    }  # fmt: skip
    return Found((table, bars), numbers)


def vectors(given: Given) -> tuple[int, FloatArray, FloatArray]:
    """The encoder's layer whose heads differ most, and its queries and keys, `[heads, tokens, width]`.

    They are the model's own, or made by random matrices of the same size.
    """
    pairs = own_vectors(given)
    variety = [different(regrouped(*pair, len(pair[0]))) for pair in pairs]
    layer = int(np.argmax(variety))
    queries, keys = pairs[layer]
    if given.values.get("matrices") == "random":
        stream = given.tensors(STREAM)[STREAM]
        queries, keys = random_projections(stream, queries.shape[0] * queries.shape[2], given.values["seed"])
    return layer, queries, keys


def own_vectors(given: Given) -> list[tuple[FloatArray, FloatArray]]:
    """Queries and keys of each layer of the encoder."""
    layers = range(len(given.translation.attention.encoder))
    names = [(f"{ATTENTION.format(layer)}.queries", f"{ATTENTION.format(layer)}.keys") for layer in layers]
    found = given.tensors(*(name for pair in names for name in pair))
    return [(found[queries], found[keys]) for queries, keys in names]


def fitting(heads: int, queries: FloatArray) -> int:
    """This number of heads, or the next smaller divisor of the width."""
    joined = queries.shape[0] * queries.shape[2]
    return max(each for each in COUNTS if each <= heads and joined % each == 0)


def telling_row(maps: FloatArray) -> int:
    """The row whose heads favour most different keys."""
    return int(np.argmax([len(set(column.tolist())) for column in maps.argmax(axis=-1).T]))


def different(maps: FloatArray) -> float:
    """Of `[heads, rows, keys]`: how many different keys the heads of a row attend to most, on average over the rows."""
    best = maps.argmax(axis=-1)  # [heads, rows]
    return float(np.mean([len(set(column.tolist())) for column in best.T]))


# ---------------------------------------------------------------- why √d_k


def spread(given: Given) -> Found:
    """How far scores spread as vectors grow longer, without the division and with it."""
    found = {width: spread_of(width, given.values["seed"]) for width in WIDTHS}
    width = int(given.values["width"])
    here = found[width]
    ratio = found[LATER].raw / found[FIRST].raw
    numbers: dict[str, Cell] = {
        "width": width, "root": width**0.5, "raw": here.raw, "scaled": here.scaled,
        "first": found[FIRST].raw, "later": found[LATER].raw, "ratio": ratio,
    }  # fmt: skip
    right = min(TIMES, key=lambda name: abs(np.log(ratio / TIMES[name])))
    return Found((_lines("spread", given, "raw", "scaled"),), numbers, right=right)


def saturate(given: Given) -> Found:
    """Softmax over scores that lie far apart: one weight takes nearly all."""
    here = spread_of(int(given.values["width"]), given.values["seed"])
    places = [str(place + 1) for place in range(SHOWN)]
    bars = [
        Bars(Say(name), places, row[:SHOWN], most=1.0, lit=(0,))
        for name, row in (("row_without", here.raw_row), ("row_with", here.scaled_row))
    ]
    numbers: dict[str, Cell] = {"width": here.width, "raw": here.raw_largest, "scaled": here.scaled_largest}
    lines = _lines("largest", given, "raw_largest", "scaled_largest")
    return Found((Beside(bars), lines), numbers, () if here.raw_largest >= ALMOST_ALL else ("narrow",))


def slope(given: Given) -> Found:
    """The gradient of softmax, which vanishes if one weight is almost 1."""
    here = spread_of(int(given.values["width"]), given.values["seed"])
    lines = _lines("slope", given, "raw_gradient", "scaled_gradient", powers=("x", "y"))
    numbers: dict[str, Cell] = {
        "width": here.width, "raw": here.raw_gradient, "scaled": here.scaled_gradient,
        "times": here.scaled_gradient / here.raw_gradient,
    }  # fmt: skip
    return Found((lines,), numbers, () if here.raw_gradient < ALMOST_NONE else ("narrow",))


def _lines(title: str, given: Given, raw: str, scaled: str, powers: tuple[str, ...] = ("x",)) -> Lines:
    found = [spread_of(width, given.values["seed"]) for width in WIDTHS]
    lines = [
        Line(Say(name), [getattr(each, field) for each in found])
        for name, field in (("without", raw), ("with", scaled))
    ]
    floor = None if "y" in powers else 0.0
    return Lines(Say(title), WIDTHS, lines, "dₖ", powers, mark=int(given.values["width"]), floor=floor)


def live(given: Given) -> Found:
    """The visitor's model with and without the division, over all its layers and heads."""
    pairs = own_vectors(given)
    scaled = [float(regrouped(*pair, len(pair[0])).max(axis=-1).mean()) for pair in pairs]
    raw = [float(undivided(*pair).max(axis=-1).mean()) for pair in pairs]
    bars = [
        Bars(Say(name), [Say("layer", {"layer": str(layer + 1)}) for layer in range(len(pairs))], values, most=1.0)
        for name, values in (("row_with", scaled), ("row_without", raw))
    ]
    width = pairs[0][0].shape[-1]
    numbers: dict[str, Cell] = {
        "scaled": float(np.mean(scaled)), "raw": float(np.mean(raw)), "width": width, "root": width**0.5,
    }  # fmt: skip
    return Found((Beside(bars),), numbers)


HEADS = Lesson(
    "heads",
    minutes=6,
    picture=(Show("queries", f"{ATTENTION.format(0)}.queries"),),
    steps=(
        Step(
            "split",
            code=Code(MultiHeadAttention.split, "x.view(batch, tokens, self.heads, self.head_width)"),
            formula=r"@heads \cdot @width = @joined",
            experiment=Experiment(split, (HEADS_CONTROL, MATRICES, Button("seed", when=("matrices", "random")))),
            claims=("cut_as_the_model_cuts_it_is_the_model", "heads_of_a_row_may_differ"),
        ),
        Step(
            "several",
            code=Code(MultiHeadAttention.__init__, "self.head_width = head_width or d_model // heads"),
            formula=r"4 d^2 + 4 d",
            numbers=(r"d = @d_model \to @parameters",),
            experiment=Experiment(several),
            claims=("heads_cost_nothing", "one_head_favours_one_key"),
        ),
        Step(
            "spread",
            code=Code(attention_scores, "* scale"),
            formula=r"\sigma(q \cdot k) = \sqrt{d_k}",
            numbers=(r"\sqrt{@width} = @root \approx @raw", r"\frac{@raw}{\sqrt{@width}} = @scaled"),
            experiment=Experiment(spread, (WIDTH, SEED)),
            ask=Ask("found", options=tuple(TIMES)),
            claims=("raw_scores_spread_by_the_root", "scaled_scores_spread_by_one", "axes_name_the_width"),
        ),
        Step(
            "saturate",
            code=Code(softmax_where, "return scores.softmax"),
            formula=r"w_j = \frac{e^{s_j}}{\sum_k e^{s_k}}",
            numbers=(r"\max_j w_j = @raw \to @scaled",),
            experiment=Experiment(saturate, (WIDTH, SEED)),
            claims=("wide_scores_choose_one", "titles_and_words_fit_every_width"),
        ),
        Step(
            "slope",
            code=Code(gradient, "torch.autograd.grad"),
            formula=r"\frac{dw}{ds} = w (1 - w)",
            numbers=(r"\frac{@scaled}{@raw} = @times",),
            experiment=Experiment(slope, (WIDTH, SEED)),
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
            experiment=Experiment(live),
            claims=("the_live_model_leans_on_one_word",),
        ),
    ),
)

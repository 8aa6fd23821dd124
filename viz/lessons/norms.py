"""Batch norm or layer norm: one real batch of activations, normalised along its rows and along its columns."""

from __future__ import annotations

import numpy as np

from headlight.model.core.blocks import RMSNorm, make_norm
from headlight.model.experiments.asked import activations_of
from headlight.model.experiments.normalising import (
    NORMS,
    Activations,
    by_batch,
    moves,
    normalised,
    with_padding,
)
from headlight.model.records import FloatArray
from headlight.viz.lessons.controls import Choice, Slider, Switch
from headlight.viz.lessons.drawn import Bars, Beside, Cell, Found, Heat, Line, Lines, Say, Table
from headlight.viz.lessons.experiment import Experiment, Given
from headlight.viz.lessons.lesson import Ask, Code, Lesson, Show, Step
from headlight.viz.lessons.neighbours import MOST, neighbours

SHOWN = 64  # dimensions
NAMES = tuple(NORMS)
STILL = 1e-4  # numbers that move less have not moved
CLEAR = 0.05
SHIFT, TIMES = 5.0, 3.0

NORM = Choice("norm", NAMES, "layer")
SENTENCES = Slider("sentences", 2, MOST, 4)


def batch_of(given: Given) -> tuple[Activations, list[str]]:
    """The visitor's sentence and others as one batch, and the visitor's tokens."""
    own = tuple(token.id for token in given.translation.source_tokens)
    return given.run(activations_of, [own, *neighbours(given)]), given.tokens


def axes(given: Given) -> Found:
    """The batch before and after, with the means and spreads of rows and columns."""
    batch, tokens = batch_of(given)
    batch = batch.first(given.values["sentences"])
    norm = given.values["norm"]
    rows, at = batch.rows, _longest(given)
    after = normalised(rows, norm)
    pictures = [
        Heat(Say(name), matrix[:, :SHOWN], row=None if norm == "batch" else at, column=0 if norm == "batch" else None)
        for name, matrix in (("before", rows), ("after", after))
    ]
    lines: list[list[Cell]] = [
        [Say("row_of", {"token": tokens[at]}), *_spread(rows[at]), *_spread(after[at])],
        [Say("column_of", {"count": str(len(rows))}), *_spread(rows[:, 0]), *_spread(after[:, 0])],
    ]
    columns = (Say("along"), Say("mean"), Say("deviation"), Say("mean_after"), Say("deviation_after"))
    one, other = (rows[:, 0], after[:, 0]) if norm == "batch" else (rows[at], after[at])  # a column or a row
    numbers: dict[str, Cell] = {
        "token": tokens[at], "width": rows.shape[1], "count": len(rows), "sentences": len(batch.values),
        "mean": float(rows[at].mean()), "spread": float(rows[at].std()),
        "mean_after": float(after[at].mean()), "spread_after": float(after[at].std()),
        "column_mean": float(rows[:, 0].mean()), "column_spread": float(rows[:, 0].std()),
        "mu": float(one.mean()), "mu_after": float(other.mean()),
        "sigma": float(one.std()), "sigma_after": float(other.std()),
    }  # fmt: skip
    lit = 1 if norm == "batch" else 0
    return Found((Beside(pictures), Table(Say("axes"), columns, lines, lit=lit)), numbers, (norm,))


def _spread(numbers: FloatArray) -> tuple[str, str]:
    return f"{numbers.mean():.3f}".replace("-", "−"), f"{numbers.std():.3f}"


def _longest(given: Given) -> int:
    return int(np.argmax([0 if token.special else len(token.text) for token in given.translation.source_tokens]))


def company(given: Given) -> Found:
    """Effect of the other sentences of a batch on one token's vector."""
    batch, tokens = batch_of(given)
    at, size = _longest(given), given.values["size"]
    whole = {norm: normalised(batch.rows, norm)[at] for norm in NAMES}
    sizes = list(range(1, MOST + 1))
    moved = {
        norm: [moves(normalised(batch.first(each).rows, norm)[at], whole[norm]) for each in sizes] for norm in NAMES
    }
    lines = Lines(
        Say("moved"), sizes, [Line(Say(norm), moved[norm]) for norm in NAMES], Say("batch_size"), mark=size, floor=0.0
    )
    alone = normalised(batch.rows[at : at + 1], "batch")
    numbers: dict[str, Cell] = {
        "token": tokens[at], "size": size, "most": MOST, "alone": float(np.abs(alone).max()),
        **{norm: values[size - 1] for norm, values in moved.items()},
    }  # fmt: skip
    first = {norm: values[0] for norm, values in moved.items()}
    clear = first["batch"] > CLEAR and max(first["layer"], first["rms"]) < STILL
    return Found((lines,), numbers, right="batch" if clear else "")


def padding(given: Given) -> Found:
    """Effect of padding on the batch statistics."""
    batch, tokens = batch_of(given)
    batch = batch.first(given.values["sentences"])
    at, counts = _longest(given), given.values["counts"]
    drawn = batch.there.astype(np.float32)
    heat = Heat(Say("places"), drawn, [str(number + 1) for number in range(len(drawn))], scale="share")
    moved = {norm: moves(with_padding(batch, norm)[at], normalised(batch.rows, norm)[at]) for norm in NAMES}
    shown = {norm: value if counts else 0.0 for norm, value in moved.items()}
    bars = Bars(Say("moved_by_padding"), [Say(norm) for norm in NAMES], list(shown.values()), max(moved.values()))
    numbers: dict[str, Cell] = {
        "token": tokens[at], "tokens": int(batch.there.sum()), "padded": int((~batch.there).sum()),
        "places": batch.there.size, **moved,
    }  # fmt: skip
    return Found((heat, bars), numbers, ("counted" if counts else "masked",))


def differences(given: Given) -> Found:
    """All differences as numbers: every cell is computed from the batch."""
    batch, tokens = batch_of(given)
    found = {norm: measured(batch, norm, _longest(given)) for norm in NAMES}
    rows: list[list[Cell]] = [[Say(f"is_{name}"), *(found[norm][name] for norm in NAMES)] for name in found[NAMES[0]]]
    table = Table(Say("differences"), (Say("what"), *(Say(norm) for norm in NAMES)), rows)
    numbers: dict[str, Cell] = {
        "token": tokens[_longest(given)], "other": found["batch"]["company"], "padding": found["batch"]["padding"],
        "alone": found["batch"]["alone"], "shift": found["rms"]["shift"], "count": len(batch.rows),
    }  # fmt: skip
    return Found((table,), numbers)


def measured(batch: Activations, norm: str, at: int) -> dict[str, float]:
    """Effect of a norm on a batch, and the change of one token's vector when another token changes."""
    rows = batch.rows
    after = normalised(rows, norm)

    def moved(other: FloatArray) -> float:
        return moves(other, after[at])

    return {
        "row_mean": float(np.abs(after.mean(axis=1)).max()),
        "row_spread": float(np.abs(after.std(axis=1) - 1).max()),
        "column_mean": float(np.abs(after.mean(axis=0)).max()),
        "column_spread": float(np.abs(after.std(axis=0) - 1).max()),
        "company": moved(normalised(batch.first(1).rows, norm)[at]),
        "padding": moved(with_padding(batch, norm)[at]),
        "alone": float(np.abs(normalised(rows[at : at + 1], norm)).max()),
        "shift": moved(normalised(rows + SHIFT, norm)[at]),
        "times": moved(normalised(rows * TIMES, norm)[at]),
    }


NORMS_LESSON = Lesson(
    "norms",
    minutes=5,
    picture=(Show("carried", "encoder.layers.0.around_feed_forward.carried"),),
    steps=(
        Step(
            "axes",
            code=Code(make_norm, "return nn.LayerNorm(", ("rms", "return RMSNorm(")),
            formula=r"y = \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}}",
            numbers=(r"\mu = @mu \to @mu_after", r"\sigma = @sigma \to @sigma_after"),
            experiment=Experiment(axes, (NORM, SENTENCES)),
            claims=("layer_norm_centres_rows", "batch_norm_centres_columns", "rms_norm_leaves_the_mean"),
        ),
        Step(
            "company",
            code=Code(by_batch, "x.mean(dim=0)"),
            formula=r"\mu_d = \frac{1}{n} \sum_t x_{td}",
            numbers=(r"n = 1: \quad y = @alone",),
            experiment=Experiment(company, (Slider("size", 1, MOST, 1),)),
            ask=Ask("found", options=("layer", "batch", "rms")),
            claims=("only_batch_norm_feels_other_sentences", "batch_norm_of_one_token_is_zero"),
        ),
        Step(
            "padding",
            code=Code(by_batch, "x.var(dim=0"),
            formula=r"n = \text{tokens} + \text{padding}",
            numbers=(r"@tokens + @padded = @places",),
            experiment=Experiment(padding, (Switch("counts", start=True), SENTENCES)),
            claims=("only_batch_norm_feels_padding",),
        ),
        Step(
            "differences",
            code=Code(RMSNorm.forward, "torch.rsqrt("),
            formula=r"y = \frac{x}{\sqrt{\sum_i x_i^2 / d + \epsilon}}",
            experiment=Experiment(differences),
            claims=("every_cell_of_the_table_is_so",),
        ),
    ),
)

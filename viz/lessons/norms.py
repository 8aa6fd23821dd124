"""Batch norm or layer norm: one real batch of activations, normalised along its rows and along its columns."""

from __future__ import annotations

import numpy as np

from headlight.model.core.blocks import RMSNorm, make_norm
from headlight.model.experiments.normalisation import (
    NORMS,
    Activations,
    batch_norm,
    max_difference,
    normalise,
    normalise_with_padding,
)
from headlight.model.experiments.queries import encoder_activations
from headlight.model.records import FloatArray
from headlight.viz.lessons.batch_sentences import MAX_BATCH, batch_ids
from headlight.viz.lessons.controls import Choice, Slider, Switch
from headlight.viz.lessons.experiment import Experiment, ExperimentInput
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

SHOWN_DIMENSIONS = 64  # dimensions
NAMES = tuple(NORMS)
EQUAL_TOLERANCE = 1e-4  # numbers that move less have not moved
MIN_CHANGE = 0.05
SHIFT, TIMES = 5.0, 3.0

NORM = Choice("norm", NAMES, "layer")
SENTENCES = Slider("sentences", 2, MAX_BATCH, 4)


def make_batch(value: ExperimentInput) -> tuple[Activations, list[str]]:
    """The visitor's sentence and others as one batch, and the visitor's tokens."""
    own = tuple(token.id for token in value.translation.source_tokens)
    return value.run(encoder_activations, [own, *batch_ids(value)]), value.tokens


def axes_experiment(value: ExperimentInput) -> ExperimentResult:
    """The batch before and after, with the means and spreads of rows and columns."""
    batch, tokens = make_batch(value)
    batch = batch.first(value.values["sentences"])
    norm = value.values["norm"]
    rows, at = batch.rows, _longest(value)
    after = normalise(rows, norm)
    pictures = [
        Heatmap(
            Phrase(name),
            matrix[:, :SHOWN_DIMENSIONS],
            row=None if norm == "batch" else at,
            column=0 if norm == "batch" else None,
        )
        for name, matrix in (("before", rows), ("after", after))
    ]
    lines: list[list[TextPhraseOrNumber]] = [
        [Phrase("row_of", {"token": tokens[at]}), *_spread(rows[at]), *_spread(after[at])],
        [Phrase("column_of", {"count": str(len(rows))}), *_spread(rows[:, 0]), *_spread(after[:, 0])],
    ]
    columns = (Phrase("along"), Phrase("mean"), Phrase("deviation"), Phrase("mean_after"), Phrase("deviation_after"))
    one, other = (rows[:, 0], after[:, 0]) if norm == "batch" else (rows[at], after[at])  # a column or a row
    numbers: dict[str, TextPhraseOrNumber] = {
        "token": tokens[at], "width": rows.shape[1], "count": len(rows), "sentences": len(batch.values),
        "mean": float(rows[at].mean()), "spread": float(rows[at].std()),
        "mean_after": float(after[at].mean()), "spread_after": float(after[at].std()),
        "column_mean": float(rows[:, 0].mean()), "column_spread": float(rows[:, 0].std()),
        "mu": float(one.mean()), "mu_after": float(other.mean()),
        "sigma": float(one.std()), "sigma_after": float(other.std()),
    }  # fmt: skip
    lit = 1 if norm == "batch" else 0
    return ExperimentResult(
        (SideBySide(pictures), Table(Phrase("axes"), columns, lines, highlighted_row=lit)), numbers, (norm,)
    )


def _spread(numbers: FloatArray) -> tuple[str, str]:
    return f"{numbers.mean():.3f}".replace("-", "−"), f"{numbers.std():.3f}"


def _longest(value: ExperimentInput) -> int:
    return int(np.argmax([0 if token.special else len(token.text) for token in value.translation.source_tokens]))


def batch_dependence_experiment(value: ExperimentInput) -> ExperimentResult:
    """Effect of the other sentences of a batch on one token's vector."""
    batch, tokens = make_batch(value)
    at, size = _longest(value), value.values["size"]
    whole = {norm: normalise(batch.rows, norm)[at] for norm in NAMES}
    sizes = list(range(1, MAX_BATCH + 1))
    moved = {
        norm: [max_difference(normalise(batch.first(each).rows, norm)[at], whole[norm]) for each in sizes]
        for norm in NAMES
    }
    lines = LinePlot(
        Phrase("moved"),
        sizes,
        [CurveSeries(Phrase(norm), moved[norm]) for norm in NAMES],
        Phrase("batch_size"),
        mark=size,
        floor=0.0,
    )
    alone = normalise(batch.rows[at : at + 1], "batch")
    numbers: dict[str, TextPhraseOrNumber] = {
        "token": tokens[at], "size": size, "most": MAX_BATCH, "alone": float(np.abs(alone).max()),
        **{norm: values[size - 1] for norm, values in moved.items()},
    }  # fmt: skip
    first = {norm: values[0] for norm, values in moved.items()}
    clear = first["batch"] > MIN_CHANGE and max(first["layer"], first["rms"]) < EQUAL_TOLERANCE
    return ExperimentResult((lines,), numbers, correct_option="batch" if clear else "")


def padding_experiment(argument: ExperimentInput) -> ExperimentResult:
    """Effect of padding on the batch statistics."""
    batch, tokens = make_batch(argument)
    batch = batch.first(argument.values["sentences"])
    at, counts = _longest(argument), argument.values["counts"]
    drawn = batch.token_mask.astype(np.float32)
    heat = Heatmap(Phrase("places"), drawn, [str(number + 1) for number in range(len(drawn))], scale="share")
    moved = {
        norm: max_difference(normalise_with_padding(batch, norm)[at], normalise(batch.rows, norm)[at]) for norm in NAMES
    }
    shown = {norm: value if counts else 0.0 for norm, value in moved.items()}
    bars = BarChart(
        Phrase("moved_by_padding"), [Phrase(norm) for norm in NAMES], list(shown.values()), max(moved.values())
    )
    numbers: dict[str, TextPhraseOrNumber] = {
        "token": tokens[at], "tokens": int(batch.token_mask.sum()), "padded": int((~batch.token_mask).sum()),
        "places": batch.token_mask.size, **moved,
    }  # fmt: skip
    return ExperimentResult((heat, bars), numbers, ("counted" if counts else "masked",))


def differences_experiment(value: ExperimentInput) -> ExperimentResult:
    """All differences as numbers: every cell is computed from the batch."""
    batch, tokens = make_batch(value)
    results = {norm: measure_norm(batch, norm, _longest(value)) for norm in NAMES}
    rows: list[list[TextPhraseOrNumber]] = [
        [Phrase(f"is_{name}"), *(results[norm][name] for norm in NAMES)] for name in results[NAMES[0]]
    ]
    table = Table(Phrase("differences"), (Phrase("what"), *(Phrase(norm) for norm in NAMES)), rows)
    numbers: dict[str, TextPhraseOrNumber] = {
        "token": tokens[_longest(value)], "other": results["batch"]["company"], "padding": results["batch"]["padding"],
        "alone": results["batch"]["alone"], "shift": results["rms"]["shift"], "count": len(batch.rows),
    }  # fmt: skip
    return ExperimentResult((table,), numbers)


def measure_norm(batch: Activations, norm: str, at: int) -> dict[str, float]:
    """Effect of a norm on a batch, and the change of one token's vector when another token changes."""
    rows = batch.rows
    after = normalise(rows, norm)

    def moved(other: FloatArray) -> float:
        return max_difference(other, after[at])

    return {
        "row_mean": float(np.abs(after.mean(axis=1)).max()),
        "row_spread": float(np.abs(after.std(axis=1) - 1).max()),
        "column_mean": float(np.abs(after.mean(axis=0)).max()),
        "column_spread": float(np.abs(after.std(axis=0) - 1).max()),
        "company": moved(normalise(batch.first(1).rows, norm)[at]),
        "padding": moved(normalise_with_padding(batch, norm)[at]),
        "alone": float(np.abs(normalise(rows[at : at + 1], norm)).max()),
        "shift": moved(normalise(rows + SHIFT, norm)[at]),
        "times": moved(normalise(rows * TIMES, norm)[at]),
    }


NORMS_LESSON = Lesson(
    "norms",
    minutes=5,
    picture=(TensorView("carried", "encoder.layers.0.around_feed_forward.carried"),),
    steps=(
        Step(
            "axes",
            code=Code(make_norm, "return nn.LayerNorm(", ("rms", "return RMSNorm(")),
            formula=r"y = \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}}",
            numbers=(r"\mu = @mu \to @mu_after", r"\sigma = @sigma \to @sigma_after"),
            experiment=Experiment(axes_experiment, (NORM, SENTENCES)),
            claims=("layer_norm_centres_rows", "batch_norm_centres_columns", "rms_norm_leaves_the_mean"),
        ),
        Step(
            "company",
            code=Code(batch_norm, "x.mean(dim=0)"),
            formula=r"\mu_d = \frac{1}{n} \sum_t x_{td}",
            numbers=(r"n = 1: \quad y = @alone",),
            experiment=Experiment(batch_dependence_experiment, (Slider("size", 1, MAX_BATCH, 1),)),
            question=QuestionSpec("found", options=("layer", "batch", "rms")),
            claims=("only_batch_norm_feels_other_sentences", "batch_norm_of_one_token_is_zero"),
        ),
        Step(
            "padding",
            code=Code(batch_norm, "x.var(dim=0"),
            formula=r"n = \text{tokens} + \text{padding}",
            numbers=(r"@tokens + @padded = @places",),
            experiment=Experiment(padding_experiment, (Switch("counts", start=True), SENTENCES)),
            claims=("only_batch_norm_feels_padding",),
        ),
        Step(
            "differences",
            code=Code(RMSNorm.forward, "torch.rsqrt("),
            formula=r"y = \frac{x}{\sqrt{\sum_i x_i^2 / d + \epsilon}}",
            experiment=Experiment(differences_experiment),
            claims=("every_cell_of_the_table_is_so",),
        ),
    ),
)

"""Lesson on norms: batch norm, layer norm and RMS norm on one real batch of activations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headlight.model.core.blocks import RMSNorm, make_norm
from headlight.model.experiments.normalisation import (
    Activations,
    batch_norm,
    max_difference,
    normalise,
    normalise_with_padding,
)
from headlight.model.experiments.queries import encoder_activations
from headlight.model.records import FloatArray
from headlight.viz.lessons.batch_sentences import MAX_BATCH, batch_ids
from headlight.viz.lessons.controls import Slider, Switch
from headlight.viz.lessons.experiment import Experiment, ExperimentInput
from headlight.viz.lessons.lesson import Code, Lesson, QuestionSpec, Step, TensorView
from headlight.viz.lessons.norms_by_hand import HAND_STEP, NAMES, NORM
from headlight.viz.lessons.residual import RESIDUAL_STEP
from headlight.viz.lessons.result_figures import (
    BarChart,
    CurveSeries,
    ExperimentResult,
    Heatmap,
    LinePlot,
    Phrase,
    SideBySide,
    Table,
    TextOrPhrase,
    TextPhraseOrNumber,
)
from headlight.viz.lessons.worked_figures import fixed_text

SHOWN_DIMENSIONS = 24  # number of displayed dimensions
SATURATED_FROM = 0.95  # share of the numbers that the colour scale covers
EQUAL_TOLERANCE = 1e-4  # smaller changes count as none
MIN_CHANGE = 0.05  # smallest change for which the question is asked
SHIFT, FACTOR = 5.0, 3.0  # added to all activations; multiplied with all activations

SENTENCES = Slider("sentences", 2, MAX_BATCH, 4)


def make_batch(inputs: ExperimentInput) -> tuple[Activations, list[str]]:
    """Return the visitor's sentence and others as one batch, and the labels of the visitor's tokens."""
    own_ids = tuple(token.id for token in inputs.translation.source_tokens)
    return inputs.run(encoder_activations, [own_ids, *batch_ids(inputs)]), inputs.tokens


def axes_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Show the batch before and after the norm, with means and deviations of rows and columns."""
    batch, tokens = make_batch(inputs)
    batch = batch.first(inputs.values["sentences"])
    norm = inputs.values["norm"]
    rows, row = batch.rows, _longest_token(inputs)
    after = normalise(rows, norm)
    row_labels = batch_row_names(batch, tokens)
    dimensions = [str(dimension) for dimension in range(SHOWN_DIMENSIONS)]
    heatmaps = [
        Heatmap(
            Phrase(name),
            matrix[:, :SHOWN_DIMENSIONS],
            row_labels,
            dimensions,
            max_abs=colour_limit(matrix[:, :SHOWN_DIMENSIONS]),
            row=None if norm == "batch" else row,
            column=0 if norm == "batch" else None,
        )
        for name, matrix in (("before", rows), ("after", after))
    ]
    table_rows: list[list[TextPhraseOrNumber]] = [
        [Phrase("row_of", {"token": tokens[row]}), *_spread(rows[row]), *_spread(after[row])],
        [Phrase("column_of", {"count": str(len(rows))}), *_spread(rows[:, 0]), *_spread(after[:, 0])],
    ]
    columns = (Phrase("along"), Phrase("mean"), Phrase("deviation"), Phrase("mean_after"), Phrase("deviation_after"))
    # Batch norm normalises a column, the other norms a row.
    selected, selected_after = (rows[:, 0], after[:, 0]) if norm == "batch" else (rows[row], after[row])
    numbers: dict[str, TextPhraseOrNumber] = {
        "token": tokens[row], "width": rows.shape[1], "count": len(rows), "sentences": len(batch.values),
        "mean": float(rows[row].mean()), "spread": float(rows[row].std()),
        "mean_after": float(after[row].mean()), "spread_after": float(after[row].std()),
        "column_mean": float(rows[:, 0].mean()), "column_spread": float(rows[:, 0].std()),
        "mu": float(selected.mean()), "mu_after": fixed_text(selected_after.mean(), 4),
        "sigma": float(selected.std()), "sigma_after": float(selected_after.std()),
    }  # fmt: skip
    highlighted = 1 if norm == "batch" else 0
    return ExperimentResult(
        (SideBySide(heatmaps), Table(Phrase("axes"), columns, table_rows, highlighted_row=highlighted)),
        numbers,
        (norm,),
    )


def batch_row_names(batch: Activations, tokens: Sequence[str]) -> list[TextOrPhrase]:
    """Name each row by its token, or for other sentences by sentence and position."""
    names: list[TextOrPhrase] = list(tokens)
    for sentence, mask in enumerate(batch.token_mask[1:], start=2):
        names += [Phrase("row_in", {"sentence": sentence, "place": place + 1}) for place in range(int(mask.sum()))]
    return names


def colour_limit(numbers: FloatArray) -> float:
    """Return the value of the last colour. Larger values are clipped: a few are a hundred times the others."""
    return float(np.quantile(np.abs(numbers), SATURATED_FROM)) or 1.0


def _spread(numbers: FloatArray) -> tuple[str, str]:
    return fixed_text(numbers.mean(), 3), fixed_text(numbers.std(), 3)


def _longest_token(inputs: ExperimentInput) -> int:
    return int(np.argmax([0 if token.special else len(token.text) for token in inputs.translation.source_tokens]))


def batch_dependence_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Measure the effect of the other sentences in the batch on one token's vector."""
    batch, tokens = make_batch(inputs)
    row, size = _longest_token(inputs), inputs.values["size"]
    full_batch = {norm: normalise(batch.rows, norm)[row] for norm in NAMES}
    sizes = list(range(1, MAX_BATCH + 1))
    changes = {
        norm: [max_difference(normalise(batch.first(count).rows, norm)[row], full_batch[norm]) for count in sizes]
        for norm in NAMES
    }
    plot = LinePlot(
        Phrase("moved"),
        sizes,
        [CurveSeries(Phrase(norm), changes[norm]) for norm in NAMES],
        Phrase("batch_size"),
        mark=size,
        floor=0.0,
    )
    alone = normalise(batch.rows[row : row + 1], "batch")
    numbers: dict[str, TextPhraseOrNumber] = {
        "token": tokens[row], "size": size, "most": MAX_BATCH, "alone": float(np.abs(alone).max()),
        **{norm: values[size - 1] for norm, values in changes.items()},
    }  # fmt: skip
    alone_changes = {norm: values[0] for norm, values in changes.items()}
    is_clear = (
        alone_changes["batch"] > MIN_CHANGE and max(alone_changes["layer"], alone_changes["rms"]) < EQUAL_TOLERANCE
    )
    return ExperimentResult((plot,), numbers, correct_option="batch" if is_clear else "")


def padding_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Measure the effect of padding on the batch statistics."""
    batch, tokens = make_batch(inputs)
    batch = batch.first(inputs.values["sentences"])
    row, counts = _longest_token(inputs), inputs.values["counts"]
    token_mask = batch.token_mask.astype(np.float32)
    heatmap = Heatmap(
        Phrase("places"), token_mask, [str(number + 1) for number in range(len(token_mask))], scale="share"
    )
    changes = {
        norm: max_difference(normalise_with_padding(batch, norm)[row], normalise(batch.rows, norm)[row])
        for norm in NAMES
    }
    displayed = {norm: value if counts else 0.0 for norm, value in changes.items()}
    bars = BarChart(
        Phrase("moved_by_padding"), [Phrase(norm) for norm in NAMES], list(displayed.values()), max(changes.values())
    )
    numbers: dict[str, TextPhraseOrNumber] = {
        "token": tokens[row], "tokens": int(batch.token_mask.sum()), "padded": int((~batch.token_mask).sum()),
        "places": batch.token_mask.size, **changes,
    }  # fmt: skip
    return ExperimentResult((heatmap, bars), numbers, ("counted" if counts else "masked",))


def differences_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Tabulate all differences between the norms, computed from the batch."""
    batch, tokens = make_batch(inputs)
    row = _longest_token(inputs)
    results = {norm: measure_norm(batch, norm, row) for norm in NAMES}
    rows: list[list[TextPhraseOrNumber]] = [
        [Phrase(f"is_{name}"), *(results[norm][name] for norm in NAMES)] for name in results[NAMES[0]]
    ]
    table = Table(Phrase("differences"), (Phrase("what"), *(Phrase(norm) for norm in NAMES)), rows)
    numbers: dict[str, TextPhraseOrNumber] = {
        "token": tokens[row], "other": results["batch"]["company"], "padding": results["batch"]["padding"],
        "alone": results["batch"]["alone"], "shift": results["rms"]["shift"], "count": len(batch.rows),
    }  # fmt: skip
    return ExperimentResult((table,), numbers)


def measure_norm(batch: Activations, norm: str, row: int) -> dict[str, float]:
    """Measure a norm's statistics on a batch, and changes of the vector at index `row` under changes of the batch."""
    rows = batch.rows
    after = normalise(rows, norm)

    def change(other: FloatArray) -> float:
        return max_difference(other, after[row])

    return {
        "row_mean": float(np.abs(after.mean(axis=1)).max()),
        "row_spread": float(np.abs(after.std(axis=1) - 1).max()),
        "column_mean": float(np.abs(after.mean(axis=0)).max()),
        "column_spread": float(np.abs(after.std(axis=0) - 1).max()),
        "company": change(normalise(batch.first(1).rows, norm)[row]),
        "padding": change(normalise_with_padding(batch, norm)[row]),
        "alone": float(np.abs(normalise(rows[row : row + 1], norm)).max()),
        "shift": change(normalise(rows + SHIFT, norm)[row]),
        "times": change(normalise(rows * FACTOR, norm)[row]),
    }


NORMS_LESSON = Lesson(
    "norms",
    minutes=8,
    picture=(TensorView("carried", "encoder.layers.0.around_feed_forward.carried"),),
    steps=(
        HAND_STEP,
        Step(
            "axes",
            code=Code(make_norm, "return nn.LayerNorm(", ("rms", "return RMSNorm(")),
            formula=r"y = \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}}",
            numbers=(r"\mu = @mu \to @mu_after", r"\sigma = @sigma \to @sigma_after"),
            experiment=Experiment(axes_experiment, (NORM, SENTENCES)),
            claims=(
                "layer_norm_centres_rows",
                "batch_norm_centres_columns",
                "rms_norm_leaves_the_mean",
                "rounded_zero_has_no_sign",
            ),
        ),
        Step(
            "company",
            code=Code(batch_norm, "x.mean(dim=0)"),
            formula=r"\mu_d = \frac{1}{n} \sum_t x_{td}",
            numbers=(r"n = 1: \quad y = @alone",),
            experiment=Experiment(batch_dependence_experiment, (Slider("size", 1, MAX_BATCH, 1),)),
            question=QuestionSpec("experiment", options=("layer", "batch", "rms")),
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
        RESIDUAL_STEP,
    ),
)

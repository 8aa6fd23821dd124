"""Lesson on norms: batch norm, layer norm and RMS norm on one real batch of activations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headlight.model.core.blocks import RMSNorm, make_norm
from headlight.model.experiments.normalisation import (
    Activations,
    batch_norm,
    compute_max_difference,
    normalise,
    normalise_with_padding,
)
from headlight.model.experiments.queries import capture_encoder_activations
from headlight.model.records import FloatArray
from headlight.viz.lessons.batch_sentences import MAX_BATCH, tokenize_batch_sentences
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
from headlight.viz.lessons.worked_figures import format_fixed

SHOWN_DIMENSIONS = 24  # number of displayed dimensions
COLOUR_SCALE_QUANTILE = 0.95  # of the absolute values; larger ones get the last colour
EQUAL_TOLERANCE = 1e-4  # smaller changes count as none
MIN_CHANGE = 0.05  # smallest change for which the question is asked
SHIFT, SCALE = 5.0, 3.0  # added to all activations; multiplied with all activations
# Keys of `measure_norm`, and the phrases of their rows
DIFFERENCE_PHRASES = {
    "row_mean": "is_row_mean",
    "row_std": "is_row_spread",
    "column_mean": "is_column_mean",
    "column_std": "is_column_spread",
    "other_sentences": "is_company",
    "padding": "is_padding",
    "single_token": "is_alone",
    "shift": "is_shift",
    "scale": "is_times",
}

SENTENCES = Slider("sentences", 2, MAX_BATCH, 4)


def make_batch(inputs: ExperimentInput) -> tuple[Activations, list[str]]:
    """Return a batch of the visitor's sentence followed by other sentences, and the labels of the visitor's tokens."""
    own_ids = tuple(token.id for token in inputs.translation.source_tokens)
    return inputs.run(capture_encoder_activations, [own_ids, *tokenize_batch_sentences(inputs)]), inputs.tokens


def run_axes_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Show the batch before and after the norm, with mean and standard deviation of one row and one column."""
    batch, tokens = make_batch(inputs)
    batch = batch.first(inputs.values["sentences"])
    norm = inputs.values["norm"]
    rows, row = batch.rows, _find_longest_token(inputs)
    after = normalise(rows, norm)
    row_labels = make_row_labels(batch, tokens)
    dimensions = [str(dimension) for dimension in range(SHOWN_DIMENSIONS)]
    heatmaps = [
        Heatmap(
            Phrase(name),
            matrix[:, :SHOWN_DIMENSIONS],
            row_labels,
            dimensions,
            max_abs=find_colour_limit(matrix[:, :SHOWN_DIMENSIONS]),
            row=None if norm == "batch" else row,
            column=0 if norm == "batch" else None,
        )
        for name, matrix in (("before", rows), ("after", after))
    ]
    table_rows: list[list[TextPhraseOrNumber]] = [
        [Phrase("row_of", {"token": tokens[row]}), *_format_mean_and_std(rows[row]), *_format_mean_and_std(after[row])],
        [
            Phrase("column_of", {"count": str(len(rows))}),
            *_format_mean_and_std(rows[:, 0]),
            *_format_mean_and_std(after[:, 0]),
        ],
    ]
    columns = (Phrase("along"), Phrase("mean"), Phrase("deviation"), Phrase("mean_after"), Phrase("deviation_after"))
    # Batch norm normalises a column, the other norms a row.
    selected, selected_after = (rows[:, 0], after[:, 0]) if norm == "batch" else (rows[row], after[row])
    numbers: dict[str, TextPhraseOrNumber] = {
        "token": tokens[row], "width": rows.shape[1], "count": len(rows), "sentences": len(batch.values),
        "mean": float(rows[row].mean()), "spread": float(rows[row].std()),
        "mean_after": float(after[row].mean()), "spread_after": float(after[row].std()),
        "column_mean": float(rows[:, 0].mean()), "column_spread": float(rows[:, 0].std()),
        "mu": float(selected.mean()), "mu_after": format_fixed(selected_after.mean(), 4),
        "sigma": float(selected.std()), "sigma_after": float(selected_after.std()),
    }  # fmt: skip
    highlighted = 1 if norm == "batch" else 0
    return ExperimentResult(
        (SideBySide(heatmaps), Table(Phrase("axes"), columns, table_rows, highlighted_row=highlighted)),
        numbers,
        (norm,),
    )


def make_row_labels(batch: Activations, tokens: Sequence[str]) -> list[TextOrPhrase]:
    """Label rows of the visitor's sentence with their tokens, and other rows with sentence and position, from 1."""
    labels: list[TextOrPhrase] = list(tokens)
    for sentence, mask in enumerate(batch.token_mask[1:], start=2):
        positions = range(1, int(mask.sum()) + 1)
        labels += [Phrase("row_in", {"sentence": sentence, "place": position}) for position in positions]
    return labels


def find_colour_limit(numbers: FloatArray) -> float:
    """Return the quantile at which the colour scale ends: a few outliers are a hundred times as large as the median."""
    return float(np.quantile(np.abs(numbers), COLOUR_SCALE_QUANTILE)) or 1.0


def _format_mean_and_std(numbers: FloatArray) -> tuple[str, str]:
    return format_fixed(numbers.mean(), 3), format_fixed(numbers.std(), 3)


def _find_longest_token(inputs: ExperimentInput) -> int:
    """Return the index of the longest source token that is not special."""
    return int(np.argmax([0 if token.special else len(token.text) for token in inputs.translation.source_tokens]))


def run_batch_dependence_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Measure how far one token's normalised vector changes if other sentences leave the batch."""
    batch, tokens = make_batch(inputs)
    row, size = _find_longest_token(inputs), inputs.values["size"]
    full_batch = {norm: normalise(batch.rows, norm)[row] for norm in NAMES}
    sizes = list(range(1, MAX_BATCH + 1))
    changes = {
        norm: [
            compute_max_difference(normalise(batch.first(count).rows, norm)[row], full_batch[norm]) for count in sizes
        ]
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
    single_token = normalise(batch.rows[row : row + 1], "batch")
    numbers: dict[str, TextPhraseOrNumber] = {
        "token": tokens[row], "size": size, "most": MAX_BATCH, "alone": float(np.abs(single_token).max()),
        **{norm: values[size - 1] for norm, values in changes.items()},
    }  # fmt: skip
    changes_without_others = {norm: values[0] for norm, values in changes.items()}
    is_clear = (
        changes_without_others["batch"] > MIN_CHANGE
        and max(changes_without_others["layer"], changes_without_others["rms"]) < EQUAL_TOLERANCE
    )
    return ExperimentResult((plot,), numbers, correct_option="batch" if is_clear else "")


def run_padding_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Measure how far one token's normalised vector changes if padding enters the statistics."""
    batch, tokens = make_batch(inputs)
    batch = batch.first(inputs.values["sentences"])
    row, counts_padding = _find_longest_token(inputs), inputs.values["counts"]
    token_mask = batch.token_mask.astype(np.float32)
    heatmap = Heatmap(
        Phrase("places"), token_mask, [str(number + 1) for number in range(len(token_mask))], scale="share"
    )
    changes = {
        norm: compute_max_difference(normalise_with_padding(batch, norm)[row], normalise(batch.rows, norm)[row])
        for norm in NAMES
    }
    displayed_changes = {norm: value if counts_padding else 0.0 for norm, value in changes.items()}
    bars = BarChart(
        Phrase("moved_by_padding"),
        [Phrase(norm) for norm in NAMES],
        list(displayed_changes.values()),
        max(changes.values()),
    )
    numbers: dict[str, TextPhraseOrNumber] = {
        "token": tokens[row], "tokens": int(batch.token_mask.sum()), "padded": int((~batch.token_mask).sum()),
        "places": batch.token_mask.size, **changes,
    }  # fmt: skip
    return ExperimentResult((heatmap, bars), numbers, ("counted" if counts_padding else "masked",))


def run_differences_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Tabulate all differences between the norms, computed from the batch."""
    batch, tokens = make_batch(inputs)
    row = _find_longest_token(inputs)
    measures = {norm: measure_norm(batch, norm, row) for norm in NAMES}
    rows: list[list[TextPhraseOrNumber]] = [
        [Phrase(phrase), *(measures[norm][key] for norm in NAMES)] for key, phrase in DIFFERENCE_PHRASES.items()
    ]
    table = Table(Phrase("differences"), (Phrase("what"), *(Phrase(norm) for norm in NAMES)), rows)
    numbers: dict[str, TextPhraseOrNumber] = {
        "token": tokens[row], "other": measures["batch"]["other_sentences"], "padding": measures["batch"]["padding"],
        "alone": measures["batch"]["single_token"], "shift": measures["rms"]["shift"], "count": len(batch.rows),
    }  # fmt: skip
    return ExperimentResult((table,), numbers)


def measure_norm(batch: Activations, norm: str, row: int) -> dict[str, float]:
    """Return nine measures of a norm on a batch, each a largest absolute value.

    - `row_mean`, `row_std`, `column_mean`, `column_std`: deviations of the normalised batch from mean 0 and
      standard deviation 1;
    - `other_sentences`, `padding`, `shift`, `scale`: changes of the normalised vector at index `row` if the other
      sentences leave the batch, padding enters the statistics, or all activations are shifted or scaled;
    - `single_token`: the vector at index `row`, normalised as a batch of one token.
    """
    rows = batch.rows
    after = normalise(rows, norm)

    def measure_change(vector: FloatArray) -> float:
        return compute_max_difference(vector, after[row])

    return {
        "row_mean": float(np.abs(after.mean(axis=1)).max()),
        "row_std": float(np.abs(after.std(axis=1) - 1).max()),
        "column_mean": float(np.abs(after.mean(axis=0)).max()),
        "column_std": float(np.abs(after.std(axis=0) - 1).max()),
        "other_sentences": measure_change(normalise(batch.first(1).rows, norm)[row]),
        "padding": measure_change(normalise_with_padding(batch, norm)[row]),
        "single_token": float(np.abs(normalise(rows[row : row + 1], norm)).max()),
        "shift": measure_change(normalise(rows + SHIFT, norm)[row]),
        "scale": measure_change(normalise(rows * SCALE, norm)[row]),
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
            experiment=Experiment(run_axes_experiment, (NORM, SENTENCES)),
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
            experiment=Experiment(run_batch_dependence_experiment, (Slider("size", 1, MAX_BATCH, 1),)),
            question=QuestionSpec("experiment", options=("layer", "batch", "rms")),
            claims=("only_batch_norm_depends_on_other_sentences", "batch_norm_of_one_token_is_zero"),
        ),
        Step(
            "padding",
            code=Code(batch_norm, "x.var(dim=0"),
            formula=r"n = \text{tokens} + \text{padding}",
            numbers=(r"@tokens + @padded = @places",),
            experiment=Experiment(run_padding_experiment, (Switch("counts", start=True), SENTENCES)),
            claims=("only_batch_norm_depends_on_padding",),
        ),
        Step(
            "differences",
            code=Code(RMSNorm.forward, "torch.rsqrt("),
            formula=r"y = \frac{x}{\sqrt{\sum_i x_i^2 / d + \epsilon}}",
            experiment=Experiment(run_differences_experiment),
            claims=("each_norm_has_its_invariants",),
        ),
        RESIDUAL_STEP,
    ),
)

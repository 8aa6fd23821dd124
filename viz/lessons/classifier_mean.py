"""First step of the lesson on classification: average pooling and the verdict, number by number."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headlight.model.core.classifier import SelfAttentionClassifier
from headlight.model.experiments.pooling import PooledText, pool_text
from headlight.model.text.cleaning import is_blank
from headlight.viz.errors import PageError
from headlight.viz.lessons.controls import Control, Slider
from headlight.viz.lessons.experiment import Experiment, ExperimentInput
from headlight.viz.lessons.lesson import Code, Step
from headlight.viz.lessons.result_figures import (
    ExperimentResult,
    Heatmap,
    Phrase,
    ResultFigure,
    Table,
    TextOrPhrase,
    TextPhraseOrNumber,
)
from headlight.viz.lessons.review import get_review_text
from headlight.viz.lessons.worked_figures import format_fixed, format_term
from headlight.viz.token_labels import make_visible, truncate

Float64Array = npt.NDArray[np.float64]

SHOWN_DIMENSIONS = 24  # number of columns of the map
WORKED_DIMENSIONS = 3  # dimensions of the table: those with the largest products
MAX_ROWS = 14  # tokens of the table; further tokens share one row
VALUE_DIGITS, SUM_DIGITS, MEAN_DIGITS, PRODUCT_DIGITS = 5, 4, 5, 4

PADDING = Slider("padding", 0, 12, 4)


def run_pooling_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Average the vectors of a review and classify the average."""
    text = get_review_text(inputs)
    if is_blank(text):
        raise PageError("text", "blank_text")
    pooled: PooledText = inputs.run_judge(pool_text, text, inputs.values["padding"])
    count, padding = len(pooled.labels), len(pooled.vectors) - len(pooled.labels)
    products = pooled.mean.astype(np.float64) * pooled.weight
    dimensions = [int(index) for index in np.argsort(-np.abs(products))[:WORKED_DIMENSIONS]]
    with_padding = float(pooled.mean_with_padding.astype(np.float64) @ pooled.weight) + pooled.bias
    numbers: dict[str, TextPhraseOrNumber] = {
        "tokens": count, "padding": padding, "places": count + padding, "width": len(pooled.mean),
        "first": dimensions[0],
        "sum": format_fixed(float(pooled.vectors[:count, dimensions[0]].sum(dtype=np.float64)), SUM_DIGITS),
        "mean": format_fixed(float(pooled.mean[dimensions[0]]), MEAN_DIGITS),
        "weight": format_term(float(pooled.weight[dimensions[0]]), MEAN_DIGITS),
        "mean_term": format_term(float(pooled.mean[dimensions[0]]), MEAN_DIGITS),
        "product": format_fixed(float(products[dimensions[0]]), PRODUCT_DIGITS),
        "log_odds": format_fixed(pooled.log_odds, 3), "minus_log_odds": format_fixed(-pooled.log_odds, 3),
        "probability": format_fixed(probability(pooled.log_odds), 3),
        "padded_probability": format_fixed(probability(with_padding), 3),
    }  # fmt: skip
    facts = ("padded",) if padding else ()
    figures = (
        make_vectors_heatmap(pooled),
        worked_table(pooled, dimensions, products),
        sum_table(pooled, dimensions, products),
    )
    return ExperimentResult(figures, numbers, facts)


def probability(log_odds: float) -> float:
    """Return the probability of the positive class."""
    return float(1 / (1 + np.exp(-log_odds)))


def make_vectors_heatmap(pooled: PooledText) -> ResultFigure:
    """Show the vectors of tokens and padding, and the average below them."""
    rows: list[TextOrPhrase] = [truncate(make_visible(label)) for label in pooled.labels]
    rows += [Phrase("padding_row")] * (len(pooled.vectors) - len(rows))
    matrix = np.vstack([pooled.vectors, pooled.mean])[:, :SHOWN_DIMENSIONS]
    columns = [str(dimension) for dimension in range(matrix.shape[1])]
    return Heatmap(Phrase("vectors"), matrix, [*rows, Phrase("mean_row")], columns, row=len(rows))


def worked_table(pooled: PooledText, dimensions: list[int], products: Float64Array) -> ResultFigure:
    """List the numbers of a few dimensions: each token, their sum, the mean, the weight and the product."""
    count = len(pooled.labels)
    vectors = pooled.vectors[:count, dimensions].astype(np.float64)
    row_count = count if count <= MAX_ROWS else MAX_ROWS - 1
    rows: list[list[TextPhraseOrNumber]] = [
        [truncate(make_visible(label)), *(format_fixed(value, VALUE_DIGITS) for value in vector)]
        for label, vector in zip(pooled.labels[:row_count], vectors, strict=False)
    ]
    if row_count < count:
        others = vectors[row_count:].sum(axis=0)
        name = Phrase("other_tokens", {"count": count - row_count})
        rows.append([name, *(format_fixed(value, VALUE_DIGITS) for value in others)])
    sums = vectors.sum(axis=0)
    rows.append([Phrase("sum_row"), *(format_fixed(value, SUM_DIGITS) for value in sums)])
    means = [format_fixed(float(pooled.mean[dimension]), MEAN_DIGITS) for dimension in dimensions]
    rows.append([Phrase("divided_row", {"count": count}), *means])
    rows.append(
        [
            Phrase("weight_row"),
            *(format_fixed(float(pooled.weight[dimension]), MEAN_DIGITS) for dimension in dimensions),
        ]
    )
    rows.append(
        [Phrase("product_row"), *(format_fixed(float(products[dimension]), PRODUCT_DIGITS) for dimension in dimensions)]
    )
    columns = (Phrase("token"), *(Phrase("dimension", {"dimension": dimension}) for dimension in dimensions))
    return Table(Phrase("worked"), columns, rows, highlighted_row=len(rows) - 1)


def sum_table(pooled: PooledText, dimensions: list[int], products: Float64Array) -> ResultFigure:
    """Add up the products and the bias, and apply the sigmoid."""
    other_products = float(products.sum() - products[dimensions].sum())
    terms: list[tuple[TextOrPhrase, float]] = [
        (Phrase("product_of", {"dimension": dimension}), float(products[dimension])) for dimension in dimensions
    ]
    terms.append((Phrase("product_rest", {"count": len(products) - len(dimensions)}), other_products))
    terms.append((Phrase("bias_row"), pooled.bias))
    rows: list[list[TextPhraseOrNumber]] = [[name, format_fixed(value, PRODUCT_DIGITS)] for name, value in terms]
    rows.append([Phrase("sum_z"), format_fixed(pooled.log_odds, 3)])
    rows.append([Phrase("sigmoid_row"), format_fixed(probability(pooled.log_odds), 3)])
    return Table(Phrase("added"), (Phrase("term"), Phrase("value")), rows, highlighted_row=len(rows) - 1)


def mean_step(review: tuple[Control, ...]) -> Step:
    """Return the step; `review` are the controls that select the text."""
    return Step(
        "mean",
        code=Code(SelfAttentionClassifier.token_contributions, "x @ self.verdict.weight[0]"),
        formula=r"m = \frac{1}{n} \sum_t x_t \\ z = w \cdot m + b \\ p = \frac{1}{1 + e^{-z}}",
        numbers=(
            r"m_{@first} = \frac{@sum}{@tokens} = @mean",
            r"w_{@first} \cdot m_{@first} = @weight \cdot @mean_term = @product",
            r"p = \frac{1}{1 + e^{@minus_log_odds}} = @probability",
        ),
        experiment=Experiment(run_pooling_experiment, (*review, PADDING)),
        tab="sentiment",
        claims=("the_verdict_can_be_checked_by_hand", "padding_counts_in_no_average"),
    )

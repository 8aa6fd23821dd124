"""Attribution of a written word to source words by thirteen methods.

    for answer in attributions(translator, translation, positions):
        answer.name, answer.scores, answer.seconds

There is one score per source word (`source_words`), in sentence order. Scores of tokens are summed per source word. If
the written word has several tokens, their attention rows are averaged and their log probabilities are summed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from headlight.model.errors import choice_error, range_error
from headlight.model.experiments.account import source_account
from headlight.model.experiments.erasure import list_single_sets, measure_erasure_losses
from headlight.model.experiments.gradients import (
    MAX_POINTS,
    IntegratedGradients,
    attention_gradient,
    input_gradient,
    integrated_gradients,
)
from headlight.model.experiments.trace import run_trace
from headlight.model.measures.alignment_head import AlignmentHead, most_informative_head
from headlight.model.measures.attention_rollout import flow, mixing_from_attention, mixing_from_contributions, rollout
from headlight.model.measures.norms import cross_value_norms
from headlight.model.measures.trace_records import Float64Array, Trace
from headlight.model.measures.word_diff import WrittenWord, written_words
from headlight.model.records import Translation
from headlight.model.translate.model_info import ModelInfo
from headlight.model.translate.translator import Translator


@dataclass(frozen=True, eq=False)
class AttributionQuery:
    """A written word of a translation, and the settings of the methods."""

    translator: Any  # a `Translator`; to create the query, a `ModelInfo` is enough
    translation: Translation
    positions: tuple[int, ...]  # token indices of the written word
    head: tuple[int, int]  # layer and head that the method "head" reads
    alignment_head: AlignmentHead  # head and shift that the method "aligning" reads
    seconds: float = math.inf  # time limit of integrated gradients, after which they return their current estimate
    integration_points: int = MAX_POINTS  # maximum number of gradients of integrated gradients

    @cached_property
    def words(self) -> list[WrittenWord]:
        """The source words; each special token is a word."""
        return source_words(self.translation)

    @cached_property
    def trace(self) -> Trace:
        """The activations of a forward pass, which several methods need."""
        return run_trace(self.translator, self.translation)

    @property
    def cross(self) -> Float64Array:
        """The word's cross-attention, averaged over its tokens, `[layer, head, source]`."""
        mean: Float64Array = self.translation.attention.cross[:, :, list(self.positions)].mean(axis=2, dtype=np.float64)
        return mean

    def mean_of_rows(self, shares: Float64Array) -> Float64Array:
        """Average the word's rows of a `[target, source]` table."""
        mean: Float64Array = shares[list(self.positions)].mean(axis=0)
        return mean


class CompletenessGap(NamedTuple):
    """Completeness gap of integrated gradients, in nats."""

    missing: float  # absolute difference between the sum of the scores and `expected`
    expected: float  # y(sentence) − y(zeros)


@dataclass(frozen=True)
class Attribution:
    """The scores of one method."""

    name: str
    scores: tuple[float | None, ...]  # per source word; None if the method skips the word
    seconds: float  # duration, including the trace if this method computed it
    gap: CompletenessGap | None = None  # None unless the method is integrated gradients


def _read_alignment_head(query: AttributionQuery) -> Float64Array:
    layer, head, shift = query.alignment_head
    rows = [min(position + shift, len(query.translation.target_tokens) - 1) for position in query.positions]
    result: Float64Array = query.translation.attention.cross[layer, head, rows].mean(axis=0, dtype=np.float64)
    return result


def _compute_flow(query: AttributionQuery) -> list[float | None]:
    mixing = mixing_from_attention(query.translation.attention)
    groups = [word.positions for word in query.words]
    rows = len(query.positions)
    return [
        float(score)
        for score in np.mean([flow(mixing, position, groups, rows=rows) for position in query.positions], axis=0)
    ]


TOKEN_METHODS: dict[str, Callable[[AttributionQuery], Float64Array]] = {  # scores per source token
    "average": lambda query: query.cross.mean(axis=(0, 1)),
    "maximum": lambda query: query.cross.max(axis=(0, 1)),
    "head": lambda query: query.cross[query.head],
    "aligning": _read_alignment_head,
    "rollout": lambda query: query.mean_of_rows(rollout(mixing_from_attention(query.translation.attention))[0]),
    "norms": lambda query: query.mean_of_rows(cross_value_norms(query.trace)),
    "alti": lambda query: query.mean_of_rows(rollout(mixing_from_contributions(query.trace))[0]),
    "attention_gradient": lambda query: attention_gradient(query.translator, query.translation, query.positions),
    "input_gradient": lambda query: input_gradient(query.translator, query.translation, query.positions),
    "account": lambda query: source_account(query.translator, query.translation, query.positions),
}


def _integrated_gradients(query: AttributionQuery) -> IntegratedGradients:
    return integrated_gradients(
        query.translator, query.translation, query.positions, query.seconds, query.integration_points
    )


def _measure_erasure(query: AttributionQuery) -> list[float | None]:
    positions = list_removable_words(query.translation)
    sets = list_single_sets([query.words[position].positions for position in positions])
    losses = measure_erasure_losses(query.translator, query.translation, query.positions, sets)
    results: list[float | None] = [None] * len(query.words)
    for position, loss in zip(positions, losses, strict=True):
        results[position] = loss
    return results


WORD_METHODS: dict[str, Callable[[AttributionQuery], list[float | None]]] = {
    "flow": _compute_flow,
    "erasure": _measure_erasure,
}
METHODS = (
    "average",
    "maximum",
    "head",
    "aligning",
    "rollout",
    "flow",
    "norms",
    "alti",
    "attention_gradient",
    "input_gradient",
    "integrated",
    "account",
    "erasure",
)


def attribution_query(
    translator: ModelInfo,
    translation: Translation,
    positions: Sequence[int],
    *,
    head: tuple[int, int] | None = None,
    alignment_head: AlignmentHead | None = None,
    seconds: float = math.inf,
    points: int | None = None,
) -> AttributionQuery:
    """Create the query for the written word whose tokens are at `positions`.

    `head` defaults to the head with the largest single weight, `alignment_head` to the most informative head
    of this sentence.
    """
    tokens = len(translation.target_tokens)
    if not positions:
        raise range_error("places", None, 0, tokens - 1)
    for position in positions:
        if not 0 <= position < tokens:
            raise range_error("places", position, 0, tokens - 1)
    layers, heads = translation.attention.cross.shape[:2]
    if head is None:
        rows = translation.attention.cross[:, :, list(positions)].mean(axis=2).max(axis=-1)
        layer, number = np.unravel_index(int(rows.argmax()), rows.shape)
        head = (int(layer), int(number))
    for name, position, count in (("layer", head[0], layers), ("head", head[1], heads)):
        if not 0 <= position < count:
            raise range_error(name, position, 0, count - 1)
    alignment_head = alignment_head or most_informative_head(translation)
    return AttributionQuery(
        translator, translation, tuple(positions), head, alignment_head, seconds, points or MAX_POINTS
    )


def attribute(query: AttributionQuery, name: str) -> Attribution:
    """Compute the scores of one method, and measure the time."""
    if name not in METHODS:
        raise choice_error("method", name, METHODS)
    started = time.perf_counter()
    scores: list[float | None]
    gap = None
    if name in WORD_METHODS:
        scores = WORD_METHODS[name](query)
    else:
        if name == "integrated":
            result = _integrated_gradients(query)
            tokens, gap = result.scores, CompletenessGap(abs(result.completeness_gap), result.difference)
        else:
            tokens = TOKEN_METHODS[name](query)
        scores = [float(sum(tokens[position] for position in word.positions)) for word in query.words]
    return Attribution(name, tuple(scores), time.perf_counter() - started, gap)


def attributions(
    translator: Translator, translation: Translation, positions: Sequence[int], methods: Sequence[str] = METHODS
) -> Iterator[Attribution]:
    """Yield the result of each method in turn. Closing the iterator stops the work."""
    query = attribution_query(translator, translation, positions)
    for name in methods:
        yield attribute(query, name)


def source_words(translation: Translation) -> list[WrittenWord]:
    """Split the source into words; each special token is a word."""
    return written_words(translation.source_tokens, translation.source_text)


def list_removable_words(translation: Translation) -> list[int]:
    """Return the indices of the maskable source words: all but special tokens and words that are already masked."""
    hidden = set(translation.attention.masked_source)
    return [
        position
        for position, word in enumerate(source_words(translation))
        if not translation.source_tokens[word.positions[0]].special and not hidden & set(word.positions)
    ]

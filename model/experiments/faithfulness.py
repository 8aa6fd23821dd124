"""Faithfulness: how fast the target word's probability falls when words are masked in a method's order.

Source words are masked in the order of a method's scores, and the written word is scored after each step
("comprehensiveness", DeYoung et al. 2020, https://arxiv.org/abs/1911.03429). In the order of a faithful method, the
probability falls after the first words; in a random order, it falls slowly. The method's faithfulness is the area
between the two curves, in probability; it is positive if the method beats random orders.

The report also compares predicted and measured effects of heads (`effect_agreement.py`).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from headlight.model.experiments.attribution import (
    METHODS,
    AttributionQuery,
    attribute,
    attribution_query,
    list_removable_words,
)
from headlight.model.experiments.effect_agreement import EffectAgreement, effect_agreement, mean_agreement
from headlight.model.experiments.erasure import list_cumulative_sets, score_with_masked_words
from headlight.model.measures.alignment_head import AlignmentHead
from headlight.model.measures.rank_agreement import area_between, kendall_tau, rank_order, resample, top_overlap
from headlight.model.measures.trace_records import Float64Array
from headlight.model.measures.word_diff import written_words
from headlight.model.records import Translation
from headlight.model.translate.translator import Translator

RANDOM_ORDERS = 5  # orders of the random baseline
MAX_CURVE_POINTS = 12  # measured points after the first; in long sentences, a step masks several words
MEAN_CURVE_POINTS = 11  # points of the mean curve: 0%, 10%, … 100% of the words masked
BOOTSTRAP_SAMPLES = 1000  # samples of the sentences for the confidence bounds


@dataclass(frozen=True)
class Faithfulness:
    """The result of one method over many sentences."""

    curve: tuple[float, ...]  # mean probability of the word, by share of masked source words
    area: float  # mean area between the random curve and this one
    low: float  # 95% bootstrap bounds of the area
    high: float


@dataclass(frozen=True)
class Report:
    """The results of all methods over many sentences, and their agreement."""

    sentences: int
    methods: Mapping[str, Faithfulness]
    chance: tuple[float, ...]  # mean curve of random orders
    tau: Mapping[str, Mapping[str, float]]  # mean Kendall τ of two methods
    overlap: Mapping[str, Mapping[str, float]]  # mean overlap of their top three words
    effects: EffectAgreement  # predicted and measured effects of all heads on the translation


@dataclass
class FaithfulnessSamples:
    """The results so far, as lists with one item per sentence. `curves[""]` has the random baseline."""

    curves: dict[str, list[Float64Array]] = field(default_factory=dict)
    areas: dict[str, list[float]] = field(default_factory=dict)
    tau: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    overlap: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    effects: list[EffectAgreement] = field(default_factory=list)


def measure_erasure_curve(query: AttributionQuery, order: Sequence[int]) -> list[float]:
    """Return the probability of the written word as source words are masked one by one in this order.

    Values between measured points are interpolated.
    """
    sets = [(), *list_cumulative_sets([word.positions for word in query.words], order)]
    measured_counts = np.unique(np.linspace(0, len(order), min(len(order), MAX_CURVE_POINTS) + 1).round().astype(int))
    batches = score_with_masked_words(
        query.translator, query.translation, query.positions, [sets[count] for count in measured_counts]
    )
    result = np.interp(
        range(len(sets)), measured_counts, [float(np.exp(row.sum())) for batch in batches for row in batch]
    )
    return [float(probability) for probability in result]


def sort_for_removal(query: AttributionQuery, scores: Sequence[float | None]) -> list[int]:
    """Order the maskable words by score, highest first; a missing score counts as 0."""
    positions = list_removable_words(query.translation)
    maskable_scores = [0.0 if (score := scores[position]) is None else score for position in positions]
    return [positions[rank] for rank in rank_order(maskable_scores)]


def sample_random_orders(query: AttributionQuery, count: int = RANDOM_ORDERS) -> list[list[int]]:
    """Return `count` random orders of the maskable words, with a fixed seed."""
    generator = random.Random(0)  # noqa: S311 - no secret
    positions = list_removable_words(query.translation)
    return [generator.sample(positions, len(positions)) for _ in range(count)]


def measure_random_baseline(query: AttributionQuery) -> list[float]:
    """Return the mean curve of random orders."""
    return [
        float(probability)
        for probability in np.mean(
            [measure_erasure_curve(query, order) for order in sample_random_orders(query)], axis=0
        )
    ]


def agreement(
    query: AttributionQuery, first: Sequence[float | None], second: Sequence[float | None]
) -> tuple[float, float]:
    """Return Kendall's τ of two methods over the maskable words, and the overlap of their top three."""
    positions = list_removable_words(query.translation)
    first, second = ([scores[position] or 0.0 for position in positions] for scores in (first, second))
    return kendall_tau(first, second), top_overlap(first, second)


def list_scorable_words(translation: Translation) -> list[tuple[int, ...]]:
    """Return the token indices of each written word that has a letter or digit."""
    words = written_words(translation.target_tokens, translation.text)
    return [
        word.positions
        for word in words
        if any(character.isalnum() for character in word.text)
        and not translation.target_tokens[word.positions[0]].special
    ]


def evaluate_corpus(
    translator: Translator,
    texts: Iterable[str],
    methods: Sequence[str] = METHODS,
    points: int | None = None,
    alignment_head: AlignmentHead | None = None,
) -> Iterator[FaithfulnessSamples]:
    """Evaluate one random written word per sentence, with a fixed seed. Yield the results so far after each sentence.

    `alignment_head` is the head that was measured to align words best; None means the most informative head per
    sentence. Sentences with fewer than three maskable words have no informative order and are skipped.
    """
    generator = random.Random(0)  # noqa: S311 - no secret
    samples = FaithfulnessSamples()
    for text in texts:
        translation = translator.translate(text)
        words = list_scorable_words(translation)
        if not words or len(list_removable_words(translation)) < 3:
            continue
        word = generator.choice(words)
        query = attribution_query(translator, translation, word, alignment_head=alignment_head, points=points)
        scores = {name: attribute(query, name).scores for name in methods}
        baseline = measure_random_baseline(query)
        samples.effects.append(effect_agreement(translator, translation))
        samples.curves.setdefault("", []).append(resample(baseline, MEAN_CURVE_POINTS))
        for name in methods:
            curve = measure_erasure_curve(query, sort_for_removal(query, scores[name]))
            samples.curves.setdefault(name, []).append(resample(curve, MEAN_CURVE_POINTS))
            samples.areas.setdefault(name, []).append(area_between(curve, baseline))
            for second_name in methods:
                tau, overlap = agreement(query, scores[name], scores[second_name])
                samples.tau.setdefault((name, second_name), []).append(tau)
                samples.overlap.setdefault((name, second_name), []).append(overlap)
        yield samples


def make_report(samples: FaithfulnessSamples) -> Report:
    """Average the samples, with bootstrap bounds."""
    names = list(samples.areas)
    generator = np.random.default_rng(0)
    count = len(samples.curves.get("", []))
    draws = generator.integers(0, max(count, 1), (BOOTSTRAP_SAMPLES, count))
    methods = {}
    for name in names:
        areas = np.array(samples.areas[name])
        low, high = np.percentile(areas[draws].mean(axis=1), (2.5, 97.5))
        methods[name] = Faithfulness(_mean(samples.curves[name]), float(areas.mean()), float(low), float(high))
    return Report(
        count,
        methods,
        _mean(samples.curves.get("", [])),
        {first: {second: float(np.nanmean(samples.tau[first, second])) for second in names} for first in names},
        {first: {second: float(np.mean(samples.overlap[first, second])) for second in names} for first in names},
        mean_agreement(samples.effects),
    )


def _mean(curves: Sequence[Float64Array]) -> tuple[float, ...]:
    return tuple(float(probability) for probability in np.mean(curves, axis=0)) if curves else ()

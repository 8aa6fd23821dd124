"""Faithfulness: how fast the target word's probability falls when words are masked in a method's order.

Words of the source are hidden in the order in which a method ranks them, and after each step the written word is scored
again (as by DeYoung et al. 2020, https://arxiv.org/abs/1911.03429, "comprehensiveness"). A method that knows what the
word rests on makes its probability fall at once; an order by chance makes it fall slowly. The area between both curves,
in probability, is the method's faithfulness: above zero it knows more than chance.
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
    removable_words,
)
from headlight.model.experiments.erasure import cumulative_sets, scores_with_masked_words
from headlight.model.measures.alignment_head import AlignmentHead
from headlight.model.measures.rank_agreement import area_between, kendall_tau, rank_order, resample, top_overlap
from headlight.model.measures.trace_records import Numbers
from headlight.model.measures.word_diff import written_words
from headlight.model.records import Translation
from headlight.model.translate.translator import Translator

RANDOM_ORDERS = 5  # orders by chance
MAX_CURVE_POINTS = 12  # points of a curve at most, the first aside: of more words, several are hidden at a step
MEAN_CURVE_POINTS = 11  # of the mean curve: no word hidden, a tenth of them, and so on
BOOTSTRAP_SAMPLES = 1000  # of sentences, for the bounds


@dataclass(frozen=True)
class Faithfulness:
    """One method over many sentences."""

    curve: tuple[float, ...]  # mean probability of the word, by the share of hidden source words
    area: float  # mean area between the curve of chance and this one
    low: float  # 95% of samples of the sentences lie between these
    high: float


@dataclass(frozen=True)
class Report:
    """All methods over many sentences, and how far they agree."""

    sentences: int
    methods: Mapping[str, Faithfulness]
    chance: tuple[float, ...]
    tau: Mapping[str, Mapping[str, float]]  # mean Kendall τ of each two
    overlap: Mapping[str, Mapping[str, float]]  # mean overlap of the first three


@dataclass
class FaithfulnessSums:
    """Running sums over sentences."""

    curves: dict[str, list[Numbers]] = field(default_factory=dict)
    areas: dict[str, list[float]] = field(default_factory=dict)
    tau: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    overlap: dict[tuple[str, str], list[float]] = field(default_factory=dict)


def erasure_curve(question: AttributionQuery, order: Sequence[int]) -> list[float]:
    """The probability of the written word with none, then more and more source words hidden, in this order."""
    sets = [(), *cumulative_sets([word.places for word in question.words], order)]
    chosen = np.unique(np.linspace(0, len(order), min(len(order), MAX_CURVE_POINTS) + 1).round().astype(int))
    batches = scores_with_masked_words(
        question.translator, question.translation, question.places, [sets[at] for at in chosen]
    )
    result = np.interp(range(len(sets)), chosen, [float(np.exp(row.sum())) for batch in batches for row in batch])
    return [float(each) for each in result]


def removal_order(question: AttributionQuery, scores: Sequence[float | None]) -> list[int]:
    """The words that can be hidden, the highest score first."""
    places = removable_words(question.translation)
    known = [0.0 if (score := scores[place]) is None else score for place in places]
    return [places[at] for at in rank_order(known)]


def random_orders(question: AttributionQuery, count: int = RANDOM_ORDERS) -> list[list[int]]:
    """Random orders with a fixed seed."""
    draw = random.Random(0)  # noqa: S311 - no secret
    places = removable_words(question.translation)
    return [draw.sample(places, len(places)) for _ in range(count)]


def random_baseline(question: AttributionQuery) -> list[float]:
    """The mean curve of orders by chance."""
    return [float(each) for each in np.mean([erasure_curve(question, one) for one in random_orders(question)], axis=0)]


def agreement(
    question: AttributionQuery, one: Sequence[float | None], other: Sequence[float | None]
) -> tuple[float, float]:
    """Kendall's τ of two methods over the words that can be hidden, and the overlap of their first three."""
    places = removable_words(question.translation)
    first, second = ([each[place] or 0.0 for place in places] for each in (one, other))
    return kendall_tau(first, second), top_overlap(first, second)


def chosen_words(translation: Translation) -> list[tuple[int, ...]]:
    """The tokens of each written word that has letters or digits."""
    words = written_words(translation.target_tokens, translation.text)
    return [
        word.places
        for word in words
        if any(sign.isalnum() for sign in word.text) and not translation.target_tokens[word.places[0]].special
    ]


def evaluate_corpus(
    translator: Translator,
    texts: Iterable[str],
    methods: Sequence[str] = METHODS,
    points: int | None = None,
    aligning: AlignmentHead | None = None,
) -> Iterator[FaithfulnessSums]:
    """One written word of each sentence, drawn by chance but the same each time; the tally after each.

    `aligning` is the head that was measured to align words best; without it, each sentence has its own.

    Sentences with fewer than three maskable words have no informative order and are skipped.
    """
    draw = random.Random(0)  # noqa: S311 - no secret
    tally = FaithfulnessSums()
    for text in texts:
        translation = translator.translate(text)
        words = chosen_words(translation)
        if not words or len(removable_words(translation)) < 3:
            continue
        question = attribution_query(translator, translation, draw.choice(words), aligning=aligning, points=points)
        scores = {name: attribute(question, name).scores for name in methods}
        chance = random_baseline(question)
        tally.curves.setdefault("", []).append(resample(chance, MEAN_CURVE_POINTS))
        for name in methods:
            curve = erasure_curve(question, removal_order(question, scores[name]))
            tally.curves.setdefault(name, []).append(resample(curve, MEAN_CURVE_POINTS))
            tally.areas.setdefault(name, []).append(area_between(curve, chance))
            for other in methods:
                tau, overlap = agreement(question, scores[name], scores[other])
                tally.tau.setdefault((name, other), []).append(tau)
                tally.overlap.setdefault((name, other), []).append(overlap)
        yield tally


def make_report(tally: FaithfulnessSums) -> Report:
    """Means over the sentences, with bounds from samples of them."""
    names = list(tally.areas)
    draw = np.random.default_rng(0)
    count = len(tally.curves.get("", []))
    samples = draw.integers(0, max(count, 1), (BOOTSTRAP_SAMPLES, count))
    methods = {}
    for name in names:
        areas = np.array(tally.areas[name])
        low, high = np.percentile(areas[samples].mean(axis=1), (2.5, 97.5))
        methods[name] = Faithfulness(_mean(tally.curves[name]), float(areas.mean()), float(low), float(high))
    return Report(
        count,
        methods,
        _mean(tally.curves.get("", [])),
        {one: {other: float(np.nanmean(tally.tau[one, other])) for other in names} for one in names},
        {one: {other: float(np.mean(tally.overlap[one, other])) for other in names} for one in names},
    )


def _mean(curves: Sequence[Numbers]) -> tuple[float, ...]:
    return tuple(float(each) for each in np.mean(curves, axis=0)) if curves else ()

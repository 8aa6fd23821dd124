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

from headlight.model.experiments.attribution import METHODS, Question, attribute, erasable, question_of
from headlight.model.experiments.erasure import hidden_scores, more_and_more
from headlight.model.measures.agreement import area_between, kendall_tau, ranked, resampled, top_overlap
from headlight.model.measures.aligning import AligningHead
from headlight.model.measures.changed_words import words_written
from headlight.model.measures.traced import Numbers
from headlight.model.records import Translation
from headlight.model.translate.translator import Translator

RANDOM = 5  # orders by chance
STEPS = 12  # points of a curve at most, the first aside: of more words, several are hidden at a step
POINTS = 11  # of the mean curve: no word hidden, a tenth of them, and so on
SAMPLES = 1000  # of sentences, for the bounds


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
class Tally:
    """Running sums over sentences."""

    curves: dict[str, list[Numbers]] = field(default_factory=dict)
    areas: dict[str, list[float]] = field(default_factory=dict)
    tau: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    overlap: dict[tuple[str, str], list[float]] = field(default_factory=dict)


def erasing_curve(question: Question, order: Sequence[int]) -> list[float]:
    """The probability of the written word with none, then more and more source words hidden, in this order."""
    sets = [(), *more_and_more([word.places for word in question.words], order)]
    chosen = np.unique(np.linspace(0, len(order), min(len(order), STEPS) + 1).round().astype(int))
    batches = hidden_scores(question.translator, question.translation, question.places, [sets[at] for at in chosen])
    found = np.interp(range(len(sets)), chosen, [float(np.exp(row.sum())) for batch in batches for row in batch])
    return [float(each) for each in found]


def order_by(question: Question, scores: Sequence[float | None]) -> list[int]:
    """The words that can be hidden, the highest score first."""
    places = erasable(question.translation)
    known = [0.0 if (score := scores[place]) is None else score for place in places]
    return [places[at] for at in ranked(known)]


def chance_orders(question: Question, count: int = RANDOM) -> list[list[int]]:
    """Random orders with a fixed seed."""
    draw = random.Random(0)  # noqa: S311 - no secret
    places = erasable(question.translation)
    return [draw.sample(places, len(places)) for _ in range(count)]


def chance_curve(question: Question) -> list[float]:
    """The mean curve of orders by chance."""
    return [float(each) for each in np.mean([erasing_curve(question, one) for one in chance_orders(question)], axis=0)]


def agreement(question: Question, one: Sequence[float | None], other: Sequence[float | None]) -> tuple[float, float]:
    """Kendall's τ of two methods over the words that can be hidden, and the overlap of their first three."""
    places = erasable(question.translation)
    first, second = ([each[place] or 0.0 for place in places] for each in (one, other))
    return kendall_tau(first, second), top_overlap(first, second)


def chosen_words(translation: Translation) -> list[tuple[int, ...]]:
    """The tokens of each written word that has letters or digits."""
    words = words_written(translation.target_tokens, translation.text)
    return [
        word.places
        for word in words
        if any(sign.isalnum() for sign in word.text) and not translation.target_tokens[word.places[0]].special
    ]


def over_corpus(
    translator: Translator,
    texts: Iterable[str],
    methods: Sequence[str] = METHODS,
    points: int | None = None,
    aligning: AligningHead | None = None,
) -> Iterator[Tally]:
    """One written word of each sentence, drawn by chance but the same each time; the tally after each.

    `aligning` is the head that was measured to align words best; without it, each sentence has its own.

    Sentences with fewer than three maskable words have no informative order and are skipped.
    """
    draw = random.Random(0)  # noqa: S311 - no secret
    tally = Tally()
    for text in texts:
        translation = translator.translate(text)
        words = chosen_words(translation)
        if not words or len(erasable(translation)) < 3:
            continue
        question = question_of(translator, translation, draw.choice(words), aligning=aligning, points=points)
        scores = {name: attribute(question, name).scores for name in methods}
        chance = chance_curve(question)
        tally.curves.setdefault("", []).append(resampled(chance, POINTS))
        for name in methods:
            curve = erasing_curve(question, order_by(question, scores[name]))
            tally.curves.setdefault(name, []).append(resampled(curve, POINTS))
            tally.areas.setdefault(name, []).append(area_between(curve, chance))
            for other in methods:
                tau, overlap = agreement(question, scores[name], scores[other])
                tally.tau.setdefault((name, other), []).append(tau)
                tally.overlap.setdefault((name, other), []).append(overlap)
        yield tally


def report_of(tally: Tally) -> Report:
    """Means over the sentences, with bounds from samples of them."""
    names = list(tally.areas)
    draw = np.random.default_rng(0)
    count = len(tally.curves.get("", []))
    samples = draw.integers(0, max(count, 1), (SAMPLES, count))
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

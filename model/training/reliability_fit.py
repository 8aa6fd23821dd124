"""Fits and evaluates a logistic reliability model on labelled answers. NumPy only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headlight.model.errors import TrainingError
from headlight.model.measures.chrf import chrf
from headlight.model.text.numbers import find_numbers, unmatched_numbers
from headlight.model.translate.evidence import POSITIVE_FEATURES, WORD
from headlight.model.translate.reliability import ReliabilityWeights

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
BINS = 10  # of a calibration table
MIN_CHRF = 55.0  # of chrF, above which an answer counts as right
MIN_CHRF_CHINESE = 25.0  # which a reader agrees with in 86 of 120 answers: few characters say much
L2_PENALTY = 20.0  # the factor of half the squared weights: features without information stay near zero
STEPS = 50
MAX_GRADE_RATIO = (
    0.75  # of where the best grade begins, the most at which the worst one ends: a grade is left between them
)
MAX_FALSE_ALARM_RATE = 0.12  # share of right answers that may be flagged


@dataclass(frozen=True)
class CalibrationBin:
    """Answers with a probability in one tenth."""

    low: float
    high: float
    answers: int
    probability: float  # their mean
    right: float  # share of them that is right


def min_chrf(language: str) -> float:
    """The chrF from which on an answer in that language counts as right."""
    return MIN_CHRF_CHINESE if language == "zh" else MIN_CHRF


def is_right(answer: str, reference: str, source: str, language: str, bound: float = MIN_CHRF) -> bool:
    """Whether an answer is taken to be right: like its reference, with its numbers, and its names.

    chrF alone hardly minds a wrong number or a name that is spelt otherwise, and a reader minds them most. A name is a
    capitalised word within the reference that stands in the sentence, too.
    """
    if chrf(answer, reference) < bound:
        return False
    if any(unmatched_numbers(find_numbers(reference, language), find_numbers(answer, language))):
        return False
    known = set(WORD.findall(source))
    names = [word for word in WORD.findall(reference)[1:] if word[0].isupper() and len(word) > 2 and word in known]
    return all(name in answer for name in names)


def fit_logistic(
    features: Sequence[Mapping[str, float]],
    right: Sequence[bool],
    names: Sequence[str],
    counts: Sequence[float] | None = None,
) -> ReliabilityWeights:
    """The likeliest logistic model in which no feature counts the wrong way.

    chrF is a noisy judge: by chance a missing number may look like a merit. A feature whose weight has the wrong sign
    is left out, the worst first, and the others are fitted again.

    Args:
        features: Of each answer.
        right: Whether it is.
        names: The features that may count.
        counts: For how many answers each one counts; None: for one.
    """
    remaining = list(names)
    while True:
        weights = _fit(features, right, remaining, counts)
        wrong = {
            name: abs(weight)
            for name, weight in zip(remaining, weights.weights, strict=True)
            if (weight > 0) != (name in POSITIVE_FEATURES)
        }
        if not wrong:
            return weights
        remaining.remove(max(wrong, key=lambda name: wrong[name]))


def _fit(
    features: Sequence[Mapping[str, float]],
    right: Sequence[bool],
    names: Sequence[str],
    counts: Sequence[float] | None,
) -> ReliabilityWeights:
    """The likeliest logistic model, by Newton's method."""
    table = np.array([[row[name] for name in names] for row in features], dtype=np.float64)  # [answers, features]
    labels = np.asarray(right, dtype=np.float64)
    if not 0 < labels.sum() < len(labels):
        raise TrainingError("A rule needs answers that are right and answers that are wrong. Give more sentences.")
    means, scales = table.mean(axis=0), table.std(axis=0)
    scales[scales < 1e-4] = 1.0  # the same for all answers: it weighs nothing
    design = np.hstack([(table - means) / scales, np.ones((len(table), 1))])
    often = np.ones(len(table)) if counts is None else np.asarray(counts, dtype=np.float64)
    penalty = np.diag([L2_PENALTY] * len(names) + [0.0])
    result = np.zeros(len(names) + 1)
    for _ in range(STEPS):
        chances = _sigmoid(design @ result)
        slope = design.T @ (often * (labels - chances)) - penalty @ result
        curve = (design * (often * chances * (1 - chances))[:, None]).T @ design + penalty
        step = np.linalg.solve(curve, slope)
        result += step
        if float(np.abs(step).max()) < 1e-9:
            break
    return ReliabilityWeights(
        features=tuple(names),
        weights=_rounded(result[:-1]),
        means=_rounded(means),
        scales=_rounded(scales),
        bias=round(float(result[-1]), 5),
        right=0.0,
        doubt=0.0,
    )


def grade_thresholds(
    chances: Floats, right: Bools, *, false_alarms: float = MAX_FALSE_ALARM_RATE, doubt_right: float = 0.12
) -> tuple[float, float]:
    """Grade thresholds from the allowed false-alarm rate and the allowed share of right answers."""
    first = float(np.quantile(chances[right], false_alarms))
    ordered = np.argsort(chances)
    shares = np.cumsum(right[ordered]) / np.arange(1, len(ordered) + 1)
    below = np.flatnonzero(shares <= doubt_right)
    second = float(chances[ordered[below[-1]]]) if below.size else 0.0
    return round(first, 4), round(min(MAX_GRADE_RATIO * first, second), 4)


def roc_auc(chances: Sequence[float], right: Sequence[bool]) -> float:
    """The area under the ROC curve: how often a right answer has the higher probability of a right and a wrong one."""
    good = np.sort([chance for chance, is_right in zip(chances, right, strict=True) if is_right])
    bad = np.array([chance for chance, is_right in zip(chances, right, strict=True) if not is_right])
    if not good.size or not bad.size:
        raise TrainingError("An area needs answers that are right and answers that are wrong.")
    above = len(good) - np.searchsorted(good, bad, side="right")
    equal = np.searchsorted(good, bad, side="right") - np.searchsorted(good, bad, side="left")
    return float((above + equal / 2).sum() / (len(good) * len(bad)))


def calibration(chances: Sequence[float], right: Sequence[bool]) -> list[CalibrationBin]:
    """Probability against truth, by tenths; empty ones are left out."""
    values, truth = np.asarray(chances), np.asarray(right, dtype=np.float64)
    places = np.minimum((values * BINS).astype(int), BINS - 1)
    return [
        CalibrationBin(
            place / BINS, (place + 1) / BINS, int(own.sum()), float(values[own].mean()), float(truth[own].mean())
        )
        for place in range(BINS)
        if (own := places == place).any()
    ]


def calibration_error(bins: Sequence[CalibrationBin]) -> float:
    """The expected calibration error: how far probability and truth lie apart, on average over answers."""
    return sum(each.answers * abs(each.probability - each.right) for each in bins) / sum(each.answers for each in bins)


def _sigmoid(logits: Floats) -> Floats:
    chances: Floats = 1 / (1 + np.exp(-np.clip(logits, -30, 30)))
    return chances


def _rounded(values: Floats) -> tuple[float, ...]:
    return tuple(round(float(value), 5) for value in values)

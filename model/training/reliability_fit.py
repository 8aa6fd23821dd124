"""Fits and evaluates a logistic reliability model on labelled answers, with NumPy only."""

from __future__ import annotations

import math
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
BINS = 10  # of the calibration table
MIN_CHRF = 55.0  # an answer with at least this chrF counts as right
MIN_CHRF_CHINESE = 25.0  # lower, because Chinese has few characters; a reader agrees on 86 of 120 answers
L2_PENALTY = 20.0  # factor of half the squared weights; weights of uninformative features stay near zero
STEPS = 50  # of Newton's method
# Maximum ratio of the threshold of the worst grade to that of the best one, so that a grade remains between them.
MAX_GRADE_RATIO = 0.75
MAX_FALSE_ALARM_RATE = 0.12  # share of right answers that may be flagged
MAX_CARELESS_FALSE_ALARM_RATE = 0.15  # the same for carelessly typed sentences, of which more are translated wrongly


@dataclass(frozen=True)
class CalibrationBin:
    """Answers whose probability is in one bin."""

    low: float
    high: float
    answers: int
    probability: float  # mean over the answers
    right: float  # share of right answers


def min_chrf(language: str) -> float:
    """Return the minimum chrF of a right answer in that language."""
    return MIN_CHRF_CHINESE if language == "zh" else MIN_CHRF


def is_right(answer: str, reference: str, source: str, language: str, bound: float = MIN_CHRF) -> bool:
    """Whether an answer counts as right: similar to its reference, with the same numbers and names.

    chrF hardly penalises wrong numbers and misspelt names, which matter most to a reader. A name is a capitalised word
    inside the reference that also occurs in the source.
    """
    if chrf(answer, reference) < bound:
        return False
    if any(unmatched_numbers(find_numbers(reference, language), find_numbers(answer, language))):
        return False
    source_words = set(WORD.findall(source))
    names = [
        word for word in WORD.findall(reference)[1:] if word[0].isupper() and len(word) > 2 and word in source_words
    ]
    return all(name in answer for name in names)


def fit_logistic(
    features: Sequence[Mapping[str, float]],
    right: Sequence[bool],
    names: Sequence[str],
    counts: Sequence[float] | None = None,
) -> ReliabilityWeights:
    """Fit a logistic model in which the weight of every feature has the expected sign.

    chrF is a noisy label: by chance, a missing number may look like a merit. The feature with the largest weight of
    the wrong sign is dropped, and the others are fitted again, until all signs are right.

    Args:
        features: Features of each answer.
        right: Whether each answer is right.
        names: Candidate features.
        counts: Weight of each answer in the fit; default 1.
    """
    candidates = list(names)
    while True:
        weights = _fit(features, right, candidates, counts)
        wrong_signs = {
            name: abs(weight)
            for name, weight in zip(candidates, weights.weights, strict=True)
            if (weight > 0) != (name in POSITIVE_FEATURES)
        }
        if not wrong_signs:
            return weights
        candidates.remove(max(wrong_signs, key=lambda name: wrong_signs[name]))


def _fit(
    features: Sequence[Mapping[str, float]],
    right: Sequence[bool],
    names: Sequence[str],
    counts: Sequence[float] | None,
) -> ReliabilityWeights:
    """Fit a logistic model with an L2 penalty, by Newton's method."""
    table = np.array([[row[name] for name in names] for row in features], dtype=np.float64)  # [answers, features]
    labels = np.asarray(right, dtype=np.float64)
    if not 0 < labels.sum() < len(labels):
        raise TrainingError("A rule needs right and wrong answers. Add more sentences.")
    means, scales = table.mean(axis=0), table.std(axis=0)
    scales[scales < 1e-4] = 1.0  # constant features have no effect
    design = np.hstack([(table - means) / scales, np.ones((len(table), 1))])
    sample_weights = np.ones(len(table)) if counts is None else np.asarray(counts, dtype=np.float64)
    penalty = np.diag([L2_PENALTY] * len(names) + [0.0])
    coefficients = np.zeros(len(names) + 1)
    for _ in range(STEPS):
        probabilities = _sigmoid(design @ coefficients)
        gradient = design.T @ (sample_weights * (labels - probabilities)) - penalty @ coefficients
        hessian = (design * (sample_weights * probabilities * (1 - probabilities))[:, None]).T @ design + penalty
        step = np.linalg.solve(hessian, gradient)
        coefficients += step
        if float(np.abs(step).max()) < 1e-9:
            break
    return ReliabilityWeights(
        features=tuple(names),
        weights=_round(coefficients[:-1]),
        means=_round(means),
        scales=_round(scales),
        bias=round(float(coefficients[-1]), 5),
        right=0.0,
        doubt=0.0,
    )


def grade_thresholds(
    chances: Floats, right: Bools, *, false_alarms: float = MAX_FALSE_ALARM_RATE, doubt_right: float = 0.12
) -> tuple[float, float]:
    """Return both grade thresholds, from the allowed false-alarm rate and the allowed share of right answers."""
    right_from = float(np.quantile(chances[right], false_alarms, method="lower"))
    ordered = np.argsort(chances)
    shares = np.cumsum(right[ordered]) / np.arange(1, len(ordered) + 1)
    below = np.flatnonzero(shares <= doubt_right)
    doubt_below = float(chances[ordered[below[-1]]]) if below.size else 0.0
    return _round_down(right_from), _round_down(min(MAX_GRADE_RATIO * right_from, doubt_below))


def roc_auc(chances: Sequence[float], right: Sequence[bool]) -> float:
    """Return the area under the ROC curve: how often a right answer has a higher probability than a wrong one."""
    positives = np.sort([chance for chance, label in zip(chances, right, strict=True) if label])
    negatives = np.array([chance for chance, label in zip(chances, right, strict=True) if not label])
    if not positives.size or not negatives.size:
        raise TrainingError("The area under the curve needs right and wrong answers.")
    above = len(positives) - np.searchsorted(positives, negatives, side="right")
    equal = np.searchsorted(positives, negatives, side="right") - np.searchsorted(positives, negatives, side="left")
    return float((above + equal / 2).sum() / (len(positives) * len(negatives)))


def calibration(chances: Sequence[float], right: Sequence[bool]) -> list[CalibrationBin]:
    """Return the calibration table; empty bins are omitted."""
    values, labels = np.asarray(chances), np.asarray(right, dtype=np.float64)
    bins = np.minimum((values * BINS).astype(int), BINS - 1)
    return [
        CalibrationBin(
            index / BINS,
            (index + 1) / BINS,
            int(members.sum()),
            float(values[members].mean()),
            float(labels[members].mean()),
        )
        for index in range(BINS)
        if (members := bins == index).any()
    ]


def calibration_error(bins: Sequence[CalibrationBin]) -> float:
    """Return the expected calibration error: the mean difference of probability and truth over answers."""
    return sum(entry.answers * abs(entry.probability - entry.right) for entry in bins) / sum(
        entry.answers for entry in bins
    )


def _round_down(threshold: float) -> float:
    """Round a threshold to four digits, so that no more answers are below it."""
    return math.floor(threshold * 1e4) / 1e4


def _sigmoid(logits: Floats) -> Floats:
    probabilities: Floats = 1 / (1 + np.exp(-np.clip(logits, -30, 30)))
    return probabilities


def _round(values: Floats) -> tuple[float, ...]:
    return tuple(round(float(value), 5) for value in values)

"""Fits the reliability rule of one model to its answers, and cross-validates it.

Some answers have a reader's verdict. The others are labelled by chrF, which agrees with readers on 70 to 76%. So
answers with a verdict have weight 1, the others `UNREVIEWED_WEIGHT`, and only answers with a verdict measure the rule.
Every answer is judged by a rule that was fitted without it (5-fold cross-validation).
"""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headlight.model.records import BackTranslation, Grade, Translation
from headlight.model.training.human_verdicts import fingerprint
from headlight.model.training.reliability_fit import (
    MAX_CARELESS_FALSE_ALARM_RATE,
    MAX_GRADE_RATIO,
    calibration,
    calibration_error,
    fit_logistic,
    grade_thresholds,
    is_right,
    min_chrf,
    roc_auc,
)
from headlight.model.translate.evidence import BACK_TRANSLATION_FEATURES, FEATURES, collect_evidence
from headlight.model.translate.reliability import FittedRule, ReliabilityWeights, is_typed_carelessly

FOLDS = 5  # of the cross-validation
MIN_REVIEWED_ANSWERS = 200  # minimum number of answers with a verdict; with fewer, verdicts are ignored
MIN_TYPED_ANSWERS = 100  # minimum number of visitor-like answers, and of their variants, for choosing the thresholds
UNREVIEWED_WEIGHT = 0.05  # weight of an answer labelled by chrF; one with a verdict has weight 1
SEED = 1


@dataclass(frozen=True)
class Answer:
    """One translation with its reference and its back-translation."""

    translation: Translation
    reference: str
    back: BackTranslation | None
    typed: bool = False  # source like visitors' input; these answers determine the grade thresholds
    origin: str = ""  # the sentence of which this one is a carelessly typed variant

    @property
    def fingerprint(self) -> str:
        """Key of the answer in the table of verdicts."""
        return fingerprint(self.translation.source_text, self.translation.text)


@dataclass(frozen=True)
class JudgedAnswers:
    """Answers in random order, with their labels."""

    answers: Sequence[Answer]
    right: Sequence[bool]
    reviewed: Sequence[bool]  # whether the label is a reader's verdict

    @property
    def sample_weights(self) -> list[float]:
        """Weight of each answer in the fit."""
        return [1.0 if reviewed or not any(self.reviewed) else UNREVIEWED_WEIGHT for reviewed in self.reviewed]

    def subset(self, indices: Sequence[int]) -> JudgedAnswers:
        """Return the answers at these indices."""
        return JudgedAnswers(
            [self.answers[index] for index in indices],
            [self.right[index] for index in indices],
            [self.reviewed[index] for index in indices],
        )

    @property
    def validation_indices(self) -> list[int]:
        """Indices of the answers that measure a rule: those with a verdict, or all if none has one."""
        return [index for index, reviewed in enumerate(self.reviewed) if reviewed or not any(self.reviewed)]


def fit_rule(
    answers: Iterable[Answer],
    source: str,
    target: str,
    verdicts: Mapping[str, bool] | None = None,
    bound: float | None = None,
) -> FittedRule:
    """Fit the rule to all answers, and cross-validate it.

    Args:
        answers: All answers of one model.
        source: Source language, a two-letter code.
        target: Target language, a two-letter code.
        verdicts: A reader's verdicts by fingerprint; fewer than `MIN_REVIEWED_ANSWERS` are ignored.
        bound: Minimum chrF of a right answer if it has no verdict; default `min_chrf(target)`.
    """
    bound = min_chrf(target) if bound is None else bound
    judged_answers = _label_answers(answers, target, verdicts or {}, bound)
    usual_length = _median_length_ratio(judged_answers)
    validation_labels = [judged_answers.right[index] for index in judged_answers.validation_indices]
    measured: dict[str, Any] = {
        "sentences": len(judged_answers.answers),
        "bound": bound,
        "read": sum(judged_answers.reviewed),
        "right": sum(validation_labels) / max(1, len(validation_labels)),
    }
    weights: dict[str, ReliabilityWeights] = {}
    for name, features in (("alone", FEATURES), ("with_back", BACK_TRANSLATION_FEATURES)):
        indices = [
            index for index, answer in enumerate(judged_answers.answers) if name == "alone" or answer.back is not None
        ]
        if len(indices) < len(judged_answers.answers) / 2:
            continue
        answered = judged_answers.subset(indices)
        backs = [answer.back if name == "with_back" else None for answer in answered.answers]
        judged = list(zip(answered.answers, backs, strict=True))
        rows = [
            collect_evidence(answer.translation, source, target, usual_length, back).features for answer, back in judged
        ]
        careless = [is_typed_carelessly(answer.translation, source, back) for answer, back in judged]
        weights[name], measured[name] = _fit_and_measure(rows, answered, features, careless)
    return FittedRule(
        source=source,
        target=target,
        usual_length=usual_length,
        alone=weights["alone"],
        with_back=weights.get("with_back"),
        measured=measured,
    )


def measure(chances: Sequence[float], right: Sequence[bool], grades: Sequence[Grade | None]) -> dict[str, Any]:
    """Measure how well probabilities and grades separate right answers from wrong ones."""
    bins = calibration(chances, right)
    flagged = [grade != "right" for grade in grades]
    return {
        "answers": len(chances),
        "right": sum(right),
        "area": round(roc_auc(chances, right), 3),
        "calibration_error": round(calibration_error(bins), 3),
        "flagged_wrong": round(_ratio(flagged, [not item for item in right]), 3),
        "flagged_right": round(_ratio(flagged, right), 3),
        "calibration": [[item.answers, round(item.probability, 3), round(item.right, 3)] for item in bins],
    }


def _label_answers(answers: Iterable[Answer], target: str, verdicts: Mapping[str, bool], bound: float) -> JudgedAnswers:
    shuffled = list(answers)
    random.Random(SEED).shuffle(shuffled)  # noqa: S311 - the split is not security-relevant
    reviewed = [answer.fingerprint in verdicts for answer in shuffled]
    if sum(reviewed) < MIN_REVIEWED_ANSWERS:
        reviewed = [False] * len(shuffled)
    right = [
        verdicts[answer.fingerprint]
        if was_reviewed
        else is_right(answer.translation.text, answer.reference, answer.translation.source_text, target, bound)
        for answer, was_reviewed in zip(shuffled, reviewed, strict=True)
    ]
    return JudgedAnswers(shuffled, right, reviewed)


def _median_length_ratio(judged_answers: JudgedAnswers) -> float:
    lengths = [
        math.log((len(answer.translation.text) + 1) / (len(answer.translation.source_text) + 1))
        for answer, right in zip(judged_answers.answers, judged_answers.right, strict=True)
        if right
    ]
    return round(statistics.median(lengths), 4) if lengths else 0.0


def _fit_and_measure(
    rows: Sequence[Mapping[str, float]],
    judged_answers: JudgedAnswers,
    features: Sequence[str],
    careless: Sequence[bool],
) -> tuple[ReliabilityWeights, dict[str, Any]]:
    """Fit a rule to all answers; thresholds and metrics come from cross-validation."""
    validation, counts = judged_answers.validation_indices, judged_answers.sample_weights
    chances: dict[int, float] = {}
    folds = _folds([judged_answers.answers[index] for index in validation])
    for fold in range(FOLDS):
        held_out = {index for index, own in zip(validation, folds, strict=True) if own == fold}
        training = [index for index in range(len(rows)) if index not in held_out]
        fold_weights = fit_logistic(
            [rows[index] for index in training],
            [judged_answers.right[index] for index in training],
            features,
            [counts[index] for index in training],
        )
        chances |= {index: fold_weights.probability(rows[index]) for index in held_out}
    probabilities, right = (
        [chances[index] for index in validation],
        [judged_answers.right[index] for index in validation],
    )
    answers = [judged_answers.answers[index] for index in validation]
    typed = [place for place, answer in enumerate(answers) if answer.typed and not answer.origin]
    as_typed = [place for place, answer in enumerate(answers) if answer.typed and answer.origin]
    # A number mismatch flags an answer regardless of its probability.
    flags = np.array([0.0 if rows[index]["numbers"] > 0 else chances[index] for index in validation])
    labels = np.array(right)
    chosen = typed if len(typed) >= MIN_TYPED_ANSWERS else list(range(len(validation)))
    right_from, _ = grade_thresholds(flags[chosen], labels[chosen])
    careless_from = None
    if len(as_typed) >= MIN_TYPED_ANSWERS:
        by_look = np.array([careless[index] for index in validation])  # the others are graded by `right_from`
        graded = np.where(by_look, flags, flags >= right_from)
        careless_from, _ = grade_thresholds(
            graded[as_typed], labels[as_typed], false_alarms=MAX_CARELESS_FALSE_ALARM_RATE
        )
        careless_from = min(right_from, careless_from)
    # Too few typed answers fall below this threshold, so it is computed from all answers.
    _, doubt_below = grade_thresholds(np.array(probabilities), labels)
    doubt_below = round(min(MAX_GRADE_RATIO * (careless_from or right_from), doubt_below), 4)
    fitted = replace(
        fit_logistic(rows, judged_answers.right, features, counts),
        right=right_from, doubt=doubt_below, careless=careless_from,
    )  # fmt: skip
    grades = [
        fitted.grade(chances[index], differs=rows[index]["numbers"] > 0, careless=careless[index])
        for index in validation
    ]
    result = measure(probabilities, right, grades)
    for name, places in (("typed", typed), ("as_typed", as_typed)):
        if len(places) >= MIN_TYPED_ANSWERS:
            result[name] = measure(
                [probabilities[place] for place in places],
                [right[place] for place in places],
                [grades[place] for place in places],
            )
    return fitted, result


def _folds(answers: Sequence[Answer]) -> list[int]:
    """Return the fold of each answer. A sentence and its variants are in one fold."""
    groups: dict[str, int] = {}
    sentences = (answer.origin or answer.translation.source_text for answer in answers)
    return [groups.setdefault(sentence, len(groups)) % FOLDS for sentence in sentences]


def _ratio(flagged: Sequence[bool], selected: Sequence[bool]) -> float:
    return sum(flag and counts for flag, counts in zip(flagged, selected, strict=True)) / max(1, sum(selected))

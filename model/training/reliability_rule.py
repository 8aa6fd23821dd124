"""Fits the reliability rule of one model to its answers, and cross-validates it.

Some answers have a reader's verdict. The others are labelled by chrF, which agrees with readers on 70 to
76%. So answers with a verdict have weight 1, the others `UNREAD_WEIGHT`, and only answers with a verdict measure the
rule. Every answer is judged by a rule that was fitted without it (5-fold cross-validation).
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
from headlight.model.translate.reliability import FittedRule, ReliabilityWeights

FOLDS = 5
MIN_READ_ANSWERS = 200  # minimum number of answers with a verdict; with fewer, verdicts are ignored
MIN_TYPED_ANSWERS = 100  # minimum number of visitor-like answers for choosing the thresholds
UNREAD_WEIGHT = 0.05  # weight of an answer labelled by chrF; one with a verdict has weight 1
SEED = 1


@dataclass(frozen=True)
class Answer:
    """One translation with its reference and its back-translation."""

    translation: Translation
    reference: str
    back: BackTranslation | None
    typed: bool = False  # source like visitors' input; these answers determine the grade thresholds

    @property
    def fingerprint(self) -> str:
        """Key of the answer in the table of verdicts."""
        return fingerprint(self.translation.source_text, self.translation.text)


@dataclass(frozen=True)
class JudgedAnswers:
    """Answers in random order, with their labels."""

    answers: Sequence[Answer]
    right: Sequence[bool]
    read: Sequence[bool]  # whether the label is a reader's verdict

    @property
    def sample_weights(self) -> list[float]:
        """Weight of each answer in the fit."""
        return [1.0 if read or not any(self.read) else UNREAD_WEIGHT for read in self.read]

    def subset(self, places: Sequence[int]) -> JudgedAnswers:
        """The answers at these indices."""
        return JudgedAnswers(
            [self.answers[place] for place in places],
            [self.right[place] for place in places],
            [self.read[place] for place in places],
        )

    @property
    def validation_indices(self) -> list[int]:
        """Indices of the answers that measure a rule: those with a verdict, or all if none has one."""
        return [place for place, read in enumerate(self.read) if read or not any(self.read)]


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
        verdicts: A reader's verdicts by fingerprint; fewer than `MIN_READ_ANSWERS` are ignored.
        bound: Minimum chrF of a right answer if it has no verdict; default `min_chrf(target)`.
    """
    bound = min_chrf(target) if bound is None else bound
    judged = _label_answers(answers, target, verdicts or {}, bound)
    usual = _usual_length(judged)
    known = [judged.right[place] for place in judged.validation_indices]
    measured: dict[str, Any] = {
        "sentences": len(judged.answers),
        "bound": bound,
        "read": sum(judged.read),
        "right": sum(known) / max(1, len(known)),
    }
    weights: dict[str, ReliabilityWeights] = {}
    for name, features in (("alone", FEATURES), ("with_back", BACK_TRANSLATION_FEATURES)):
        places = [place for place, each in enumerate(judged.answers) if name == "alone" or each.back is not None]
        if len(places) < len(judged.answers) / 2:
            continue
        own = judged.subset(places)
        rows = [
            collect_evidence(
                each.translation, source, target, usual, each.back if name == "with_back" else None
            ).features
            for each in own.answers
        ]
        weights[name], measured[name] = _fit_and_measure(rows, own, features)
    return FittedRule(
        source=source,
        target=target,
        usual_length=usual,
        alone=weights["alone"],
        with_back=weights.get("with_back"),
        measured=measured,
    )


def measure(chances: Sequence[float], right: Sequence[bool], grades: Sequence[Grade | None]) -> dict[str, Any]:
    """Metrics of how well probabilities and grades separate right answers from wrong ones."""
    bins = calibration(chances, right)
    flagged = [grade != "right" for grade in grades]
    return {
        "answers": len(chances),
        "right": sum(right),
        "area": round(roc_auc(chances, right), 3),
        "calibration_error": round(calibration_error(bins), 3),
        "flagged_wrong": round(_ratio(flagged, [not each for each in right]), 3),
        "flagged_right": round(_ratio(flagged, right), 3),
        "calibration": [[each.answers, round(each.probability, 3), round(each.right, 3)] for each in bins],
    }


def _label_answers(answers: Iterable[Answer], target: str, verdicts: Mapping[str, bool], bound: float) -> JudgedAnswers:
    mixed = list(answers)
    random.Random(SEED).shuffle(mixed)  # noqa: S311 - the split is not security-relevant
    read = [each.fingerprint in verdicts for each in mixed]
    if sum(read) < MIN_READ_ANSWERS:
        read = [False] * len(mixed)
    right = [
        verdicts[each.fingerprint]
        if was_read
        else is_right(each.translation.text, each.reference, each.translation.source_text, target, bound)
        for each, was_read in zip(mixed, read, strict=True)
    ]
    return JudgedAnswers(mixed, right, read)


def _usual_length(judged: JudgedAnswers) -> float:
    lengths = [
        math.log((len(each.translation.text) + 1) / (len(each.translation.source_text) + 1))
        for each, right in zip(judged.answers, judged.right, strict=True)
        if right
    ]
    return round(statistics.median(lengths), 4) if lengths else 0.0


def _fit_and_measure(
    rows: Sequence[Mapping[str, float]], judged: JudgedAnswers, features: Sequence[str]
) -> tuple[ReliabilityWeights, dict[str, Any]]:
    """A rule fitted to all answers, with thresholds and measurements from cross-validation."""
    places, counts = judged.validation_indices, judged.sample_weights
    chances: dict[int, float] = {}
    for fold in range(FOLDS):
        held_out = set(places[fold::FOLDS])
        rest = [place for place in range(len(rows)) if place not in held_out]
        part = fit_logistic(
            [rows[place] for place in rest],
            [judged.right[place] for place in rest],
            features,
            [counts[place] for place in rest],
        )
        chances |= {place: part.probability(rows[place]) for place in held_out}
    answer, right = [chances[place] for place in places], [judged.right[place] for place in places]
    typed = [at for at, place in enumerate(places) if judged.answers[place].typed]
    choosing = typed if len(typed) >= MIN_TYPED_ANSWERS else range(len(places))
    # A number mismatch flags an answer regardless of its probability.
    flags = [0.0 if rows[places[at]]["numbers"] > 0 else answer[at] for at in choosing]
    right_from, _ = grade_thresholds(np.array(flags), np.array([right[at] for at in choosing]))
    # Too few typed answers fall below this threshold, so it is computed from all answers.
    _, doubt_below = grade_thresholds(np.array(answer), np.array(right))
    doubt_below = min(MAX_GRADE_RATIO * right_from, doubt_below)
    fitted = replace(fit_logistic(rows, judged.right, features, counts), right=right_from, doubt=doubt_below)
    grades = [fitted.grade(chances[place], differs=rows[place]["numbers"] > 0) for place in places]
    result = measure(answer, right, grades)
    if len(typed) >= MIN_TYPED_ANSWERS:
        result["typed"] = measure(
            [answer[at] for at in typed], [right[at] for at in typed], [grades[at] for at in typed]
        )
    return fitted, result


def _ratio(flagged: Sequence[bool], of: Sequence[bool]) -> float:
    return sum(flag and counts for flag, counts in zip(flagged, of, strict=True)) / max(1, sum(of))

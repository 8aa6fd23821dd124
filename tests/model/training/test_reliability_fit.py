"""Fitting a reliability rule: labels, weights, ROC area, calibration."""

from __future__ import annotations

import math

import numpy as np
import pytest

from headlight.model.errors import TrainingError
from headlight.model.training.reliability_fit import (
    calibration,
    calibration_error,
    fit_logistic,
    grade_thresholds,
    is_right,
    roc_auc,
)


def test_right_answers_have_numbers_and_names_of_reference() -> None:
    source = "Frau Petersen hat achtzehn Katzen."
    reference = "Ms. Petersen has eighteen cats."
    assert is_right("Mrs. Petersen has eighteen cats.", reference, source, "en")
    assert not is_right("Ms. Petersen has eighty cats.", reference, source, "en")
    assert not is_right("Ms. Peters has eighteen cats.", reference, source, "en")
    assert not is_right("A dog.", reference, source, "en")


def test_fit_recovers_weights_and_drops_wrong_sign() -> None:
    generator = np.random.default_rng(1)
    rows = [
        {"mean": float(mean), "unseen": float(unseen), "words": float(words)}
        for mean, unseen, words in generator.normal(size=(4000, 3))
    ]
    chances = [1 / (1 + math.exp(-(0.5 + 2 * row["mean"] - row["unseen"] + row["words"]))) for row in rows]
    right = [bool(generator.random() < chance) for chance in chances]
    rule = fit_logistic(rows, right, ("mean", "unseen", "words"))
    assert rule.features == ("mean", "unseen")  # a positive weight for more words is implausible
    assert rule.weights[0] == pytest.approx(1.7, abs=0.35)
    assert rule.weights[1] == pytest.approx(-0.9, abs=0.25)
    fitted = [rule.probability(row) for row in rows]
    assert roc_auc(fitted, right) > 0.8
    assert calibration_error(calibration(fitted, right)) < 0.03
    first, second = grade_thresholds(np.array(fitted), np.array(right), false_alarms=0.1)
    flagged = [chance < first for chance in fitted]
    assert sum(flag and good for flag, good in zip(flagged, right, strict=True)) == pytest.approx(
        0.1 * sum(right), abs=2
    )
    assert second < first


def test_sample_weights_act_as_repetition() -> None:
    generator = np.random.default_rng(3)
    rows = [{"mean": float(mean)} for mean in generator.normal(size=300)]
    right = [bool(generator.random() < 1 / (1 + math.exp(-2 * row["mean"]))) for row in rows]
    opposite = [not each for each in right]  # opposite labels with negligible weight
    alone = fit_logistic(rows, right, ("mean",))
    mixed = fit_logistic(rows + rows, right + opposite, ("mean",), [1.0] * 300 + [1e-9] * 300)
    assert mixed.weights[0] == pytest.approx(alone.weights[0], abs=1e-4)
    twice = fit_logistic(rows + rows, right + right, ("mean",))
    doubled = fit_logistic(rows, right, ("mean",), [2.0] * 300)
    assert doubled.weights[0] == pytest.approx(twice.weights[0], abs=1e-4)
    assert doubled.weights[0] > alone.weights[0] + 0.01


def test_constant_feature_does_not_break_fit() -> None:
    rows = [{"mean": float(place % 7), "copied": 0.0} for place in range(700)]
    rule = fit_logistic(rows, [place % 7 > 3 for place in range(700)], ("mean", "copied"))
    assert rule.probability({"mean": 6.0, "copied": 0.0}) > 0.9


def test_area_and_calibration_match_hand_computed_values() -> None:
    assert roc_auc([0.9, 0.4, 0.4, 0.1], [True, True, False, False]) == (2 + 1.5) / 4
    bins = calibration([0.1, 0.15, 0.85, 1.0], [False, True, True, True])
    assert [(each.answers, each.right) for each in bins] == [(2, 0.5), (1, 1.0), (1, 1.0)]
    assert calibration_error(bins) == pytest.approx((2 * 0.375 + 0.15 + 0) / 4)
    with pytest.raises(TrainingError, match="The area under the curve needs"):
        roc_auc([0.5], [True])
    with pytest.raises(TrainingError, match="A rule needs"):
        fit_logistic([{"mean": 1.0}], [True], ("mean",))


def test_grade_thresholds_limit_false_alarms() -> None:
    chances = np.arange(1, 11) / 10
    right = chances > 0.35
    first, second = grade_thresholds(chances, right, false_alarms=0.0, doubt_right=0.0)
    assert (first, second) == (0.4, 0.3)

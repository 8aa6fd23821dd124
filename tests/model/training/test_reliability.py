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


def test_right_has_the_numbers_and_names_of_the_reference() -> None:
    said = "Frau Petersen hat achtzehn Katzen."
    reference = "Ms. Petersen has eighteen cats."
    assert is_right("Mrs. Petersen has eighteen cats.", reference, said, "en")
    assert not is_right("Ms. Petersen has eighty cats.", reference, said, "en")
    assert not is_right("Ms. Peters has eighteen cats.", reference, said, "en")
    assert not is_right("A dog.", reference, said, "en")


def test_weights_are_found_again_and_one_of_the_wrong_sign_is_left_out() -> None:
    chosen = np.random.default_rng(1)
    rows = [
        {"mean": float(mean), "unseen": float(unseen), "words": float(words)}
        for mean, unseen, words in chosen.normal(size=(4000, 3))
    ]
    chances = [1 / (1 + math.exp(-(0.5 + 2 * row["mean"] - row["unseen"] + row["words"]))) for row in rows]
    right = [bool(chosen.random() < chance) for chance in chances]
    found = fit_logistic(rows, right, ("mean", "unseen", "words"))
    assert found.features == ("mean", "unseen")  # more words never speak for an answer
    assert found.weights[0] == pytest.approx(1.7, abs=0.35)
    assert found.weights[1] == pytest.approx(-0.9, abs=0.25)
    fitted = [found.probability(row) for row in rows]
    assert roc_auc(fitted, right) > 0.8
    assert calibration_error(calibration(fitted, right)) < 0.03
    first, second = grade_thresholds(np.array(fitted), np.array(right), false_alarms=0.1)
    flagged = [chance < first for chance in fitted]
    assert sum(flag and good for flag, good in zip(flagged, right, strict=True)) == pytest.approx(
        0.1 * sum(right), abs=2
    )
    assert second < first


def test_answers_count_as_often_as_they_are_told_to() -> None:
    chosen = np.random.default_rng(3)
    rows = [{"mean": float(mean)} for mean in chosen.normal(size=300)]
    right = [bool(chosen.random() < 1 / (1 + math.exp(-2 * row["mean"]))) for row in rows]
    wrongly = [not each for each in right]  # judged the other way round, by somebody who counts for little
    alone = fit_logistic(rows, right, ("mean",))
    mixed = fit_logistic(rows + rows, right + wrongly, ("mean",), [1.0] * 300 + [1e-9] * 300)
    assert mixed.weights[0] == pytest.approx(alone.weights[0], abs=1e-4)
    twice = fit_logistic(rows + rows, right + right, ("mean",))
    doubled = fit_logistic(rows, right, ("mean",), [2.0] * 300)
    assert doubled.weights[0] == pytest.approx(twice.weights[0], abs=1e-4)
    assert doubled.weights[0] > alone.weights[0] + 0.01


def test_a_feature_that_never_changes_weighs_nothing() -> None:
    rows = [{"mean": float(place % 7), "copied": 0.0} for place in range(700)]
    found = fit_logistic(rows, [place % 7 > 3 for place in range(700)], ("mean", "copied"))
    assert found.probability({"mean": 6.0, "copied": 0.0}) > 0.9


def test_area_and_calibration_by_hand() -> None:
    assert roc_auc([0.9, 0.4, 0.4, 0.1], [True, True, False, False]) == (2 + 1.5) / 4
    bins = calibration([0.1, 0.15, 0.85, 1.0], [False, True, True, True])
    assert [(each.answers, each.right) for each in bins] == [(2, 0.5), (1, 1.0), (1, 1.0)]
    assert calibration_error(bins) == pytest.approx((2 * 0.375 + 0.15 + 0) / 4)
    with pytest.raises(TrainingError, match="The area under the curve needs"):
        roc_auc([0.5], [True])
    with pytest.raises(TrainingError, match="A rule needs"):
        fit_logistic([{"mean": 1.0}], [True], ("mean",))


def test_grades_begin_where_few_right_answers_lie_below() -> None:
    chances = np.arange(1, 11) / 10
    right = chances > 0.35
    first, second = grade_thresholds(chances, right, false_alarms=0.0, doubt_right=0.0)
    assert (first, second) == (0.4, 0.3)

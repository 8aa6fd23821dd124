"""Numbers of the lesson on masks, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from headlight.model.experiments.mask_removal import GreedyOutput
from headlight.viz.lessons.masks import (
    classify_loss_change,
    compute_best_guess_loss,
    count_common_prefix,
    find_max_log_probability_gap,
)


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [(1.0, 1.04, "stays"), (1.0, 0.96, "stays"), (1.0, 1.06, "rises"), (1.0, 0.94, "falls"), (0.5, 9.0, "rises")],
)
def test_change_of_the_loss_has_a_name(before: float, after: float, change: str) -> None:
    assert classify_loss_change(before, after) == change


def test_best_guess_among_equally_likely_translations() -> None:
    """Eight translations of four tokens: the first token costs ln 8, the others follow from it."""
    assert compute_best_guess_loss(8, 32) == pytest.approx(math.log(8) / 4)


def output(ids: tuple[int, ...], log_probabilities: list[float]) -> GreedyOutput:
    return GreedyOutput(ids, np.array(log_probabilities))


def test_gap_includes_the_first_different_token_and_nothing_after_it() -> None:
    first, second = output((5, 6, 7, 2), [-1, -1, -2, -9]), output((5, 6, 8, 2), [-1, -1.25, -5, 0])
    assert count_common_prefix(first, second) == 2
    assert find_max_log_probability_gap(first, second) == pytest.approx(3)
    shorter = output((5, 6), [-1, -1.5])
    assert count_common_prefix(first, shorter) == 2
    assert find_max_log_probability_gap(first, shorter) == pytest.approx(0.5)

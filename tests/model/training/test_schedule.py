"""Learning rates against manually computed values."""

from __future__ import annotations

import math

import pytest

from headlight.model.training.recipe import Optimisation
from headlight.model.training.schedule import (
    compute_cooldown_factor,
    constant,
    cosine,
    inverse_square_root,
    make_schedule,
)


def test_inverse_square_root_matches_paper() -> None:
    width, warmup = 512, 4000
    peak = (width * warmup) ** -0.5
    for step in (1, 1999, 4000, 4001, 100_003):
        published = width**-0.5 * min(step**-0.5, step * warmup**-1.5)
        assert peak * inverse_square_root(step, warmup) == pytest.approx(published, rel=1e-12)
    assert [inverse_square_root(step, 4) for step in (1, 2, 4, 16, 64)] == [1 / 4, 2 / 4, 1, 1 / 2, 1 / 4]


def test_cosine_warms_up_and_ends_at_zero() -> None:
    factors = [cosine(step, 2, 10) for step in (1, 2, 4, 6, 8, 10, 11)]
    slope = math.sqrt(0.5)
    assert factors == pytest.approx([0.5, 1, (1 + slope) / 2, 0.5, (1 - slope) / 2, 0, 0])


def test_constant_schedule_warms_up_and_stays() -> None:
    assert [constant(step, 4) for step in (1, 3, 4, 5, 10_007)] == [0.25, 0.75, 1, 1, 1]


def test_cool_down_follows_square_root() -> None:
    factors = [compute_cooldown_factor(step, 100, 16) for step in (1, 84, 85, 88, 93, 100)]
    assert factors == pytest.approx([1, 1, 1 - 1 / 4, 1 - 2 / 4, 1 - 3 / 4, 0])
    assert compute_cooldown_factor(100, 100, 0) == 1


@pytest.mark.parametrize("name", ["inverse_square_root", "cosine", "constant"])
def test_schedule_is_peak_rate_times_factors(name: str) -> None:
    rate = make_schedule(Optimisation(schedule=name, peak_rate=3e-3, warmup_steps=5), last=50, cool_down_steps=10)
    assert rate(5) == pytest.approx(3e-3)
    assert rate(2) == pytest.approx(3e-3 * 2 / 5)
    assert rate(50) == pytest.approx(0.0, abs=1e-12)
    before_cool_down = {"inverse_square_root": math.sqrt(5 / 40), "cosine": cosine(40, 5, 50), "constant": 1.0}
    assert rate(40) == pytest.approx(3e-3 * before_cool_down[name])

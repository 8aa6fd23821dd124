"""Learning rate schedules: free functions from a step to a factor of the peak rate."""

from __future__ import annotations

import math
from collections.abc import Callable

from headlight.model.training.recipe import Optimisation

Schedule = Callable[[int], float]  # step, counted from 1 → learning rate


def inverse_square_root(step: int, warmup: int) -> float:
    """min(step / warmup, √(warmup / step)): the published schedule (section 5.3), with its peak as the unit.

    The paper writes d^-0.5 · min(step^-0.5, step · warmup^-1.5), whose peak is (d · warmup)^-0.5.
    It has no end, so a run may stop and go on at any time.
    """
    warmup = max(1, warmup)
    return min(step / warmup, math.sqrt(warmup / step))


def cosine(step: int, warmup: int, steps: int) -> float:
    """A linear warm-up, then half a cosine down to zero at the last step."""
    if step <= warmup:
        return step / max(1, warmup)
    progress = min(1.0, (step - warmup) / max(1, steps - warmup))
    return 0.5 * (1 + math.cos(math.pi * progress))


def constant(step: int, warmup: int) -> float:
    """A linear warm-up, then constant; a cool-down ends it."""
    return min(1.0, step / max(1, warmup))


def cooldown_factor(step: int, last: int, length: int) -> float:
    """1 until `length` steps before the `last`, then 1 - √progress, to zero (arXiv:2405.18392).

    Most of a model's late gain comes from this short end, so it may follow a run of any length.
    """
    done = step - (last - length)
    if done <= 0 or length <= 0:
        return 1.0
    return 1 - math.sqrt(min(1.0, done / length))


def make_schedule(settings: Optimisation, last: int, cool_down_steps: int) -> Schedule:
    """The learning rate at each step of a run that ends at step `last` with such a cool-down."""

    def rate(step: int) -> float:
        if settings.schedule == "cosine":
            factor = cosine(step, settings.warmup_steps, last)
        elif settings.schedule == "constant":
            factor = constant(step, settings.warmup_steps)
        else:
            factor = inverse_square_root(step, settings.warmup_steps)
        return settings.peak_rate * factor * cooldown_factor(step, last, cool_down_steps)

    return rate

"""Learning rate schedules: functions from a step to a share of the peak rate."""

from __future__ import annotations

import math
from collections.abc import Callable

from headlight.model.training.recipe import Optimisation

Schedule = Callable[[int], float]  # step, counted from 1 → learning rate


def inverse_square_root(step: int, warmup: int) -> float:
    """Return min(step / warmup, √(warmup / step)): the published schedule (section 5.3), scaled to a peak of 1.

    The formula of the paper, d^-0.5 · min(step^-0.5, step · warmup^-1.5), has a peak of (d · warmup)^-0.5. The schedule
    does not depend on the number of steps, so a run may be extended.
    """
    warmup = max(1, warmup)
    return min(step / warmup, math.sqrt(warmup / step))


def cosine(step: int, warmup: int, steps: int) -> float:
    """Return a linear warm-up, followed by half a cosine to zero at step `steps`."""
    if step <= warmup:
        return step / max(1, warmup)
    progress = min(1.0, (step - warmup) / max(1, steps - warmup))
    return 0.5 * (1 + math.cos(math.pi * progress))


def constant(step: int, warmup: int) -> float:
    """Return a linear warm-up to 1, followed by 1; a cool-down may follow."""
    return min(1.0, step / max(1, warmup))


def compute_cooldown_factor(step: int, last: int, length: int) -> float:
    """Return 1 until `length` steps before `last`, then 1 - √progress, down to zero (arXiv:2405.18392).

    Most of the late gain of a model comes from this short phase, so it can end a run at any step.
    """
    done = step - (last - length)
    if done <= 0 or length <= 0:
        return 1.0
    return 1 - math.sqrt(min(1.0, done / length))


def make_schedule(settings: Optimisation, last: int, cool_down_steps: int) -> Schedule:
    """Return the learning rate schedule of a run that ends at step `last` with this cool-down."""

    def rate(step: int) -> float:
        if settings.schedule == "cosine":
            factor = cosine(step, settings.warmup_steps, last)
        elif settings.schedule == "constant":
            factor = constant(step, settings.warmup_steps)
        else:
            factor = inverse_square_root(step, settings.warmup_steps)
        return settings.peak_rate * factor * compute_cooldown_factor(step, last, cool_down_steps)

    return rate

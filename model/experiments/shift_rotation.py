"""A shift by k positions is a rotation: one 2 × 2 matrix maps a pair of PE(p) to that of PE(p + k), for every p.

The pair i of a sinusoidal row is (sin pω, cos pω) with ω = 10000^(−2i/d) (Vaswani et al. 2017, section 3.5).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headlight.model.core.positions import sinusoidal_table

Float64Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ShiftRotation:
    """The rotation of one pair of dimensions by a shift, and its largest error over all positions."""

    frequency: float  # ω, in radians per position
    matrix: Float64Array  # [2, 2]
    pairs: Float64Array  # [positions, 2]: the pair of each position, from the table of the model
    error: float  # largest difference between the matrix times PE(p) and PE(p + k), over all p
    fixed_error: float  # largest difference between PE(p) + PE(k) − PE(0) and PE(p + k), over all p


def make_rotation_matrix(angle: float) -> Float64Array:
    """Return [[cos, sin], [−sin, cos]], which turns (sin a, cos a) into (sin(a + angle), cos(a + angle))."""
    return np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])


def shift_rotation(width: int, pair: int, shift: int, positions: int) -> ShiftRotation:
    """Measure the rotation of `pair` by `shift` on the first `positions` rows of a table with `width` dimensions."""
    table = sinusoidal_table(positions + shift, width).double().numpy()
    pairs: Float64Array = table[:, 2 * pair : 2 * pair + 2]
    frequency = 10_000.0 ** (-2 * pair / width)
    matrix = make_rotation_matrix(shift * frequency)
    before, after = pairs[:positions], pairs[shift:]
    step = pairs[shift] - pairs[0]
    return ShiftRotation(
        frequency,
        matrix,
        pairs,
        float(np.abs(before @ matrix.T - after).max()),
        float(np.abs(before + step - after).max()),
    )

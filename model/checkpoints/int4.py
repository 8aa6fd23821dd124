"""Matrices in four bits: two numbers a byte, and a scale in float16 for each group of 32 columns of a row.

    value = (number - 8) × scale of its group

A number is 1 to 15, so that zero is exact and both signs reach as far. Byte b of a row has column 2b in its low half,
and column 2b + 1 in its high half. `viz/widgets/engine/weights.js` reads the same format in the browser.
"""

from __future__ import annotations

import torch
from torch import Tensor

GROUP = 32  # columns that share a scale
ZERO = 8  # the number that means 0
LARGEST = 7  # steps between zero and the largest value
# Shares of the scale at which all values are in range. A smaller scale cuts off the largest and rounds the others less.
SHARES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7)


def pack(matrix: Tensor) -> tuple[Tensor, Tensor] | None:
    """Return the bytes `[rows, columns / 2]` and the scales `[rows, columns / 32]`, or None if the matrix does not fit.

    Of `SHARES`, each group gets the one with the least squared error, measured with the rounded scale.
    """
    groups = split_groups(matrix)  # [rows, groups, 32]
    if groups is None:
        return None
    widest = groups.abs().amax(dim=-1) / LARGEST  # [rows, groups]
    if bool(widest.half().isinf().any()):
        return None
    scales = torch.zeros_like(widest, dtype=torch.float16)  # [rows, groups]
    least = torch.full_like(widest, torch.inf, dtype=torch.float64)  # [rows, groups]
    for share in SHARES:
        candidate = (share * widest).half()
        error = (_round(groups, candidate) * candidate.float().unsqueeze(-1)).sub_(groups).square_()
        total = error.sum(dim=-1, dtype=torch.float64)
        scales = candidate.where(total < least, scales)
        least = total.minimum(least)
    numbers = (_round(groups, scales) + ZERO).to(torch.uint8).flatten(1)  # [rows, columns]
    return numbers[:, ::2] | numbers[:, 1::2] << 4, scales


def split_groups(tensor: Tensor) -> Tensor | None:
    """View a matrix as `[rows, columns / 32, 32]`, or return None for another tensor or number of columns."""
    if tensor.ndim != 2 or tensor.shape[1] % GROUP:
        return None
    return tensor.view(len(tensor), tensor.shape[1] // GROUP, GROUP)


def _round(groups: Tensor, scales: Tensor) -> Tensor:
    """Divide groups by their scales, and round to whole numbers from -7 to 7."""
    divisors = scales.float().unsqueeze(-1)
    return (groups / divisors.where(divisors > 0, 1.0)).round_().clamp_(-LARGEST, LARGEST)


def unpack(packed: Tensor, target: Tensor) -> None:
    """Write the numbers of bytes `[…, columns / 2]`, from -8 to 7 and not scaled, to `[…, columns]`."""
    target[..., ::2] = packed & 15
    target[..., 1::2] = packed >> 4
    target.sub_(ZERO)

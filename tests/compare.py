"""Compare two tensors; the error shows the largest difference."""

from __future__ import annotations

import torch
from torch import Tensor


def assert_close(actual: Tensor, expected: Tensor, *, tolerance: float = 1e-5, of: str = "result") -> None:
    """|actual − expected| ≤ tolerance · (1 + |expected|) everywhere; NaN is never equal."""
    assert actual.shape == expected.shape, f"{of}: shape {list(actual.shape)}, but {list(expected.shape)} expected"
    if not actual.numel():
        return
    actual_numbers, expected_numbers = actual.detach().double().cpu(), expected.detach().double().cpu()
    gaps = ((actual_numbers - expected_numbers).abs() / (1 + expected_numbers.abs())).nan_to_num(nan=torch.inf)
    gaps = torch.where(actual_numbers == expected_numbers, 0.0, gaps)  # equal infinities
    worst = int(gaps.argmax())
    if gaps.flatten()[worst] <= tolerance:
        return
    place = [int(index) for index in torch.unravel_index(torch.tensor(worst), gaps.shape)]
    wrong = int((gaps > tolerance).sum())
    raise AssertionError(
        f"{of}: {wrong:,} of {gaps.numel():,} numbers are off by more than {tolerance:g}; the most at {place}: "
        f"{actual_numbers.flatten()[worst]:.8g} instead of {expected_numbers.flatten()[worst]:.8g}"
    )

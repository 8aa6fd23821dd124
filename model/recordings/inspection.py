"""Inspection of arrays: validation as attention, masked cells and padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from headlight.model.recordings.recording import RecordingError
from headlight.model.records import BoolArray

FLOAT32_TOLERANCE, HALF_PRECISION_TOLERANCE = 1e-3, 3e-2  # maximum deviation of row sums from one


class Inspection(NamedTuple):
    """Results of one pass over all maps of a kind."""

    nonzero: BoolArray  # [row, column]: True if a head of any layer has weight there
    sums: np.ndarray  # [layer, head, row], float32


def inspect_layers(layers: Sequence[np.ndarray], numbers: Sequence[int], label: str) -> Inspection:
    """Scan all weights layer by layer. Raise a `RecordingError` if they cannot be attention."""
    nonzero = np.zeros(layers[0].shape[1:], dtype=np.bool_)
    sums = np.empty((len(layers), *layers[0].shape[:2]), dtype=np.float32)
    for index, layer in enumerate(layers):
        low, high = float(layer.min()), float(layer.max())
        if not (np.isfinite(low) and np.isfinite(high)):
            raise RecordingError(
                f"{label}: layer {numbers[index] + 1} contains NaN or infinite values. "
                "A row whose keys are all masked has such values: omit padding, or mask with large negative numbers."
            )
        if low < 0 or high > 1 + HALF_PRECISION_TOLERANCE:
            raise RecordingError(
                f"{label}: layer {numbers[index] + 1} holds values from {low:.3g} to {high:.3g}, but weights lie "
                "between 0 and 1. Give the weights after the softmax, of a model in evaluation mode."
            )
        nonzero |= (layer != 0).any(axis=0)
        sums[index] = layer.sum(axis=-1, dtype=np.float32)
    return Inspection(nonzero, sums)


def is_causal(visible: BoolArray) -> bool:
    """Whether no token attends to a later one. The last row and the last column are the same token."""
    rows, columns = visible.shape
    if rows < 2 or columns < rows:
        return False
    return not np.triu(visible, k=1 + columns - rows).any()


def allowed_cells(visible: BoolArray, *, square: bool) -> BoolArray:
    """Infer the mask from causal maps, sliding windows, windows of an image and unused columns."""
    allowed = np.ones_like(visible)
    if square and is_causal(visible):
        rows, columns = visible.shape
        allowed = np.tril(allowed, k=columns - rows)
        for reach in range(1, rows):  # a sliding window: no row attends to keys this far back
            if not np.tril(visible, k=-reach).any():
                allowed = np.triu(allowed, k=1 - reach)
                break
    elif square and (groups := _find_groups(visible)) is not None:
        allowed = groups
    allowed[:, ~visible.any(axis=0)] = False
    return allowed


def _find_groups(visible: BoolArray) -> BoolArray | None:
    """Return the cells within groups of tokens if every token attends to exactly its group, as in a window of Swin."""
    first = visible.argmax(axis=1)
    groups: BoolArray = first[:, None] == first
    return groups if np.array_equal(groups, visible) else None


def trim_padding(visible: BoolArray, *, square: bool) -> slice:
    """Return the range of columns without leading and trailing padding."""
    has_weight = visible.any(axis=0)
    if not has_weight.any():
        return slice(0, visible.shape[1])
    start, end = int(np.flatnonzero(has_weight)[0]), int(np.flatnonzero(has_weight)[-1]) + 1
    if square and not is_causal(visible):
        # A row of padding before a causal sentence has no valid key, so frameworks spread its weight over all columns.
        for first in range(start + 1, end):
            if not visible[first - 1, first:].any():
                break
            if not visible[first:, :first].any() and is_causal(visible[first:, first:]):
                return slice(first, end)
    return slice(start, end)


def unpadded_range(mask: np.ndarray) -> slice:
    """Return the range of unpadded tokens of an attention mask `[tokens]`."""
    indices = np.flatnonzero(mask)
    return slice(int(indices[0]), int(indices[-1]) + 1) if indices.size else slice(0, len(mask))


def unnormalised_rows(sums: np.ndarray, *, low_precision: bool) -> tuple[int, float, float] | None:
    """Return the number of rows that do not sum to one, such as rows of zeros, and their lowest and highest sum."""
    deviating = sums[np.abs(sums - 1) > (HALF_PRECISION_TOLERANCE if low_precision else FLOAT32_TOLERANCE)]
    return (int(deviating.size), float(deviating.min()), float(deviating.max())) if deviating.size else None

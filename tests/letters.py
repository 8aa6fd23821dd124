"""Decode attention maps as the page does: letters to weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from headlight.viz.service.weight_encoding import LEVELS, alphabet

NEAR = 1.01 / LEVELS  # a letter encodes at most two levels


def decoded(values: dict[str, Any], *, causal: bool = False) -> np.ndarray:
    """The mean of the values that each letter encodes, in the shape of the maps."""
    signs, first, count = np.unique(alphabet(), return_index=True, return_counts=True)
    middles = dict(zip(map(chr, signs.tolist()), ((first + count / 2) / LEVELS).tolist(), strict=True))
    weights = [middles[letter] for letter in values["letters"]]
    if not causal:
        return np.array(weights).reshape(values["shape"])
    maps = np.zeros(values["shape"])
    maps[..., np.tri(*values["shape"][-2:], dtype=bool)] = np.reshape(weights, (*values["shape"][:2], -1))
    return maps

"""Maps as the page reads them: letters back into weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from headlight.viz.service.weight_encoding import LEVELS, alphabet

NEAR = 1.01 / LEVELS  # a letter stands for the middle of at most two cells


def decoded(values: dict[str, Any], *, causal: bool = False) -> np.ndarray:
    """The middle of the cells that each letter stands for, in the shape of the maps."""
    signs, first, count = np.unique(alphabet(), return_index=True, return_counts=True)
    middles = dict(zip(map(chr, signs.tolist()), ((first + count / 2) / LEVELS).tolist(), strict=True))
    found = [middles[letter] for letter in values["letters"]]
    if not causal:
        return np.array(found).reshape(values["shape"])
    maps = np.zeros(values["shape"])
    maps[..., np.tri(*values["shape"][-2:], dtype=bool)] = np.reshape(found, (*values["shape"][:2], -1))
    return maps

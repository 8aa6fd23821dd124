"""Measures of a head as one number: its distance, its entropy, its peak. Each measure gives `[layer, head]`.

Wholly masked rows do not count. A measure is NaN for a map without any row that counts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headlight.model.errors import not_choice
from headlight.model.records import BoolArray, FloatArray, Kind, Translation


@dataclass(frozen=True, eq=False)
class Place:
    """The cells that a mask allows, which keys are special tokens, and the straight line through the map."""

    allowed: BoolArray  # [query, key]
    special: BoolArray  # [key]
    line: FloatArray  # [query]: its own column; in cross attention, the line from corner to corner

    @property
    def looking(self) -> BoolArray:
        """The rows that the mask does not wholly cover, `[query]`."""
        return np.asarray(self.allowed.any(axis=1))


Statistic = Callable[[FloatArray, Place], FloatArray]  # weights [layer, head, query, key] → [layer, head]


def place_of(translation: Translation, kind: Kind) -> Place:
    """The place of a translation's maps of one kind."""
    keys = translation.decoder_tokens if kind == "decoder" else translation.source_tokens
    allowed = translation.attention.allowed(kind)
    special = np.array([token.special for token in keys], dtype=np.bool_)
    return Place(allowed, special, straight_line(kind, *allowed.shape))


def straight_line(kind: Kind, queries: int, keys: int) -> FloatArray:
    """The column that lies straight ahead of each row, `[query]`."""
    rows = np.arange(queries, dtype=np.float32)
    if kind != "cross":
        return rows
    return rows * ((keys - 1) / (queries - 1)) if queries > 1 else np.full(queries, (keys - 1) / 2, dtype=np.float32)


def measure(translation: Translation, kind: Kind, name: str) -> FloatArray:
    """One measure of every head, `[layer, head]`, by its name in `STATISTICS`."""
    if name not in STATISTICS:
        raise not_choice("view", name, STATISTICS)
    return STATISTICS[name](translation.attention.of(kind), place_of(translation, kind))


def row_entropy(weights: FloatArray) -> FloatArray:
    """The entropy of each row in bits, `[…, query]`: 0 for one key alone, log₂ n for n keys alike."""
    # Zero times any finite logarithm is zero. (`where=weights > 0` gave the same in eight times the time.)
    logs = np.log2(np.maximum(weights, np.finfo(weights.dtype).tiny))
    bits: FloatArray = np.maximum(-np.einsum("...k,...k->...", weights, logs, dtype=np.float64), 0.0)
    return bits


def entropy(weights: FloatArray, place: Place) -> FloatArray:
    """How widely a row spreads, in bits."""
    return _mean(row_entropy(weights), place.looking)


def relative_entropy(weights: FloatArray, place: Place) -> FloatArray:
    """Entropy over its maximum: 0 for one key alone, 1 for equal weights on all allowed keys. Rows with a single
    allowed key do not count."""
    counts = place.allowed.sum(axis=1)  # [query]
    return _mean(row_entropy(weights) / np.log2(np.maximum(counts, 2)), counts > 1)


def distance(weights: FloatArray, place: Place) -> FloatArray:
    """How far a row looks on average, in tokens, from its own place or the straight line."""
    far = np.abs(np.arange(weights.shape[-1]) - place.line[:, None])  # [query, key]
    return _mean((weights * far).sum(axis=-1), place.looking)


def special(weights: FloatArray, place: Place) -> FloatArray:
    """The share of a row's weight on special tokens."""
    return _mean(weights[..., place.special].sum(axis=-1), place.looking)


def strongest(weights: FloatArray, place: Place) -> FloatArray:
    """The highest weight of the map. Rows with a single allowed key do not count: that key has all their weight."""
    rows = place.allowed.sum(axis=1) > 1
    if not rows.any():
        return np.full(weights.shape[:2], np.nan, dtype=np.float32)
    highest: FloatArray = weights[:, :, rows].max(axis=(2, 3)).astype(np.float32)
    return highest


def diagonal(weights: FloatArray, place: Place) -> FloatArray:
    """The share of a row's weight within half a token of the straight line."""
    far = np.abs(np.arange(weights.shape[-1]) - place.line[:, None])  # [query, key]
    return _mean((weights * (far <= 0.5)).sum(axis=-1), place.looking)


def confidence(weights: FloatArray, place: Place) -> FloatArray:
    """The mean over rows of the highest weight."""
    return _mean(weights.max(axis=-1), place.looking)


STATISTICS: dict[str, Statistic] = {
    "entropy": entropy,
    "relative_entropy": relative_entropy,
    "distance": distance,
    "special": special,
    "strongest": strongest,
    "diagonal": diagonal,
    "confidence": confidence,
}


def _mean(values: FloatArray, rows: BoolArray) -> FloatArray:
    """The mean over these rows, `[layer, head, query]` → `[layer, head]`."""
    if not rows.any():
        return np.full(values.shape[:2], np.nan, dtype=np.float32)
    found: FloatArray = values[:, :, rows].mean(axis=-1).astype(np.float32)
    return found

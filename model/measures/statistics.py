"""Measures that reduce a head's map to one number, such as entropy, distance or the share of a position.

The arrays are `[layer, head]`. A measure is the mean over the rows with at least two allowed keys. For the
share of a position, such as the previous token, only the rows in which the position is allowed count.
A measure is NaN for a map without such rows, and for a kind of attention to which it does not apply. To add a measure,
write a function and register it in `STATISTICS`; `docs/measures.md` describes the limits of each measure.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from headlight.model.errors import choice_error
from headlight.model.records import KINDS, BoolArray, FloatArray, Kind, Token, Translation

MAX_DIAGONAL_DISTANCE = 0.5  # tokens; cells up to this distance count as on the diagonal


@dataclass(frozen=True, eq=False)
class MapGeometry:
    """Positions, masks and token classes of a map, independent of the head."""

    kind: Kind
    allowed: BoolArray  # [query, key]: the unmasked cells
    columns: tuple[Token, ...]

    @cached_property
    def rows_with_several_keys(self) -> BoolArray:
        """Rows with at least two allowed keys, `[query]`."""
        return np.asarray(self.allowed.sum(axis=1) > 1)

    @cached_property
    def offset(self) -> FloatArray:
        """Offset of each key from the position of the query, `[query, key]`; in cross-attention, from the diagonal."""
        queries, keys = self.allowed.shape
        result: FloatArray = np.arange(keys, dtype=np.float32) - expected_column(self.kind, queries, keys)[:, None]
        return result

    @cached_property
    def special(self) -> BoolArray:
        """Keys that are special tokens, `[key]`."""
        return np.array([token.special for token in self.columns], dtype=np.bool_)

    @cached_property
    def punctuation(self) -> BoolArray:
        """Keys that are punctuation, `[key]`."""
        return np.array([_is_punctuation(token) for token in self.columns], dtype=np.bool_)


MeasureFunction = Callable[[FloatArray, MapGeometry], FloatArray]  # weights [layer, head, query, key] → [layer, head]


@dataclass(frozen=True)
class Statistic:
    """A measure with its unit, reference and applicable kinds of attention. Values are ≥ 0, and shares are ≤ 1."""

    function: MeasureFunction
    unit: Literal["bits", "tokens", "share"]
    paper: str
    kinds: tuple[Kind, ...] = KINDS


def map_geometry(translation: Translation, kind: Kind) -> MapGeometry:
    """Return the geometry of a translation's maps of one kind."""
    columns = translation.decoder_tokens if kind == "decoder" else translation.source_tokens
    return MapGeometry(kind, translation.attention.allowed(kind), columns)


def expected_column(kind: Kind, queries: int, keys: int) -> FloatArray:
    """Return the column of each row on the diagonal, `[query]`.

    The diagonal of cross-attention runs from corner to corner, so columns may be fractional.
    """
    rows = np.arange(queries, dtype=np.float32)
    if kind != "cross":
        return rows
    return rows * ((keys - 1) / (queries - 1)) if queries > 1 else np.full(queries, (keys - 1) / 2, dtype=np.float32)


def measure(translation: Translation, kind: Kind, name: str) -> FloatArray:
    """Compute one measure of every head, `[layer, head]`, by its name in `STATISTICS`."""
    if name not in STATISTICS:
        raise choice_error("view", name, STATISTICS)
    return _measure_or_nan(translation.attention.of(kind), map_geometry(translation, kind), STATISTICS[name])


def measure_all(translation: Translation, kind: Kind) -> dict[str, FloatArray]:
    """Compute every measure of every head, name → `[layer, head]`."""
    weights, geometry = translation.attention.of(kind), map_geometry(translation, kind)
    return {name: _measure_or_nan(weights, geometry, statistic) for name, statistic in STATISTICS.items()}


def measure_weights(weights: FloatArray, geometry: MapGeometry) -> dict[str, FloatArray]:
    """Compute the measures that apply to maps `[layer, head, query, key]`, name → `[layer, head]`."""
    applicable = ((name, statistic) for name, statistic in STATISTICS.items() if geometry.kind in statistic.kinds)
    return {name: statistic.function(weights, geometry) for name, statistic in applicable}


def row_entropy(weights: FloatArray) -> FloatArray:
    """Compute the entropy of each row in bits, `[…, query]`: 0 for a single key, log₂ n for n equal keys."""
    # Zero times a finite logarithm is zero. (`where=weights > 0` gives the same result but takes eight times as long.)
    logs = np.log2(np.maximum(weights, np.finfo(weights.dtype).tiny))
    bits: FloatArray = np.maximum(-np.einsum("...k,...k->...", weights, logs, dtype=np.float64), 0.0)
    return bits


# ---------------------------------------------------------------- spread of a row


def entropy(weights: FloatArray, geometry: MapGeometry) -> FloatArray:
    """Compute the mean entropy of a row, in bits."""
    return _mean(row_entropy(weights), geometry.rows_with_several_keys)


def relative_entropy(weights: FloatArray, geometry: MapGeometry) -> FloatArray:
    """Compute entropy relative to its maximum: 0 for a single key, 1 for equal weights on all allowed keys."""
    counts = geometry.allowed.sum(axis=1)  # [query]
    return _mean(row_entropy(weights) / np.log2(np.maximum(counts, 2)), geometry.rows_with_several_keys)


def max_weight(weights: FloatArray, geometry: MapGeometry) -> FloatArray:
    """Compute the mean over the rows of the largest weight."""
    return _mean(weights.max(axis=-1, initial=0), geometry.rows_with_several_keys)


# ---------------------------------------------------------------- distance of the keys


def distance(weights: FloatArray, geometry: MapGeometry) -> FloatArray:
    """Compute the mean distance of the keys, in tokens, from the position of the query or from the diagonal."""
    return _mean((weights * np.abs(geometry.offset)).sum(axis=-1), geometry.rows_with_several_keys)


def diagonality(weights: FloatArray, geometry: MapGeometry) -> FloatArray:
    """Compute 1 − mean distance / largest distance: 1 for all weight on the diagonal, 0 for all on the farthest keys.

    This is the area under the share of weight within a distance r, for all r from zero to the largest distance.
    """
    distances = np.abs(geometry.offset)  # [query, key]
    farthest = np.where(geometry.allowed, distances, 0).max(axis=1, initial=0)  # [query]
    means = (weights * distances).sum(axis=-1)  # [layer, head, query]
    return _mean(
        1 - means / np.maximum(farthest, np.finfo(np.float32).tiny), geometry.rows_with_several_keys & (farthest > 0)
    )


# ---------------------------------------------------------------- attended keys


def same_share(weights: FloatArray, geometry: MapGeometry) -> FloatArray:
    """Compute the share on the position of the query; in cross-attention, on the cells nearest to the diagonal."""
    return _share(weights, geometry, np.abs(geometry.offset) <= MAX_DIAGONAL_DISTANCE)


def previous_share(weights: FloatArray, geometry: MapGeometry) -> FloatArray:
    """Compute the share on the token before the position of the query."""
    return _share(
        weights, geometry, (geometry.offset >= -1 - MAX_DIAGONAL_DISTANCE) & (geometry.offset < -MAX_DIAGONAL_DISTANCE)
    )


def next_share(weights: FloatArray, geometry: MapGeometry) -> FloatArray:
    """Compute the share on the token after the position of the query."""
    return _share(
        weights, geometry, (geometry.offset > MAX_DIAGONAL_DISTANCE) & (geometry.offset <= 1 + MAX_DIAGONAL_DISTANCE)
    )


def first_share(weights: FloatArray, geometry: MapGeometry) -> FloatArray:
    """Compute the share on the first key, in the decoder the start token."""
    return _share(weights, geometry, _one_column(geometry, 0))


def last_share(weights: FloatArray, geometry: MapGeometry) -> FloatArray:
    """Compute the share on the last key, the end token of the source."""
    return _share(weights, geometry, _one_column(geometry, -1))


def punctuation_share(weights: FloatArray, geometry: MapGeometry) -> FloatArray:
    """Compute the share on punctuation; NaN for a sentence without punctuation."""
    return _share(weights, geometry, geometry.allowed & geometry.punctuation)


def special_share(weights: FloatArray, geometry: MapGeometry) -> FloatArray:
    """Compute the share on special tokens."""
    return _share(weights, geometry, geometry.allowed & geometry.special)


def induction_share(weights: FloatArray, geometry: MapGeometry) -> FloatArray:
    """Compute the share on tokens that followed an earlier occurrence of the query's token; NaN without repetitions.

    https://arxiv.org/abs/2209.11895. Tokens are equal if their ids are. It needs self-attention of a text, and is not
    among `STATISTICS`, which describe translations.
    """
    queries, keys = geometry.allowed.shape
    if queries != keys:
        return np.full(weights.shape[:2], np.nan, dtype=np.float32)
    ids = np.array([token.id for token in geometry.columns])
    cells = np.zeros_like(geometry.allowed)
    cells[:, 1:] = ids[:-1] == ids[:, None]  # [query, key]: the token before the key is the query's
    return _share(weights, geometry, cells & (geometry.offset <= 0))


_VOITA = "https://arxiv.org/abs/1905.09418"
_CLARK = "https://arxiv.org/abs/1906.04341"
_VIG = "https://arxiv.org/abs/1906.04284"
_ZHANG = "https://arxiv.org/abs/2011.04906"
STATISTICS: dict[str, Statistic] = {
    "entropy": Statistic(entropy, "bits", _CLARK),
    "relative_entropy": Statistic(relative_entropy, "share", "https://arxiv.org/abs/1710.03348"),
    "peak": Statistic(max_weight, "share", _VOITA),
    "distance": Statistic(distance, "tokens", _VIG),
    "diagonality": Statistic(diagonality, "share", _ZHANG),
    "same": Statistic(same_share, "share", _CLARK),
    "previous": Statistic(previous_share, "share", _CLARK),
    "next": Statistic(next_share, "share", _CLARK, ("encoder", "cross")),
    "first": Statistic(first_share, "share", "https://arxiv.org/abs/2309.17453"),
    "last": Statistic(last_share, "share", _CLARK, ("encoder", "cross")),
    "punctuation": Statistic(punctuation_share, "share", _CLARK),
    "special": Statistic(special_share, "share", _CLARK),
}


def _measure_or_nan(weights: FloatArray, geometry: MapGeometry, statistic: Statistic) -> FloatArray:
    if geometry.kind not in statistic.kinds:
        return np.full(weights.shape[:2], np.nan, dtype=np.float32)
    return statistic.function(weights, geometry)


def _share(weights: FloatArray, geometry: MapGeometry, cells: BoolArray) -> FloatArray:
    """Compute the mean weight on these cells, `[query, key]`, over the rows with an allowed cell."""
    cells = cells & geometry.allowed
    rows = geometry.rows_with_several_keys & cells.any(axis=1)
    queries, keys = cells.shape
    if not rows.any():
        return np.full(weights.shape[:2], np.nan, dtype=np.float32)
    # One product for all rows and heads is several times faster than a masked sum per head.
    cell_weights = (cells * (rows / rows.sum())[:, None]).astype(np.float32).ravel()  # [query · key]
    result: FloatArray = weights.reshape(*weights.shape[:2], queries * keys) @ cell_weights
    return result


def _one_column(geometry: MapGeometry, key: int) -> BoolArray:
    cells = np.zeros_like(geometry.allowed)
    if cells.size:
        cells[:, key] = True
    return cells


def _is_punctuation(token: Token) -> bool:
    text = "" if token.special else token.text.strip()
    return bool(text) and all(unicodedata.category(character)[0] == "P" for character in text)


def _mean(values: FloatArray, rows: BoolArray) -> FloatArray:
    """Average over these rows, `[layer, head, query]` → `[layer, head]`."""
    if not rows.any():
        return np.full(values.shape[:2], np.nan, dtype=np.float32)
    result: FloatArray = values[:, :, rows].mean(axis=-1).astype(np.float32)
    return result

"""Measures of a head as one number: its entropy, its peak, its distance, the share of each place. `[layer, head]` each.

A measure is the mean over the rows that have a choice, that is, two allowed keys or more. A share of one place, such as
the previous token, is the mean over those of them that may look at such a place. A measure is NaN for a map without any
row that counts, and for a kind of attention in which it says nothing. A new measure is one function and one line of
`STATISTICS`; `docs/measures.md` has their limits.
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

NEAREST = 0.5  # tokens on either side of the straight line that are its nearest


@dataclass(frozen=True, eq=False)
class MapGeometry:
    """Positions, masks and token classes of a map, independent of the head."""

    kind: Kind
    allowed: BoolArray  # [query, key]: the cells that the mask leaves
    columns: tuple[Token, ...]

    @cached_property
    def rows_with_choice(self) -> BoolArray:
        """The rows with two allowed keys or more, `[query]`."""
        return np.asarray(self.allowed.sum(axis=1) > 1)

    @cached_property
    def offset(self) -> FloatArray:
        """How many tokens each key stands after the row's own place, `[query, key]`; in cross-attention, after the
        straight line from corner to corner."""
        queries, keys = self.allowed.shape
        result: FloatArray = np.arange(keys, dtype=np.float32) - expected_column(self.kind, queries, keys)[:, None]
        return result

    @cached_property
    def special(self) -> BoolArray:
        """The keys that are special tokens, `[key]`."""
        return np.array([token.special for token in self.columns], dtype=np.bool_)

    @cached_property
    def punctuation(self) -> BoolArray:
        """The keys that are commas, full stops and their like, `[key]`."""
        return np.array([_is_punctuation(token) for token in self.columns], dtype=np.bool_)


MeasureFunction = Callable[[FloatArray, MapGeometry], FloatArray]  # weights [layer, head, query, key] → [layer, head]


@dataclass(frozen=True)
class Statistic:
    """A measure with its unit, reference and applicable kinds of attention. Its numbers are ≥ 0, a share's ≤ 1."""

    function: MeasureFunction
    unit: Literal["bits", "tokens", "share"]
    paper: str
    kinds: tuple[Kind, ...] = KINDS


def map_geometry(translation: Translation, kind: Kind) -> MapGeometry:
    """The place of a translation's maps of one kind."""
    columns = translation.decoder_tokens if kind == "decoder" else translation.source_tokens
    return MapGeometry(kind, translation.attention.allowed(kind), columns)


def expected_column(kind: Kind, queries: int, keys: int) -> FloatArray:
    """The column that lies straight ahead of each row, `[query]`: its own; in cross-attention, on the line from corner
    to corner."""
    rows = np.arange(queries, dtype=np.float32)
    if kind != "cross":
        return rows
    return rows * ((keys - 1) / (queries - 1)) if queries > 1 else np.full(queries, (keys - 1) / 2, dtype=np.float32)


def measure(translation: Translation, kind: Kind, name: str) -> FloatArray:
    """One measure of every head, `[layer, head]`, by its name in `STATISTICS`."""
    if name not in STATISTICS:
        raise choice_error("view", name, STATISTICS)
    return _measured(translation.attention.of(kind), map_geometry(translation, kind), STATISTICS[name])


def measure_all(translation: Translation, kind: Kind) -> dict[str, FloatArray]:
    """Every measure of every head, name → `[layer, head]`."""
    weights, place = translation.attention.of(kind), map_geometry(translation, kind)
    return {name: _measured(weights, place, statistic) for name, statistic in STATISTICS.items()}


def measure_weights(weights: FloatArray, geometry: MapGeometry) -> dict[str, FloatArray]:
    """The measures that apply to these maps `[layer, head, query, key]`, name → `[layer, head]`."""
    applicable = ((name, each) for name, each in STATISTICS.items() if geometry.kind in each.kinds)
    return {name: each.function(weights, geometry) for name, each in applicable}


def row_entropy(weights: FloatArray) -> FloatArray:
    """The entropy of each row in bits, `[…, query]`: 0 for a single key, log₂ n for n equal keys."""
    # Zero times any finite logarithm is zero. (`where=weights > 0` gave the same in eight times the time.)
    logs = np.log2(np.maximum(weights, np.finfo(weights.dtype).tiny))
    bits: FloatArray = np.maximum(-np.einsum("...k,...k->...", weights, logs, dtype=np.float64), 0.0)
    return bits


# ---------------------------------------------------------------- how a row spreads


def entropy(weights: FloatArray, place: MapGeometry) -> FloatArray:
    """How widely a row spreads, in bits."""
    return _mean(row_entropy(weights), place.rows_with_choice)


def relative_entropy(weights: FloatArray, place: MapGeometry) -> FloatArray:
    """Entropy over its maximum: 0 for one key alone, 1 for equal weights on all allowed keys."""
    counts = place.allowed.sum(axis=1)  # [query]
    return _mean(row_entropy(weights) / np.log2(np.maximum(counts, 2)), place.rows_with_choice)


def max_weight(weights: FloatArray, place: MapGeometry) -> FloatArray:
    """The highest weight of a row."""
    return _mean(weights.max(axis=-1, initial=0), place.rows_with_choice)


# ---------------------------------------------------------------- how far it looks


def distance(weights: FloatArray, place: MapGeometry) -> FloatArray:
    """How far a row looks on average, in tokens, from its own place or the straight line."""
    return _mean((weights * np.abs(place.offset)).sum(axis=-1), place.rows_with_choice)


def diagonality(weights: FloatArray, place: MapGeometry) -> FloatArray:
    """1 if all weight lies on the diagonal, 0 if each row gives all to its farthest allowed key.

    The area under the share of weight within a distance r, over all r from zero to the farthest key's: that is one
    minus the mean distance over the farthest.
    """
    far = np.abs(place.offset)  # [query, key]
    farthest = np.where(place.allowed, far, 0).max(axis=1, initial=0)  # [query]
    means = (weights * far).sum(axis=-1)  # [layer, head, query]
    return _mean(1 - means / np.maximum(farthest, np.finfo(np.float32).tiny), place.rows_with_choice & (farthest > 0))


# ---------------------------------------------------------------- attended keys


def same(weights: FloatArray, place: MapGeometry) -> FloatArray:
    """The share on the row's own place; in cross-attention, on what lies nearest to the straight line."""
    return _share(weights, place, np.abs(place.offset) <= NEAREST)


def previous(weights: FloatArray, place: MapGeometry) -> FloatArray:
    """The share on the token before the row's own place."""
    return _share(weights, place, (place.offset >= -1 - NEAREST) & (place.offset < -NEAREST))


def following(weights: FloatArray, place: MapGeometry) -> FloatArray:
    """The share on the token after the row's own place."""
    return _share(weights, place, (place.offset > NEAREST) & (place.offset <= 1 + NEAREST))


def first(weights: FloatArray, place: MapGeometry) -> FloatArray:
    """The share on the first key, in the decoder the start token."""
    return _share(weights, place, _one_column(place, 0))


def last(weights: FloatArray, place: MapGeometry) -> FloatArray:
    """The share on the last key, the end token of the source."""
    return _share(weights, place, _one_column(place, -1))


def punctuation(weights: FloatArray, place: MapGeometry) -> FloatArray:
    """The share on punctuation; NaN for a sentence without any."""
    return _share(weights, place, place.allowed & place.punctuation)


def special(weights: FloatArray, place: MapGeometry) -> FloatArray:
    """The share on special tokens."""
    return _share(weights, place, place.allowed & place.special)


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
    "same": Statistic(same, "share", _CLARK),
    "previous": Statistic(previous, "share", _CLARK),
    "next": Statistic(following, "share", _CLARK, ("encoder", "cross")),
    "first": Statistic(first, "share", "https://arxiv.org/abs/2309.17453"),
    "last": Statistic(last, "share", _CLARK, ("encoder", "cross")),
    "punctuation": Statistic(punctuation, "share", _CLARK),
    "special": Statistic(special, "share", _CLARK),
}


def _measured(weights: FloatArray, place: MapGeometry, statistic: Statistic) -> FloatArray:
    if place.kind not in statistic.kinds:
        return np.full(weights.shape[:2], np.nan, dtype=np.float32)
    return statistic.function(weights, place)


def _share(weights: FloatArray, place: MapGeometry, cells: BoolArray) -> FloatArray:
    """The mean weight on these cells `[query, key]`, over the rows that may look at one of them."""
    cells = cells & place.allowed
    rows = place.rows_with_choice & cells.any(axis=1)
    queries, keys = cells.shape
    if not rows.any():
        return np.full(weights.shape[:2], np.nan, dtype=np.float32)
    # One product for all rows and heads is several times as fast as a masked sum of each.
    each = (cells * (rows / rows.sum())[:, None]).astype(np.float32).ravel()  # [query · key]
    result: FloatArray = weights.reshape(*weights.shape[:2], queries * keys) @ each
    return result


def _one_column(place: MapGeometry, key: int) -> BoolArray:
    cells = np.zeros_like(place.allowed)
    if cells.size:
        cells[:, key] = True
    return cells


def _is_punctuation(token: Token) -> bool:
    text = "" if token.special else token.text.strip()
    return bool(text) and all(unicodedata.category(letter)[0] == "P" for letter in text)


def _mean(values: FloatArray, rows: BoolArray) -> FloatArray:
    """The mean over these rows, `[layer, head, query]` → `[layer, head]`."""
    if not rows.any():
        return np.full(values.shape[:2], np.nan, dtype=np.float32)
    result: FloatArray = values[:, :, rows].mean(axis=-1).astype(np.float32)
    return result

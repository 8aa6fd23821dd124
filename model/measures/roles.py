"""Roles of attention heads for one sentence or a corpus; a head without a clear role is "unclear".

A role is a set of cells. Its share is the mean weight that a row gives to these cells, and its chance is the share of a
uniform row. In a short sentence every set of cells has a large share, so a role must also exceed chance:

    share ≥ MIN_SHARE    and    (share − chance) / (1 − chance) ≥ MIN_EXCESS

If several roles qualify, the one with the largest excess, share − chance, applies. Roles of many cells, such as
"before" (all tokens before the query), have higher thresholds and apply only if no narrow role qualifies. If no role
qualifies, a head "spreads" if a row covers at least half of the allowed keys:
(2^entropy − 1) / (allowed keys − 1) ≥ MIN_COVERAGE. All other heads are unclear.

Rows with a single allowed key, such as the first row of the decoder, are ignored. So is a role for which fewer than
half of the rows have a cell. Over a corpus, shares, chances and coverage are means over the sentences with a value.

A cross-attention head "aligns" if its rows attend to the source word with the highest weight in the mean of all heads.
It is "behind" if its rows attend to that word of the previous row, which was just translated. No annotated links are
needed, so roles are available for any model; `alignment.py` compares heads with annotated links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from headlight.model.measures.map_reduction import word_groups
from headlight.model.measures.statistics import MAX_DIAGONAL_DISTANCE, MapGeometry, map_geometry, row_entropy
from headlight.model.records import KINDS, BoolArray, FloatArray, Kind, Token, Translation

RoleName = Literal[
    "same", "previous", "next", "before", "ahead", "around",  # encoder
    "just_written", "back_two",  # decoder: row t is computed from the token of column t
    "aligns", "behind", "diagonal",  # cross
    "start", "end", "punctuation",  # all kinds
    "spreads", "unclear",
]  # fmt: skip
MIN_SHARE, MIN_EXCESS = 0.4, 0.3
WIDE_ROLES: tuple[RoleName, ...] = ("before", "ahead", "around")
NEIGHBOURHOOD = 2  # tokens on each side of the query in the role "around"
MIN_SHARE_WIDE, MIN_EXCESS_WIDE = 0.75, 0.5
MIN_COVERAGE = 0.5
ENTROPY_BATCH = 1 << 18  # number of weights whose entropies are computed together
# Roles of each kind of attention, in the order of the arrays below.
ROLES: dict[Kind, tuple[RoleName, ...]] = {
    "encoder": ("same", "previous", "next", "start", "end", "punctuation", *WIDE_ROLES),
    "decoder": ("just_written", "back_two", "start", "punctuation"),
    "cross": ("aligns", "behind", "diagonal", "start", "end", "punctuation"),
}
NAMES: tuple[RoleName, ...] = (*dict.fromkeys(name for kind in KINDS for name in ROLES[kind]), "spreads", "unclear")


@dataclass(frozen=True, slots=True)
class Role:
    """The role of a head."""

    name: RoleName
    share: float  # mean weight of a row on the role's cells; "spreads": coverage; "unclear": share of the closest role
    spread: float  # effective number of tokens that a row covers: mean of 2^entropy


@dataclass(frozen=True, eq=False)
class RoleShares:
    """Evidence for the roles of the heads of one kind, in one sentence. NaN if a role is impossible."""

    shares: FloatArray  # [layer, head, role], in the order of `ROLES`
    chances: FloatArray  # [role]
    coverage: FloatArray  # [layer, head]: 0 for a single key, 1 for a uniform distribution over the allowed keys
    spread: FloatArray  # [layer, head]


def head_roles(translation: Translation) -> dict[Kind, list[list[Role]]]:
    """Return the roles of all heads, kind → `[layer][head]`, with averages of the layers and heads as last entries."""
    return {kind: _assign_head_roles(translation, kind) for kind in KINDS}


def role_shares(translation: Translation, kind: Kind) -> RoleShares:
    """Return the shares of all heads of one kind."""
    return _RoleCells(translation, kind).shares(translation.attention.of(kind))


def assign_roles(kind: Kind, shares: FloatArray, chances: FloatArray, coverage: FloatArray) -> tuple[np.ndarray, ...]:
    """Return the role and the share of each head, `[layer, head]`, for one sentence or for means over sentences."""
    excess = np.nan_to_num(shares - chances, nan=-1.0)  # [layer, head, role]
    max_excess = np.maximum(1 - chances, np.finfo(np.float32).tiny)
    wide = np.isin(ROLES[kind], WIDE_ROLES)  # [role]
    min_share, min_excess = np.where(wide, MIN_SHARE_WIDE, MIN_SHARE), np.where(wide, MIN_EXCESS_WIDE, MIN_EXCESS)
    # In float32, the sum of a row with a share of exactly 0.4 may be rounded down.
    clear = (shares >= min_share - 1e-6) & (excess / max_excess >= min_excess - 1e-6) & (chances < 1)
    # Narrow roles rank before wide ones, and all clear roles before unclear ones.
    best = np.where(clear, excess - 2 * wide, excess - 9).argmax(axis=-1)  # [layer, head]
    names = np.array(ROLES[kind], dtype=object)[best]
    has_role = np.take_along_axis(clear, best[..., None], axis=-1)[..., 0]
    value = np.nan_to_num(np.take_along_axis(shares, best[..., None], axis=-1)[..., 0])
    spreads = ~has_role & (coverage >= MIN_COVERAGE)
    return (
        np.where(has_role, names, np.where(spreads, "spreads", "unclear")),
        np.where(spreads, coverage, value),
    )


def _assign_head_roles(translation: Translation, kind: Kind) -> list[list[Role]]:
    weights = translation.attention.of(kind)  # [layer, head, row, column]
    if not weights.size:
        return []
    over_heads = weights.mean(axis=1, dtype=np.float32)  # [layer, row, column]
    over_layers = weights.mean(axis=0, dtype=np.float32)  # [head, row, column]
    averages = np.concatenate([over_heads, over_layers, over_heads.mean(axis=0, keepdims=True, dtype=np.float32)])
    role_cells = _RoleCells(translation, kind)
    heads, means = role_cells.shares(weights), role_cells.shares(averages[None])
    shares, coverage, spread = (
        _append_averages(getattr(heads, name), getattr(means, name)[0]) for name in ("shares", "coverage", "spread")
    )
    names, value = assign_roles(kind, shares, role_cells.chances, coverage)
    return [
        list(map(Role, *columns))
        for columns in zip(names.tolist(), value.tolist(), np.nan_to_num(spread).tolist(), strict=True)
    ]


def _append_averages(heads: FloatArray, averages: FloatArray) -> FloatArray:
    """Append each layer's average to `[layer, head]` as a last column, and the averages over layers as a last row."""
    layer_count, head_count = heads.shape[:2]
    table = np.empty((layer_count + 1, head_count + 1, *heads.shape[2:]), dtype=heads.dtype)
    table[:layer_count, :head_count], table[:layer_count, head_count], table[layer_count] = (
        heads,
        averages[:layer_count],
        averages[layer_count:],
    )
    return table


class _RoleCells:
    """The cells of each role in one sentence, for all heads of a kind."""

    def __init__(self, translation: Translation, kind: Kind) -> None:
        geometry = map_geometry(translation, kind)
        cells = _find_role_cells(translation, kind, geometry)
        self.rows, counts = geometry.rows_with_several_keys, geometry.allowed.sum(axis=1)
        self.other_keys = counts[self.rows] - 1  # [row]
        self.chances = np.full(len(ROLES[kind]), np.nan, dtype=np.float32)
        self.role_indices: list[int] = []  # indices of the possible roles
        means = []
        for index, name in enumerate(ROLES[kind]):
            possible = cells[name] & geometry.allowed
            eligible = possible.any(axis=1) & self.rows
            if eligible.any() and eligible.sum() * 2 >= self.rows.sum():
                self.role_indices.append(index)
                self.chances[index] = (possible[eligible].sum(axis=1) / counts[eligible]).mean()
                # The role as a map. Its product with a head's map is the mean weight on the role over the rows.
                means.append(possible * (eligible / eligible.sum())[:, None])  # [rows, columns]
        self.means = np.stack(means).reshape(len(means), -1).astype(np.float32) if means else None  # [role, cell]

    def shares(self, weights: FloatArray) -> RoleShares:
        """Return the shares of heads with weights `[layer, head, row, column]`."""
        layers, heads, queries, keys = weights.shape
        shares = np.full((layers, heads, len(self.chances)), np.nan, dtype=np.float32)
        if self.means is not None:
            result = weights.reshape(layers * heads, queries * keys) @ self.means.T
            shares[..., self.role_indices] = result.reshape(layers, heads, -1)
        if not self.rows.any():
            nan_values = np.full((layers, heads), np.nan, dtype=np.float32)
            return RoleShares(shares, self.chances, nan_values, nan_values)
        # A few layers at a time: intermediate arrays then fit into the CPU cache, which is three times as fast.
        step = max(1, ENTROPY_BATCH // max(1, heads * queries * keys))
        parts = [row_entropy(weights[first : first + step, :, self.rows]) for first in range(0, layers, step)]
        effective = np.exp2(np.concatenate(parts))  # [layer, head, row]
        coverage = ((effective - 1) / self.other_keys).mean(axis=-1)
        return RoleShares(shares, self.chances, coverage.astype(np.float32), effective.mean(axis=-1).astype(np.float32))


def _find_role_cells(translation: Translation, kind: Kind, geometry: MapGeometry) -> dict[RoleName, BoolArray]:
    """Return the cells of each role, `[row, column]`."""
    offset, all_rows = geometry.offset, np.ones((len(geometry.allowed), 1), dtype=np.bool_)
    first, last = _attention_sinks(geometry.columns)
    cells: dict[RoleName, BoolArray] = {
        "start": all_rows & first,
        "end": all_rows & last,
        "punctuation": all_rows & geometry.punctuation,
    }
    if kind == "encoder":
        cells |= {"same": offset == 0, "previous": offset == -1, "next": offset == 1}
        cells |= {"before": offset < 0, "ahead": offset > 0, "around": np.abs(offset) <= NEIGHBOURHOOD}
    elif kind == "decoder":
        cells |= {"just_written": offset == 0, "back_two": offset == -1}
    else:
        linked = aligned_cells(translation)
        cells |= {"aligns": linked, "behind": np.concatenate([np.zeros_like(linked[:1]), linked[:-1]])}
        cells |= {"diagonal": np.abs(offset) <= MAX_DIAGONAL_DISTANCE}
    return cells


def aligned_cells(translation: Translation) -> BoolArray:
    """Align each target word with a source word by the mean of all cross-attention heads; return the cells of the map.

    `[row, column]`: all tokens of the source word with the highest mean weight, for all tokens of the target word.
    """
    mean = translation.attention.cross.mean(axis=(0, 1))  # [row, column]
    cells = np.zeros(mean.shape, dtype=np.bool_)
    sources = word_groups(translation.source_tokens)
    if not sources or not mean.size:
        return cells
    members = np.zeros((mean.shape[1], len(sources)), dtype=np.float32)  # [column, word]
    for word, run in enumerate(sources):
        members[run.start : run.stop, word] = 1
    for run in word_groups(translation.target_tokens):
        rows = slice(run.start, run.stop)
        best = int((mean[rows].mean(axis=0) @ members).argmax())
        cells[rows, sources[best].start : sources[best].stop] = True
    return cells


def _attention_sinks(columns: Sequence[Token]) -> tuple[BoolArray, BoolArray]:
    """Return the special tokens before the sentence and those after it, `[columns]` each."""
    special = np.array([token.special for token in columns], dtype=np.bool_)
    leading = np.logical_and.accumulate(special)
    trailing = np.logical_and.accumulate(special[::-1])[::-1] & ~leading
    return leading, trailing

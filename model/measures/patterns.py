"""Names the pattern of a head from its weights, or calls it "unclear".

Each pattern is a set of cells. Its share is the mean weight that a row gives to these cells, and its chance is the
share of a uniform row. In a short sentence every pattern has a large share, so a pattern must beat chance, and it must
hold most of the weight:

    share ≥ 1/2    and    (share − chance) / (1 − chance) ≥ 1/2

that is, half of what chance leaves open. Of several patterns, the one with the largest excess, share − chance, gives
the name. Rows with a single allowed key, such as the first of the decoder, do not count, and neither does a pattern
that fewer than half of the rows could follow.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from headlight.model.measures.merging import group
from headlight.model.measures.statistics import row_entropy, straight_line
from headlight.model.records import KINDS, AttentionMap, BoolArray, FloatArray, Kind, Token, Translation

Name = Literal[
    "same", "previous", "next",  # encoder
    "just_written", "back_two",  # decoder: a row was computed from the token of its own column
    "diagonal", "one_word",  # cross
    "start", "end", "punctuation",  # any
    "unclear",
]  # fmt: skip
NAMES: tuple[Name, ...] = (
    "same", "previous", "next", "just_written", "back_two", "diagonal", "one_word", "start", "end", "punctuation",
    "unclear",
)  # fmt: skip
MOSTLY = 0.5
NEAR = 1.0  # tokens beside the straight line that still count to it


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a head does."""

    name: Name
    share: float  # of a row's weight that follows the pattern; of "unclear", that of the one that came closest
    spread: float  # the effective number of tokens that a row spreads over: the mean of exp(entropy)


@dataclass(frozen=True, eq=False)
class _Candidate:
    """The cells of a pattern, and their chance."""

    name: Name
    cells: BoolArray  # [rows, columns]
    rows: BoolArray  # [rows]: those that have a choice and could follow it
    chance: float


def pattern(map: AttentionMap) -> Pattern:  # noqa: A002 (the field's own word)
    """The name of one map's pattern."""
    return _name_all(map.weights[None], map.allowed, map.rows, map.columns, map.kind)[0]


def patterns(translation: Translation) -> dict[str, list[list[Pattern]]]:
    """The patterns of all heads, kind → `[layer][head]`, each layer's average last, and a last row of averages."""
    return {kind: _of_kind(translation, kind) for kind in KINDS}


def _of_kind(translation: Translation, kind: Kind) -> list[list[Pattern]]:
    weights = translation.attention.of(kind)  # [layer, head, row, column]
    if not weights.size:
        return []
    weights = np.concatenate([weights, weights.mean(axis=1, keepdims=True, dtype=np.float32)], axis=1)
    weights = np.concatenate([weights, weights.mean(axis=0, keepdims=True, dtype=np.float32)], axis=0)
    layers, heads, row_count, column_count = weights.shape
    rows = translation.source_tokens if kind == "encoder" else translation.target_tokens
    columns = translation.decoder_tokens if kind == "decoder" else translation.source_tokens
    flat = weights.reshape(layers * heads, row_count, column_count)
    found = _name_all(flat, translation.attention.allowed(kind), rows, columns, kind)
    return [found[layer * heads : (layer + 1) * heads] for layer in range(layers)]


def _name_all(
    weights: FloatArray, allowed: BoolArray, rows: Sequence[Token], columns: Sequence[Token], kind: Kind
) -> list[Pattern]:
    """`[maps, rows, columns]` → a pattern each."""
    looking = allowed.any(axis=1)  # [rows]
    if not looking.any():
        return [Pattern("unclear", 0.0, 0.0) for _ in weights]
    spreads = np.exp2(row_entropy(weights[:, looking])).mean(axis=-1)  # [maps]
    weights = weights.astype(np.float64)
    names, shares = _best(weights, _candidates(allowed, columns, kind))
    unclear = np.flatnonzero(names == "unclear")
    if kind == "cross" and unclear.size:
        picks, of_words = _one_word(weights[unclear], allowed, columns)
        names[unclear[picks]], shares[unclear[picks]] = "one_word", of_words[picks]
    return list(map(Pattern, names.tolist(), shares.tolist(), spreads.tolist()))


def _best(weights: FloatArray, candidates: list[_Candidate]) -> tuple[np.ndarray, np.ndarray]:
    """The name of each map, or "unclear", and the share of the closest pattern, `[maps]` each."""
    if not candidates:
        return np.full(len(weights), "unclear", dtype=object), np.zeros(len(weights))
    # A candidate as a map of its own, whose product with a head's is the mean over the rows of what they give to it.
    each = [one.cells * (one.rows / one.rows.sum())[:, None] for one in candidates]  # [rows, columns]
    shares = weights.reshape(len(weights), -1) @ np.stack(each).reshape(len(each), -1).T  # [maps, candidates]
    chances = np.array([one.chance for one in candidates])
    clear, excess = _is_clear(shares, chances), shares - chances
    best = np.where(clear, excess, excess - 2).argmax(axis=1)  # no excess is below −1
    maps = np.arange(len(weights))
    given = np.array([one.name for one in candidates], dtype=object)[best]
    return np.where(clear[maps, best], given, "unclear"), shares[maps, best]


def _is_clear(share: FloatArray, chance: FloatArray) -> BoolArray:
    clear: BoolArray = (chance < 1) & (share >= MOSTLY) & (share - chance >= MOSTLY * (1 - chance))
    return clear


def _candidates(allowed: BoolArray, columns: Sequence[Token], kind: Kind) -> list[_Candidate]:
    queries, keys = allowed.shape
    offset = np.arange(keys)[None, :] - np.arange(queries)[:, None]  # [rows, columns]
    first, last = _resting_places(columns)
    cells: dict[Name, BoolArray] = {}
    if kind == "encoder":
        cells |= {"same": offset == 0, "previous": offset == -1, "next": offset == 1}
    elif kind == "decoder":
        cells |= {"just_written": offset == 0, "back_two": offset == -1}
    elif queries > 1 and keys > 1:
        line = straight_line(kind, queries, keys)
        cells["diagonal"] = np.abs(np.arange(keys)[None, :] - line[:, None]) <= NEAR
    everywhere = np.ones((queries, 1), dtype=np.bool_)
    cells |= {"start": everywhere & first, "end": everywhere & last, "punctuation": everywhere & _marks(columns)}
    choice = allowed.sum(axis=1) > 1  # [rows]
    found = []
    for name, where in cells.items():
        possible = where & allowed
        able = possible.any(axis=1) & choice
        if able.any() and able.sum() * 2 >= choice.sum():
            chance = float((possible[able].sum(axis=1) / allowed[able].sum(axis=1)).mean())
            found.append(_Candidate(name, possible, able, chance))
    return found


def _one_word(weights: FloatArray, allowed: BoolArray, columns: Sequence[Token]) -> tuple[np.ndarray, np.ndarray]:
    """Whether each row picks one word and the rows pick different ones, as heads that align do.

    Of each map the answer, and the share that its rows give to their words, `[maps]` each.
    """
    words = [
        run
        for run in group(columns, lambda left, right: left.word is not None and left.word == right.word)
        if not columns[run.start].special
    ]
    choice = allowed.sum(axis=1) > 1  # [rows]
    if len(words) < 2 or not choice.any():
        return np.zeros(len(weights), dtype=np.bool_), np.zeros(len(weights))
    members = np.zeros((len(columns), len(words)))
    for word, run in enumerate(words):
        members[run.start : run.stop, word] = 1
    of_words = weights[:, choice] @ members  # [maps, rows, words]
    picked = of_words.argmax(axis=2)  # [maps, rows]
    share = of_words.max(axis=2).mean(axis=1)
    sizes = members.sum(axis=0)[picked]
    chance = (sizes / allowed[choice].sum(axis=1)).mean(axis=1)
    most = np.eye(len(words))[picked].sum(axis=1).max(axis=1)  # [maps]: rows that pick the same word
    various = most <= max(1, choice.sum() / 2)
    return various & _is_clear(share, chance), share


def _resting_places(columns: Sequence[Token]) -> tuple[BoolArray, BoolArray]:
    """Special tokens before the sentence, and those after it, `[columns]` each."""
    special = np.array([token.special for token in columns], dtype=np.bool_)
    before = np.logical_and.accumulate(special)
    after = np.logical_and.accumulate(special[::-1])[::-1] & ~before
    return before, after


def _marks(columns: Sequence[Token]) -> BoolArray:
    """Commas, full stops and their like, `[columns]`."""
    texts = ["" if token.special else token.text.strip() for token in columns]
    return np.array(
        [bool(text) and all(unicodedata.category(letter)[0] == "P" for letter in text) for text in texts],
        dtype=np.bool_,
    )

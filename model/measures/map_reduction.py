"""Merges maps: tokens into words, away from special tokens, several maps into one. Rows that sum to one still do.

The weights of a word's tokens are summed over keys and averaged over queries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from headlight.model.errors import RequestError
from headlight.model.records import AttentionMap, FloatArray, Token, read_only

Groups = tuple[range, ...]  # runs of tokens that become one
MERGED_ID = -1  # the id of a token that no vocabulary holds
NO_LAYER = -1  # the layer of a map made of several layers


def merge_words(map: AttentionMap) -> AttentionMap:  # noqa: A002 (the field's own word)
    """The map of whole words. Special tokens stay as they are."""
    return _merge(map, lambda left, right: left.word is not None and left.word == right.word)


def merge_characters(map: AttentionMap) -> AttentionMap:  # noqa: A002
    """The map in which the byte tokens of one character are one token."""
    return _merge(map, lambda left, right: right.piece > 0 and left.pieces == right.pieces)


def drop_special(map: AttentionMap, *, rescale: bool) -> tuple[AttentionMap, float]:  # noqa: A002
    """The map without special tokens, and the mean share of a row's weight that they had.

    Rows then sum to less than one; `rescale` makes them sum to one again unless they are all zero.
    """
    rows = [place for place, token in enumerate(map.rows) if not token.special]
    columns = [place for place, token in enumerate(map.columns) if not token.special]
    of_rows = map.weights[rows]  # [kept rows, columns]
    weights = of_rows[:, columns]  # [kept rows, kept columns]
    hidden = float((of_rows.sum(axis=1) - weights.sum(axis=1)).mean()) if rows else 0.0
    if rescale:
        sums = weights.sum(axis=1, keepdims=True)
        weights = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
    reduced = replace(
        map,
        weights=read_only(weights.astype(np.float32)),
        allowed=read_only(map.allowed[rows][:, columns]),
        rows=tuple(map.rows[place] for place in rows),
        columns=tuple(map.columns[place] for place in columns),
        previous_tokens=tuple(map.previous_tokens[place] for place in rows),
    )
    return reduced, max(0.0, hidden)


def mean_map(maps: Sequence[AttentionMap]) -> AttentionMap:
    """The average of several maps of one kind and sentence."""
    return _combine(maps, lambda weights: weights.mean(axis=0, dtype=np.float32))


def maximum(maps: Sequence[AttentionMap]) -> AttentionMap:
    """Each cell's highest weight in several maps of one kind and sentence. Its rows sum to more than one."""
    return _combine(maps, lambda weights: weights.max(axis=0))


def group_tokens(tokens: Sequence[Token], together: Callable[[Token, Token], bool]) -> Groups:
    """Runs of neighbouring tokens that belong together."""
    starts = [place for place, _ in enumerate(tokens) if not place or not together(tokens[place - 1], tokens[place])]
    return tuple(range(start, end) for start, end in pairwise([*starts, len(tokens)]))


def join_tokens(tokens: Sequence[Token]) -> Token:
    """One token that spans all of these. Its probability is that of writing them one after the other."""
    if len(tokens) == 1:
        return tokens[0]
    text, end = "", tokens[0].start
    for token in tokens:
        text += token.text if token.end > end else ""  # pieces of one character carry it each
        end = max(end, token.end)
    chances = [token.probability for token in tokens if token.probability is not None]
    return Token(
        text=text.strip() or text,
        id=MERGED_ID,
        start=tokens[0].start,
        end=end,
        word=tokens[0].word,
        special=tokens[0].special,
        probability=float(np.prod(chances)) if len(chances) == len(tokens) else None,
    )


def _merge(map: AttentionMap, together: Callable[[Token, Token], bool]) -> AttentionMap:  # noqa: A002
    rows, columns = group_tokens(map.rows, together), group_tokens(map.columns, together)
    summing = _group_matrix(columns, len(map.columns))  # [words, columns]
    belonging = _group_matrix(rows, len(map.rows))  # [words, rows]
    weights = (belonging / np.maximum(belonging.sum(axis=1, keepdims=True), 1)) @ map.weights @ summing.T
    allowed = belonging @ map.allowed.astype(np.float32) @ summing.T > 0
    read = {place: run for run in group_tokens(map.previous_tokens, together) for place in run}
    return replace(
        map,
        weights=read_only(np.where(allowed, weights, 0).astype(np.float32)),
        allowed=read_only(allowed),
        rows=tuple(join_tokens(map.rows[run.start : run.stop]) for run in rows),
        columns=tuple(join_tokens(map.columns[run.start : run.stop]) for run in columns),
        previous_tokens=tuple(join_tokens([map.previous_tokens[place] for place in read[run.start]]) for run in rows),
    )


def _group_matrix(groups: Groups, length: int) -> FloatArray:
    """`[groups, tokens]`: 1 if the token is part of the group."""
    table = np.zeros((len(groups), length), dtype=np.float32)
    for number, run in enumerate(groups):
        table[number, run.start : run.stop] = 1
    return table


def _combine(maps: Sequence[AttentionMap], how: Callable[[FloatArray], FloatArray]) -> AttentionMap:
    if not maps:
        raise RequestError("no_map", field="head")
    first = maps[0]
    shapes = {(each.kind, each.weights.shape) for each in maps}
    if len(shapes) > 1:
        sizes = ", ".join(sorted(f"{kind} {rows} × {columns}" for kind, (rows, columns) in shapes))
        raise RequestError("maps_differ", field="kind", given=sizes)
    layers, heads = {each.layer for each in maps}, {each.head for each in maps}
    return replace(
        first,
        weights=read_only(how(np.stack([each.weights for each in maps]))),
        layer=first.layer if len(layers) == 1 else NO_LAYER,
        head=first.head if len(heads) == 1 else None,
    )

"""Reductions of attention maps: merge tokens into words, drop special tokens, combine several maps.

The weights of a word's tokens are summed over keys and averaged over queries, so a row's sum of one does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from headlight.model.errors import RequestError
from headlight.model.records import AttentionMap, FloatArray, Token, read_only

Groups = tuple[range, ...]  # runs of tokens that are merged
MERGED_ID = -1  # id of merged tokens, which are in no vocabulary
NO_LAYER = -1  # layer of a map that combines several layers


def merge_words(map: AttentionMap, *, sum_rows: bool = False) -> AttentionMap:  # noqa: A002 (the usual name in the field)
    """Merge tokens into words. Special tokens do not change.

    `sum_rows`: also sum over queries, for values that add up, such as effects.
    """
    return _merge(map, _is_same_word, sum_rows=sum_rows)


def merge_characters(map: AttentionMap) -> AttentionMap:  # noqa: A002
    """Merge the byte tokens of each character into one token."""
    return _merge(map, lambda left, right: right.piece > 0 and left.pieces == right.pieces)


def drop_special(map: AttentionMap, *, rescale: bool) -> tuple[AttentionMap, float]:  # noqa: A002
    """Return the map without special tokens, and the mean share of a row's weight that was on them.

    Rows then sum to less than one. With `rescale`, they sum to one again unless they are all zero.
    """
    rows = [index for index, token in enumerate(map.rows) if not token.special]
    columns = [index for index, token in enumerate(map.columns) if not token.special]
    row_weights = map.weights[rows]  # [kept rows, columns]
    weights = row_weights[:, columns]  # [kept rows, kept columns]
    special_share = float((row_weights.sum(axis=1) - weights.sum(axis=1)).mean()) if rows else 0.0
    if rescale:
        sums = weights.sum(axis=1, keepdims=True)
        weights = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
    reduced_map = replace(
        map,
        weights=read_only(weights.astype(np.float32)),
        allowed=read_only(map.allowed[rows][:, columns]),
        rows=tuple(map.rows[index] for index in rows),
        columns=tuple(map.columns[index] for index in columns),
        previous_tokens=tuple(map.previous_tokens[index] for index in rows),
    )
    return reduced_map, max(0.0, special_share)


def mean_map(maps: Sequence[AttentionMap]) -> AttentionMap:
    """Average several maps of one kind and sentence."""
    return _combine(maps, lambda weights: weights.mean(axis=0, dtype=np.float32))


def maximum(maps: Sequence[AttentionMap]) -> AttentionMap:
    """Return each cell's highest weight in several maps of one kind and sentence. Its rows sum to more than one."""
    return _combine(maps, lambda weights: weights.max(axis=0))


def group_tokens(tokens: Sequence[Token], belong_together: Callable[[Token, Token], bool]) -> Groups:
    """Split tokens into runs. `belong_together` decides whether two neighbours belong to the same run."""
    starts = [
        index for index, _ in enumerate(tokens) if not index or not belong_together(tokens[index - 1], tokens[index])
    ]
    return tuple(range(start, end) for start, end in pairwise([*starts, len(tokens)]))


def word_groups(tokens: Sequence[Token]) -> Groups:
    """Split tokens into words, without special tokens."""
    return tuple(group for group in group_tokens(tokens, _is_same_word) if not tokens[group.start].special)


def join_tokens(tokens: Sequence[Token]) -> Token:
    """Merge tokens into one token that spans them. Its probability is the product of theirs."""
    if len(tokens) == 1:
        return tokens[0]
    text, end = "", tokens[0].start
    for token in tokens:
        text += token.text if token.end > end else ""  # all bytes of a character have the character as their text
        end = max(end, token.end)
    probabilities = [token.probability for token in tokens if token.probability is not None]
    return Token(
        text=text.strip() or text,
        id=MERGED_ID,
        start=tokens[0].start,
        end=end,
        word=tokens[0].word,
        special=tokens[0].special,
        probability=float(np.prod(probabilities)) if len(probabilities) == len(tokens) else None,
    )


def _is_same_word(left: Token, right: Token) -> bool:
    return left.word is not None and left.word == right.word


def _merge(
    map: AttentionMap,  # noqa: A002
    belong_together: Callable[[Token, Token], bool],
    *,
    sum_rows: bool = False,
) -> AttentionMap:
    rows, columns = group_tokens(map.rows, belong_together), group_tokens(map.columns, belong_together)
    column_groups = _group_matrix(columns, len(map.columns))  # [words, columns]
    row_groups = _group_matrix(rows, len(map.rows))  # [words, rows]
    row_sizes = np.ones((len(rows), 1)) if sum_rows else np.maximum(row_groups.sum(axis=1, keepdims=True), 1)
    weights = (row_groups / row_sizes) @ map.weights @ column_groups.T
    allowed = row_groups @ map.allowed.astype(np.float32) @ column_groups.T > 0
    previous_runs = {index: run for run in group_tokens(map.previous_tokens, belong_together) for index in run}
    return replace(
        map,
        weights=read_only(np.where(allowed, weights, 0).astype(np.float32)),
        allowed=read_only(allowed),
        rows=tuple(join_tokens(map.rows[run.start : run.stop]) for run in rows),
        columns=tuple(join_tokens(map.columns[run.start : run.stop]) for run in columns),
        previous_tokens=tuple(
            join_tokens([map.previous_tokens[index] for index in previous_runs[run.start]]) for run in rows
        ),
    )


def _group_matrix(groups: Groups, length: int) -> FloatArray:
    """Return `[groups, tokens]`: 1 if the token is part of the group, else 0."""
    table = np.zeros((len(groups), length), dtype=np.float32)
    for group, run in enumerate(groups):
        table[group, run.start : run.stop] = 1
    return table


def _combine(maps: Sequence[AttentionMap], reduce: Callable[[FloatArray], FloatArray]) -> AttentionMap:
    if not maps:
        raise RequestError("no_map", field="head")
    first = maps[0]
    shapes = {(attention_map.kind, attention_map.weights.shape) for attention_map in maps}
    if len(shapes) > 1:
        sizes = ", ".join(sorted(f"{kind} {rows} × {columns}" for kind, (rows, columns) in shapes))
        raise RequestError("maps_differ", field="kind", given=sizes)
    layers, heads = {attention_map.layer for attention_map in maps}, {attention_map.head for attention_map in maps}
    return replace(
        first,
        weights=read_only(reduce(np.stack([attention_map.weights for attention_map in maps]))),
        layer=first.layer if len(layers) == 1 else NO_LAYER,
        head=first.head if len(heads) == 1 else None,
    )

"""Conversion of ids with character offsets to tokens with word indices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from headlight.model.records import Token
from headlight.model.text.segmentation import word_indices


class OffsetId(NamedTuple):
    """An id and the span of its characters in the text. The span of an inserted space is empty."""

    token_id: int
    start: int
    end: int
    special: bool = False


def tokens_from_offsets(text: str, offset_ids: Sequence[OffsetId], get_name: Callable[[int], str]) -> tuple[Token, ...]:
    """Return the tokens of a text. `get_name` maps a special id to its name."""
    groups = list(_group_ids(len(text), offset_ids))
    spans = [(start, end) for start, end, group in groups for token in group if not token.special]
    words = iter(word_indices(text, spans))
    tokens: list[Token] = []
    for start, end, group in groups:
        pieces, piece = sum(not token.special for token in group), 0
        for token in group:
            if token.special:
                tokens.append(Token(get_name(token.token_id), token.token_id, token.start, token.end, special=True))
                continue
            tokens.append(
                Token(text[start:end], token.token_id, start, end, word=next(words), piece=piece, pieces=pieces)
            )
            piece += 1
    return tuple(tokens)


def _group_ids(length: int, offset_ids: Sequence[OffsetId]) -> Iterator[tuple[int, int, list[OffsetId]]]:
    """Yield groups of tokens that share characters, with their span. Tokens without characters join the next group."""
    group: list[OffsetId] = []
    start, end = 0, 0
    for token in offset_ids:
        if token.special:
            if end > start:
                yield start, end, group
                group, start, end = [], 0, 0
            group.append(token)
            continue
        if end > start and token.start >= end:
            yield start, end, group
            group, start, end = [], 0, 0
        group.append(token)
        if token.end > token.start:
            start, end = (min(start, token.start), max(end, token.end)) if end > start else (token.start, token.end)
    if group:
        yield (start, end, group) if end > start else (length, length, group)

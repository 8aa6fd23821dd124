"""Comparison of two translations by words: equal, replaced, added and removed words."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import groupby, zip_longest
from typing import NamedTuple

from headlight.model.records import Token


class WrittenWord(NamedTuple):
    """A word of a translation, or a special token: its text and the indices of its tokens."""

    text: str
    positions: tuple[int, ...]


class WordPair(NamedTuple):
    """Corresponding words of two translations, as indices into their word lists."""

    before: int | None
    after: int | None


def written_words(tokens: Sequence[Token], text: str) -> list[WrittenWord]:
    """Split a translation into its words, in order. Each special token is one word."""

    def group_key(index: int) -> tuple[int, int]:
        token = tokens[index]
        return (index, -1) if token.special or token.word is None else (-1, token.word)

    results = []
    for _, group in groupby(range(len(tokens)), key=group_key):
        indices = tuple(group)
        first, last = tokens[indices[0]], tokens[indices[-1]]
        label = first.text if first.special else text[first.start : last.end].strip()
        results.append(WrittenWord(label or first.text, indices))
    return results


def diff_words(before: Sequence[str], after: Sequence[str]) -> list[WordPair]:
    """Pair the words of two translations in order.

    Equal words are paired. Runs of different words are paired in order; a word without a partner is paired with None.
    """
    pairs: list[WordPair] = []
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for _, start, end, other_start, other_end in matcher.get_opcodes():
        index_pairs = zip_longest(range(start, end), range(other_start, other_end))
        pairs += [WordPair(first, second) for first, second in index_pairs]
    return pairs

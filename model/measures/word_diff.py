"""Two translations word by word: which words stayed, which were replaced, which came or went."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import groupby, zip_longest
from typing import NamedTuple

from headlight.model.records import Token


class WrittenWord(NamedTuple):
    """One word of a translation, or a special token: its text and the places of its tokens."""

    text: str
    places: tuple[int, ...]


class WordPair(NamedTuple):
    """Corresponding words of two translations, as indices into their word lists."""

    before: int | None
    after: int | None


def written_words(tokens: Sequence[Token], text: str) -> list[WrittenWord]:
    """The words of a translation in order. Each special token is one word."""

    def key(place: int) -> tuple[int, int]:
        token = tokens[place]
        return (place, -1) if token.special or token.word is None else (-1, token.word)

    results = []
    for _, group in groupby(range(len(tokens)), key=key):
        places = tuple(group)
        first, last = tokens[places[0]], tokens[places[-1]]
        label = first.text if first.special else text[first.start : last.end].strip()
        results.append(WrittenWord(label or first.text, places))
    return results


def diff_words(before: Sequence[str], after: Sequence[str]) -> list[WordPair]:
    """The words of both in order. Equal ones meet; runs of others are paired in order, the rest stands alone."""
    pairs: list[WordPair] = []
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for _, start, end, other_start, other_end in matcher.get_opcodes():
        together = zip_longest(range(start, end), range(other_start, other_end))
        pairs += [WordPair(first, second) for first, second in together]
    return pairs

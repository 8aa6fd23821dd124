"""Which word comes from which: links between the words of two sentences, read off attention or written by hand.

A link is a pair (word of the source, word of the target), counted from 0. Of a head, each written word is linked to the
source word that it looked at most. How good such links are says the alignment error rate (Och and Ney 2003):

    AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

for a head's links A, the sure links S and the possible links P ⊇ S.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headlight.model.errors import CommandError, not_whole
from headlight.model.records import FloatArray, Token

Links = frozenset[tuple[int, int]]
ENTRY = re.compile(r"(?P<source>.+?)(?:#(?P<source_place>\d))?(?P<sure>[=~])(?P<target>.+?)(?:#(?P<target_place>\d))?")


class Gold(NamedTuple):
    """Links written by hand: those that everybody would draw, and those that somebody might (the sure among them)."""

    sure: Links
    possible: Links


@dataclass(frozen=True)
class Errors:
    """Counts that add up over sentences."""

    linked: int = 0  # |A|
    sure: int = 0  # |S|
    linked_and_sure: int = 0
    linked_and_possible: int = 0

    def __add__(self, other: Errors) -> Errors:
        return Errors(
            self.linked + other.linked,
            self.sure + other.sure,
            self.linked_and_sure + other.linked_and_sure,
            self.linked_and_possible + other.linked_and_possible,
        )

    @property
    def rate(self) -> float:
        """The alignment error rate: 0 is perfect, 1 has no link right."""
        most = self.linked + self.sure
        return 1 - (self.linked_and_sure + self.linked_and_possible) / most if most else 0.0


def count_errors(links: Links, gold: Gold) -> Errors:
    """One sentence's links against the hand-written ones."""
    return Errors(len(links), len(gold.sure), len(links & gold.sure), len(links & gold.possible))


def words_of(tokens: Sequence[Token]) -> list[str]:
    """The words that tokens make, in order."""
    words: dict[int, tuple[int, int, str]] = {}
    for token in tokens:
        if token.word is not None:
            start, end, text = words.get(token.word, (token.start, token.start, ""))
            added = token.text if token.end > end else ""  # pieces of one character carry it each
            words[token.word] = (start, token.end, text + added)
    return [words[number][2].strip() for number in sorted(words)]  # a space may be a token of its own


def word_weights(weights: FloatArray, rows: Sequence[Token], columns: Sequence[Token]) -> FloatArray:
    """Attention between tokens, `[rows, columns]`, as attention between words: `[row words, column words]`.

    What a word is looked at is the sum of its tokens, what it looks at their mean. Special tokens are no words, so a
    row may sum to less than one.
    """
    to_columns = _belonging(columns)  # [column words, columns]
    to_rows = _belonging(rows)  # [row words, rows]
    means = to_rows / np.maximum(to_rows.sum(axis=1, keepdims=True), 1)
    merged: FloatArray = (means @ weights @ to_columns.T).astype(np.float32)
    return merged


def links_of(weights: FloatArray, rows: Sequence[Token], columns: Sequence[Token], shift: int = 0) -> Links:
    """Each written word's best source word. With `shift` 1, of the row after: there the written token is what looks."""
    if shift not in (0, 1):
        raise not_whole("shift", shift, 0, 1)
    moved = np.concatenate([weights[shift:], weights[len(weights) - shift :]]) if shift else weights
    merged = word_weights(moved, rows, columns)
    if not merged.size:
        return frozenset()
    return frozenset((int(column), row) for row, column in enumerate(merged.argmax(axis=1)))


def parse_gold(text: str, source: Sequence[str], target: Sequence[str]) -> Gold:
    """`Hund=dog hast~Do dem#2=the`: `=` is sure, `~` possible; `#2` is the second of equal words."""
    sure, possible = set[tuple[int, int]](), set[tuple[int, int]]()
    for entry in text.split():
        match = ENTRY.fullmatch(entry)
        if match is None:
            raise CommandError(f"{entry!r} is no link: write source=target, or source~target.")
        link = (
            _place(match["source"], match["source_place"], source, entry),
            _place(match["target"], match["target_place"], target, entry),
        )
        possible.add(link)
        if match["sure"] == "=":
            sure.add(link)
    return Gold(frozenset(sure), frozenset(possible))


def _place(word: str, number: str | None, words: Iterable[str], entry: str) -> int:
    places = [place for place, other in enumerate(words) if other == word]
    wanted = int(number or 1)
    if not 0 < wanted <= len(places):
        raise CommandError(f"{entry!r}: {word!r} stands {len(places)} time(s) in the sentence.")
    return places[wanted - 1]


def _belonging(tokens: Sequence[Token]) -> FloatArray:
    """`[words, tokens]`: 1 where a token is part of a word."""
    count = 1 + max((token.word for token in tokens if token.word is not None), default=-1)
    table = np.zeros((count, len(tokens)), dtype=np.float32)
    for place, token in enumerate(tokens):
        if token.word is not None:
            table[token.word, place] = 1
    return table

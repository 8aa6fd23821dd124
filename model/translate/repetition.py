"""Runs that a translation repeats at once, such as "in the middle of the middle of the middle", as small models do."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

MAX_UNIT = 12  # words, or Chinese characters


class WordPosition(NamedTuple):
    """A word of a text, folded, with its position."""

    text: str
    start: int
    end: int


def repeated_runs(words: Sequence[WordPosition], text: str) -> list[tuple[int, int]]:
    """Return the positions, start and end, of words that are repeated at once, with all their repetitions.

    A single word counts from the third time on, several words from the second, or after a punctuation mark from the
    third ("the river, the river has risen"). Chinese repeats one or two characters on purpose (看看, 休息休息), so two
    characters count from the third time on. Words without letters do not count: telephone numbers repeat.
    """
    units = [unit for word in words for unit in _split(word)]
    texts = [unit.text for unit in units]
    results: list[tuple[int, int]] = []
    index = 0
    while index < len(units):
        longest = 0
        for size in range(1, min(MAX_UNIT, (len(units) - index) // 2) + 1):
            unit = texts[index : index + size]
            times = 1
            while texts[index + times * size : index + (times + 1) * size] == unit:
                times += 1
            is_short = size == 1 or (size == 2 and all(map(_is_han, unit)))
            border = text[units[index + size - 1].end : units[index + size].start].strip()
            if times >= (3 if is_short or border else 2) and any(any(map(str.isalpha, text)) for text in unit):
                longest = max(longest, times * size)
        if longest:
            results.append((units[index].start, units[index + longest - 1].end))
        index += max(1, longest)
    return results


def repeats_itself(words: Sequence[WordPosition]) -> bool:
    """Whether a text repeats a word at once, or with one word between: "deeper and deeper", 哈哈哈."""
    texts = [unit.text for word in words for unit in _split(word)]
    neighbours = [*pairwise(texts), *zip(texts, texts[2:], strict=False)]
    return any(one == other and any(map(str.isalpha, one)) for one, other in neighbours)


def _split(word: WordPosition) -> list[WordPosition]:
    """Split a Chinese word into its characters: the vocabulary may cut two repetitions differently."""
    if not any(map(_is_han, word.text)):
        return [word]
    return [WordPosition(text, word.start + place, word.start + place + 1) for place, text in enumerate(word.text)]


def _is_han(text: str) -> bool:
    return "\u4e00" <= text <= "\u9fff"

"""Immediate repetitions in a translation, such as "in the middle of the middle of the middle" by a small model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

MAX_UNIT = 12  # maximum words, or Chinese characters, of a repeated unit


class WordPosition(NamedTuple):
    """A case-folded word of a text, with the characters from `start` to `end`."""

    text: str
    start: int
    end: int


def repeated_runs(words: Sequence[WordPosition], text: str) -> list[tuple[int, int]]:
    """Return start and end of each run of immediate repetitions.

    A single word must occur three times. Several words must occur twice, or three times if a punctuation mark separates
    them ("the river, the river has risen"). Chinese repeats one or two characters on purpose (看看, 休息休息), so two
    characters must occur three times. Words without letters do not count, because telephone numbers repeat digits.
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
    """Whether a text repeats a word immediately or after one other word: "deeper and deeper", 哈哈哈."""
    texts = [unit.text for word in words for unit in _split(word)]
    neighbours = [*pairwise(texts), *zip(texts, texts[2:], strict=False)]
    return any(first == second and any(map(str.isalpha, first)) for first, second in neighbours)


def _split(word: WordPosition) -> list[WordPosition]:
    """Split a Chinese word into its characters, because the vocabulary may segment two repetitions differently."""
    if not any(map(_is_han, word.text)):
        return [word]
    return [WordPosition(character, start, start + 1) for start, character in enumerate(word.text, start=word.start)]


def _is_han(text: str) -> bool:
    return "\u4e00" <= text <= "\u9fff"

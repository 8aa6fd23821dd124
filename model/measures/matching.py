"""Matches the tokens of two sentences that stand for the same characters or the same word.

Two models split one sentence into different tokens. Tokens that share a character are a pair, and a unit is the
shortest stretch that both sides cover with whole words. Two translations are two texts. Equal texts are matched by
characters as well; different ones by their longest common sequence of words, ignoring case. Words outside it have no
partner: nothing is guessed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headlight.model.measures.map_reduction import group_tokens
from headlight.model.records import Token

Positions = tuple[int, ...]  # of tokens in their sentence


@dataclass(frozen=True, slots=True)
class MatchedUnit:
    """A word, several that belong together, or a special token. A side that lacks it has no places."""

    text: str
    first: Positions
    second: Positions
    special: bool = False

    @property
    def is_matched(self) -> bool:
        """Whether both sides have it."""
        return bool(self.first and self.second)


@dataclass(frozen=True, slots=True)
class TokenMatching:
    """The matches of two tokenised sentences."""

    same_text: bool  # the same text: matched by characters; other texts: by words in order
    units: tuple[MatchedUnit, ...]  # in reading order; every token of each side is in one of them
    pairs: tuple[tuple[int, int], ...]  # places of tokens of the first and the second side that match


@dataclass(frozen=True, slots=True)
class _WordSpan:
    """Neighbouring tokens that make one word, or one special token."""

    start: int
    end: int
    places: Positions


_Both = tuple[list[_WordSpan], list[_WordSpan]]  # words of the first and of the second side that are one unit


def match_tokens(first: Sequence[Token], first_text: str, second: Sequence[Token], second_text: str) -> TokenMatching:
    """The tokens of two sentences; `start` and `end` of each count characters of its text."""
    same = first_text == second_text
    sides = _words(first), _words(second)
    stretches = _by_characters(*sides) if same else _by_order(*sides, first_text, second_text)
    units, pairs = [], []
    for ours, theirs in stretches:
        text, words = (first_text, ours) if ours else (second_text, theirs)
        unit = MatchedUnit(text[words[0].start : words[-1].end], _places(ours), _places(theirs))
        units.append(unit)
        shift = 0 if same or not unit.is_matched else theirs[0].start - ours[0].start
        pairs += [
            (one, other)
            for one in unit.first
            for other in unit.second
            if max(first[one].start + shift, second[other].start) < min(first[one].end + shift, second[other].end)
        ]
    specials = list(_specials(first, second))
    pairs += [(unit.first[0], unit.second[0]) for unit in specials if unit.is_matched]
    before = [unit for unit in specials if _is_leading(unit.first, first) or _is_leading(unit.second, second)]
    after = [unit for unit in specials if unit not in before]
    return TokenMatching(same, (*before, *units, *after), tuple(sorted(pairs)))


def _words(tokens: Sequence[Token]) -> list[_WordSpan]:
    """The words of a sentence. A token without characters joins the next word, at the end the last one."""
    results: list[_WordSpan] = []
    waiting: Positions = ()
    for run in group_tokens(tokens, lambda left, right: left.word is not None and left.word == right.word):
        if tokens[run.start].special:
            continue
        start = min(tokens[place].start for place in run)
        end = max(tokens[place].end for place in run)
        if start == end:
            waiting += tuple(run)
        else:
            results.append(_WordSpan(start, end, (*waiting, *run)))
            waiting = ()
    if waiting and results:
        last = results.pop()
        results.append(_WordSpan(last.start, last.end, (*last.places, *waiting)))
    elif waiting:
        results.append(_WordSpan(0, 0, waiting))
    return results


def _by_characters(first: list[_WordSpan], second: list[_WordSpan]) -> Iterator[_Both]:
    """Units of one text: words are joined wherever a word of one side overlaps two of the other."""
    every = sorted([*((word, 0) for word in first), *((word, 1) for word in second)], key=lambda each: each[0].start)
    stretch: _Both = ([], [])
    end = 0
    for word, side in every:
        if any(stretch) and word.start >= end:
            yield stretch
            stretch = ([], [])
        stretch[side].append(word)
        end = max(end, word.end)
    if any(stretch):
        yield stretch


def _by_order(first: list[_WordSpan], second: list[_WordSpan], first_text: str, second_text: str) -> Iterator[_Both]:
    """Units of two texts: their longest common sequence of words, and between its members the words of one side."""
    ours = [first_text[word.start : word.end].lower() for word in first]
    theirs = [second_text[word.start : word.end].lower() for word in second]
    longest = [[0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]  # [from this word on, from this word on]
    for one in reversed(range(len(ours))):
        for other in reversed(range(len(theirs))):
            if ours[one] == theirs[other]:
                longest[one][other] = longest[one + 1][other + 1] + 1
            else:
                longest[one][other] = max(longest[one + 1][other], longest[one][other + 1])
    one = other = 0
    while one < len(ours) or other < len(theirs):
        if one < len(ours) and other < len(theirs) and ours[one] == theirs[other]:
            yield [first[one]], [second[other]]
            one, other = one + 1, other + 1
        elif other == len(theirs) or (one < len(ours) and longest[one + 1][other] >= longest[one][other + 1]):
            yield [first[one]], []
            one += 1
        else:
            yield [], [second[other]]
            other += 1


def _specials(first: Sequence[Token], second: Sequence[Token]) -> Iterator[MatchedUnit]:
    """Special tokens with the same name match in order: the first with the first, and so on."""
    waiting: dict[str, list[int]] = defaultdict(list)
    for place, token in enumerate(second):
        if token.special:
            waiting[token.text].append(place)
    for place, token in enumerate(first):
        if token.special:
            partner = (waiting[token.text].pop(0),) if waiting[token.text] else ()
            yield MatchedUnit(token.text, (place,), partner, special=True)
    for place in sorted(place for places in waiting.values() for place in places):
        yield MatchedUnit(second[place].text, (), (place,), special=True)


def _is_leading(places: Positions, tokens: Sequence[Token]) -> bool:
    """Whether a special token stands before all words."""
    return bool(places) and all(token.special for token in tokens[: places[0] + 1]) and places[0] < len(tokens) - 1


def _places(words: Sequence[_WordSpan]) -> Positions:
    return tuple(place for word in words for place in word.places)

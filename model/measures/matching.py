"""Matching of the tokens of two sentences by characters or by words.

Two models split one sentence into different tokens. Tokens that share a character are a pair, and a unit is the
shortest span that both sides cover with whole words. Two translations may be different texts. Equal texts are also
matched by characters. Different texts are matched by their longest common sequence of words, ignoring case, and words
outside this sequence remain unmatched.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headlight.model.measures.map_reduction import word_groups
from headlight.model.records import Token

Positions = tuple[int, ...]  # indices of tokens in their sentence


@dataclass(frozen=True, slots=True)
class MatchedUnit:
    """A word, several words that are matched together, or a special token. A side without the unit has no positions."""

    text: str
    first: Positions
    second: Positions
    special: bool = False

    @property
    def is_matched(self) -> bool:
        """Whether both sides have the unit."""
        return bool(self.first and self.second)


@dataclass(frozen=True, slots=True)
class TokenMatching:
    """Matched units and token pairs of two sentences."""

    same_text: bool  # True: matched by characters; False: matched by words in order
    units: tuple[MatchedUnit, ...]  # in reading order; every token of both sides is in a unit
    pairs: tuple[tuple[int, int], ...]  # indices of matching tokens on the first and the second side


@dataclass(frozen=True, slots=True)
class _WordSpan:
    """Neighbouring tokens that form a word, or one special token."""

    start: int
    end: int
    indices: Positions


_WordUnit = tuple[list[_WordSpan], list[_WordSpan]]  # words of the first and the second side that form a unit


def match_tokens(first: Sequence[Token], first_text: str, second: Sequence[Token], second_text: str) -> TokenMatching:
    """Match the tokens of two sentences. `start` and `end` of a token count characters of its text."""
    same_text = first_text == second_text
    sides = _group_words(first), _group_words(second)
    word_groups = _match_characters(*sides) if same_text else _match_words(*sides, first_text, second_text)
    units, pairs = [], []
    for first_words, second_words in word_groups:
        text, words = (first_text, first_words) if first_words else (second_text, second_words)
        unit = MatchedUnit(
            text[words[0].start : words[-1].end], _collect_indices(first_words), _collect_indices(second_words)
        )
        units.append(unit)
        shift = 0 if same_text or not unit.is_matched else second_words[0].start - first_words[0].start
        pairs += [
            (left, right)
            for left in unit.first
            for right in unit.second
            if max(first[left].start + shift, second[right].start) < min(first[left].end + shift, second[right].end)
        ]
    specials = list(_match_specials(first, second))
    pairs += [(unit.first[0], unit.second[0]) for unit in specials if unit.is_matched]
    leading = [unit for unit in specials if _is_leading(unit.first, first) or _is_leading(unit.second, second)]
    trailing = [unit for unit in specials if unit not in leading]
    return TokenMatching(same_text, (*leading, *units, *trailing), tuple(sorted(pairs)))


def _group_words(tokens: Sequence[Token]) -> list[_WordSpan]:
    """Group tokens into words. A token without characters joins the next word, or at the end the last word."""
    results: list[_WordSpan] = []
    pending: Positions = ()
    for run in word_groups(tokens):
        start = min(tokens[index].start for index in run)
        end = max(tokens[index].end for index in run)
        if start == end:
            pending += tuple(run)
        else:
            results.append(_WordSpan(start, end, (*pending, *run)))
            pending = ()
    if pending and results:
        last = results.pop()
        results.append(_WordSpan(last.start, last.end, (*last.indices, *pending)))
    elif pending:
        results.append(_WordSpan(0, 0, pending))
    return results


def _match_characters(first: list[_WordSpan], second: list[_WordSpan]) -> Iterator[_WordUnit]:
    """Yield the units of one text. Words are joined if a word of the other side overlaps them."""
    words = sorted([*((word, 0) for word in first), *((word, 1) for word in second)], key=lambda item: item[0].start)
    unit: _WordUnit = ([], [])
    end = 0
    for word, side in words:
        if any(unit) and word.start >= end:
            yield unit
            unit = ([], [])
        unit[side].append(word)
        end = max(end, word.end)
    if any(unit):
        yield unit


def _match_words(
    first: list[_WordSpan], second: list[_WordSpan], first_text: str, second_text: str
) -> Iterator[_WordUnit]:
    """Yield the units of two texts: their longest common sequence of words, and in between the unmatched words."""
    first_words = [first_text[word.start : word.end].lower() for word in first]
    second_words = [second_text[word.start : word.end].lower() for word in second]
    # lengths[i][j]: length of the longest common sequence of the words from i and from j on
    lengths = [[0] * (len(second_words) + 1) for _ in range(len(first_words) + 1)]
    for i in reversed(range(len(first_words))):
        for j in reversed(range(len(second_words))):
            if first_words[i] == second_words[j]:
                lengths[i][j] = lengths[i + 1][j + 1] + 1
            else:
                lengths[i][j] = max(lengths[i + 1][j], lengths[i][j + 1])
    i = j = 0
    while i < len(first_words) or j < len(second_words):
        if i < len(first_words) and j < len(second_words) and first_words[i] == second_words[j]:
            yield [first[i]], [second[j]]
            i, j = i + 1, j + 1
        elif j == len(second_words) or (i < len(first_words) and lengths[i + 1][j] >= lengths[i][j + 1]):
            yield [first[i]], []
            i += 1
        else:
            yield [], [second[j]]
            j += 1


def _match_specials(first: Sequence[Token], second: Sequence[Token]) -> Iterator[MatchedUnit]:
    """Yield the special tokens. Tokens with the same name match in order."""
    unmatched_indices: dict[str, list[int]] = defaultdict(list)
    for index, token in enumerate(second):
        if token.special:
            unmatched_indices[token.text].append(index)
    for index, token in enumerate(first):
        if token.special:
            partner = (unmatched_indices[token.text].pop(0),) if unmatched_indices[token.text] else ()
            yield MatchedUnit(token.text, (index,), partner, special=True)
    for index in sorted(index for indices in unmatched_indices.values() for index in indices):
        yield MatchedUnit(second[index].text, (), (index,), special=True)


def _is_leading(indices: Positions, tokens: Sequence[Token]) -> bool:
    """Whether a special token precedes all words."""
    return bool(indices) and all(token.special for token in tokens[: indices[0] + 1]) and indices[0] < len(tokens) - 1


def _collect_indices(words: Sequence[_WordSpan]) -> Positions:
    return tuple(index for word in words for index in word.indices)

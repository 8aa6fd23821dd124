"""A text as typed → as a SentencePiece vocabulary wants it, with the way back for every character.

Replacements come with the vocabulary, as a trie of UTF-8 bytes in one array ("double array",
https://doi.org/10.1109/32.31365): "½" → "1⁄2", "ﬁ" → "fi", "Ｅ" → "E", a line break → a space. The longest rule that
fits at a place is used.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from headlight.model.errors import TokenizerError
from headlight.model.text.sentencepiece import Normalisation

SPACE = "▁"  # how a space is written within pieces
DAMAGED = "The vocabulary's rules of normalisation are damaged. Download it again."


class Normalised(NamedTuple):
    """A text made uniform; of each of its characters, which characters of the typed text it was made of."""

    text: str
    starts: list[int]
    ends: list[int]


class Charsmap:
    """The rules of one vocabulary."""

    def __init__(self, data: bytes) -> None:
        size = int.from_bytes(data[:4], "little")
        if size % 4 or 4 + size > len(data) or size < 4:
            raise TokenizerError(DAMAGED)
        self._units = array("I", data[4 : 4 + size])
        if sys.byteorder == "big":
            self._units.byteswap()
        self._written = data[4 + size :]

    def longest(self, data: bytes, start: int) -> tuple[str, int] | None:
        """What the longest rule that fits at this byte writes, and how many bytes it replaces."""
        units, found = self._units, None
        node = _offset(units[0])
        for place in range(start, len(data)):
            byte = data[place]
            node ^= byte
            if node >= len(units):
                break
            unit = units[node]
            if unit & 0x8000_00FF != byte:
                break
            node ^= _offset(unit)
            if unit & 0x100 and node < len(units):  # a rule ends here
                found = units[node] & 0x7FFF_FFFF, place + 1 - start
        if found is None:
            return None
        value, length = found
        try:
            return self._written[value : self._written.index(b"\0", value)].decode("utf-8"), length
        except ValueError as error:
            raise TokenizerError(DAMAGED) from error


def _offset(unit: int) -> int:
    return (unit >> 10) << ((unit & 0x200) >> 6)


class Normaliser:
    """Normalises as a vocabulary says. `kept` are pieces that stay as they are typed."""

    def __init__(self, rules: Normalisation, kept: Sequence[str] = ()) -> None:
        self.rules = rules
        self._charsmap = Charsmap(rules.charsmap) if rules.charsmap else None
        self._kept = LongestPrefix(kept)

    def __call__(self, text: str) -> Normalised:
        """The text made uniform."""
        rules = self.rules
        chunks = list(self._chunks(text))
        if rules.remove_extra_whitespaces:
            first = next((place for place, (written, _, _) in enumerate(chunks) if written != " "), len(chunks))
            del chunks[:first]
        result = Normalised("", [], [])
        if not chunks:
            return result
        space = SPACE if rules.escape_whitespaces else " "
        out: list[str] = []
        if rules.add_dummy_prefix and not rules.whitespace_as_suffix:
            _add(out, result, space, chunks[0][1], chunks[0][1])
        after_space = rules.remove_extra_whitespaces
        for written, start, end in chunks:
            kept = written.lstrip(" ") if after_space else written
            for character in kept:
                _add(out, result, space if character == " " else character, start, end)
            if kept:
                after_space = kept.endswith(" ")
            after_space = after_space and rules.remove_extra_whitespaces
        while rules.remove_extra_whitespaces and out and out[-1] == space:
            _remove_last(out, result)
        if rules.add_dummy_prefix and rules.whitespace_as_suffix:
            _add(out, result, space, len(text), len(text))
        return result._replace(text="".join(out))

    def _chunks(self, text: str) -> Iterator[tuple[str, int, int]]:
        """What is written for each stretch of the text, and where the stretch begins and ends."""
        data, byte, place = text.encode("utf-8"), 0, 0
        while place < len(text):
            kept = self._kept.at(text, place)
            rule = None if kept or self._charsmap is None else self._charsmap.longest(data, byte)
            if rule is not None:
                written, length = rule
                characters = len(data[byte : byte + length].decode("utf-8"))
            else:
                written = kept or text[place]
                characters, length = len(written), len(written.encode("utf-8"))
            yield written, place, place + characters
            place, byte = place + characters, byte + length


class LongestPrefix:
    """Which of several strings stands at a place of a text: the longest."""

    def __init__(self, strings: Sequence[str]) -> None:
        self._strings = frozenset(strings)
        self._lengths = sorted({len(string) for string in strings}, reverse=True)

    def at(self, text: str, place: int) -> str:
        """The longest string that stands here; empty if none does."""
        for length in self._lengths:
            if (string := text[place : place + length]) in self._strings:
                return string
        return ""


def _add(out: list[str], result: Normalised, character: str, start: int, end: int) -> None:
    out.append(character)
    result.starts.append(start)
    result.ends.append(end)


def _remove_last(out: list[str], result: Normalised) -> None:
    del out[-1], result.starts[-1], result.ends[-1]

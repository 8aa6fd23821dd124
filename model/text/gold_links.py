"""Tables of sentence pairs and the word links that annotators set.

The first column is the source and the second the target, each named by its language. The column `links` contains links
between word indices, such as `0-0 1?2` (see `measures/alignment.py`). `segmentation.py` defines the words; in scripts
without spaces, a space in the table marks a word boundary and is not part of the sentence.
"""

from __future__ import annotations

import csv
import unicodedata
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from headlight.model.errors import CommandError
from headlight.model.measures.alignment import GoldLinks, parse_links
from headlight.model.text.segmentation import word_indices

LINKS_COLUMN = "links"
LENGTH_BANDS = ((8, 12), (13, 18), (19, 25))  # number of words on the longer side


@dataclass(frozen=True)
class SegmentedText:
    """A sentence and the spans of its words."""

    text: str
    spans: tuple[tuple[int, int], ...]

    @property
    def words(self) -> tuple[str, ...]:
        """Words in order."""
        return tuple(self.text[start:end] for start, end in self.spans)

    @property
    def length(self) -> int:
        """Number of words, without punctuation."""
        return sum(any(character.isalnum() for character in word) for word in self.words)


@dataclass(frozen=True)
class AlignedPair:
    """A sentence, its translation, and the links between their words."""

    source: SegmentedText
    target: SegmentedText
    gold: GoldLinks

    @property
    def length(self) -> int:
        """Number of words of the longer sentence."""
        return max(self.source.length, self.target.length)

    def reversed(self) -> AlignedPair:
        """Exchange source and target."""
        return AlignedPair(self.target, self.source, self.gold.reversed())


def parse_segmented(marked_text: str) -> SegmentedText:
    """Parse a sentence in which spaces also mark the word boundaries of scripts without spaces."""
    text, boundaries = "", set[int]()
    for part in marked_text.split():
        if text and not (_is_east_asian(text[-1]) or _is_east_asian(part[0])):
            text += " "
        boundaries.add(len(text))
        text += part
    if not text:
        return SegmentedText("", ())
    positions = [position for position, character in enumerate(text) if character != " "]
    indices = word_indices(text, [(position, position + 1) for position in positions])
    starts = [0]
    for (previous, word), (position, next_word) in pairwise(zip(positions, indices, strict=True)):
        # Between East Asian letters, only the table defines word boundaries.
        is_unmarked = _is_east_asian_letter(text[previous]) and _is_east_asian_letter(text[position])
        if position in boundaries or (word != next_word and not is_unmarked):
            starts.append(position)
    ends = [
        max(position for position in positions if position < next_start) + 1
        for next_start in [*starts[1:], len(text) + 1]
    ]
    return SegmentedText(text, tuple(zip(starts, ends, strict=False)))


def read_links(path: Path, source: str, target: str, column: str = LINKS_COLUMN) -> list[AlignedPair]:
    """Read the pairs of a table. `source` and `target` are the names of its first two columns, in either order."""
    names, rows = _read_table(path)
    for name in (source, target, column):
        if name not in names:
            available = ", ".join(names) or "none"
            raise CommandError(f"{path} has no column {name!r}. Its columns are: {available}.")
    reverse = names.index(target) < names.index(source)
    first, second = (target, source) if reverse else (source, target)
    pairs = []
    for line_number, row in enumerate(rows, start=2):  # line 1 has the column names
        sides = parse_segmented(row[first] or ""), parse_segmented(row[second] or "")
        try:
            gold = parse_links(row[column] or "", len(sides[0].spans), len(sides[1].spans))
        except CommandError as error:
            raise CommandError(f"{path}, line {line_number}: {error}") from error
        pairs.append(AlignedPair(*sides, gold))
    return [pair.reversed() for pair in pairs] if reverse else pairs


def _read_table(path: Path) -> tuple[list[str], list[dict[str, str | None]]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            rows, names = list(reader), list(reader.fieldnames or ())
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not UTF-8 text. Convert it to UTF-8.") from error
    if not rows:
        raise CommandError(f"{path} has no rows below its column names. Add some.")
    return names, rows


def _is_east_asian(character: str) -> bool:
    """Whether the script is written without spaces: Han, Kana and their punctuation."""
    return unicodedata.east_asian_width(character) in "WF"


def _is_east_asian_letter(character: str) -> bool:
    return _is_east_asian(character) and character.isalpha()

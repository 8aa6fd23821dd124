"""A frame and its slots: one sentence in several languages, filled with values that each writes its own way."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from headlight.model.training.corpora import Pair

LANGUAGES = ("de", "en", "zh")
HELD_OUT = 10  # one in this many filled frames is held out for the test
SLOT = re.compile(r"\{([a-z_]+)(\d?)\}")  # {time}, or {name1} and {name2} for two of a kind

EqualForms = tuple[str, ...]  # a translation uses the first; a source uses any of them
Value = Mapping[str, EqualForms]  # language → forms; a language that cannot say it is missing
Languages = tuple[str, str]  # source and target
Draw = Callable[[Random, Languages], Value]


@dataclass(frozen=True)
class SentenceFrame:
    """One sentence in each language, with the same slots."""

    texts: Value

    @property
    def slots(self) -> tuple[str, ...]:
        """The slots in order, each once."""
        return tuple(
            sorted({match.group() for text in next(iter(self.texts.values())) for match in SLOT.finditer(text)})
        )


@dataclass(frozen=True)
class FrameGroup:
    """A group of frames and its share of the sentences."""

    name: str
    share: float
    frames: tuple[SentenceFrame, ...]


class GeneratedPair(NamedTuple):
    """A pair made by rule, and whether it belongs to the test."""

    pair: Pair
    kind: str
    held_out: bool


def read_table(table: str) -> tuple[Value, ...]:
    """Values from lines `German | English | Chinese`; `//` separates equivalent forms, `-` marks a missing language."""
    values: list[Value] = []
    for line in table.strip().splitlines():
        columns = [column.strip() for column in line.split("|")]
        if len(columns) > len(LANGUAGES):
            raise ValueError(f"A line of a table has {len(columns)} columns, not {len(LANGUAGES)}: {line}")
        values.append(
            {
                language: tuple(form.strip() for form in column.split("//"))
                for language, column in zip(LANGUAGES, columns, strict=False)
                if column != "-"
            }
        )
    return tuple(values)


def read_words(text: str) -> tuple[str, ...]:
    """Words parted by spaces and line ends."""
    return tuple(text.split())


def read_frames(table: str) -> tuple[SentenceFrame, ...]:
    """Frames from such lines."""
    return tuple(SentenceFrame(value) for value in read_table(table))


def pick_from(values: tuple[Value, ...]) -> Draw:
    """A slot that takes one of a table's values that both languages have."""

    def draw(random: Random, languages: Languages) -> Value:
        return random.choice([value for value in values if set(languages) <= value.keys()])

    return draw


def fill(
    kind: FrameGroup, frame: SentenceFrame, slots: Mapping[str, Draw], random: Random, languages: Languages
) -> GeneratedPair:
    """A pair of sentences: the source in any of its forms, the target in the one that a translation uses."""
    source, target = languages
    values = {slot: slots[SLOT.sub(r"\1", slot)](random, languages) for slot in frame.slots}
    key = "\t".join((frame.texts[target][0], *(values[slot][target][0] for slot in frame.slots)))
    number = int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big")
    chosen = random.choice(frame.texts[source])
    pair = Pair(
        finish(SLOT.sub(lambda match: random.choice(values[match.group()][source]), chosen), source),
        finish(SLOT.sub(lambda match: values[match.group()][target][0], frame.texts[target][0]), target),
    )
    return GeneratedPair(pair, kind.name, number % HELD_OUT == 0)


def finish(text: str, language: str) -> str:
    """A capital at the start; one full stop where an abbreviation ends the sentence; no spaces around Chinese."""
    text = text.replace("..", ".")
    if language == "zh":
        text = re.sub(r"(?<=[^\x00-\x7f]) | (?=[^\x00-\x7f])", "", text)
    return text[:1].upper() + text[1:]

"""Frames and slots: a sentence in several languages, filled with values in the format of each language."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from headlight.model.training.corpora import Pair

LANGUAGES = ("de", "en", "zh")
HELD_OUT = 10  # one in 10 filled frames is held out for the test set
SLOT = re.compile(r"\{([a-z_]+)(\d?)\}")  # {time}, or {name1} and {name2} for two names

EqualForms = tuple[str, ...]  # the target uses the first form, the source a random one
Value = Mapping[str, EqualForms]  # forms by language; a language without a form is missing
Languages = tuple[str, str]  # source and target
Draw = Callable[[Random, Languages], Value]


@dataclass(frozen=True)
class SentenceFrame:
    """One sentence in each language, with the same slots."""

    texts: Value

    @property
    def slots(self) -> tuple[str, ...]:
        """The distinct slots, sorted."""
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
    """A pair from a template; `held_out` pairs belong to the test set."""

    pair: Pair
    kind: str
    held_out: bool


def read_table(table: str) -> tuple[Value, ...]:
    """Parse values from lines `German | English | Chinese`. `//` separates forms, and `-` marks a missing language."""
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
    """Split a text into words at whitespace."""
    return tuple(text.split())


def read_frames(table: str) -> tuple[SentenceFrame, ...]:
    """Parse frames from lines in the format of `read_table`."""
    return tuple(SentenceFrame(value) for value in read_table(table))


def pick_from(values: tuple[Value, ...]) -> Draw:
    """Return a slot that draws a value from a table, among those that both languages have."""

    def draw(random: Random, languages: Languages) -> Value:
        return random.choice([value for value in values if set(languages) <= value.keys()])

    return draw


def fill(
    kind: FrameGroup, frame: SentenceFrame, slots: Mapping[str, Draw], random: Random, languages: Languages
) -> GeneratedPair:
    """Fill a frame to a pair of sentences: a random form for the source, the first form for the target."""
    source, target = languages
    values = {slot: slots[SLOT.sub(r"\1", slot)](random, languages) for slot in frame.slots}
    key = "\t".join((frame.texts[target][0], *(values[slot][target][0] for slot in frame.slots)))
    hash_value = int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big")
    template = random.choice(frame.texts[source])
    pair = Pair(
        finish(SLOT.sub(lambda match: random.choice(values[match.group()][source]), template), source),
        finish(SLOT.sub(lambda match: values[match.group()][target][0], frame.texts[target][0]), target),
    )
    return GeneratedPair(pair, kind.name, hash_value % HELD_OUT == 0)


def finish(text: str, language: str) -> str:
    """Capitalise the first letter, merge double full stops, and remove spaces next to Chinese characters."""
    text = text.replace("..", ".")
    if language == "zh":
        text = re.sub(r"(?<=[^\x00-\x7f]) | (?=[^\x00-\x7f])", "", text)
    return text[:1].upper() + text[1:]

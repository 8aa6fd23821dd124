"""Source noise: typos, and missing capitals, punctuation, umlauts and apostrophes.

Targets are unchanged, so a translator learns the intended meaning. Randomness depends only on seed, epoch and row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from headlight.model.errors import TrainingError
from headlight.model.text.respelling import SENTENCE_ENDS, UMLAUT_BASES, UMLAUT_DIGRAPHS

NoiseFunction = Callable[[str, Random], str]

HALF_WIDTH = str.maketrans("，。？！：；（）", ",.?!:;()")
TYPO_WORD = re.compile(r"\b[a-zß-ÿ]{4,}\b")  # lower-case words only, because names must stay unchanged
MISSPELLINGS = {
    "de": {
        "dass": "das", "das": "dass", "seid": "seit", "seit": "seid", "wieder": "wider", "vielleicht": "villeicht",
        "ziemlich": "zimlich", "nämlich": "nähmlich", "wahrscheinlich": "warscheinlich", "interessant": "interresant",
        "eigentlich": "eigendlich", "endlich": "entlich", "standen": "standten", "nicht": "nich", "ist": "is",
        "ein": "n", "eine": "ne", "habe": "hab", "gibt es": "gibts", "geht es": "gehts", "haben wir": "hamwa",
        "zurück": "zurrück", "immer": "imer", "kommt": "komt", "muss": "mus", "wenn": "wen", "denn": "den",
        "bisschen": "bischen", "gern": "gerne", "morgen": "morgn", "heute": "heut", "jetzt": "jezt", "viel": "fiel",
    },
    "en": {
        "their": "there", "there": "their", "they're": "their", "your": "you're", "you're": "your", "its": "it's",
        "it's": "its", "to": "too", "too": "to", "than": "then", "receive": "recieve", "believe": "beleive",
        "friend": "freind", "because": "becuase", "the": "teh", "definitely": "definately", "until": "untill",
        "tomorrow": "tommorow", "beautiful": "beatiful", "which": "wich", "really": "realy", "would": "woud",
        "have": "hav", "restaurant": "restaraunt", "weather": "wether", "whether": "weather", "you": "u", "are": "r",
        "want to": "wanna", "going to": "gonna", "separate": "seperate", "address": "adress", "lose": "loose",
    },
    "zh": {
        "的": "得", "得": "的", "地": "的", "在": "再", "再": "在", "那": "哪", "哪": "那", "做": "作", "作": "做",
        "像": "象", "吗": "嘛", "以后": "已后", "已经": "以经", "知道": "知到", "什么": "甚么",
    },
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class NoiseSettings:
    """Noise on the sources, so that a model does not depend on a single word or spelling."""

    share: float = 0.0  # share of the sources with typing noise, redrawn each epoch; 0: none
    careless: float = 0.0  # share of these with several habits of a careless typist at once, not one or two changes
    left_out: float = 0.0  # share of the tokens dropped from a classifier's texts, redrawn each step; 0: none

    def __post_init__(self) -> None:
        if not 0.0 <= self.share <= 1.0:
            raise TrainingError(f"noise.share is {self.share:g}, but must be in [0, 1].")
        if not 0.0 <= self.careless <= 1.0:
            raise TrainingError(f"noise.careless is {self.careless:g}, but must be in [0, 1].")
        if not 0.0 <= self.left_out < 1.0:
            raise TrainingError(f"noise.left_out is {self.left_out:g}, but must be in [0, 1).")


def noisy_sources(
    texts: Sequence[str], language: str, share: float, seed: int, epoch: int, careless: float = 0.0
) -> dict[int, str]:
    """Return the sources that change in this epoch, by row. `share`, `careless`: those of `NoiseSettings`."""
    rows = np.flatnonzero(np.random.default_rng([seed, 3_000_003, epoch]).random(len(texts)) < share)
    changed = (
        (row, add_noise(texts[row], language, Random(f"{seed} {epoch} {row}"), careless))  # noqa: S311
        for row in rows.tolist()
    )
    return {row: text for row, text in changed if text != texts[row]}


def add_noise(text: str, language: str, random: Random, careless: float = 0.0) -> str:
    """Apply one or two random changes to a text, or with probability `careless` several habits of careless typists.

    Languages without a table have the noise of English.
    """
    if careless and random.random() < careless:
        return type_carelessly(text, language, random)
    changes, weights = zip(*CHANGES[language if language in CHANGES else "en"], strict=True)
    for change in random.choices(changes, weights, k=random.choice((1, 1, 2))):
        text = change(text, random) or text
    return text


def type_carelessly(text: str, language: str, random: Random) -> str:
    """Apply each habit of careless typists to a text with its probability: who omits capitals omits umlauts, too."""
    for habit, probability in HABITS[language if language in HABITS else "en"]:
        if random.random() < probability:
            text = habit(text, random) or text
    return text


def lower_case(text: str, random: Random) -> str:
    """Lower-case all letters."""
    return text.lower()


def upper_case(text: str, random: Random) -> str:
    """Capitalise all letters."""
    return text.upper()


def lower_first(text: str, random: Random) -> str:
    """Lower-case the first letter."""
    return text[:1].lower() + text[1:]


def drop_final_punctuation(text: str, random: Random) -> str:
    """Drop punctuation at the end."""
    return text.rstrip(SENTENCE_ENDS)


def drop_commas(text: str, random: Random) -> str:
    """Drop commas, except within numbers."""
    return re.sub(r"[,，](?!\d)", "", text)


def drop_apostrophes(text: str, random: Random) -> str:
    """Drop apostrophes: `dont`, `gehts`."""
    return re.sub(r"(?<=\w)['’](?=\w)", "", text)


def transliterate_umlauts(text: str, random: Random) -> str:
    """Write umlauts as two letters: `Muenchen`, `Strasse`."""
    return text.translate(UMLAUT_DIGRAPHS)


def strip_umlauts(text: str, random: Random) -> str:
    """Write umlauts without dots: `Munchen`, `Strasse`."""
    return text.translate(UMLAUT_BASES)


def use_half_width_punctuation(text: str, random: Random) -> str:
    """Replace full-width Chinese punctuation by half-width punctuation."""
    return text.translate(HALF_WIDTH)


def misspell(language: str) -> NoiseFunction:
    """Return a function that misspells one word of `MISSPELLINGS`; a text without such a word gets a add_typo."""
    table = MISSPELLINGS[language]
    boundary = "" if language == "zh" else r"\b"
    pattern = re.compile(boundary + f"(?:{'|'.join(sorted(table, key=len, reverse=True))})" + boundary)

    def change(text: str, random: Random) -> str:
        matches = list(pattern.finditer(text))
        if not matches:
            return add_typo(text, random)
        match = random.choice(matches)
        return text[: match.start()] + table[match.group()] + text[match.end() :]

    return change


def add_typo(text: str, random: Random) -> str:
    """Swap, drop or double a letter in a lower-case word."""
    words = list(TYPO_WORD.finditer(text))
    if not words:
        return text
    word = random.choice(words)
    position = random.randrange(word.start() + 1, word.end() - 1)  # the first letter does not change
    first, second = text[position], text[position + 1]
    replacement = random.choice((second + first, second, first + first + second))
    return text[:position] + replacement + text[position + 2 :]


LATIN_CHANGES: tuple[tuple[NoiseFunction, float], ...] = (
    (lower_case, 4), (lower_first, 2), (upper_case, 0.3), (drop_final_punctuation, 4), (drop_commas, 2),
    (drop_apostrophes, 1), (add_typo, 2),
)  # fmt: skip
CHANGES: dict[str, tuple[tuple[NoiseFunction, float], ...]] = {
    "de": (*LATIN_CHANGES, (transliterate_umlauts, 3), (strip_umlauts, 2), (misspell("de"), 2)),
    "en": (*LATIN_CHANGES, (misspell("en"), 2)),
    "zh": ((drop_final_punctuation, 4), (use_half_width_punctuation, 2), (drop_commas, 2), (misspell("zh"), 1)),
}
LATIN_HABITS: tuple[tuple[NoiseFunction, float], ...] = (
    (lower_case, 0.8), (drop_final_punctuation, 0.8), (drop_commas, 0.4), (drop_apostrophes, 0.4), (add_typo, 0.2),
)  # fmt: skip
HABITS: dict[str, tuple[tuple[NoiseFunction, float], ...]] = {
    "de": ((transliterate_umlauts, 0.35), (strip_umlauts, 0.25), *LATIN_HABITS),
    "en": LATIN_HABITS,
    "zh": ((drop_final_punctuation, 0.8), (use_half_width_punctuation, 0.4), (drop_commas, 0.4)),
}

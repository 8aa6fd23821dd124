"""Every word on the page, in each of its languages: `assets/words/*.json`, tables of one shape."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

WORDS = Path(__file__).resolve().parents[1] / "assets" / "words"
LANGUAGES = ("en", "zh")


@cache
def words(language: str = "en") -> Mapping[str, str]:
    """One table: what a place is called → what it says there; `{names}` stand for values."""
    table: dict[str, str] = json.loads(words_json(language))
    return MappingProxyType(table)


def words_json(language: str) -> bytes:
    """The same, as the browser gets it."""
    return (WORDS / f"{language}.json").read_bytes()


def say(key: str, language: str = "en", **values: object) -> str:
    """A phrase with its values filled in."""
    phrase = words(language)[key]
    for name, value in values.items():
        phrase = phrase.replace("{" + name + "}", str(value))
    return phrase


def figure_words(figure: str, language: str) -> dict[str, str]:
    """What a figure says of itself, for its `words`: what all say alike, then its own."""
    table = words(language)
    found: dict[str, str] = {}
    for prefix in ("figure_any_", f"figure_{figure}_"):
        found |= {key.removeprefix(prefix): text for key, text in table.items() if key.startswith(prefix)}
    return found

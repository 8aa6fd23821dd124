"""UI phrases from `assets/words/*.json`, one table per language."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

WORDS = Path(__file__).resolve().parents[1] / "assets" / "words"
LANGUAGES = ("en", "zh")
_PLACE = re.compile(r"\{(\w+)\}")


@cache
def words(language: str = "en") -> Mapping[str, str]:
    """One table: key → phrase; `{names}` in a phrase stand for values."""
    table: dict[str, str] = json.loads(words_json(language))
    return MappingProxyType(table)


def words_json(language: str) -> bytes:
    """The same table as the browser receives it."""
    return (WORDS / f"{language}.json").read_bytes()


def say(key: str, language: str = "en", /, **values: object) -> str:
    """A phrase with its values filled in."""
    return fill(words(language)[key], values)


def fill(phrase: str, values: Mapping[str, object]) -> str:
    """The phrase with its values; a missing one raises `KeyError`, one too many is ignored."""
    return _PLACE.sub(lambda place: _plain(values[place[1]]), phrase)


def places(phrase: str) -> frozenset[str]:
    """The names of the values that a phrase needs."""
    return frozenset(_PLACE.findall(phrase))


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)

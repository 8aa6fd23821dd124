"""UI phrases from `assets/words/*.json`, one table per language."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

PHRASES_FOLDER = Path(__file__).resolve().parents[1] / "assets" / "words"
LANGUAGES = ("en", "zh")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@cache
def phrases(language: str = "en") -> Mapping[str, str]:
    """One table: key → phrase; `{names}` in a phrase stand for values."""
    table: dict[str, str] = json.loads(phrases_json(language))
    return MappingProxyType(table)


def phrases_json(language: str) -> bytes:
    """The same table as the browser receives it."""
    return (PHRASES_FOLDER / f"{language}.json").read_bytes()


def phrase(key: str, language: str = "en", /, **values: object) -> str:
    """A phrase with its values filled in."""
    return fill(phrases(language)[key], values)


def fill(phrase: str, values: Mapping[str, object]) -> str:
    """The phrase with its values; a missing one raises `KeyError`, one too many is ignored."""
    return _PLACEHOLDER.sub(lambda place: _plain(values[place[1]]), phrase)


def placeholders(phrase: str) -> frozenset[str]:
    """The names of the values that a phrase needs."""
    return frozenset(_PLACEHOLDER.findall(phrase))


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)

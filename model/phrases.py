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
    """Return the phrases of a language by key; `{names}` in a phrase are placeholders."""
    table: dict[str, str] = json.loads(phrases_json(language))
    return MappingProxyType(table)


def phrases_json(language: str) -> bytes:
    """Return the phrases of a language as JSON, which the browser loads."""
    return (PHRASES_FOLDER / f"{language}.json").read_bytes()


def phrase(key: str, language: str = "en", /, **values: object) -> str:
    """Return a phrase with its placeholders filled in."""
    return fill(phrases(language)[key], values)


def fill(phrase: str, values: Mapping[str, object]) -> str:
    """Replace the placeholders of a phrase by values.

    Extra values are ignored.

    Raises:
        KeyError: a value is missing.
    """
    return _PLACEHOLDER.sub(lambda match: _format_value(values[match[1]]), phrase)


def placeholders(phrase: str) -> frozenset[str]:
    """Return the names of the placeholders in a phrase."""
    return frozenset(_PLACEHOLDER.findall(phrase))


def _format_value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)

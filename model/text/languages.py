"""The languages that a model reads and writes, and the marks that select them, as frozen data.

Marks select the language of a multilingual model: tokens before or after the source, words in front of it, or
the first token of the translation. A `Language` has its own marks; `Languages` has all of them,
and gives the `Route` of one translation.
"""

from __future__ import annotations

import dataclasses
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from headlight.model.errors import CheckpointError, RequestError, repr_short
from headlight.model.records import Token

LANGUAGES_FILE = "languages.json"
MAX_LISTED = 12  # choices that an error lists at most
PAIR = re.compile(r"(?:opus-(?:mt-)?(?:tc-(?:base|big)-)?)?([a-z]{2,3})-([a-z]{2,3})")
OTHER_CODES = {"jap": "ja"}  # other codes of a language → the code that is used here
# Codes of three letters → those of two, as `identification.py` and `function_words.py` name languages.
CODES = """
deu-de eng-en zho-zh cmn-zh fra-fr spa-es ita-it por-pt nld-nl swe-sv dan-da fin-fi ces-cs pol-pl ron-ro tur-tr vie-vi
rus-ru ukr-uk arb-ar hin-hi jpn-ja kor-ko hun-hu ind-id tha-th ell-el heb-he pes-fa jap-ja
"""
TWO_LETTERS: dict[str, str] = dict(pair.split("-") for pair in CODES.split())


def languages_from_name(name: str) -> tuple[str, ...]:
    """Source and target in a name such as de-en or owner/opus-mt-de-en, or empty."""
    pair = PAIR.fullmatch(name.rpartition("/")[2].partition("@")[0])
    return tuple(OTHER_CODES.get(code, code) for code in pair.groups()) if pair else ()


def two_letters(code: str) -> str:
    """A model's language code as `identify` names it: "deu_Latn" → "de"."""
    plain = code.lower().replace("-", "_").partition("_")[0]
    return TWO_LETTERS.get(plain, plain)


@dataclass(frozen=True, kw_only=True)
class Language:
    """One language on one side, with its marks."""

    code: str  # as the model calls it: "fra", "deu_Latn", "German"
    before: tuple[int, ...] = ()  # tokens in front of the source
    after: tuple[int, ...] = ()  # tokens behind its end
    text: str = ""  # words in front of the source
    first: tuple[int, ...] = ()  # tokens that the translation begins with


@dataclass(frozen=True, kw_only=True)
class LanguageTokens:
    """All marks of one translation."""

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    text: str = ""
    first: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Languages:
    """The choices that a model offers; empty for a model of one pair of languages."""

    sources: tuple[Language, ...] = ()
    targets: tuple[Language, ...] = ()
    source: str = ""  # the default; empty: no language tokens
    target: str = ""
    before: tuple[int, ...] = ()  # tokens in front of every source, whatever its language

    def __post_init__(self) -> None:
        for side in ("source", "target"):
            codes = [language.code for language in getattr(self, f"{side}s")]
            default = getattr(self, side)
            if len(set(codes)) != len(codes) or (default and default not in codes):
                raise CheckpointError(
                    f"The {side} languages name one twice, or their default {default!r} is none of them."
                )

    def tokens_for(self, source: str = "", target: str = "") -> LanguageTokens:
        """The marks of a translation; "" is the model's default."""
        read, written = self._find("source", source), self._find("target", target)
        return LanguageTokens(
            before=self.before + read.before + written.before,
            after=read.after + written.after,
            text=read.text + written.text,
            first=read.first + written.first,
        )

    def missing_tokens(self, route: LanguageTokens, text: str) -> LanguageTokens:
        """The marks that a text still needs: a text that begins with ">>fra<<" or the words of a task has its own."""
        if any(each.text and text.startswith(each.text) for each in self.targets):
            return dataclasses.replace(route, text="")
        if text.startswith(">>") and any(each.before and text.startswith(f">>{each.code}<<") for each in self.targets):
            return dataclasses.replace(route, before=self.before)
        return route

    def _find(self, side: str, code: str) -> Language:
        choices: tuple[Language, ...] = getattr(self, f"{side}s")
        code = code or getattr(self, side)
        if not code:
            return Language(code="")
        for language in choices:
            if language.code == code:
                return language
        field = f"{side}_language"
        if not choices:
            raise RequestError("no_languages", field=field, name=field, given=repr_short(code))
        named = ", ".join(language.code for language in choices[:MAX_LISTED])
        more = f", … ({len(choices)} in all)" if len(choices) > MAX_LISTED else ""
        raise RequestError("not_choice", field=field, name=field, choices=named + more, given=repr_short(code))

    def to_json(self) -> str:
        """All of it as indented JSON."""
        return json.dumps(dataclasses.asdict(self), ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str, *, origin: str = LANGUAGES_FILE) -> Self:
        """Read what `to_json` wrote."""
        try:
            values = {"before": []} | json.loads(text)  # younger than the others
            if set(values) != {field.name for field in dataclasses.fields(cls)}:
                raise ValueError("a field is missing or unknown")
            return cls(
                sources=tuple(map(_language, values["sources"])),
                targets=tuple(map(_language, values["targets"])),
                source=_text(values["source"]),
                target=_text(values["target"]),
                before=tuple(int(token) for token in values["before"]),
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise CheckpointError(
                f"{origin} does not list languages ({type(error).__name__}: {error}). Save or download it again."
            ) from error


def load_languages(folder: Path) -> Languages:
    """The languages of one of our model folders, or empty."""
    path = folder / LANGUAGES_FILE
    return Languages.from_json(path.read_text(encoding="utf-8"), origin=str(path)) if path.exists() else Languages()


def source_with_tokens(tokens: tuple[Token, ...], route: LanguageTokens, label: Any) -> tuple[Token, ...]:
    """The tokens of `route.text` + sentence → those of the sentence, among all marks of the route.

    Marks are special tokens without a place: they stand at 0, or at the end if they follow it.
    """
    length = len(route.text)
    moved: list[Token] = []
    first_word: int | None = None
    for token in tokens:
        if token.end <= length and not token.special:
            moved.append(Token(label(token.id), token.id, 0, 0, special=True))
            continue
        if token.word is not None and first_word is None:
            first_word = token.word
        word = None if token.word is None or first_word is None else token.word - first_word
        start, end = max(0, token.start - length), max(0, token.end - length)
        moved.append(dataclasses.replace(token, start=start, end=end, word=word))
    last = moved[-1].end if moved else 0
    return (
        *(Token(label(mark), mark, 0, 0, special=True) for mark in route.before),
        *moved,
        *(Token(label(mark), mark, last, last, special=True) for mark in route.after),
    )


def _language(values: dict[str, Any]) -> Language:
    numbers = {name: tuple(int(number) for number in values[name]) for name in ("before", "after", "first")}
    return Language(code=_text(values["code"]), text=_text(values["text"]), **numbers)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value

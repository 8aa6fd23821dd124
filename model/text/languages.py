"""The source and target languages of a model, and the language tokens that select them.

Language tokens of a multilingual model are tokens before or after the source, words before the source, or the first
tokens of the translation. A `Language` has the tokens of one language. `Languages` combines those of source and target
into the `LanguageTokens` of a translation.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from headlight.model.errors import CheckpointError, RequestError, repr_short
from headlight.model.records import Token

LANGUAGES_FILE = "languages.json"
MAX_LISTED_CHOICES = 12  # maximum number of choices in an error message
PAIR = re.compile(r"(?:opus-(?:mt-)?(?:tc-(?:base|big)-)?)?([a-z]{2,3})-([a-z]{2,3})")
OTHER_CODES = {"jap": "ja"}  # alternative code → code in this project
# Three-letter code → two-letter code, which `identification.py` and `function_words.py` use.
CODES = """
deu-de eng-en zho-zh cmn-zh fra-fr spa-es ita-it por-pt nld-nl swe-sv dan-da fin-fi ces-cs pol-pl ron-ro tur-tr vie-vi
rus-ru ukr-uk arb-ar hin-hi jpn-ja kor-ko hun-hu ind-id tha-th ell-el heb-he pes-fa jap-ja
"""
TWO_LETTERS: dict[str, str] = dict(pair.split("-") for pair in CODES.split())


def languages_from_name(name: str) -> tuple[str, ...]:
    """Return source and target of a name such as de-en or owner/opus-mt-de-en, or an empty tuple."""
    pair = PAIR.fullmatch(name.rpartition("/")[2].partition("@")[0])
    return tuple(OTHER_CODES.get(code, code) for code in pair.groups()) if pair else ()


def to_two_letters(code: str) -> str:
    """Convert a model's language code to the two-letter code of `identify`: "deu_Latn" → "de"."""
    base_code = code.lower().replace("-", "_").partition("_")[0]
    return TWO_LETTERS.get(base_code, base_code)


@dataclass(frozen=True, kw_only=True)
class Language:
    """A source or target language with its language tokens."""

    code: str  # the model's name of the language: "fra", "deu_Latn", "German"
    before: tuple[int, ...] = ()  # tokens before the source
    after: tuple[int, ...] = ()  # tokens after the source
    text: str = ""  # words before the source
    first: tuple[int, ...] = ()  # first tokens of the translation


@dataclass(frozen=True, kw_only=True)
class LanguageTokens:
    """All language tokens of one translation."""

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    text: str = ""
    first: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Languages:
    """The languages that a model offers; empty for a model of a single language pair."""

    sources: tuple[Language, ...] = ()
    targets: tuple[Language, ...] = ()
    source: str = ""  # the default; empty: no language tokens
    target: str = ""
    before: tuple[int, ...] = ()  # tokens before every source, in any language

    def __post_init__(self) -> None:
        for side in ("source", "target"):
            codes = [language.code for language in getattr(self, f"{side}s")]
            default = getattr(self, side)
            if len(set(codes)) != len(codes) or (default and default not in codes):
                raise CheckpointError(
                    f"The {side} languages have a duplicate, or do not include their default {default!r}."
                )

    def tokens_for(self, source: str = "", target: str = "") -> LanguageTokens:
        """Return the language tokens of a translation. "" is the model's default language."""
        source_language, target_language = self._find("source", source), self._find("target", target)
        return LanguageTokens(
            before=self.before + source_language.before + target_language.before,
            after=source_language.after + target_language.after,
            text=source_language.text + target_language.text,
            first=source_language.first + target_language.first,
        )

    def missing_tokens(self, language_tokens: LanguageTokens, text: str) -> LanguageTokens:
        """Return the language tokens that a text lacks. It may begin with ">>fra<<" or with the words of a task."""
        if any(language.text and text.startswith(language.text) for language in self.targets):
            return dataclasses.replace(language_tokens, text="")
        if text.startswith(">>") and any(
            language.before and text.startswith(f">>{language.code}<<") for language in self.targets
        ):
            return dataclasses.replace(language_tokens, before=self.before)
        return language_tokens

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
        codes = ", ".join(language.code for language in choices[:MAX_LISTED_CHOICES])
        remainder = f", … ({len(choices)} in all)" if len(choices) > MAX_LISTED_CHOICES else ""
        raise RequestError("not_choice", field=field, name=field, choices=codes + remainder, given=repr_short(code))

    def to_json(self) -> str:
        """Return all fields as indented JSON."""
        return json.dumps(dataclasses.asdict(self), ensure_ascii=False, indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str, *, origin: str = LANGUAGES_FILE) -> Self:
        """Parse the output of `to_json`."""
        try:
            values = {"before": []} | json.loads(text)  # older files lack this field
            if set(values) != {field.name for field in dataclasses.fields(cls)}:
                raise ValueError("a field is missing or unknown")
            return cls(
                sources=tuple(map(_parse_language, values["sources"])),
                targets=tuple(map(_parse_language, values["targets"])),
                source=_require_text(values["source"]),
                target=_require_text(values["target"]),
                before=tuple(int(token) for token in values["before"]),
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise CheckpointError(
                f"{origin} does not list languages ({type(error).__name__}: {error}). Save or download it again."
            ) from error


def load_languages(folder: Path) -> Languages:
    """Load the languages of a model folder; without a file, return an empty `Languages`."""
    path = folder / LANGUAGES_FILE
    return Languages.from_json(path.read_text(encoding="utf-8"), origin=str(path)) if path.exists() else Languages()


def source_with_tokens(
    tokens: tuple[Token, ...], language_tokens: LanguageTokens, label: Callable[[int], str]
) -> tuple[Token, ...]:
    """Convert the tokens of `language_tokens.text` + sentence to tokens of the sentence, and add all language tokens.

    These become special tokens with an empty span at 0, or at the end of the sentence if they follow it.
    """
    length = len(language_tokens.text)
    sentence_tokens: list[Token] = []
    first_word: int | None = None
    for token in tokens:
        if token.end <= length and not token.special:
            sentence_tokens.append(Token(label(token.id), token.id, 0, 0, special=True))
            continue
        if token.word is not None and first_word is None:
            first_word = token.word
        word = None if token.word is None or first_word is None else token.word - first_word
        start, end = max(0, token.start - length), max(0, token.end - length)
        sentence_tokens.append(dataclasses.replace(token, start=start, end=end, word=word))
    last = sentence_tokens[-1].end if sentence_tokens else 0
    return (
        *(Token(label(token_id), token_id, 0, 0, special=True) for token_id in language_tokens.before),
        *sentence_tokens,
        *(Token(label(token_id), token_id, last, last, special=True) for token_id in language_tokens.after),
    )


def _parse_language(values: dict[str, Any]) -> Language:
    numbers = {name: tuple(int(token) for token in values[name]) for name in ("before", "after", "first")}
    return Language(code=_require_text(values["code"]), text=_require_text(values["text"]), **numbers)


def _require_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a string")
    return value

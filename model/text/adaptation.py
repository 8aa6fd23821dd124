"""Adaptation of a text to the training data of the bundled models: simplified Chinese, lower case, no emoji.

Emoji are removed. All other changes replace one character by one character, so positions are valid in the original
text, and labels can show it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from headlight.model.text.simplified_characters import SIMPLIFIED, TRADITIONAL

_TO_SIMPLIFIED = str.maketrans(TRADITIONAL, SIMPLIFIED)
ALSO_SIMPLIFIED = frozenset("乾吒夥徵拚捱摺薹袷醣麴")  # traditional characters that simplified texts also contain
_TRADITIONAL = frozenset(TRADITIONAL) - ALSO_SIMPLIFIED
# 著 becomes 着, except in words such as 著名, 顯著, 名著.
_PARTICLE = re.compile("(?<![名顯显原專专土卓昭編编巨論论譯译遺遗合所])著(?![名作者稱称述錄录])")
_PICTURE = "[\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff\u2600-\u27bf\u2b50\u2b55\u231a\u231b\u23e9-\u23f3]"
_EMOJI = re.compile(f"{_PICTURE}(?:[\ufe0e\ufe0f\u200d\u20e3\U000e0020-\U000e007f]|{_PICTURE})*")
_EMOJI_RUN = re.compile(rf"\s*{_EMOJI.pattern}(?:\s*{_EMOJI.pattern})*\s*")
_SENTENCE_START = re.compile(r"(?:^|[.!?…]\s+)[\W\d_]*(\w)")
MIN_CAPITAL_WORDS, MIN_CAPITAL_LETTERS = 2, 7  # of a text in capital letters; "UNESCO" and "US NAVY" are names


class AdaptedText(NamedTuple):
    """The original text, and the text of equal length that the model reads."""

    original: str
    read: str
    changes: tuple[str, ...]  # "simplified", "capitals"


def remove_emoji(text: str) -> str:
    """Remove emoji from a cleaned text. A text without letters and digits is returned unchanged."""

    def replace_run(match: re.Match[str]) -> str:
        before, after = text[: match.start()][-1:], text[match.end() :][:1]
        is_spaced = match.group() != match.group().strip() or (before.isascii() and after.isascii())
        return " " if before and is_spaced and after.isalnum() else ""

    result = _EMOJI_RUN.sub(replace_run, text).strip()
    return result if any(map(str.isalnum, result)) else text


def adapt_text(text: str, language: str) -> AdaptedText:
    """Adapt a text for a model. `language` is the two-letter code of the text."""
    changes, model_text = [], text
    if language == "zh" and _TRADITIONAL.intersection(text):
        model_text = _PARTICLE.sub("着", model_text).translate(_TO_SIMPLIFIED)
        changes.append("simplified")
    elif is_in_capitals(text):
        model_text = _to_sentence_case(model_text, language)
        changes.append("capitals")
    return AdaptedText(text, model_text, tuple(changes))


def is_in_capitals(text: str) -> bool:
    """Whether a text of several words has capital letters only."""
    if not all(letter.isupper() for letter in text if letter.isalpha()):  # Chinese letters have no case
        return False
    words = re.findall(r"[^\W\d_]{2,}", text)
    return len(words) >= MIN_CAPITAL_WORDS and sum(map(len, words)) >= MIN_CAPITAL_LETTERS


def _to_sentence_case(text: str, language: str) -> str:
    lower_text = "".join(lower if len(lower := letter.lower()) == 1 else letter for letter in text)
    starts = {match.start(1) for match in _SENTENCE_START.finditer(text)}
    if language == "en":
        starts |= {match.start() for match in re.finditer(r"\bI\b", text)}
    return "".join(text[index] if index in starts else letter for index, letter in enumerate(lower_text))

"""Respelling of a carelessly typed sentence after its back-translation: capitals, umlauts, typing errors, final mark.

A reverse model never writes "wie heisst die strasse", so it finds such a sentence unlikely whatever the translation is.
Where the back-translation has the same word in another spelling, that spelling is the sentence's, too. A word that the
back-translation lacks stays as it was typed.
"""

from __future__ import annotations

import re

DIGRAPHS: dict[str, str | int | None] = {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"}
BASES: dict[str, str | int | None] = {"ä": "a", "ö": "o", "ü": "u", "Ä": "A", "Ö": "O", "Ü": "U", "ß": "ss"}
UMLAUT_DIGRAPHS, UMLAUT_BASES = str.maketrans(DIGRAPHS), str.maketrans(BASES)
SENTENCE_ENDS = ".!?…。！？"
CHINESE_ENDS = "。！？…”’）"
FULL_WIDTH = {",": "，", ".": "。", "?": "？", "!": "！", ":": "：", ";": "；"}
MIN_SLIP_LETTERS = 4  # of a word: shorter ones resemble too many others
WORD = re.compile(r"\w+(?:['’]\w+)*")
ENGLISH_I = re.compile(r"i(?:['’](?:m|d|ll|ve))?")
CHINESE_GAP = re.compile("(?<=[\u4e00-\u9fff]) (?=[\u4e00-\u9fff])")
AFTER_CHINESE = re.compile("(?<=[\u4e00-\u9fff])[,.?!:;]")


def respell(sentence: str, back: str, language: str) -> str:
    """Return the sentence in the spelling of its back-translation.

    Args:
        sentence: The sentence as the model read it.
        back: Its back-translation.
        language: Two-letter code of both.
    """
    if language == "zh":  # as many characters, except for the final mark
        text = AFTER_CHINESE.sub(lambda match: FULL_WIDTH[match.group()], sentence)
        text = CHINESE_GAP.sub("，", text)
    else:
        text = _respell_words(sentence, back, language)
    ending = back[-1:] if back[-1:] in SENTENCE_ENDS else ""
    return text + ending if text[-1:].isalnum() else text


def _respell_words(sentence: str, back: str, language: str) -> str:
    """Replace each word by the same word of the back-translation, and begin with a capital if that does."""
    words = [match.group() for match in WORD.finditer(back)]
    exact = set(words)
    spellings: dict[str, str] = {}
    for place, word in enumerate(words):
        # The first word has a capital because it is the first.
        spelling = word if place else word[:1].lower() + word[1:]
        for key in _keys(word):
            spellings.setdefault(key, spelling)

    def spell(match: re.Match[str]) -> str:
        word = match.group()
        if word in exact:
            return word
        if language == "en" and ENGLISH_I.fullmatch(word):
            return "I" + word[1:]
        key = _fold(word)
        spelling = spellings.get(key, word)
        if word.islower():
            slip = next((spellings[other] for other in spellings if is_slip(key, other)), word)
            return slip if spelling == word else spelling
        # A word with a capital may be a name that the translation misspells; its case is right.
        is_same = word.lower() == spelling.lower()
        return word if is_same else spelling[:1].upper() + spelling[1:]

    text = WORD.sub(spell, sentence)
    return text[:1].upper() + text[1:] if back[:1].isupper() else text


def is_careless(sentence: str, language: str) -> bool:
    """Whether a sentence is typed as in a chat: it begins with a small letter, or has no mark at its end."""
    if language == "zh":
        return not sentence.endswith(tuple(CHINESE_ENDS))
    return sentence[:1].islower() or sentence[-1:].isalnum()


def is_slip(word: str, usual: str) -> bool:
    """Whether a word is another one with two letters swapped, one doubled, or one lost inside."""
    if len(usual) < MIN_SLIP_LETTERS or word[:1] != usual[:1]:
        return False
    place = next((index for index, (one, other) in enumerate(zip(word, usual, strict=False)) if one != other), None)
    if place is None:  # "neunn": the last letter is doubled
        return word == usual + usual[-1]
    if len(word) == len(usual):
        return word[place : place + 2] == usual[place : place + 2][::-1] and word[place + 2 :] == usual[place + 2 :]
    if len(word) == len(usual) + 1:
        return word[place] == word[place - 1] and word[place + 1 :] == usual[place:]
    return len(word) == len(usual) - 1 and word[place:] == usual[place + 1 :]


def _keys(word: str) -> tuple[str, ...]:
    """Return a word as it may be typed: as it is, with `ae` for `ä`, or with `a`."""
    return _fold(word), *(_fold(word.translate(table)) for table in (UMLAUT_DIGRAPHS, UMLAUT_BASES))


def _fold(word: str) -> str:
    """Return a word without case and apostrophes."""
    return word.casefold().replace("'", "").replace("’", "")

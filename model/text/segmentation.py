"""Splits text before a vocabulary is learned, joins sub-words into words, and finds the places of bytes in a text.

`PIECES` is the first cut: no token reaches across it. `word_indices` joins tokens again, so that a view can show
attention word by word. Its rule, for a reader who has never thought about it:

1. **Letters and digits of an alphabet** (Latin, Greek, Cyrillic, Arabic, Hangul, ...) side by side are one word, with
   the accents on them: `trans|lat|ing`, `20|24`. One apostrophe, hyphen or underscore *between* two of them belongs to
   the word (`don't`, `gut-gelaunt`, `E-Mail`), one point, comma or colon between two *digits* to the number (`3,14`,
   `14:30`). At the edge of a word they are punctuation.
2. **Punctuation**: each mark is its own word, a run of one and the same mark is one (`...`, `!!`).
3. **Han and Hiragana** are written without spaces, so word boundaries are unknown. Each sub-word counts as
   one word: the vocabulary has learned which characters go together (`翻译`, `ました`). Hiragana does
   *not* join the Han before it. Only a dictionary can tell an ending (`食|べる`, to eat) from a particle (`私|は`, I +
   topic); a wrong join would hide what the particle looks at, a wrong cut shows both and loses nothing. Thai, Lao,
   Burmese and Khmer have no spaces either and are treated the same way. `々` and `ー` repeat or lengthen the
   character before them and stay with it.
4. **Katakana** writes foreign words and names: a run, with its `ー`, is one word.
5. **Emoji**: one picture is one word with all it is composed of: skin tones, joiners, the two letters of a flag.
6. A change between these kinds is a border: `我|用|Python|编|程`.
7. A white-space token belongs to the word after it, at the end of the text to the last word.
8. Pieces of one character have one span and are never parted.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import lru_cache
from itertools import pairwise

# A word in the middle of a sentence has a space before it, so the first word gets one too, and both are one token.
# Not so before Han and Kana, also after quotes or numbers: “你好”, 3个.
UNSPACED_START = r"\A (?=[\p{P}\p{N}]*[\p{Han}\p{Hiragana}\p{Katakana}ー、-〿！-･])"

# The first pattern that fits cuts; they are tried from top to bottom.
PIECES = "|".join(
    (
        r"\p{Han}[\p{Han}\p{M}]*",
        r"\p{Hiragana}[\p{Hiragana}\p{M}ー]*",
        r"[\p{Katakana}ーｰﾞﾟ][\p{Katakana}\p{M}ーｰﾞﾟ]*",
        r"(?<=\p{L})['’]\p{L}{1,2}(?!\p{L})",  # don't, we'll, geht's
        r" ?(?:[^\P{L}\p{Han}\p{Hiragana}\p{Katakana}ーｰﾞﾟ][\p{M}\u200C\u200D]*)+",  # letters of all other scripts
        r" ?\p{N}{1,3}",
        r" ?[\x{1F1E6}-\x{1F1FF}]{2}",  # flags
        r" ?\p{So}(?:[\p{M}\x{1F3FB}-\x{1F3FF}\x{E0020}-\x{E007F}]|\u200D\p{So})*",  # emoji with all they consist of
        r" ?([\p{P}\p{S}])\1*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)|\s+",
    )
)

JOINER = "\u200d"  # zero width joiner: 👨 + joiner + 🚀 is one astronaut
WORD_JOINERS = "'’-\u2010\u2011_"  # inside a word: don't, gut-gelaunt
NUMBER_JOINERS = ".,:'’"  # inside a number: 3,14
ITERATION_MARKS = "ー々"  # they repeat or lengthen the character before them

SPACELESS = (  # letters of scripts written without spaces
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),  # Han radicals
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3038, 0x303B),
    (0x3041, 0x309F),  # Hiragana
    (0x3105, 0x312F),  # Bopomofo
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x1B001, 0x1B11F),  # old Hiragana
    (0x20000, 0x3FFFF),
)
KATAKANA = ((0x30A1, 0x30FA), (0x30FC, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F))
SKIN_TONES = ((0x1F3FB, 0x1F3FF),)
FLAG_LETTERS = ((0x1F1E6, 0x1F1FF),)


class CharacterKind(Enum):
    """Class of a character for word segmentation."""

    ALPHABET = "letter or digit of an alphabet"
    SPACELESS = "letter of a script without spaces"
    KATAKANA = "Katakana"
    PUNCTUATION = "punctuation or sign"
    PICTURE = "emoji or other picture"
    FLAG_LETTER = "one of the two letters of a flag"
    ATTACHED = "part of the character before it: accent, skin tone, joiner"
    OTHER = "white space, control character"


def word_indices(text: str, spans: Sequence[tuple[int, int]]) -> list[int]:
    """The word of each token, counted from 0, by the rule above.

    `spans` are the tokens' `(start, end)` in `text`, in order, without the space before a word; special tokens have no
    word and are left out. Only borders of tokens are judged: whatever is inside one token stays one word.
    """
    continues = _continues_word(text)
    end_of_words = len(text.rstrip())
    words: list[int] = []
    word, before = -1, (0, 0)
    for span in spans:
        start, _ = span
        if not words:
            joined = False
        elif span == before or start >= end_of_words or text[slice(*before)].isspace():
            joined = True
        else:
            joined = start == before[1] and continues[start]  # a space was left out between them: a new word
        word += not joined
        words.append(word)
        before = span
    return words


def insert_boundaries(words: Sequence[str]) -> str:
    """The text of these words, with a line break at each border that a reader does not see: between letters without
    spaces. No piece reaches across a line break, so a vocabulary learnt from such text has words, not their edges.
    """
    kinds = [(_kind(word[0]), _kind(word[-1])) for word in words if word]
    marks = ["\n" * (before is after is CharacterKind.SPACELESS) for (_, before), (after, _) in pairwise(kinds)]
    return "".join(word + mark for word, mark in zip((word for word in words if word), [*marks, ""], strict=False))


def _continues_word(text: str) -> list[bool]:
    """For each character, whether it goes on with the word of the character before it."""
    flags: list[bool] = []
    before, before_kind = "", CharacterKind.OTHER  # the last character that is not attached to another
    bridged = False  # `before` is an apostrophe or the like inside a word
    half_flag = False  # `before` is the first letter of a flag
    for place, character in enumerate(text):
        kind = _kind(character)
        if kind is CharacterKind.ATTACHED:
            flags.append(place > 0)
            continue
        if character in ITERATION_MARKS and before_kind in (CharacterKind.SPACELESS, CharacterKind.KATAKANA):
            kind = before_kind
            same_word = True
        elif kind is CharacterKind.PICTURE:
            same_word = place > 0 and text[place - 1] == JOINER
        elif kind is CharacterKind.FLAG_LETTER:
            same_word = half_flag
        elif kind is CharacterKind.PUNCTUATION:
            same_word = character == before
        else:
            same_word = bridged or (kind is before_kind and kind in (CharacterKind.ALPHABET, CharacterKind.KATAKANA))
        bridged = _joins(before, character, text[place + 1 : place + 2])
        flags.append(same_word or bridged)
        half_flag = kind is CharacterKind.FLAG_LETTER and not half_flag
        before, before_kind = character, kind
    return flags


def _joins(before: str, character: str, after: str) -> bool:
    """Whether this sign holds a word or a number together."""
    if not before or not after:
        return False
    if character in NUMBER_JOINERS and before.isdigit() and after.isdigit():
        return True
    return (
        character in WORD_JOINERS and _kind(before) is CharacterKind.ALPHABET and _kind(after) is CharacterKind.ALPHABET
    )


@lru_cache(maxsize=4096)
def _kind(character: str) -> CharacterKind:
    category = unicodedata.category(character)
    code = ord(character)
    if category in ("Mn", "Mc", "Me", "Cf") or _within(code, SKIN_TONES):
        return CharacterKind.ATTACHED
    if _within(code, KATAKANA):
        return CharacterKind.KATAKANA
    if _within(code, SPACELESS) and category in ("Lo", "Lm", "Nl", "So"):  # their digits count like all digits
        return CharacterKind.SPACELESS
    if _within(code, FLAG_LETTERS):
        return CharacterKind.FLAG_LETTER
    if category[0] in "LN":
        return CharacterKind.ALPHABET
    if category == "So":
        return CharacterKind.PICTURE
    return CharacterKind.PUNCTUATION if category[0] in "PS" else CharacterKind.OTHER


def _within(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(low <= code <= high for low, high in ranges)


# ---------------------------------------------------------------- bytes to places


def characters(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Characters with their bytes; invalid bytes give U+FFFD, split as `bytes.decode` splits them."""
    while data:
        try:
            sound, bad = data.decode("utf-8"), b""
            data = b""
        except UnicodeDecodeError as error:
            sound, bad = data[: error.start].decode("utf-8"), data[error.start : error.end]
            data = data[error.end :]
        for character in sound:
            yield character, character.encode("utf-8")
        if bad:
            yield "\ufffd", bad


def byte_offsets(data: bytes, *, spaced: bool = True) -> tuple[str, dict[int, int]]:
    """The decoded text, and for each byte that begins a character (and for the end) its place in that text.

    `spaced`: a space was prepended, which is not part of the text. Of several spaces it is the last, the one of the
    first word.
    """
    results = list(characters(data))
    whole = "".join(character for character, _ in results)
    spaces = len(whole) - len(whole.lstrip(" ")) if spaced else 0
    left_out = spaces - 1 if spaces < len(whole) else 0
    offset, places = 0, {0: 0}
    for place, (_, own) in enumerate(results, start=1):
        offset += len(own)
        places[offset] = place - (spaces > 0 and place > left_out)
    return whole[spaces > 0 :], places

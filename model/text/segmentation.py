"""Splitting of text before a vocabulary is learned, merging of sub-words into words, and positions of bytes in a text.

`PIECES` splits first: no token crosses its boundaries. `word_indices` merges tokens into words, so that a view can show
attention word by word. Its rules:

1. **Letters and digits of an alphabet** (Latin, Greek, Cyrillic, Arabic, Hangul, ...) in a row are one word, including
   accents: `trans|lat|ing`, `20|24`. One apostrophe, hyphen or underscore *between* two of them belongs to the word
   (`don't`, `gut-gelaunt`, `E-Mail`), and one point, comma or colon between two *digits* to the number (`3,14`,
   `14:30`). At the edge of a word they are punctuation.
2. **Punctuation**: each mark is a word; a run of the same mark is one word (`...`, `!!`).
3. **Han and Hiragana** are written without spaces, so word boundaries are unknown. Each sub-word is one word, because
   the vocabulary has learned which characters belong together (`翻译`, `ました`). Hiragana does *not* join the
   preceding Han: only a dictionary can distinguish an ending (`食|べる`, to eat) from a particle (`私|は`, I + topic).
   A wrong merge would hide what the particle attends to; a wrong split shows both parts. Thai, Lao, Burmese and Khmer
   have no spaces either and are treated in the same way. `々` and `ー` repeat or lengthen the preceding character and
   belong to its word.
4. **Katakana** writes foreign words and names: a run, including `ー`, is one word.
5. **Emoji**: one picture is one word, including skin tones, joiners and the two letters of a flag.
6. A change between these kinds is a word boundary: `我|用|Python|编|程`.
7. A white-space token belongs to the next word, or at the end of the text to the last word.
8. Pieces of one character have the same span and always belong to the same word.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import lru_cache
from itertools import pairwise

# A word within a sentence has a space before it. The first word gets one, too, so that both have the same token.
# Han and Kana get no space, even after quotes or numbers: “你好”, 3个.
UNSPACED_START = r"\A (?=[\p{P}\p{N}]*[\p{Han}\p{Hiragana}\p{Katakana}ー、-〿！-･])"

# Patterns are tried from top to bottom; the first match is a piece.
PIECES = "|".join(
    (
        r"\p{Han}[\p{Han}\p{M}]*",
        r"\p{Hiragana}[\p{Hiragana}\p{M}ー]*",
        r"[\p{Katakana}ーｰﾞﾟ][\p{Katakana}\p{M}ーｰﾞﾟ]*",
        r"(?<=\p{L})['’]\p{L}{1,2}(?!\p{L})",  # don't, we'll, geht's
        r" ?(?:[^\P{L}\p{Han}\p{Hiragana}\p{Katakana}ーｰﾞﾟ][\p{M}\u200C\u200D]*)+",  # letters of all other scripts
        r" ?\p{N}{1,3}",
        r" ?[\x{1F1E6}-\x{1F1FF}]{2}",  # flags
        r" ?\p{So}(?:[\p{M}\x{1F3FB}-\x{1F3FF}\x{E0020}-\x{E007F}]|\u200D\p{So})*",  # emoji, modified or joined
        r" ?([\p{P}\p{S}])\1*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)|\s+",
    )
)

JOINER = "\u200d"  # zero width joiner: 👨 + joiner + 🚀 is one astronaut
WORD_JOINERS = "'’-\u2010\u2011_"  # inside a word: don't, gut-gelaunt
NUMBER_JOINERS = ".,:'’"  # inside a number: 3,14
ITERATION_MARKS = "ー々"  # they repeat or lengthen the preceding character

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
    """Return the word of each token, counted from 0, by the rules above.

    `spans` are the tokens' `(start, end)` in `text`, in order, without the space before a word. Special tokens have no
    word and are excluded. Words can only begin at token boundaries: a token is never split.
    """
    continues = _continues_word(text)
    end_of_words = len(text.rstrip())
    words: list[int] = []
    word, previous = -1, (0, 0)
    for span in spans:
        start, _ = span
        if not words:
            is_joined = False
        elif span == previous or start >= end_of_words or text[slice(*previous)].isspace():
            is_joined = True
        else:
            is_joined = start == previous[1] and continues[start]  # a space between the spans starts a new word
        word += not is_joined
        words.append(word)
        previous = span
    return words


def insert_boundaries(words: Sequence[str]) -> str:
    """Join words, with a line break at each invisible boundary: between letters of scripts without spaces.

    No piece crosses a line break, so a vocabulary learned from this text has no pieces across word boundaries.
    """
    kinds = [(_classify(word[0]), _classify(word[-1])) for word in words if word]
    breaks = [
        "\n" * (last_kind is first_kind is CharacterKind.SPACELESS)
        for (_, last_kind), (first_kind, _) in pairwise(kinds)
    ]
    return "".join(
        word + line_break for word, line_break in zip((word for word in words if word), [*breaks, ""], strict=False)
    )


def _continues_word(text: str) -> list[bool]:
    """Return for each character whether it continues the word of the preceding character."""
    flags: list[bool] = []
    previous, previous_kind = "", CharacterKind.OTHER  # the last character that is not attached to another
    is_joiner = False  # True: `previous` is an apostrophe or similar inside a word
    half_flag = False  # True: `previous` is the first letter of a flag
    for index, character in enumerate(text):
        kind = _classify(character)
        if kind is CharacterKind.ATTACHED:
            flags.append(index > 0)
            continue
        if character in ITERATION_MARKS and previous_kind in (CharacterKind.SPACELESS, CharacterKind.KATAKANA):
            kind = previous_kind
            same_word = True
        elif kind is CharacterKind.PICTURE:
            same_word = index > 0 and text[index - 1] == JOINER
        elif kind is CharacterKind.FLAG_LETTER:
            same_word = half_flag
        elif kind is CharacterKind.PUNCTUATION:
            same_word = character == previous
        else:
            same_word = is_joiner or (
                kind is previous_kind and kind in (CharacterKind.ALPHABET, CharacterKind.KATAKANA)
            )
        is_joiner = _joins_word_parts(previous, character, text[index + 1 : index + 2])
        flags.append(same_word or is_joiner)
        half_flag = kind is CharacterKind.FLAG_LETTER and not half_flag
        previous, previous_kind = character, kind
    return flags


def _joins_word_parts(before: str, character: str, after: str) -> bool:
    """Whether this character joins two parts of a word or a number."""
    if not before or not after:
        return False
    if character in NUMBER_JOINERS and before.isdigit() and after.isdigit():
        return True
    return (
        character in WORD_JOINERS
        and _classify(before) is CharacterKind.ALPHABET
        and _classify(after) is CharacterKind.ALPHABET
    )


@lru_cache(maxsize=4096)
def _classify(character: str) -> CharacterKind:
    category = unicodedata.category(character)
    code = ord(character)
    if category in ("Mn", "Mc", "Me", "Cf") or _is_in_ranges(code, SKIN_TONES):
        return CharacterKind.ATTACHED
    if _is_in_ranges(code, KATAKANA):
        return CharacterKind.KATAKANA
    # Digits of scripts without spaces have another category, and count as an alphabet.
    if _is_in_ranges(code, SPACELESS) and category in ("Lo", "Lm", "Nl", "So"):
        return CharacterKind.SPACELESS
    if _is_in_ranges(code, FLAG_LETTERS):
        return CharacterKind.FLAG_LETTER
    if category[0] in "LN":
        return CharacterKind.ALPHABET
    if category == "So":
        return CharacterKind.PICTURE
    return CharacterKind.PUNCTUATION if category[0] in "PS" else CharacterKind.OTHER


def _is_in_ranges(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(low <= code <= high for low, high in ranges)


# ---------------------------------------------------------------- bytes to positions


def characters(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield characters with their bytes. Invalid bytes become U+FFFD, in the same groups as in `bytes.decode`."""
    while data:
        try:
            valid, invalid = data.decode("utf-8"), b""
            data = b""
        except UnicodeDecodeError as error:
            valid, invalid = data[: error.start].decode("utf-8"), data[error.start : error.end]
            data = data[error.end :]
        for character in valid:
            yield character, character.encode("utf-8")
        if invalid:
            yield "\ufffd", invalid


def byte_offsets(data: bytes, *, spaced: bool = True) -> tuple[str, dict[int, int]]:
    """Return the decoded text, and the position in it of each byte offset where a character begins or the text ends.

    `spaced`: a space was prepended, which is not part of the text. If there are several spaces, it is the last one,
    before the first word.
    """
    results = list(characters(data))
    decoded_text = "".join(character for character, _ in results)
    spaces = len(decoded_text) - len(decoded_text.lstrip(" ")) if spaced else 0
    inserted_position = spaces - 1 if spaces < len(decoded_text) else 0
    offset, positions = 0, {0: 0}
    for position, (_, encoded) in enumerate(results, start=1):
        offset += len(encoded)
        positions[offset] = position - (spaces > 0 and position > inserted_position)
    return decoded_text[spaces > 0 :], positions

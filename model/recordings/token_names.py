"""Names of tokens in any tokenizer's spelling, as tokens with their places in a text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

from headlight.model.recordings.recording import RecordingError
from headlight.model.records import Token
from headlight.model.text.segmentation import word_indices

SPECIAL_TOKEN = re.compile(r"<\|?[^<>\s]+\|?>|\[[A-Z][A-Z_]*[0-9]*\]|\[unused[0-9]+\]")  # <s>, <|endoftext|>, [CLS]
BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")  # SentencePiece, of a character that its vocabulary lacks
SPACE = "\u2581"  # SentencePiece: a word begins


def _byte_letters() -> dict[str, int]:
    """The letters in which byte-level vocabularies write bytes: printable ones as they are, others from U+0100 on."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(0x100 + place): byte for place, byte in enumerate(others)}


BYTE_LETTERS = _byte_letters()


def _piece_decoder(pieces: Sequence[str]) -> Callable[[str, bool], bytes]:
    """What turns a piece into the bytes that it stands for, a space before a word among them: by their spelling."""
    if any(SPACE in piece for piece in pieces):
        return lambda piece, _: (
            bytes([int(found[1], 16)]) if (found := BYTE_TOKEN.fullmatch(piece)) else piece.replace(SPACE, " ").encode()
        )
    if any(piece.startswith(("Ġ", "Ċ")) for piece in pieces):
        return lambda piece, _: (
            bytes(BYTE_LETTERS[letter] for letter in piece)
            if all(letter in BYTE_LETTERS for letter in piece)
            else piece.encode()
        )
    if any(piece.endswith("</w>") for piece in pieces):
        return lambda piece, _: piece.replace("</w>", " ").encode()
    if any(piece.endswith("@@") for piece in pieces):
        return lambda piece, _: (piece.removesuffix("@@") + ("" if piece.endswith("@@") else " ")).encode()
    if any(piece.startswith("##") for piece in pieces):
        return lambda piece, _: piece.removeprefix("##").encode() if piece.startswith("##") else f" {piece}".encode()
    return lambda piece, sign: piece.encode() if sign else f" {piece}".encode()


def _is_punctuation(piece: str) -> bool:
    """Punctuation that follows its word without a space."""
    return len(piece) == 1 and unicodedata.category(piece) in ("Po", "Pe", "Pf")


def tokens_from_names(
    names: Sequence[str], special: Sequence[bool] | None = None, ids: Sequence[int] | None = None
) -> tuple[tuple[Token, ...], str]:
    """Tokens with their positions, and their joined text. `special`: control tokens, which are not text."""
    marks = (
        [bool(SPECIAL_TOKEN.fullmatch(name)) and not BYTE_TOKEN.fullmatch(name) for name in names]
        if special is None
        else special
    )
    numbers = list(range(len(names))) if ids is None else ids
    read = _piece_decoder([name for name, mark in zip(names, marks, strict=True) if not mark])
    text, result = "", []
    place = 0
    while place < len(names):
        if marks[place]:
            result.append(Token(names[place], numbers[place], len(text), len(text), special=True))
            place += 1
            continue
        count, character = _character(names, marks, place, read)
        begun = character.lstrip(" ") if not text else character
        body = begun.strip(" ") or begun  # a piece may be a space alone
        start = len(text) + begun.index(body)
        text += begun
        for piece in range(count):
            token = Token(body, numbers[place + piece], start, start + len(body), piece=piece, pieces=count)
            result.append(token)
        place += count
    return _with_words(result, text), text


def locate_tokens(names: Sequence[str], text: str) -> tuple[tuple[Token, ...], str] | None:
    """Consecutive names in a text, separated by spaces only; `None` if they do not fit.

    A name that stands there once and is listed several times in a row is a character in pieces.
    """
    results: list[Token] = []
    end = 0
    for number, name in enumerate(names):
        gap = len(text[end:]) - len(text[end:].lstrip())
        if name and text.startswith(name, end + gap):
            results.append(Token(name, number, end + gap, end + gap + len(name)))
            end += gap + len(name)
        elif results and not results[-1].special and results[-1].text == name:
            results.append(Token(name, number, results[-1].start, results[-1].end, piece=results[-1].piece + 1))
        elif SPECIAL_TOKEN.fullmatch(name):
            results.append(Token(name, number, end, end, special=True))
        else:
            return None
    for place, token in enumerate(results):
        pieces = 1 + sum(1 for other in results if other.piece and other.start == token.start)
        if pieces > 1 and not token.special:
            results[place] = Token(token.text, token.id, token.start, token.end, piece=token.piece, pieces=pieces)
    return _with_words(results, text), text


def _with_words(tokens: Sequence[Token], text: str) -> tuple[Token, ...]:
    words = iter(word_indices(text, [(token.start, token.end) for token in tokens if not token.special]))
    return tuple(token if token.special else _with_word(token, next(words)) for token in tokens)


def _character(
    names: Sequence[str], marks: Sequence[bool], place: int, read: Callable[[str, bool], bytes]
) -> tuple[int, str]:
    """How many pieces from this one on make whole characters, and which: a character in bytes takes up to four."""
    data = b""
    for count in range(1, 5):
        if place + count > len(names) or marks[place + count - 1]:
            break
        data += read(names[place + count - 1], _is_punctuation(names[place]))
        try:
            return count, data.decode()
        except UnicodeDecodeError:
            continue
    return 1, names[place]  # no character: it stays as it is spelt


def _with_word(token: Token, word: int) -> Token:
    return Token(token.text, token.id, token.start, token.end, word, piece=token.piece, pieces=token.pieces)


def names_from_ids(tokenizer: Any, ids: Sequence[int]) -> tuple[tuple[Token, ...], str]:
    """Ids in a tokenizer's words: one of `transformers`, a processor that has one, or one of `tokenizers`."""
    tokenizer = getattr(tokenizer, "tokenizer", tokenizer)
    if hasattr(tokenizer, "convert_ids_to_tokens"):
        names = [str(name) for name in tokenizer.convert_ids_to_tokens(list(ids))]
        signs = {int(each) for each in getattr(tokenizer, "all_special_ids", ())}
        own = {int(each) for each in getattr(tokenizer, "added_tokens_decoder", ()) if _is_special(tokenizer, each)}
        return tokens_from_names(names, [each in signs | own for each in ids], ids)
    if hasattr(tokenizer, "id_to_token"):
        added = tokenizer.get_added_tokens_decoder()
        signs = {each for each, token in added.items() if token.special}
        return tokens_from_names(
            [str(tokenizer.id_to_token(each)) for each in ids], [each in signs for each in ids], ids
        )
    raise RecordingError(
        f"{type(tokenizer).__name__} is no tokenizer that is known here. Give the tokens as texts instead."
    )


def _is_special(tokenizer: Any, each: int) -> bool:
    return bool(getattr(tokenizer.added_tokens_decoder[each], "special", False))


def numbered_names(count: int, first: int = 1) -> tuple[tuple[Token, ...], str]:
    """Names for tokens of which nothing is known: their numbers."""
    return tokens_from_names([str(first + place) for place in range(count)])


def patch_names(rows: int, columns: int, before: int) -> tuple[tuple[Token, ...], str]:
    """The patches of a picture by row and column; tokens `before` them are the model's own."""
    signs = ["[CLS]", *(f"[REG{place}]" for place in range(1, before))][:before]
    names = [f"{row}·{column}" for row in range(1, rows + 1) for column in range(1, columns + 1)]
    return tokens_from_names(signs + names, [True] * before + [False] * len(names))

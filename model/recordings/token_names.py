"""Conversion of token names, in any tokenizer's spelling, to tokens with their positions in a text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

from headlight.model.recordings.images import Patches
from headlight.model.recordings.recording import RecordingError
from headlight.model.records import Token
from headlight.model.text.segmentation import word_indices

SPECIAL_TOKEN = re.compile(r"<\|?[^<>\s]+\|?>|\[[A-Z][A-Z_]*[0-9]*\]|\[unused[0-9]+\]")  # <s>, <|endoftext|>, [CLS]
BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")  # SentencePiece: a byte of a character that is not in the vocabulary
SPACE = "\u2581"  # SentencePiece: start of a word


def _map_letters_to_bytes() -> dict[str, int]:
    """Return the byte of each letter in byte-level vocabularies. Unprintable bytes are letters from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    remaining = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + index): byte for index, byte in enumerate(remaining)}


BYTE_LETTERS = _map_letters_to_bytes()


def _make_piece_decoder(pieces: Sequence[str]) -> Callable[[str, bool], bytes]:
    """Infer the tokenizer's spelling, and return a function that converts a piece to bytes, including spaces."""
    if any(SPACE in piece for piece in pieces):
        return lambda piece, _: (
            bytes([int(match[1], 16)]) if (match := BYTE_TOKEN.fullmatch(piece)) else piece.replace(SPACE, " ").encode()
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
    return lambda piece, is_punctuation: piece.encode() if is_punctuation else f" {piece}".encode()


def _is_punctuation(piece: str) -> bool:
    """Whether the piece is punctuation that follows its word without a space."""
    return len(piece) == 1 and unicodedata.category(piece) in ("Po", "Pe", "Pf")


def tokens_from_names(
    names: Sequence[str], special: Sequence[bool] | None = None, ids: Sequence[int] | None = None
) -> tuple[tuple[Token, ...], str]:
    """Return tokens with their positions, and the joined text. `special` marks control tokens, which are not text."""
    is_special = (
        [bool(SPECIAL_TOKEN.fullmatch(name)) and not BYTE_TOKEN.fullmatch(name) for name in names]
        if special is None
        else special
    )
    token_ids = list(range(len(names))) if ids is None else ids
    decode = _make_piece_decoder(
        [name for name, special_name in zip(names, is_special, strict=True) if not special_name]
    )
    text, result = "", []
    index = 0
    while index < len(names):
        if is_special[index]:
            result.append(Token(names[index], token_ids[index], len(text), len(text), special=True))
            index += 1
            continue
        count, character = _join_pieces(names, is_special, index, decode)
        new_text = character.lstrip(" ") if not text else character
        body = new_text.strip(" ") or new_text  # a piece may consist of spaces
        start = len(text) + new_text.index(body)
        text += new_text
        for piece in range(count):
            token = Token(body, token_ids[index + piece], start, start + len(body), piece=piece, pieces=count)
            result.append(token)
        index += count
    return _set_words(result, text), text


def locate_tokens(names: Sequence[str], text: str) -> tuple[tuple[Token, ...], str] | None:
    """Locate consecutive names in a text, separated only by spaces. Return None if they do not fit.

    If a name is listed several times in a row but occurs once in the text, it is one character in several pieces.
    """
    results: list[Token] = []
    end = 0
    for token_id, name in enumerate(names):
        space_count = len(text[end:]) - len(text[end:].lstrip())
        if name and text.startswith(name, end + space_count):
            results.append(Token(name, token_id, end + space_count, end + space_count + len(name)))
            end += space_count + len(name)
        elif results and not results[-1].special and results[-1].text == name:
            results.append(Token(name, token_id, results[-1].start, results[-1].end, piece=results[-1].piece + 1))
        elif SPECIAL_TOKEN.fullmatch(name):
            results.append(Token(name, token_id, end, end, special=True))
        else:
            return None
    for index, token in enumerate(results):
        pieces = 1 + sum(1 for candidate in results if candidate.piece and candidate.start == token.start)
        if pieces > 1 and not token.special:
            results[index] = Token(token.text, token.id, token.start, token.end, piece=token.piece, pieces=pieces)
    return _set_words(results, text), text


def _set_words(tokens: Sequence[Token], text: str) -> tuple[Token, ...]:
    words = iter(word_indices(text, [(token.start, token.end) for token in tokens if not token.special]))
    return tuple(token if token.special else _set_word(token, next(words)) for token in tokens)


def _join_pieces(
    names: Sequence[str], is_special: Sequence[bool], start: int, decode: Callable[[str, bool], bytes]
) -> tuple[int, str]:
    """Join pieces until they form whole characters, at most four; return their number and the characters."""
    data = b""
    for count in range(1, 5):
        if start + count > len(names) or is_special[start + count - 1]:
            break
        data += decode(names[start + count - 1], _is_punctuation(names[start]))
        try:
            return count, data.decode()
        except UnicodeDecodeError:
            continue
    return 1, names[start]  # the piece is not UTF-8, so its spelling is its text


def _set_word(token: Token, word: int) -> Token:
    return Token(token.text, token.id, token.start, token.end, word, piece=token.piece, pieces=token.pieces)


def names_from_ids(tokenizer: Any, ids: Sequence[int]) -> tuple[tuple[Token, ...], str]:
    """Convert ids to tokens with a tokenizer of `transformers` or `tokenizers`, or a processor that contains one."""
    tokenizer = getattr(tokenizer, "tokenizer", tokenizer)
    if hasattr(tokenizer, "convert_ids_to_tokens"):
        names = [str(name) for name in tokenizer.convert_ids_to_tokens(list(ids))]
        special_ids = {int(token_id) for token_id in getattr(tokenizer, "all_special_ids", ())}
        added_special_ids = {
            int(token_id)
            for token_id in getattr(tokenizer, "added_tokens_decoder", ())
            if _is_special(tokenizer, token_id)
        }
        return tokens_from_names(names, [token_id in special_ids | added_special_ids for token_id in ids], ids)
    if hasattr(tokenizer, "id_to_token"):
        added_tokens = tokenizer.get_added_tokens_decoder()
        special_ids = {token_id for token_id, token in added_tokens.items() if token.special}
        return tokens_from_names(
            [str(tokenizer.id_to_token(token_id)) for token_id in ids],
            [token_id in special_ids for token_id in ids],
            ids,
        )
    raise RecordingError(f"{type(tokenizer).__name__} is not a supported tokenizer. Pass the tokens as texts instead.")


def _is_special(tokenizer: Any, token_id: int) -> bool:
    return bool(getattr(tokenizer.added_tokens_decoder[token_id], "special", False))


def numbered_names(count: int, first: int = 1) -> tuple[tuple[Token, ...], str]:
    """Return numbered tokens, for tokens without names."""
    return tokens_from_names([str(first + index) for index in range(count)])


def patch_names(patches: Patches) -> tuple[tuple[Token, ...], str]:
    """Name patches by row and column from 1, and the other tokens in their order: [CLS], [REG1], …, [DET1], …"""
    patch_indices, columns = patches.patch_indices, patches.grid.columns
    first_patch_token = next(
        (token for token, patch in enumerate(patch_indices) if patch is not None), len(patch_indices)
    )
    last_patch_token = max((token for token, patch in enumerate(patch_indices) if patch is not None), default=-1)
    names = []
    for token, patch in enumerate(patch_indices):
        if patch is not None:
            names.append(f"{patch // columns + 1}·{patch % columns + 1}")
        elif token > last_patch_token:
            names.append(f"[DET{token - last_patch_token}]")
        else:
            names.append("[CLS]" if token == 0 and first_patch_token > 0 else f"[REG{token}]")
    return tokens_from_names(names, [patch is None for patch in patch_indices])


def unchanged_names(names: Sequence[str]) -> tuple[tuple[Token, ...], str]:
    """Return tokens that keep the tokenizer's spelling, such as "Ġcat", and the names joined by spaces."""
    results, start = [], 0
    for index, name in enumerate(names):
        special = bool(SPECIAL_TOKEN.fullmatch(name))
        results.append(Token(name, index, start, start + len(name), None if special else index, special=special))
        start += len(name) + 1
    return tuple(results), " ".join(names)

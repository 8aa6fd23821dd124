"""The content of a SentencePiece file (`.spm`, `spiece.model`, `sentencepiece.bpe.model`) as a record.

The file is one protocol-buffer message (https://protobuf.dev/programming-guides/encoding). This module reads and writes
the message directly. The library `sentencepiece` exposes neither the pieces that are never split nor the normalisation
rules, which a saved vocabulary contains and a model family extends. Its message reader needs the package `protobuf`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

from headlight.model.errors import TokenizerError

MAX_BYTES = 100_000_000  # larger than any vocabulary: a mistake or an attack


class PieceKind(IntEnum):
    """Piece types, with the numbers of the file format."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4  # never split and never normalised
    UNUSED = 5
    BYTE = 6


class Piece(NamedTuple):
    """An entry of the file's vocabulary."""

    text: str
    score: float
    kind: PieceKind


@dataclass(frozen=True, kw_only=True)
class Normalisation:
    """Rules that normalise text before it is split."""

    charsmap: bytes = b""  # a trie of character replacements; empty: no replacements
    add_dummy_prefix: bool = True  # the first word gets a leading space, like all others
    remove_extra_whitespaces: bool = True  # at both ends, and all but one between words
    escape_whitespaces: bool = True  # a space is written as "▁"
    whitespace_as_suffix: bool = False  # a space belongs to the preceding word


@dataclass(frozen=True, kw_only=True)
class SentencePieceModel:
    """A vocabulary with everything that determines how it splits a text."""

    algorithm: str  # "unigram" or "bpe"
    pieces: tuple[Piece, ...]
    normalisation: Normalisation
    byte_fallback: bool = False  # unknown characters are encoded as bytes

    def to_bytes(self) -> bytes:
        """Serialise the parts of the file that determine how a text is split."""
        rules = self.normalisation
        trainer = (
            _encode_number(3, ALGORITHM_NUMBERS[self.algorithm])
            + _encode_number(24, rules.whitespace_as_suffix)
            + _encode_number(35, self.byte_fallback)
        )
        normaliser = (
            _encode_bytes(2, rules.charsmap)
            + _encode_number(3, rules.add_dummy_prefix)
            + _encode_number(4, rules.remove_extra_whitespaces)
            + _encode_number(5, rules.escape_whitespaces)
        )
        pieces = b"".join(
            _encode_bytes(
                1,
                _encode_bytes(1, text.encode("utf-8"))
                + struct.pack("<Bf", 2 << 3 | 5, score)
                + _encode_number(3, kind),
            )
            for text, score, kind in self.pieces
        )
        return pieces + _encode_bytes(2, trainer) + _encode_bytes(3, normaliser)


BYTE = re.compile(r"<0x[0-9A-F]{2}>")
ALGORITHMS = {1: "unigram", 2: "bpe"}
ALGORITHM_NUMBERS = {name: number for number, name in ALGORITHMS.items()}


def read_sentencepiece(path: Path) -> SentencePieceModel:
    """Read a SentencePiece file. A missing or invalid file raises a `TokenizerError`."""
    if not path.exists():
        has_json = (path.parent / "tokenizer.json").exists()
        advice = "Its tokenizer.json alone cannot be read" if has_json else "Download the model again"
        raise TokenizerError(f"{path.parent}: {path.name} is missing. {advice}.")
    if path.stat().st_size > MAX_BYTES:
        raise TokenizerError(f"{path}: is larger than any vocabulary ({path.stat().st_size:,} bytes). Check the file.")
    return parse_sentencepiece(path.read_bytes(), name=str(path))


def parse_sentencepiece(data: bytes, *, name: str = "the vocabulary") -> SentencePieceModel:
    """Parse the bytes of a file. `name` is the name of the file in error messages."""
    if data.startswith(b"version https://git-lfs"):
        raise TokenizerError(f"{name}: is only a git-lfs pointer to the real file. Run `git lfs pull` there.")
    try:
        return _parse_model(data)
    except (ValueError, IndexError, struct.error, TypeError, AttributeError) as error:
        raise TokenizerError(f"{name}: is not a SentencePiece model ({error}). Download it again.") from error


def _parse_model(data: bytes) -> SentencePieceModel:
    fields: list[tuple[int, Any]] = list(_read_fields(data))
    pieces = tuple(_parse_piece(dict(_read_fields(value))) for number, value in fields if number == 1)
    trainer, normaliser, denormaliser = (
        dict(_read_fields(b"".join(value for number, value in fields if number == field))) for field in (2, 3, 5)
    )
    if not any(piece.kind is PieceKind.NORMAL for piece in pieces):
        raise ValueError("it has no pieces")
    if sum(piece.kind is PieceKind.UNKNOWN for piece in pieces) != 1:
        raise ValueError("it does not have exactly one unknown piece")
    if len({piece.text for piece in pieces}) != len(pieces) or not all(piece.text for piece in pieces):
        raise ValueError("a piece is empty or a duplicate")
    algorithm = ALGORITHMS.get(trainer.get(3, 1))
    if algorithm is None:
        raise ValueError("it is a word or character model, but only unigram and BPE models are supported")
    if denormaliser.get(2):
        raise ValueError("it has denormalisation rules, which are not supported")
    return SentencePieceModel(
        algorithm=algorithm,
        pieces=pieces,
        normalisation=Normalisation(
            charsmap=normaliser.get(2, b""),
            add_dummy_prefix=bool(normaliser.get(3, True)),
            remove_extra_whitespaces=bool(normaliser.get(4, True)),
            escape_whitespaces=bool(normaliser.get(5, True)),
            whitespace_as_suffix=bool(trainer.get(24, False)),
        ),
        byte_fallback=bool(trainer.get(35, False)),
    )


def _parse_piece(fields: dict[int, Any]) -> Piece:
    score = struct.unpack("<f", fields[2])[0] if 2 in fields else 0.0
    kind = PieceKind(fields[3]) if 3 in fields else PieceKind.NORMAL
    text = fields.get(1, b"").decode("utf-8")
    if kind is PieceKind.BYTE and BYTE.fullmatch(text) is None:
        raise ValueError("a byte piece does not have a name such as <0x0A>")
    return Piece(text, score, kind)


# ---------------------------------------------------------------- wire format


def _read_fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """Yield each field's number and value: an `int`, or the bytes of a text, a message or a number of fixed width."""
    offset = 0
    while offset < len(data):
        key, offset = _decode_varint(data, offset)
        number, kind = key >> 3, key & 7
        if number == 0:
            raise ValueError("field 0 does not exist")
        if kind == 0:
            value, offset = _decode_varint(data, offset)
            yield number, value
            continue
        if kind == 2:
            length, offset = _decode_varint(data, offset)
        elif kind in (1, 5):
            length = 8 if kind == 1 else 4
        else:
            raise ValueError(f"wire type {kind} is not in use")
        if offset + length > len(data):
            raise ValueError("it is cut short")
        yield number, data[offset : offset + length]
        offset += length


def _decode_varint(data: bytes, offset: int) -> tuple[int, int]:
    """Decode a number with 7 bits per byte, lowest first; return it and the offset after it."""
    value = data[offset]
    if value < 128:  # the fast path: a large vocabulary has a million numbers of one byte
        return value, offset + 1
    value = 0
    for shift in range(0, 70, 7):
        byte = data[offset]
        offset += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, offset
    raise ValueError("a number does not end")


def _encode_number(field: int, value: int) -> bytes:
    """Encode a field with an integer."""
    return _encode_varint(field << 3) + _encode_varint(int(value))


def _encode_bytes(field: int, value: bytes) -> bytes:
    """Encode a field with bytes, preceded by their count."""
    return _encode_varint(field << 3 | 2) + _encode_varint(len(value)) + value


def _encode_varint(value: int) -> bytes:
    """Encode a number with 7 bits per byte, lowest first."""
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)

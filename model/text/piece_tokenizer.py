"""SentencePiece vocabulary with custom ids: text ↔ ids, with the span and word of every token.

`subwords` splits a text into pieces. This module maps pieces to ids, and tokens to positions in the original text,
before normalisation.
"""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, get_args

from headlight.model.errors import TokenizerError
from headlight.model.records import Token
from headlight.model.text.base_vocabulary import JsonVocabulary
from headlight.model.text.offsets import OffsetId, tokens_from_offsets
from headlight.model.text.sentencepiece import Normalisation, Piece, PieceKind, SentencePieceModel
from headlight.model.text.subwords import SPACE, SentencePieceSegmenter
from headlight.model.text.vocabulary import reading_vocabulary, require_id

FORMAT = "headlight-pieces"
Kind = Literal["text", "byte", "silent", "special"]
# Replacements with `cleans`, in this order. For "' ", the space after the mark is removed, too.
CLEAN_UP_RULES = tuple((f" {mark}", mark) for mark in (".", "?", "!", ",", "' ", "n't", "'m", "'s", "'ve", "'re"))


class Entry(NamedTuple):
    """A vocabulary entry. `silent` entries are ordinary tokens that decode to an empty text."""

    text: str
    kind: Kind


class PieceTokenizer(JsonVocabulary):
    """Text ↔ ids by SentencePiece pieces. Safe to share between threads."""

    def __init__(
        self,
        model: SentencePieceModel,
        entries: Sequence[Entry],
        *,
        pad_id: int,
        start_id: int,
        end_id: int,
        unknown_id: int,
        trims: Literal["ends", "first"] = "ends",
        cleans: bool = False,
        codes: bool = False,
    ) -> None:
        """Create the tokenizer from vocabulary entries by id.

        `trims`: decoding removes the spaces at both ends, or only the space of the first token. `cleans`: decoding
        removes spaces before punctuation. `codes`: a text may begin with ">>code<<", which is one token.
        """
        self.model = model
        self.entries = tuple(entries)
        self.vocabulary_size = len(self.entries)
        self.pad_id, self.start_id, self.end_id, self.unknown_id = pad_id, start_id, end_id, unknown_id
        self.trims, self.cleans, self.codes = trims, cleans, codes
        for name in ("pad_id", "start_id", "end_id", "unknown_id"):
            self.entry(getattr(self, name))
        self._ids = {entry.text: token_id for token_id, entry in enumerate(self.entries) if entry.kind != "special"}
        self._subwords = SentencePieceSegmenter(model)

    # ------------------------------------------------------------ text to ids

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text without special tokens. Unknown pieces become `unknown_id`."""
        code, remaining_text = self._split_code(text)
        pieces = self._subwords.pieces(remaining_text)
        return [self._get_id(piece) for piece in ([code, *pieces] if code else pieces)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of several texts."""
        return [self.encode(text) for text in texts]

    def source_tokens(self, text: str) -> tuple[Token, ...]:
        """Return the tokens of a sentence and the end token, each with its position in the sentence and its word.

        `text[start:end]` is the source of a token. Several tokens of one character ("½" has three) share its span. An
        unknown character is one token with the character as its text.
        """
        end = OffsetId(self.end_id, len(text), len(text), special=True)
        return tokens_from_offsets(text, [*self._encode_with_offsets(text), end], self._get_name)

    def _encode_with_offsets(self, text: str) -> list[OffsetId]:
        code, remaining_text = self._split_code(text)
        code_length = len(code)
        code_tokens = [OffsetId(self._get_id(code), 0, code_length, special=True)] if code else []
        return code_tokens + [
            OffsetId(self._get_id(piece), code_length + start, code_length + end)
            for piece, start, end in self._subwords.segment(remaining_text)
        ]

    def _split_code(self, text: str) -> tuple[str, str]:
        """Split a text into its leading language code, which may be empty, and the text after it."""
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise TokenizerError(
                f"The text has half a character (U+{ord(text[error.start]):04X}) at position {error.start + 1}. "
                "Remove it, or paste the text again."
            ) from error
        code_length = text.find("<<") + 2 if self.codes and text.startswith(">>") and "<<" in text else 0
        return text[:code_length], text[code_length:]

    def _get_id(self, piece: str) -> int:
        return self._ids.get(piece, self.unknown_id)

    # ------------------------------------------------------------ ids to text

    def decode(self, ids: Iterable[int]) -> str:
        """Decode ids. Special tokens are skipped; invalid bytes become U+FFFD."""
        return self._decode_with_spans(list(ids))[0]

    def written_tokens(self, ids: Sequence[int]) -> tuple[Token, ...]:
        """Return the tokens of ids with their words and spans in `decode(ids)`, without the space before a word."""
        text, spans = self._decode_with_spans(ids)
        offset_ids = []
        for index, (token_id, (start, end)) in enumerate(zip(ids, spans, strict=True)):
            special = self.entries[token_id].kind == "special"
            if special:  # a special token has the position of the next token
                start = end = next((begin for begin, stop in spans[index:] if stop > begin), len(text))
            offset_ids.append(OffsetId(token_id, start, end, special))
        return tokens_from_offsets(text, offset_ids, self._get_name)

    def _decode_with_spans(self, ids: Sequence[int]) -> tuple[str, list[tuple[int, int]]]:
        """Return the text, and the span of each id in it without the space before a word."""
        characters: list[str] = []
        id_indices: list[list[int]] = []  # per character: indices of the ids that produce it
        for text, indices in self._iterate_units(ids):
            characters += text
            id_indices += [indices] * len(text)
        if self.trims == "ends":
            full_text = "".join(characters)
            begin, end = len(full_text) - len(full_text.lstrip()), len(full_text.rstrip())
            characters, id_indices = characters[begin:end], id_indices[begin:end]
        if self.cleans:
            _clean_up(characters, id_indices)
        text = "".join(characters)
        spans: list[tuple[int, int]] = [(0, 0)] * len(ids)
        for position, indices in enumerate(id_indices):
            for id_index in indices:
                start, end = spans[id_index]
                spans[id_index] = (start if end > start else position), position + 1
        for id_index, (start, end) in enumerate(spans):
            if text[start:end].strip(" "):
                start += len(text[start:end]) - len(text[start:end].lstrip(" "))
            spans[id_index] = start, end
        return text, spans

    def _iterate_units(self, ids: Sequence[int]) -> Iterator[tuple[str, list[int]]]:
        """Yield text with the indices of the ids that produce it: one id, or all bytes of a character."""
        byte_run: list[tuple[int, int]] = []  # byte, index
        first = True
        for index, token_id in enumerate(ids):
            text, kind = self.entry(token_id)
            if kind == "byte":
                byte_run.append((int(text[3:5], 16), index))
                continue
            if kind == "special":
                continue
            yield from _decode_bytes(byte_run)
            byte_run = []
            if kind == "text":
                yield text.replace(SPACE, "" if first and self.trims == "first" else " "), [index]
            first = False
        yield from _decode_bytes(byte_run)

    def label(self, token_id: int) -> str:
        """Return the text of a vocabulary entry with its leading space, or a byte as "⟨E4⟩"."""
        text, kind = self.entry(token_id)
        return f"⟨{text[3:5]}⟩" if kind == "byte" else text.replace(SPACE, " ")

    def _get_name(self, token_id: int) -> str:
        return self.entries[token_id].text

    def entry(self, token_id: int) -> Entry:
        """Return the vocabulary entry of an id."""
        require_id(token_id, self.vocabulary_size)
        return self.entries[token_id]

    # ------------------------------------------------------------ serialisation

    def to_json(self) -> str:
        """Return the vocabulary as JSON, which `save` writes."""
        rules = dataclasses.asdict(self.model.normalisation)
        content = {
            "format": FORMAT,
            "version": 1,
            "algorithm": self.model.algorithm,
            "byte_fallback": self.model.byte_fallback,
            "normalisation": rules | {"charsmap": base64.b64encode(self.model.normalisation.charsmap).decode("ascii")},
            **{name: getattr(self, name) for name in SETTINGS},
            "pieces": [[piece.text, piece.score, piece.kind.name.lower()] for piece in self.model.pieces],
            "entries": [list(entry) for entry in self.entries],
        }
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"

    @classmethod
    def from_json(cls, text: str, *, name: str = "tokenizer.json") -> PieceTokenizer:
        """Parse the output of `to_json`. `name` is the name of the file in error messages."""
        with reading_vocabulary(name, "pieces"):
            content = json.loads(text)
            return cls(
                _parse_model(content), _parse_entries(content), **{setting: content[setting] for setting in SETTINGS}
            )


SETTINGS = ("pad_id", "start_id", "end_id", "unknown_id", "trims", "cleans", "codes")
NORMALISATION_KEYS = (
    "charsmap", "add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces", "whitespace_as_suffix",
)  # fmt: skip


def _parse_model(content: dict[str, Any]) -> SentencePieceModel:
    rules = content["normalisation"]
    return SentencePieceModel(
        algorithm=_check_choice(content["algorithm"], ("unigram", "bpe")),
        pieces=tuple(Piece(text, float(score), PieceKind[kind.upper()]) for text, score, kind in content["pieces"]),
        normalisation=Normalisation(
            **{name: rules[name] for name in NORMALISATION_KEYS}
            | {"charsmap": base64.b64decode(rules["charsmap"], validate=True)}
        ),
        byte_fallback=content["byte_fallback"],
    )


def _parse_entries(content: dict[str, Any]) -> list[Entry]:
    return [Entry(str(text), _check_choice(kind, get_args(Kind))) for text, kind in content["entries"]]


def _check_choice(value: Any, choices: Sequence[str]) -> Any:
    if value not in choices:
        raise ValueError(f"{value!r} is not one of {', '.join(choices)}")
    return value


def _decode_bytes(byte_run: Sequence[tuple[int, int]]) -> Iterator[tuple[str, list[int]]]:
    """Decode bytes to characters, each with the indices of its bytes. An invalid byte becomes U+FFFD."""
    data, indices = bytes(byte for byte, _ in byte_run), [index for _, index in byte_run]
    begin = 0
    while begin < len(data):
        for length in (1, 2, 3, 4):
            try:
                yield data[begin : begin + length].decode("utf-8"), indices[begin : begin + length]
                break
            except UnicodeDecodeError:
                continue
        else:
            length = 1
            yield "\ufffd", indices[begin : begin + 1]
        begin += length


def _clean_up(characters: list[str], id_indices: list[list[int]]) -> None:
    """Remove the spaces before punctuation, in place."""
    for pattern, replacement in CLEAN_UP_RULES:
        text, position = "".join(characters), 0
        removed_positions: list[int] = []
        while (position := text.find(pattern, position)) >= 0:
            removed_positions += [position] if replacement != "' " else [position, position + 2]
            position += len(pattern)
        for position in reversed(removed_positions):
            del characters[position], id_indices[position]

"""SentencePiece vocabulary with custom ids: text ↔ ids, with the span and word of every token.

`subwords` cuts a text into pieces; here pieces get ids, and tokens their places in the text as it was typed, however
much of it was replaced on the way.
"""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, get_args

from headlight.model.errors import TokenizerError
from headlight.model.records import Token
from headlight.model.text.library import JsonVocabulary
from headlight.model.text.offsets import OffsetId, tokens_from_offsets
from headlight.model.text.sentencepiece import Normalisation, Piece, PieceKind, SentencePieceModel
from headlight.model.text.subwords import SPACE, SentencePieceSegmenter
from headlight.model.text.vocabulary import reading_vocabulary, require_id

FORMAT = "headlight-pieces"
Kind = Literal["text", "byte", "silent", "special"]
# Spaces removed by "clean up" folders, in this order.
CLEAN_UP_RULES = tuple(
    (f" {kept}", kept) for kept in (".", "?", "!", ",", "' ", "n't", "'m", "'s", "'ve", "'re")
)  # of "' ", the space after it goes, too


class Entry(NamedTuple):
    """What one id stands for. `silent` ones are plain entries that write nothing."""

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
        """`entries` are the vocabulary entries by id.

        `trims`: a written text loses the spaces at its ends, or the mark of a space of its first token alone.
        `cleans`: spaces before punctuation go. `codes`: a text may begin with ">>code<<", which is one token.
        """
        self.model = model
        self.entries = tuple(entries)
        self.vocabulary_size = len(self.entries)
        self.pad_id, self.start_id, self.end_id, self.unknown_id = pad_id, start_id, end_id, unknown_id
        self.trims, self.cleans, self.codes = trims, cleans, codes
        for name in ("pad_id", "start_id", "end_id", "unknown_id"):
            self.entry(getattr(self, name))
        self._ids = {entry.text: place for place, entry in enumerate(self.entries) if entry.kind != "special"}
        self._subwords = SentencePieceSegmenter(model)

    # ------------------------------------------------------------ text to ids

    def encode(self, text: str) -> list[int]:
        """The ids of a text without special tokens. Unknown pieces become `unknown_id`."""
        code, rest = self._split_code(text)
        pieces = self._subwords.pieces(rest)
        return [self._id(piece) for piece in ([code, *pieces] if code else pieces)]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts."""
        return [self.encode(text) for text in texts]

    def source_tokens(self, text: str) -> tuple[Token, ...]:
        """The tokens of a sentence and the end token, each with its place in the sentence and its word.

        `text[start:end]` is the source of a token. Tokens made of one character ("½" is three) share its span, and
        an unknown character is one token with the text of the character.
        """
        end = OffsetId(self.end_id, len(text), len(text), special=True)
        return tokens_from_offsets(text, [*self._encode_with_offsets(text), end], self._name)

    def _encode_with_offsets(self, text: str) -> list[OffsetId]:
        code, rest = self._split_code(text)
        begin = len(code)
        marks = [OffsetId(self._id(code), 0, begin, special=True)] if code else []
        return marks + [
            OffsetId(self._id(piece), begin + start, begin + end) for piece, start, end in self._subwords.segment(rest)
        ]

    def _split_code(self, text: str) -> tuple[str, str]:
        """The language code at the beginning of a text, or empty, and the rest."""
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise TokenizerError(
                f"The text has half a character (U+{ord(text[error.start]):04X}) at place {error.start + 1}. "
                "Remove it, or paste the text again."
            ) from error
        begin = text.find("<<") + 2 if self.codes and text.startswith(">>") and "<<" in text else 0
        return text[:begin], text[begin:]

    def _id(self, piece: str) -> int:
        return self._ids.get(piece, self.unknown_id)

    # ------------------------------------------------------------ ids to text

    def decode(self, ids: Iterable[int]) -> str:
        """Decode ids. Special tokens are skipped; invalid bytes become U+FFFD."""
        return self._decode_with_spans(list(ids))[0]

    def written_tokens(self, ids: Sequence[int]) -> tuple[Token, ...]:
        """The tokens of ids, each with its place in `decode(ids)`, without the space before a word, and its word."""
        text, spans = self._decode_with_spans(ids)
        placed = []
        for place, (token_id, (start, end)) in enumerate(zip(ids, spans, strict=True)):
            special = self.entries[token_id].kind == "special"
            if special:  # start of the next token
                start = end = next((begin for begin, stop in spans[place:] if stop > begin), len(text))
            placed.append(OffsetId(token_id, start, end, special))
        return tokens_from_offsets(text, placed, self._name)

    def _decode_with_spans(self, ids: Sequence[int]) -> tuple[str, list[tuple[int, int]]]:
        """The text, and the span of each id in it, without the space before a word."""
        characters: list[str] = []
        owners: list[list[int]] = []  # of each character: the places of the ids that write it
        for text, places in self._units(ids):
            characters += text
            owners += [places] * len(text)
        if self.trims == "ends":
            whole = "".join(characters)
            begin, end = len(whole) - len(whole.lstrip()), len(whole.rstrip())
            characters, owners = characters[begin:end], owners[begin:end]
        if self.cleans:
            _clean_up(characters, owners)
        text = "".join(characters)
        spans: list[tuple[int, int]] = [(0, 0)] * len(ids)
        for place, writers in enumerate(owners):
            for writer in writers:
                start, end = spans[writer]
                spans[writer] = (start if end > start else place), place + 1
        for writer, (start, end) in enumerate(spans):
            if text[start:end].strip(" "):
                start += len(text[start:end]) - len(text[start:end].lstrip(" "))
            spans[writer] = start, end
        return text, spans

    def _units(self, ids: Sequence[int]) -> Iterator[tuple[str, list[int]]]:
        """Text with the places of the ids that write it: one, or all bytes of a character."""
        run: list[tuple[int, int]] = []  # byte, place
        first = True
        for place, token_id in enumerate(ids):
            text, kind = self.entry(token_id)
            if kind == "byte":
                run.append((int(text[3:5], 16), place))
                continue
            if kind == "special":
                continue
            yield from _decode_bytes(run)
            run = []
            if kind == "text":
                yield text.replace(SPACE, "" if first and self.trims == "first" else " "), [place]
            first = False
        yield from _decode_bytes(run)

    def label(self, token_id: int) -> str:
        """What one entry of the vocabulary reads, with its leading space; a byte as such: "⟨E4⟩"."""
        text, kind = self.entry(token_id)
        return f"⟨{text[3:5]}⟩" if kind == "byte" else text.replace(SPACE, " ")

    def _name(self, token_id: int) -> str:
        return self.entries[token_id].text

    def entry(self, token_id: int) -> Entry:
        """What an id stands for."""
        require_id(token_id, self.vocabulary_size)
        return self.entries[token_id]

    # ------------------------------------------------------------ stored, loaded

    def to_json(self) -> str:
        """All of it as text: what `save` writes."""
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
        """From what `to_json` gave; `name` is what complaints call it."""
        with reading_vocabulary(name, "pieces"):
            content = json.loads(text)
            return cls(_model(content), _entries(content), **{setting: content[setting] for setting in SETTINGS})


SETTINGS = ("pad_id", "start_id", "end_id", "unknown_id", "trims", "cleans", "codes")
NORMALISATION_KEYS = (
    "charsmap", "add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces", "whitespace_as_suffix",
)  # fmt: skip


def _model(content: dict[str, Any]) -> SentencePieceModel:
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


def _entries(content: dict[str, Any]) -> list[Entry]:
    return [Entry(str(text), _check_choice(kind, get_args(Kind))) for text, kind in content["entries"]]


def _check_choice(value: Any, choices: Sequence[str]) -> Any:
    if value not in choices:
        raise ValueError(f"{value!r} is none of {', '.join(choices)}")
    return value


def _decode_bytes(run: Sequence[tuple[int, int]]) -> Iterator[tuple[str, list[int]]]:
    """Bytes as characters, each with the places of its bytes; a byte that belongs to none is U+FFFD."""
    data, places = bytes(byte for byte, _ in run), [place for _, place in run]
    begin = 0
    while begin < len(data):
        for length in (1, 2, 3, 4):
            try:
                yield data[begin : begin + length].decode("utf-8"), places[begin : begin + length]
                break
            except UnicodeDecodeError:
                continue
        else:
            length = 1
            yield "\ufffd", places[begin : begin + 1]
        begin += length


def _clean_up(characters: list[str], owners: list[list[int]]) -> None:
    """Remove the spaces before punctuation, in place."""
    for result, remaining in CLEAN_UP_RULES:
        text, place = "".join(characters), 0
        doomed: list[int] = []
        while (place := text.find(result, place)) >= 0:
            doomed += [place] if remaining != "' " else [place, place + 2]
            place += len(result)
        for place in reversed(doomed):
            del characters[place], owners[place]

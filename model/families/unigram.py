"""Unigram vocabularies of third-party folders: `tokenizer.json` of `transformers`, or SentencePiece files."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from headlight.model.checkpoints.reader import CONFIG
from headlight.model.checkpoints.storage import read_json
from headlight.model.errors import ConfigError, TokenizerError
from headlight.model.families.family_reader import ADVICE, AddedToken, added_tokens, special_token_name
from headlight.model.text.base_vocabulary import SPECIAL
from headlight.model.text.sentencepiece import Normalisation, Piece, PieceKind, SentencePieceModel, read_sentencepiece
from headlight.model.text.subwords import SPACE
from headlight.model.text.unigram import (
    ADDED,
    CHARSMAP,
    PIECE,
    UNKNOWN,
    UnigramEntry,
    UnigramTokenizer,
    UnigramVocabulary,
)

TOKENIZER_FILE = "tokenizer.json"
UNSUPPORTED = "splits text in another way than this family's models. Choose another model."
# Normalisers of `tokenizer.json` → our steps. The keys are a regular expression and its replacement, or a type.
REPLACEMENTS = {
    ("``", '"'): "opening quotes",
    ("''", '"'): "closing quotes",
    (" {2,}", " "): "join spaces",
    (" {2,}", SPACE): "join spaces",
    (r"\s{2,}|[\n\r\t]", " "): "join whitespace",
}
NORMALISERS = {"NFKD": "decompose", "NFC": "compose", "StripAccents": "strip accents", "Lowercase": "lowercase"}


@dataclass(frozen=True, kw_only=True)
class UnigramFile:
    """The content of a `tokenizer.json` with Unigram pieces."""

    pieces: tuple[tuple[str, float], ...]
    unknown: int
    steps: tuple[str, ...]
    charsmap: bytes
    splits_whitespace: bool
    splits_punctuation: bool


def read_unigram_file(folder: Path) -> UnigramFile:
    """Read `tokenizer.json`; raise a ConfigError unless it has Unigram pieces and known rules."""
    content = read_json(folder / TOKENIZER_FILE)
    model = content["model"]
    if model.get("type", "Unigram") != "Unigram" or "unk_id" not in model or model.get("byte_fallback") is True:
        raise ConfigError(f"{folder}: {TOKENIZER_FILE} {UNSUPPORTED}")
    steps, charsmap = _parse_normaliser(folder, content.get("normalizer"))
    parts = _flatten(content.get("pre_tokenizer"), "pretokenizers")
    *splits, last = [part.get("type") for part in parts] or [None]
    space = parts[-1] if parts else {}
    is_known = set(splits) <= {"WhitespaceSplit", "Punctuation"} and last == "Metaspace"
    prepends = space.get("prepend_scheme", "always") == "always" and space.get("add_prefix_space", True) is True
    if not is_known or not prepends or space.get("replacement", SPACE) != SPACE:
        raise ConfigError(f"{folder}: {TOKENIZER_FILE} {UNSUPPORTED}")
    return UnigramFile(
        pieces=tuple((str(text), float(score)) for text, score in model["vocab"]),
        unknown=int(model["unk_id"]),
        steps=steps,
        charsmap=charsmap,
        splits_whitespace="WhitespaceSplit" in splits,
        splits_punctuation="Punctuation" in splits,
    )


def _flatten(part: Any, name: str) -> list[Mapping[str, Any]]:
    """Return the parts of a sequence, which may be nested. `name`: key of the list of parts."""
    if part is None:
        return []
    if part.get("type") != "Sequence":
        return [part]
    return [leaf for child in part[name] for leaf in _flatten(child, name)]


def _parse_normaliser(folder: Path, normaliser: Any) -> tuple[tuple[str, ...], bytes]:
    """Return the steps of a normaliser, and the table of its "Precompiled" step."""
    steps: list[str] = []
    charsmap = b""
    for part in _flatten(normaliser, "normalizers"):
        kind = part.get("type")
        step = NORMALISERS.get(str(kind))
        if kind == "Replace":
            step = REPLACEMENTS.get((next(iter(part["pattern"].values())), part["content"]))
        elif kind == "Strip" and (part.get("strip_left"), part.get("strip_right")) == (False, True):
            step = "strip end"
        elif kind == "Precompiled" and not charsmap:
            step = CHARSMAP
            try:
                charsmap = base64.b64decode(part["precompiled_charsmap"], validate=True)
            except binascii.Error as error:
                raise TokenizerError(f"{folder}: {TOKENIZER_FILE} is damaged ({error}). {ADVICE}") from error
        if step is None:
            raise ConfigError(f"{folder}: {TOKENIZER_FILE} {UNSUPPORTED}")
        steps.append(step)
    return tuple(steps), charsmap


def read_pieces(folder: Path, file: str) -> SentencePieceModel:
    """Read the SentencePiece model of a folder, or convert its `tokenizer.json` to one."""
    if (folder / file).exists() or not (folder / TOKENIZER_FILE).exists():
        return read_sentencepiece(folder / file)
    model = read_json(folder / TOKENIZER_FILE)["model"]
    if model.get("type") == "BPE" or "merges" in model:
        return _read_byte_pairs(folder, model)
    content = read_unigram_file(folder)
    if set(content.steps) - {CHARSMAP, "join spaces"} or content.splits_punctuation:
        raise ConfigError(f"{folder}: {TOKENIZER_FILE} {UNSUPPORTED}")
    special = {text for text, token in added_tokens(folder).items() if token.special}

    def kind(token_id: int, text: str) -> PieceKind:
        if token_id == content.unknown:
            return PieceKind.UNKNOWN
        return PieceKind.CONTROL if text in special else PieceKind.NORMAL

    return SentencePieceModel(
        algorithm="unigram",
        pieces=tuple(Piece(text, score, kind(index, text)) for index, (text, score) in enumerate(content.pieces)),
        normalisation=Normalisation(charsmap=content.charsmap),
    )


def _read_byte_pairs(folder: Path, model: Mapping[str, Any]) -> SentencePieceModel:
    """Return a model with byte-pair pieces. Merges must have the order of their results' ids, as after a conversion."""
    content = read_json(folder / TOKENIZER_FILE)
    ids: dict[str, int] = model["vocab"]
    steps, charsmap = _parse_normaliser(folder, content.get("normalizer"))
    splits = [part.get("type") for part in _flatten(content.get("pre_tokenizer"), "pretokenizers")]
    merges = [pair.split(" ") if isinstance(pair, str) else pair for pair in model["merges"]]
    results = [ids["".join(pair)] for pair in merges]
    is_known = set(steps) <= {CHARSMAP, "join spaces"} and splits in (["Metaspace"], ["WhitespaceSplit", "Metaspace"])
    if not is_known or results != sorted(results) or model.get("unk_token") not in ids or model.get("byte_fallback"):
        raise ConfigError(f"{folder}: {TOKENIZER_FILE} {UNSUPPORTED}")
    special = {text for text, token in added_tokens(folder).items() if token.special}
    pieces = []
    for text, token_id in sorted(ids.items(), key=lambda item: item[1]):
        kind = PieceKind.CONTROL if text in special else PieceKind.NORMAL
        pieces.append(Piece(text, -float(token_id), PieceKind.UNKNOWN if text == model["unk_token"] else kind))
    return SentencePieceModel(algorithm="bpe", pieces=tuple(pieces), normalisation=Normalisation(charsmap=charsmap))


def read_unigram(
    folder: Path, size: int, *, pad_id: int, file: str, steps: Sequence[str], special_tokens: Mapping[str, str]
) -> UnigramTokenizer:
    """Read the vocabulary of an encoder with `size` rows.

    Args:
        folder: The model folder.
        size: Number of rows.
        pad_id: Id of the padding token.
        file: Name of the SentencePiece file, which is read if `tokenizer.json` is missing.
        steps: Normalisation of the family before that of the SentencePiece file.
        special_tokens: Name of a special token in the settings, such as "cls_token" → default text.
    """
    ids = unigram_end_ids(folder, file, special_tokens)
    if (folder / TOKENIZER_FILE).exists():
        content = read_unigram_file(folder)
    else:
        content = _convert_sentencepiece(read_sentencepiece(folder / file), steps)
    added = added_tokens(folder)
    special = {special_token_name(folder, name, default) for name, default in special_tokens.items()}
    entries = [UnigramEntry(f"⟨unused {token_id}⟩", 0.0, SPECIAL) for token_id in range(size)]
    texts = dict(enumerate(content.pieces)) | _new_tokens(folder, added, content)
    for token_id, (text, score) in texts.items():
        kind = PIECE
        if token_id == content.unknown:
            kind = UNKNOWN
        elif text in special or (text in added and added[text].special):
            kind = SPECIAL
        elif text in added:
            if added[text].strips or added[text].normalised:
                raise ConfigError(f"{folder}: matching {text} depends on the text next to it. Choose another model.")
            kind = ADDED
        if token_id < size:
            entries[token_id] = UnigramEntry(text, score, kind)
        elif kind != SPECIAL:
            raise ConfigError(f"{folder}: {text} has the id {token_id:,}, but {CONFIG} says {size:,} entries. {ADVICE}")
    return UnigramTokenizer(
        UnigramVocabulary(
            entries=tuple(entries),
            steps=content.steps,
            charsmap=content.charsmap,
            splits_whitespace=content.splits_whitespace,
            splits_punctuation=content.splits_punctuation,
            pad_id=pad_id,
            **ids,
        )
    )


def _new_tokens(folder: Path, added: Mapping[str, AddedToken], content: UnigramFile) -> dict[int, tuple[str, float]]:
    """Return the text and score of added tokens that are not pieces, by id."""
    results: dict[int, tuple[str, float]] = {}
    for text, token in added.items():
        index = token.token_id
        stored = content.pieces[index][0] if index < len(content.pieces) else results.get(index, (text, 0.0))[0]
        if stored != text:
            raise TokenizerError(f"{folder}: {text} and {stored} both have the id {index}. {ADVICE}")
        if index >= len(content.pieces):
            results[index] = (text, 0.0)
    return results


def _convert_sentencepiece(model: SentencePieceModel, steps: Sequence[str]) -> UnigramFile:
    charsmap = model.normalisation.charsmap
    return UnigramFile(
        pieces=tuple((piece.text, piece.score) for piece in model.pieces),
        unknown=next(index for index, piece in enumerate(model.pieces) if piece.kind is PieceKind.UNKNOWN),
        steps=(*steps, *([CHARSMAP] if charsmap else [])),
        charsmap=charsmap,
        splits_whitespace=True,
        splits_punctuation=False,
    )


class EndIds(TypedDict):
    """The ids of the special tokens that enclose a text."""

    start_id: int
    end_id: int


def unigram_end_ids(folder: Path, file: str, special_tokens: Mapping[str, str]) -> EndIds:
    """Return the ids of the special tokens that enclose a text."""
    if (folder / TOKENIZER_FILE).exists():
        texts = [text for text, _ in read_unigram_file(folder).pieces]
    else:
        texts = [piece.text for piece in read_sentencepiece(folder / file).pieces]
    ids = {text: index for index, text in enumerate(texts)}
    ids |= {text: token.token_id for text, token in added_tokens(folder).items()}

    def special_id(name: str) -> int:
        text = special_token_name(folder, name, special_tokens[name])
        if text not in ids:
            raise TokenizerError(f"{folder}: the vocabulary has no {text}. {ADVICE}")
        return ids[text]

    return {"start_id": special_id("cls_token"), "end_id": special_id("sep_token")}

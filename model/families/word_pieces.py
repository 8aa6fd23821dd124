"""WordPiece vocabularies of third-party folders: `tokenizer.json`, or `vocab.txt`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypedDict

from headlight.model.checkpoints.reader import CONFIG
from headlight.model.checkpoints.storage import read_json
from headlight.model.errors import ConfigError, TokenizerError
from headlight.model.families.family_reader import (
    ADVICE,
    GENERIC_TOKENIZERS,
    TOKENIZER_CONFIG,
    added_tokens,
    read_optional_json,
    special_token_name,
    tokenizer_class,
)
from headlight.model.text.base_vocabulary import SPECIAL
from headlight.model.text.word_pieces import (
    CONTINUATION_PREFIX,
    MAX_WORD_LETTERS,
    PIECE,
    TYPED,
    UNKNOWN,
    WHOLE,
    WordEntry,
    WordPieceTokenizer,
    WordPieceVocabulary,
)

VOCABULARY, TOKENIZER_FILE = "vocab.txt", "tokenizer.json"
START, END, PAD, MASK, UNKNOWN_WORD = "cls_token", "sep_token", "pad_token", "mask_token", "unk_token"
DEFAULT_SPECIAL_TOKENS = {START: "[CLS]", END: "[SEP]", PAD: "[PAD]", MASK: "[MASK]", UNKNOWN_WORD: "[UNK]"}
NOT_WORDPIECE = "does not tokenise text as BERT does (WordPiece). Choose another model."


class _EndIds(TypedDict):
    start_id: int
    end_id: int


class _Cleaning(TypedDict):
    lowercase: bool
    strip_accents: bool
    splits_han: bool


def end_ids(folder: Path) -> _EndIds:
    """Return the ids of the special tokens that enclose a text."""
    ids, names = _read_ids(folder), _special_token_texts(folder)
    return {"start_id": _require_id(folder, ids, names[START]), "end_id": _require_id(folder, ids, names[END])}


def read_word_pieces(folder: Path, size: int, *, pad_id: int) -> WordPieceTokenizer:
    """Read the folder's vocabulary for a model with `size` rows."""
    ids, names = _read_ids(folder), _special_token_texts(folder)
    added = added_tokens(folder)
    special = {names[name] for name in (START, END, PAD, MASK)}
    entries = [WordEntry(f"⟨unused {token_id}⟩", SPECIAL) for token_id in range(size)]
    text_by_id: dict[int, str] = {}
    for text, token_id in (ids | {text: token.token_id for text, token in added.items()}).items():
        if type(token_id) is not int or token_id < 0:
            raise TokenizerError(f"{folder}: the piece {text!r} does not have a whole number as its id. {ADVICE}")
        if text_by_id.setdefault(token_id, text) != text:
            raise TokenizerError(f"{folder}: {text} and {text_by_id[token_id]} both have the id {token_id}. {ADVICE}")
        kind = PIECE
        if text == names[UNKNOWN_WORD]:
            kind = UNKNOWN
        elif text in special or (text in added and added[text].special):
            kind = SPECIAL
        elif text in added:
            if added[text].strips:
                raise ConfigError(f"{folder}: matching {text} depends on the text next to it. Choose another model.")
            kind = WHOLE if added[text].normalised else TYPED
        if token_id < size:
            entries[token_id] = WordEntry(text, kind)
        elif kind != SPECIAL:
            raise ConfigError(f"{folder}: {text} has the id {token_id:,}, but {CONFIG} says {size:,} entries. {ADVICE}")
    ends, cleaning = end_ids(folder), _read_cleaning(folder)
    return WordPieceTokenizer(WordPieceVocabulary(entries=tuple(entries), pad_id=pad_id, **ends, **cleaning))


def _special_token_texts(folder: Path) -> dict[str, str]:
    return {name: special_token_name(folder, name, default) for name, default in DEFAULT_SPECIAL_TOKENS.items()}


def _require_id(folder: Path, ids: dict[str, int], text: str) -> int:
    if text not in ids:
        raise TokenizerError(f"{folder}: the vocabulary has no {text}. {ADVICE}")
    return ids[text]


def _read_ids(folder: Path) -> dict[str, int]:
    """Read the id of each piece."""
    if (folder / TOKENIZER_FILE).exists():
        return dict(_read_tokenizer_json(folder)["model"]["vocab"])
    if not (folder / VOCABULARY).exists():
        raise TokenizerError(f"{folder}: {VOCABULARY} is missing, as is {TOKENIZER_FILE}. {ADVICE}")
    try:
        lines = (folder / VOCABULARY).read_text(encoding="utf-8").rstrip("\n").split("\n")
    except UnicodeDecodeError as error:
        raise TokenizerError(f"{folder}: {VOCABULARY} is not UTF-8 text. {ADVICE}") from error
    return {line.rstrip("\r"): token_id for token_id, line in enumerate(lines)}


def _read_tokenizer_json(folder: Path) -> dict[str, Any]:
    """Read `tokenizer.json`; raise a ConfigError unless its model is WordPiece."""
    content = read_json(folder / TOKENIZER_FILE)
    model = content["model"]
    neutral_values = {"continuing_subword_prefix": CONTINUATION_PREFIX, "max_input_chars_per_word": MAX_WORD_LETTERS}
    parts = {"normalizer": "BertNormalizer", "pre_tokenizer": "BertPreTokenizer"}
    if (
        model.get("type", "WordPiece") != "WordPiece"
        or "merges" in model
        or any(model.get(name, value) != value for name, value in neutral_values.items())
        or any(
            not isinstance(content.get(part), dict) or content[part].get("type") != expected_type
            for part, expected_type in parts.items()
        )
        or content["normalizer"].get("clean_text", True) is not True
    ):
        raise ConfigError(f"{folder}: {TOKENIZER_FILE} {NOT_WORDPIECE}")
    return content


def _read_cleaning(folder: Path) -> _Cleaning:
    """Read the settings for case, accents and Chinese characters.

    `tokenizer_config.json` has the settings of a BERT tokenizer, `tokenizer.json` those of a generic tokenizer class.
    """
    config = read_optional_json(folder, TOKENIZER_CONFIG)
    name, accents, han = "do_lower_case", "strip_accents", "tokenize_chinese_chars"
    if tokenizer_class(folder) in GENERIC_TOKENIZERS and (folder / TOKENIZER_FILE).exists():
        config = _read_tokenizer_json(folder)["normalizer"]
        name, han = "lowercase", "handle_chinese_chars"
    if config.get("do_basic_tokenize", True) is not True:
        raise ConfigError(f"{folder}: {TOKENIZER_CONFIG} {NOT_WORDPIECE}")
    results = {key: config.get(key) for key in (name, accents, han)}
    for key, value in results.items():
        if not (value is None or isinstance(value, bool)):
            raise ConfigError(f"{folder}: {key} is {value!r}, but must be true or false. Choose another model.")
    lowercase = results[name] is not False
    # By default accents are stripped when text is lower-cased.
    return {
        "lowercase": lowercase,
        "strip_accents": lowercase if results[accents] is None else bool(results[accents]),
        "splits_han": results[han] is not False,
    }

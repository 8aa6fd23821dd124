"""Byte-level BPE vocabularies of third-party folders: `tokenizer.json`, or `vocab.json` with `merges.txt`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from headlight.model.checkpoints.reader import CONFIG
from headlight.model.checkpoints.storage import read_json
from headlight.model.errors import ConfigError, TokenizerError
from headlight.model.families.family_reader import (
    ADVICE,
    TOKENIZER_CONFIG,
    added_tokens,
    read_optional_json,
    special_token_name,
)
from headlight.model.text.byte_pairs import LETTERS, SPECIAL, WHOLE, ByteEntry, BytePairTokenizer, BytePairVocabulary

VOCABULARY, MERGES, TOKENIZER_FILE = "vocab.json", "merges.txt", "tokenizer.json"
SPECIAL_TOKENS = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"}


class _BytePairFile(NamedTuple):
    pieces: dict[str, int]  # text → id
    merges: list[tuple[str, str]]
    adds_prefix_space: bool


def read_byte_pairs(folder: Path, size: int, *, pad_id: int, start_id: int, end_id: int) -> BytePairTokenizer:
    """Read the folder's vocabulary for a model with `size` rows.

    Special tokens beyond the last row, such as the mask of bart-large-cnn, are omitted: encoding never produces them.
    """
    content = _read_tokenizer_json(folder) if (folder / TOKENIZER_FILE).exists() else _read_vocab_and_merges(folder)
    entries = [ByteEntry(f"⟨unused {token_id}⟩", SPECIAL) for token_id in range(size)]
    text_by_id: dict[int, str] = {}
    added = added_tokens(folder)
    ids = content.pieces | {text: token.token_id for text, token in added.items()}
    for text, token_id in ids.items():
        if type(token_id) is not int or token_id < 0:
            raise TokenizerError(f"{folder}: the piece {text!r} does not have a whole number as its id. {ADVICE}")
        if text_by_id.setdefault(token_id, text) != text:
            raise TokenizerError(f"{folder}: {text} and {text_by_id[token_id]} both have the id {token_id}. {ADVICE}")
        special = added[text].special if text in added else text in SPECIAL_TOKENS
        if token_id < size:
            entries[token_id] = ByteEntry(text, SPECIAL if special else WHOLE if text in added else LETTERS)
        elif not special:
            raise ConfigError(f"{folder}: {text} has the id {token_id:,}, but {CONFIG} says {size:,} entries. {ADVICE}")
    return BytePairTokenizer(
        BytePairVocabulary(
            entries=tuple(entries),
            merges=tuple(content.merges),
            spaced=content.adds_prefix_space,
            pad_id=pad_id,
            start_id=start_id,
            end_id=end_id,
        )
    )


def special_token_id(folder: Path, tokenizer: BytePairTokenizer, name: str, default: str) -> int:
    """Return the id of a special token such as "cls_token", whose text the folder's settings may define."""
    text = special_token_name(folder, name, default)
    for token_id, entry in enumerate(tokenizer.rules.entries):
        if entry.text == text and entry.kind == SPECIAL:
            return token_id
    raise TokenizerError(f"{folder}: the vocabulary has no {text} ({name}). {ADVICE}")


def read_special_token_id(folder: Path, name: str, default: str) -> int:
    """Read the id of a special token such as "cls_token" from the folder's files, without a tokenizer."""
    text = special_token_name(folder, name, default)
    pieces = (
        _read_tokenizer_json(folder) if (folder / TOKENIZER_FILE).exists() else _read_vocab_and_merges(folder)
    ).pieces
    ids = pieces | {text: token.token_id for text, token in added_tokens(folder).items()}
    if type(ids.get(text)) is not int:
        raise TokenizerError(f"{folder}: the vocabulary has no {text} ({name}). {ADVICE}")
    return ids[text]


def _read_tokenizer_json(folder: Path) -> _BytePairFile:
    values = read_json(folder / TOKENIZER_FILE)
    model, pre_tokenizer = values["model"], values.get("pre_tokenizer")
    neutral_values = {
        "continuing_subword_prefix": ("", None),
        "end_of_word_suffix": ("", None),
        "byte_fallback": (False, None),
    }
    if (
        model.get("type", "BPE") != "BPE"
        or not isinstance(pre_tokenizer, dict)
        or pre_tokenizer.get("type") != "ByteLevel"
        or pre_tokenizer.get("use_regex", True) is not True
        or values.get("normalizer") is not None
        or any(model.get(name) not in neutral for name, neutral in neutral_values.items())
    ):
        raise ConfigError(
            f"{folder}: {TOKENIZER_FILE} does not tokenise text as BART and RoBERTa do (byte-level BPE). "
            "Choose another model."
        )
    merges = [_parse_merge(folder, TOKENIZER_FILE, merge) for merge in model["merges"]]
    return _BytePairFile(dict(model["vocab"]), merges, pre_tokenizer.get("add_prefix_space") is True)


def _read_vocab_and_merges(folder: Path) -> _BytePairFile:
    if missing := [name for name in (VOCABULARY, MERGES) if not (folder / name).exists()]:
        verb = "is" if len(missing) == 1 else "are"
        raise TokenizerError(f"{folder}: {' and '.join(missing)} {verb} missing, as is {TOKENIZER_FILE}. {ADVICE}")
    try:
        lines = (folder / MERGES).read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise TokenizerError(f"{folder}: {MERGES} is not UTF-8 text. {ADVICE}") from error
    merges = [_parse_merge(folder, MERGES, line) for line in lines if line.strip() and not line.startswith("#version")]
    adds_prefix_space = read_optional_json(folder, TOKENIZER_CONFIG).get("add_prefix_space") is True
    return _BytePairFile(read_json(folder / VOCABULARY), merges, adds_prefix_space)


def _parse_merge(folder: Path, name: str, merge: Any) -> tuple[str, str]:
    parts = merge.split(" ") if isinstance(merge, str) else merge
    if not isinstance(parts, list) or len(parts) != 2 or not all(isinstance(part, str) and part for part in parts):
        raise TokenizerError(
            f"{folder}: {name} has a merge that does not join two pieces: {str(merge)[:40]!r}. {ADVICE}"
        )
    return parts[0], parts[1]

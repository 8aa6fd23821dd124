"""Byte-level byte-pair encoding as in GPT-2, BART and RoBERTa, and plain bytes as in ByT5: text ↔ ids.

Unlike Headlight's `tokenizer.py`, a third-party vocabulary has its own ids, added tokens, and GPT-2's rules for word
boundaries. Special tokens are not recognised in input: a typed "</s>" is text.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

import tokenizers
from tokenizers import AddedToken, models, pre_tokenizers

from headlight.model.errors import TokenizerError
from headlight.model.records import Token
from headlight.model.text.base_vocabulary import TokenizersVocabulary
from headlight.model.text.byte_tokens import BYTE_BY_CHARACTER, BYTE_CHARACTERS, ByteTokens
from headlight.model.text.vocabulary import reading_vocabulary

FORMAT_NAME = "headlight-byte-pairs"
WHOLE, SPECIAL, LETTERS = "whole", "special", "letters"
KINDS = (LETTERS, WHOLE, SPECIAL)


class ByteEntry(NamedTuple):
    """A vocabulary entry: bytes, each written as a letter; a text that is never split; or a special token."""

    text: str
    kind: str = LETTERS


@dataclass(frozen=True, kw_only=True)
class BytePairVocabulary:
    """The entries, merges and rules of a byte-level vocabulary."""

    entries: tuple[ByteEntry, ...]
    merges: tuple[tuple[str, str], ...]
    splits: bool = True  # True: GPT-2's rules first split text into words; False: merges may join any bytes
    spaced: bool = False  # True: a space is inserted before a text that begins with a word
    pad_id: int
    start_id: int
    end_id: int


class BytePairTokenizer(TokenizersVocabulary, ByteTokens):
    """Text ↔ ids by merges of bytes. Safe to share between threads."""

    def __init__(self, rules: BytePairVocabulary) -> None:
        _validate(rules)
        super().__init__(
            [_entry_bytes(entry) for entry in rules.entries],
            {token_id: entry.text for token_id, entry in enumerate(rules.entries) if entry.kind == SPECIAL},
        )
        self.rules = rules
        self.spaced = rules.spaced
        self.pad_id, self.start_id, self.end_id = rules.pad_id, rules.start_id, rules.end_id
        self._tokenizer = _build_tokenizer(rules)

    def source_tokens(self, text: str) -> tuple[Token, ...]:
        """Return the tokens of a sentence and the end token, each with its position in the sentence and its word."""
        return self.written_tokens([*self.encode(text), self.end_id])

    # ------------------------------------------------------------ serialisation

    def to_json(self) -> str:
        """Return the vocabulary as JSON, which `save` writes."""
        rules = self.rules
        content = {
            "format": FORMAT_NAME,
            "version": 1,
            **{name: getattr(rules, name) for name in SETTINGS},
            "merges": [" ".join(pair) for pair in rules.merges],
            "entries": [list(entry) for entry in rules.entries],
        }
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"

    @classmethod
    def from_json(cls, text: str, *, name: str = "tokenizer.json") -> BytePairTokenizer:
        """Parse the output of `to_json`. `name` is the name of the file in error messages."""
        with reading_vocabulary(name, "bytes"):
            content = json.loads(text)
            rules = BytePairVocabulary(
                entries=tuple(_parse_entry(*item) for item in content["entries"]),
                merges=tuple(_split_merge(item) for item in content["merges"]),
                **{setting: content[setting] for setting in SETTINGS},
            )
            return cls(rules)


SETTINGS = ("pad_id", "start_id", "end_id", "splits", "spaced")


def _validate(rules: BytePairVocabulary) -> None:
    """Validate a vocabulary before the library reads it, because a damaged one can crash the library."""
    letters = {entry.text for entry in rules.entries if entry.kind == LETTERS}
    if not letters.issuperset(BYTE_CHARACTERS) or not all(BYTE_BY_CHARACTER.keys() >= set(text) for text in letters):
        raise TokenizerError("The vocabulary is not byte-level. Download it again.")
    texts = [entry.text for entry in rules.entries if entry.kind != SPECIAL]
    if len(set(texts)) != len(texts) or not all(texts):
        raise TokenizerError("The vocabulary has an empty or duplicate entry. Download it again.")
    if not all({left, right, left + right} <= letters for left, right in rules.merges):
        raise TokenizerError("The vocabulary merges pieces that it does not have. Download it again.")
    for name in ("pad_id", "start_id", "end_id"):
        if not 0 <= getattr(rules, name) < len(rules.entries):
            raise TokenizerError(f"The vocabulary has no entry {getattr(rules, name)} for {name}. Download it again.")


def _build_tokenizer(rules: BytePairVocabulary) -> tokenizers.Tokenizer:
    vocabulary = {entry.text: token_id for token_id, entry in enumerate(rules.entries) if entry.kind != SPECIAL}
    backend = tokenizers.Tokenizer(models.BPE(vocabulary, list(rules.merges)))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=rules.spaced, use_regex=rules.splits)
    backend.add_tokens([AddedToken(text, normalized=False) for text, kind in rules.entries if kind == WHOLE])
    return backend


def _entry_bytes(entry: ByteEntry) -> bytes:
    if entry.kind == SPECIAL:
        return b""
    return (
        entry.text.encode("utf-8") if entry.kind == WHOLE else bytes(BYTE_BY_CHARACTER[letter] for letter in entry.text)
    )


def _parse_entry(text: Any, kind: Any) -> ByteEntry:
    if not isinstance(text, str) or kind not in KINDS:
        raise ValueError(f"{text!r}, {kind!r} is not an entry")
    return ByteEntry(text, kind)


def _split_merge(merge: str) -> tuple[str, str]:
    left, right = merge.split(" ")
    return left, right

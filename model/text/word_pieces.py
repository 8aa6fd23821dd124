"""WordPiece as in BERT (https://arxiv.org/abs/1609.08144, section 4.1): text ↔ ids.

A text is cleaned and split at spaces and punctuation. Each word is split from the left into the longest pieces in the
vocabulary; "##" marks a piece that continues a word. A word that cannot be split into pieces is one unknown token.
Special tokens are not recognised in input: a typed "[SEP]" is text.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

import tokenizers
from tokenizers import AddedToken, models, normalizers, pre_tokenizers

from headlight.model.errors import TokenizerError
from headlight.model.records import Token
from headlight.model.text.base_vocabulary import SPECIAL, EntryVocabulary
from headlight.model.text.offsets import OffsetId, tokens_from_offsets
from headlight.model.text.vocabulary import reading_vocabulary, require_valid_unicode

FORMAT = "headlight-word-pieces"
CONTINUATION_PREFIX = "##"
MAX_WORD_LETTERS = 100  # longer words are unknown
PIECE, UNKNOWN, WHOLE, TYPED = "piece", "unknown", "whole", "typed"
KINDS = (PIECE, UNKNOWN, SPECIAL, WHOLE, TYPED)


class WordEntry(NamedTuple):
    """A vocabulary entry: a piece, the unknown word, a special token, or an added text that is never split.

    An added text is matched in the cleaned text (`WHOLE`) or in the original text (`TYPED`).
    """

    text: str
    kind: str = PIECE


@dataclass(frozen=True, kw_only=True)
class WordPieceVocabulary:
    """The entries and rules of a WordPiece vocabulary."""

    entries: tuple[WordEntry, ...]
    lowercase: bool = True
    strip_accents: bool = True
    splits_han: bool = True  # each Chinese character is a word
    pad_id: int
    start_id: int
    end_id: int


class WordPieceTokenizer(EntryVocabulary):
    """Text ↔ ids by WordPiece. Safe to share between threads."""

    def __init__(self, rules: WordPieceVocabulary) -> None:
        _validate(rules)
        self.rules = rules
        self.vocabulary_size = len(rules.entries)
        self.pad_id, self.start_id, self.end_id = rules.pad_id, rules.start_id, rules.end_id
        self.unknown_id = next(token_id for token_id, entry in enumerate(rules.entries) if entry.kind == UNKNOWN)
        self._tokenizer = _build_tokenizer(rules)

    # ------------------------------------------------------------ text to ids

    def source_tokens(self, text: str) -> tuple[Token, ...]:
        """Return the tokens of a sentence and the end token, each with its position in the sentence and its word.

        `text[start:end]` is the source of a token, before lower-casing and accent stripping. Several tokens of one
        character share its span; an unknown word is one token with the word as its text.
        """
        encoding = self._tokenizer.encode(require_valid_unicode(text), add_special_tokens=False)
        offset_ids = [OffsetId(token_id, *span) for token_id, span in zip(encoding.ids, encoding.offsets, strict=True)]
        return tokens_from_offsets(
            text, [*offset_ids, OffsetId(self.end_id, len(text), len(text), special=True)], self._get_name
        )

    # ------------------------------------------------------------ ids to text

    def _join(self, text: str, entry: WordEntry) -> tuple[str, int]:
        continues = entry.kind == PIECE and entry.text.startswith(CONTINUATION_PREFIX)
        text += " " if text and not continues else ""
        return text + (entry.text.removeprefix(CONTINUATION_PREFIX) if continues else entry.text), len(text)

    def label(self, token_id: int) -> str:
        """Return the text of a vocabulary entry. The first piece of a word has a leading space."""
        entry: WordEntry = self._get_entry(token_id)
        if entry.kind == PIECE:
            return (
                entry.text.removeprefix(CONTINUATION_PREFIX)
                if entry.text.startswith(CONTINUATION_PREFIX)
                else f" {entry.text}"
            )
        return entry.text

    # ------------------------------------------------------------ serialisation

    def to_json(self) -> str:
        """Return the vocabulary as JSON, which `save` writes."""
        content = {
            "format": FORMAT,
            "version": 1,
            **{name: getattr(self.rules, name) for name in SETTINGS},
            "entries": [list(entry) for entry in self.rules.entries],
        }
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"

    @classmethod
    def from_json(cls, text: str, *, name: str = "tokenizer.json") -> WordPieceTokenizer:
        """Parse the output of `to_json`. `name` is the name of the file in error messages."""
        with reading_vocabulary(name, "word pieces"):
            content = json.loads(text)
            settings = {setting: content[setting] for setting in SETTINGS}
            return cls(
                WordPieceVocabulary(entries=tuple(_parse_entry(*item) for item in content["entries"]), **settings)
            )


SETTINGS = ("pad_id", "start_id", "end_id", "lowercase", "strip_accents", "splits_han")


def _validate(rules: WordPieceVocabulary) -> None:
    entries = rules.entries
    texts = [entry.text for entry in entries if entry.kind != SPECIAL]
    if len(set(texts)) != len(texts) or not all(texts):
        raise TokenizerError("The vocabulary has an empty or duplicate entry. Download it again.")
    if sum(entry.kind == UNKNOWN for entry in entries) != 1:
        raise TokenizerError("The vocabulary needs one token for unknown words. Download it again.")
    for name in ("pad_id", "start_id", "end_id"):
        token_id = getattr(rules, name)
        if type(token_id) is not int or not 0 <= token_id < len(entries) or entries[token_id].kind != SPECIAL:
            raise TokenizerError(f"The vocabulary has no special token {token_id} for {name}. Download it again.")
    for name in ("lowercase", "strip_accents", "splits_han"):
        if type(getattr(rules, name)) is not bool:
            raise TokenizerError(f"{name} must be true or false. Download it again.")


def _build_tokenizer(rules: WordPieceVocabulary) -> tokenizers.Tokenizer:
    entries = rules.entries
    vocabulary = {entry.text: token_id for token_id, entry in enumerate(entries) if entry.kind != SPECIAL}
    (unknown,) = (entry.text for entry in entries if entry.kind == UNKNOWN)
    backend = tokenizers.Tokenizer(
        models.WordPiece(
            vocabulary,
            unk_token=unknown,
            max_input_chars_per_word=MAX_WORD_LETTERS,
            continuing_subword_prefix=CONTINUATION_PREFIX,
        )
    )
    backend.normalizer = normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=rules.splits_han,
        strip_accents=rules.strip_accents,
        lowercase=rules.lowercase,
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.add_tokens([AddedToken(text, normalized=kind == WHOLE) for text, kind in entries if kind in (WHOLE, TYPED)])
    return backend


def _parse_entry(text: Any, kind: Any) -> WordEntry:
    if not isinstance(text, str) or kind not in KINDS:
        raise ValueError(f"{text!r}, {kind!r} is not an entry")
    return WordEntry(text, kind)

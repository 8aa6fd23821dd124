"""Unigram language model of the `tokenizers` library (https://arxiv.org/abs/1804.10959): text ↔ ids.

A text is normalised and split into words, which begin with "▁". The most probable pieces of each word are its tokens.
Special tokens are not recognised in input: a typed "[SEP]" is text.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import tokenizers
from tokenizers import AddedToken, Regex, models, normalizers, pre_tokenizers

from headlight.model.errors import TokenizerError
from headlight.model.records import Token
from headlight.model.text.base_vocabulary import SPECIAL, EntryVocabulary
from headlight.model.text.offsets import OffsetId, tokens_from_offsets
from headlight.model.text.subwords import SPACE
from headlight.model.text.vocabulary import reading_vocabulary, require_valid_unicode

FORMAT = "headlight-unigram"
PIECE, UNKNOWN, ADDED = "piece", "unknown", "added"
KINDS = (PIECE, UNKNOWN, SPECIAL, ADDED)
CHARSMAP = "charsmap"
# Normalisation steps by name. `CHARSMAP` is a further step, which applies the table of the vocabulary.
STEPS: dict[str, Callable[[], Any]] = {
    "opening quotes": lambda: normalizers.Replace("``", '"'),
    "closing quotes": lambda: normalizers.Replace("''", '"'),
    "decompose": normalizers.NFKD,
    "compose": normalizers.NFC,
    "strip accents": normalizers.StripAccents,
    "lowercase": normalizers.Lowercase,
    "join spaces": lambda: normalizers.Replace(Regex(" {2,}"), " "),
    "join whitespace": lambda: normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), " "),
    "strip end": lambda: normalizers.Strip(left=False, right=True),
}


class UnigramEntry(NamedTuple):
    """A vocabulary entry with its log probability. An `ADDED` text is never split."""

    text: str
    score: float = 0.0
    kind: str = PIECE


@dataclass(frozen=True, kw_only=True)
class UnigramVocabulary:
    """The entries and rules of a Unigram vocabulary."""

    entries: tuple[UnigramEntry, ...]
    steps: tuple[str, ...] = ()  # names of normalisation steps, in order
    charsmap: bytes = b""  # a trie of character replacements
    splits_whitespace: bool = True  # True: words end at any whitespace; False: only at spaces
    splits_punctuation: bool = False
    pad_id: int
    start_id: int
    end_id: int


class UnigramTokenizer(EntryVocabulary):
    """Text ↔ ids by Unigram pieces. Safe to share between threads."""

    def __init__(self, rules: UnigramVocabulary) -> None:
        _validate(rules)
        self.rules = rules
        self.vocabulary_size = len(rules.entries)
        self.pad_id, self.start_id, self.end_id = rules.pad_id, rules.start_id, rules.end_id
        self.unknown_id = next(token_id for token_id, entry in enumerate(rules.entries) if entry.kind == UNKNOWN)
        self._tokenizer = _build_tokenizer(rules, self.unknown_id)

    # ------------------------------------------------------------ text to ids

    def source_tokens(self, text: str) -> tuple[Token, ...]:
        """Return the tokens of a sentence and the end token, each with its position in the sentence and its word.

        `text[start:end]` is the source of a token, before normalisation. Several tokens of one character share its
        span; a run of unknown characters is one token.
        """
        encoding = self._tokenizer.encode(require_valid_unicode(text), add_special_tokens=False)
        offset_ids = []
        for token_id, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
            part = text[start:end]
            if part.strip():  # without the spaces around a word
                start, end = end - len(part.lstrip()), start + len(part.rstrip())
            offset_ids.append(OffsetId(token_id, start, end))
        return tokens_from_offsets(
            text, [*offset_ids, OffsetId(self.end_id, len(text), len(text), special=True)], self._get_name
        )

    # ------------------------------------------------------------ ids to text

    def _join(self, text: str, entry: UnigramEntry) -> tuple[str, int]:
        piece = entry.text.replace(SPACE, " ")
        piece = piece if text else piece.lstrip(" ")
        start = len(text) + len(piece) - len(piece.lstrip(" "))
        text += piece
        return text, min(start, len(text))

    def label(self, token_id: int) -> str:
        """Return the text of a vocabulary entry with its leading space."""
        entry: UnigramEntry = self._get_entry(token_id)
        return entry.text.replace(SPACE, " ")

    # ------------------------------------------------------------ serialisation

    def to_json(self) -> str:
        """Return the vocabulary as JSON, which `save` writes."""
        content = {
            "format": FORMAT,
            "version": 1,
            **{name: getattr(self.rules, name) for name in SETTINGS},
            "steps": list(self.rules.steps),
            "charsmap": base64.b64encode(self.rules.charsmap).decode("ascii"),
            "entries": [list(entry) for entry in self.rules.entries],
        }
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"

    @classmethod
    def from_json(cls, text: str, *, name: str = "tokenizer.json") -> UnigramTokenizer:
        """Parse the output of `to_json`. `name` is the name of the file in error messages."""
        with reading_vocabulary(name, "pieces"):
            content = json.loads(text)
            return cls(
                UnigramVocabulary(
                    entries=tuple(_parse_entry(*item) for item in content["entries"]),
                    steps=tuple(content["steps"]),
                    charsmap=base64.b64decode(content["charsmap"], validate=True),
                    **{setting: content[setting] for setting in SETTINGS},
                )
            )


SETTINGS = ("pad_id", "start_id", "end_id", "splits_whitespace", "splits_punctuation")


def _validate(rules: UnigramVocabulary) -> None:
    entries = rules.entries
    texts = [entry.text for entry in entries if entry.kind != SPECIAL]
    if len(set(texts)) != len(texts) or not all(texts):
        raise TokenizerError("The vocabulary has an empty or duplicate entry. Download it again.")
    if sum(entry.kind == UNKNOWN for entry in entries) != 1:
        raise TokenizerError("The vocabulary needs one token for unknown text. Download it again.")
    for name in ("pad_id", "start_id", "end_id"):
        token_id = getattr(rules, name)
        if type(token_id) is not int or not 0 <= token_id < len(entries) or entries[token_id].kind != SPECIAL:
            raise TokenizerError(f"The vocabulary has no special token {token_id} for {name}. Download it again.")
    for name in ("splits_whitespace", "splits_punctuation"):
        if type(getattr(rules, name)) is not bool:
            raise TokenizerError(f"{name} must be true or false. Download it again.")
    for step in rules.steps:
        if step not in STEPS and step != CHARSMAP:
            raise TokenizerError(f"{step!r} is no step of normalisation. Download it again.")


def _build_tokenizer(rules: UnigramVocabulary, unknown_id: int) -> tokenizers.Tokenizer:
    # Special tokens get names with a space, which no word contains: the model must not find them in a text.
    pieces = [
        (f"special {token_id}" if entry.kind == SPECIAL else entry.text, entry.score)
        for token_id, entry in enumerate(rules.entries)
    ]
    backend = tokenizers.Tokenizer(models.Unigram(pieces, unk_id=unknown_id, byte_fallback=False))
    try:
        steps = [normalizers.Precompiled(rules.charsmap) if step == CHARSMAP else STEPS[step]() for step in rules.steps]
    except Exception as error:  # the library raises no specific class for an invalid table
        raise TokenizerError(f"The table of characters is damaged ({error}). Download it again.") from error
    backend.normalizer = normalizers.Sequence(steps)
    words = [
        *([pre_tokenizers.Punctuation(behavior="isolated")] if rules.splits_punctuation else []),
        *([pre_tokenizers.WhitespaceSplit()] if rules.splits_whitespace else []),
        pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="always"),
    ]
    backend.pre_tokenizer = pre_tokenizers.Sequence(words)
    backend.add_tokens([AddedToken(text, normalized=False) for text, _, kind in rules.entries if kind == ADDED])
    return backend


def _parse_entry(text: Any, score: Any, kind: Any) -> UnigramEntry:
    if not isinstance(text, str) or not isinstance(score, int | float) or kind not in KINDS:
        raise ValueError(f"{text!r}, {score!r}, {kind!r} is not an entry")
    return UnigramEntry(text, float(score), kind)

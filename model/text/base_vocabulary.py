"""Base classes for vocabularies stored as JSON and for vocabularies that use the `tokenizers` library."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import tokenizers

from headlight.model.files import write_file
from headlight.model.records import Token
from headlight.model.text.offsets import OffsetId, tokens_from_offsets
from headlight.model.text.vocabulary import require_id, require_valid_unicode

SPECIAL = "special"  # the kind of special tokens, which no text is encoded to


class JsonVocabulary:
    """A vocabulary that is stored in one JSON file."""

    def to_json(self) -> str:
        """Return the vocabulary as JSON, which `save` writes."""
        raise NotImplementedError

    def save(self, path: str | Path) -> None:
        """Write the vocabulary as JSON to `path`."""
        write_file(Path(path), self.to_json())


class TokenizersVocabulary(JsonVocabulary):
    """A vocabulary that encodes texts with a `tokenizers.Tokenizer`."""

    _tokenizer: tokenizers.Tokenizer

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, without special tokens."""
        ids: list[int] = self._tokenizer.encode(require_valid_unicode(text), add_special_tokens=False).ids
        return ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of several texts, using all cores."""
        return encode_with(self._tokenizer, texts)


class EntryVocabulary(TokenizersVocabulary):
    """A vocabulary of entries, each with a text and a kind, that decodes by joining the texts."""

    vocabulary_size: int
    rules: Any  # a record with the field `entries`

    @abstractmethod
    def _join(self, text: str, entry: Any) -> tuple[str, int]:
        """Append an entry to a decoded text. Return the new text, and the start of the entry in it."""

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids, without a space before the first word. Special tokens are skipped."""
        return self._decode_with_spans(list(ids))[0]

    def written_tokens(self, ids: Sequence[int]) -> tuple[Token, ...]:
        """Return the tokens of ids, each with its position in `decode(ids)` and its word."""
        return tokens_from_offsets(*self._decode_with_spans(ids), self._get_name)

    def _decode_with_spans(self, ids: Sequence[int]) -> tuple[str, list[OffsetId]]:
        text, offset_ids = "", []
        for token_id in ids:
            entry = self._get_entry(token_id)
            if entry.kind == SPECIAL:
                offset_ids.append(OffsetId(token_id, len(text), len(text), special=True))
                continue
            text, start = self._join(text, entry)
            offset_ids.append(OffsetId(token_id, start, len(text)))
        return text, offset_ids

    def _get_entry(self, token_id: int) -> Any:
        require_id(token_id, self.vocabulary_size)
        return self.rules.entries[token_id]

    def _get_name(self, token_id: int) -> str:
        return str(self._get_entry(token_id).text)


def encode_with(tokenizer: tokenizers.Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """Encode several texts without special tokens."""
    encodings = tokenizer.encode_batch_fast([require_valid_unicode(text) for text in texts], add_special_tokens=False)
    return [encoding.ids for encoding in encodings]

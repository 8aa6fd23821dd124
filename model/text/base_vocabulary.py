"""Base classes for vocabularies stored as JSON and for vocabularies that use the `tokenizers` library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import tokenizers

from headlight.model.files import write_file
from headlight.model.text.vocabulary import require_valid_unicode


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


def encode_with(tokenizer: tokenizers.Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """Encode several texts without special tokens."""
    encodings = tokenizer.encode_batch_fast([require_valid_unicode(text) for text in texts], add_special_tokens=False)
    return [encoding.ids for encoding in encodings]

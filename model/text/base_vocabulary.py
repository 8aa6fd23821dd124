"""Base classes of vocabularies in JSON files and of vocabularies that use the `tokenizers` library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import tokenizers

from headlight.model.errors import TokenizerError
from headlight.model.text.vocabulary import require_valid_unicode


class JsonVocabulary:
    """A vocabulary that is stored in one JSON file."""

    def to_json(self) -> str:
        """Return the vocabulary as JSON, which `save` writes."""
        raise NotImplementedError

    def save(self, path: str | Path) -> None:
        """Write `tokenizer.json`."""
        try:
            Path(path).write_text(self.to_json(), encoding="utf-8")
        except OSError as error:
            raise TokenizerError(f"{path}: cannot be written ({error.strerror}). Choose another place.") from error


class LibraryVocabulary(JsonVocabulary):
    """A vocabulary that encodes texts with a tokenizer of the library."""

    _library: tokenizers.Tokenizer

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, without special tokens."""
        ids: list[int] = self._library.encode(require_valid_unicode(text), add_special_tokens=False).ids
        return ids

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of several texts, using all cores."""
        return encode_with(self._library, texts)


def encode_with(library: tokenizers.Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """Encode several texts with a tokenizer of the library, without special tokens."""
    encodings = library.encode_batch_fast([require_valid_unicode(text) for text in texts], add_special_tokens=False)
    return [encoding.ids for encoding in encodings]

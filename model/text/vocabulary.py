"""The interface of all vocabularies: Headlight's byte-level one, third-party byte pairs, word pieces, SentencePiece."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from headlight.model.errors import TokenizerError
from headlight.model.records import Token


def require_id(token_id: int, size: int) -> None:
    """Raise a `TokenizerError` for an id outside a vocabulary of this size. A list would accept negative ids."""
    if not 0 <= token_id < size:
        raise TokenizerError(
            f"There is no token {token_id}: this vocabulary has 0 to {size - 1}. "
            "Use the tokenizer that belongs to the model."
        )


def require_valid_unicode(text: str) -> str:
    """Return the text. Raise a `TokenizerError` if it contains a lone surrogate."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise TokenizerError(
            f"The text has half a character (U+{ord(text[error.start]):04X}) at position {error.start + 1}, "
            "as when an emoji is cut in two. Remove it, or paste the text again."
        ) from error
    return text


def find_unknown_tokens(vocabulary: Vocabulary, tokens: Sequence[Token]) -> tuple[int, ...]:
    """Return the indices of unknown tokens."""
    return tuple(index for index, token in enumerate(tokens) if token.id == vocabulary.unknown_id)


class Vocabulary(Protocol):
    """Interface of a vocabulary: text ↔ ids, with the position and the word of every token."""

    vocabulary_size: int
    pad_id: int
    start_id: int
    end_id: int

    @property
    def unknown_id(self) -> int | None:
        """Id of the unknown token; None if the vocabulary covers all text."""

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, without special tokens."""

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of several texts."""

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of ids. Special tokens are skipped."""

    def source_tokens(self, text: str) -> tuple[Token, ...]:
        """Return the tokens of a sentence and the end token, each with its position in the sentence and its word."""

    def written_tokens(self, ids: Sequence[int]) -> tuple[Token, ...]:
        """Return the tokens of ids, each with its position in `decode(ids)` and its word."""

    def label(self, token_id: int) -> str:
        """Return the text of a vocabulary entry with its leading space."""

    def save(self, path: str | Path) -> None:
        """Write the vocabulary as one JSON file."""

    def to_json(self) -> str:
        """Return the vocabulary as JSON, which `save` writes."""


@contextmanager
def reading_vocabulary(name: str, kind: str) -> Iterator[None]:
    """Convert errors to a `TokenizerError` that names the file and its kind of vocabulary, such as "bytes"."""
    try:
        yield
    except TokenizerError as error:
        raise TokenizerError(f"{name}: {error}") from error
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as error:
        raise TokenizerError(
            f"{name}: is not a valid vocabulary of {kind} ({type(error).__name__}: {error}). Save or download it again."
        ) from error

"""Segmentation of text into the pieces of a SentencePiece vocabulary, each with its span in the original text.

The library `sentencepiece` normalises and splits a text, and returns the origin of every normalised character. This
module adds complete spans: "½" becomes the three characters "1⁄2", and a piece with any of them has the span of "½".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from sentencepiece import SentencePieceProcessor

from headlight.model.errors import TokenizerError
from headlight.model.text.sentencepiece import SentencePieceModel

SPACE = "▁"  # a space within a piece
SPACES = f"{SPACE} "


class PieceSpan(NamedTuple):
    """A piece, and its characters `start` to `end` in the original text, without surrounding spaces."""

    piece: str
    start: int
    end: int


class SentencePieceSegmenter:
    """Segmenter that normalises and splits texts for one vocabulary. Safe to share between threads."""

    def __init__(self, model: SentencePieceModel) -> None:
        rules = model.normalisation
        self._begins_with_space = rules.add_dummy_prefix and not rules.whitespace_as_suffix
        with _library_errors():
            self._processor = SentencePieceProcessor.from_proto(model.to_bytes())

    def pieces(self, text: str) -> list[str]:
        """Split a text into pieces. A run of unknown characters is one piece; with byte fallback, each byte is one."""
        with _library_errors():
            pieces: list[str] = self._processor.encode(text, return_type=str)
        return pieces

    def segment(self, text: str) -> list[PieceSpan]:
        """Split a text into pieces with their spans. Only spaces and dropped characters leave gaps."""
        with _library_errors():
            result = self._processor.encode(text, return_type="offset_mapping")
            normalised_text, origins = self._processor.normalize(text, with_offsets=True)
        ends = self._normalised_ends(text, origins)
        spans: list[PieceSpan] = []
        position, bytes_left = 0, 0  # position in the normalised text; bytes left of its character
        for token_id, piece in zip(result["ids"], result["pieces"], strict=True):
            if self._processor.is_byte(token_id):
                bytes_left = (bytes_left or len(normalised_text[position].encode("utf-8"))) - 1
                spans.append(PieceSpan(piece, origins[position], ends[position]))
                position += not bytes_left
                continue
            first, last = position, position + len(piece) - 1
            position = last + 1
            while first < last and normalised_text[first] in SPACES:
                first += 1
            while first < last and normalised_text[last] in SPACES:
                last -= 1
            spans.append(PieceSpan(piece, origins[first], ends[last]))
        return spans

    def _normalised_ends(self, text: str, origins: list[int]) -> list[int]:
        """Return the end of the source characters of each normalised character."""
        ends = origins[1:]
        for index in range(len(ends) - 1, -1, -1):
            start, end = origins[index], ends[index]
            if end == start and index + 1 < len(ends):  # the three characters of "½" end together
                end = ends[index + 1]
            while end - start > 1 and self._is_dropped(text[end - 1]):
                end -= 1
            ends[index] = end
        if ends and self._begins_with_space:  # an inserted space
            ends[0] = origins[0]
        return ends

    def _is_dropped(self, character: str) -> bool:
        """Whether normalisation removes a character or turns it into spaces."""
        return not self._processor.normalize(character).strip(SPACES)


@contextmanager
def _library_errors() -> Iterator[None]:
    """Convert library errors to `TokenizerError`."""
    try:
        yield
    except (RuntimeError, ValueError, OSError) as error:
        raise TokenizerError(f"The vocabulary cannot be used ({error}). Download it again.") from error

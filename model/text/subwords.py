"""A text → the pieces of a SentencePiece vocabulary, each with the characters of the typed text that it was made of.

The library `sentencepiece` normalises and cuts; it gives for every normalised character where it comes from. What is
added here are whole spans: "½" becomes the three characters "1⁄2", and a piece that holds any of them is made of "½".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from sentencepiece import SentencePieceProcessor

from headlight.model.errors import TokenizerError
from headlight.model.text.sentencepiece import SentencePieceModel

SPACE = "▁"  # how a space is written within pieces
SPACES = f"{SPACE} "


class PieceSpan(NamedTuple):
    """One piece, and the characters `start` to `end` of the typed text, without the spaces around it."""

    piece: str
    start: int
    end: int


class SentencePieceSegmenter:
    """Normalises and cuts texts as one vocabulary says. Threads may share it."""

    def __init__(self, model: SentencePieceModel) -> None:
        rules = model.normalisation
        self._begins_with_space = rules.add_dummy_prefix and not rules.whitespace_as_suffix
        with _library_errors():
            self._processor = SentencePieceProcessor.from_proto(model.to_bytes())

    def pieces(self, text: str) -> list[str]:
        """The pieces of a text. A run of unknown characters is one; with byte fallback, each of their bytes is."""
        with _library_errors():
            pieces: list[str] = self._processor.encode(text, return_type=str)
        return pieces

    def segment(self, text: str) -> list[PieceSpan]:
        """The pieces with their spans. Only spaces and dropped characters leave gaps."""
        with _library_errors():
            result = self._processor.encode(text, return_type="offset_mapping")
            normalised, origins = self._processor.normalize(text, with_offsets=True)
        ends = self._normalised_ends(text, origins)
        cuts: list[PieceSpan] = []
        place, to_come = 0, 0  # in the normalised text; bytes of the character there
        for token_id, piece in zip(result["ids"], result["pieces"], strict=True):
            if self._processor.is_byte(token_id):
                to_come = (to_come or len(normalised[place].encode("utf-8"))) - 1
                cuts.append(PieceSpan(piece, origins[place], ends[place]))
                place += not to_come
                continue
            first, last = place, place + len(piece) - 1
            place = last + 1
            while first < last and normalised[first] in SPACES:
                first += 1
            while first < last and normalised[last] in SPACES:
                last -= 1
            cuts.append(PieceSpan(piece, origins[first], ends[last]))
        return cuts

    def _normalised_ends(self, text: str, origins: list[int]) -> list[int]:
        """End of the source characters of each normalised character."""
        ends = origins[1:]
        for place in range(len(ends) - 1, -1, -1):
            start, end = origins[place], ends[place]
            if end == start and place + 1 < len(ends):  # "½" is three characters, which end together
                end = ends[place + 1]
            while end - start > 1 and self._is_dropped(text[end - 1]):
                end -= 1
            ends[place] = end
        if ends and self._begins_with_space:  # an inserted space
            ends[0] = origins[0]
        return ends

    def _is_dropped(self, character: str) -> bool:
        """Whether normalisation leaves nothing of a character, or a space that is dropped."""
        return not self._processor.normalize(character).strip(SPACES)


@contextmanager
def _library_errors() -> Iterator[None]:
    """Convert library errors to `TokenizerError`."""
    try:
        yield
    except (RuntimeError, ValueError, OSError) as error:
        raise TokenizerError(f"The vocabulary cannot be used ({error}). Download it again.") from error

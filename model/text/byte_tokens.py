"""Byte-level tokens: their text, spans and names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from headlight.model.records import Token
from headlight.model.text.segmentation import byte_offsets, characters, word_indices
from headlight.model.text.vocabulary import require_id


def _bytes_to_unicode() -> list[str]:
    """Return a visible letter for each byte, as in GPT-2. A printable byte is its own letter."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    spare_codes = iter(range(256, 512))
    return [chr(byte if byte in printable else next(spare_codes)) for byte in range(256)]


BYTE_CHARACTERS = _bytes_to_unicode()
BYTE_BY_CHARACTER = {letter: byte for byte, letter in enumerate(BYTE_CHARACTERS)}


def byte_characters(text: str) -> str:
    """Convert the bytes of a text to their letters."""
    return "".join(BYTE_CHARACTERS[byte] for byte in text.encode("utf-8"))


class ByteTokens:
    """Base class of byte-level vocabularies: the bytes of each id. Subclasses convert text to ids."""

    unknown_id: int | None = None  # every text consists of bytes, so no token is unknown
    spaced = True  # whether encoding inserts a space before the text, which decoding removes

    def __init__(self, pieces: Sequence[bytes], special: Mapping[int, str]) -> None:
        """Create the vocabulary from the bytes of each id and the names of special ids, whose bytes are empty."""
        self.vocabulary_size = len(pieces)
        self._bytes = pieces
        self._special = special

    def decode(self, ids: Iterable[int]) -> str:
        """Decode ids. Special tokens are skipped; invalid bytes become U+FFFD."""
        text = b"".join(map(self._get_bytes, ids)).decode("utf-8", errors="replace")
        return text[1:] if self.spaced and text.startswith(" ") else text  # only the inserted space can be first

    def written_tokens(self, ids: Sequence[int]) -> tuple[Token, ...]:
        """Return the tokens of ids, each with its position in `decode(ids)` and its word.

        `text[start:end]` is the text of a token without the space before a word. Pieces of one character share its text
        and span. The inserted space has no position: if it is a token, it is a piece of the next token.
        """
        text, positions = byte_offsets(b"".join(map(self._get_bytes, ids)), spaced=self.spaced)
        groups: list[tuple[int, int, list[int]]] = []  # start, end, ids of the characters in between
        start, offset, group = 0, 0, list[int]()
        for token_id in ids:
            group.append(token_id)
            offset += len(self._bytes[token_id])
            end = positions.get(offset, start)  # a token that ends inside a character has no end position
            if end > start:
                start += text[start] == " " and not text[start:end].isspace()
                groups.append((start, end, group))
                start, group = end, []
        groups.append((len(text), len(text), group))  # special tokens
        spans = [(start, end) for start, end, group in groups for token_id in group if token_id not in self._special]
        words = iter(word_indices(text, spans))
        return tuple(token for group in groups for token in self._make_tokens(text, *group, words))

    def _make_tokens(self, text: str, start: int, end: int, ids: list[int], words: Iterator[int]) -> Iterator[Token]:
        """Yield one token, or all pieces of one character. Special tokens among `ids` are placed at `start`."""
        pieces = sum(token_id not in self._special for token_id in ids)
        piece = 0
        for token_id in ids:
            if token_id in self._special:
                yield Token(text=self._special[token_id], id=token_id, start=start, end=start, special=True)
                continue
            yield Token(
                text=text[start:end], id=token_id, start=start, end=end, word=next(words), piece=piece, pieces=pieces
            )
            piece += 1

    def label(self, token_id: int) -> str:
        """Return the text of a vocabulary entry with its leading space, because " want" and "want" are two entries.

        Partial characters are shown as bytes: "⟨E4⟩".
        """
        piece = self._get_bytes(token_id)
        if token_id in self._special:
            return self._special[token_id]
        try:
            return piece.decode("utf-8")
        except UnicodeDecodeError:
            pass  # the bytes contain a partial character
        return "".join(
            character if character.encode("utf-8") == encoded else "".join(f"⟨{byte:02X}⟩" for byte in encoded)
            for character, encoded in characters(piece)
        )

    def _get_bytes(self, token_id: int) -> bytes:
        require_id(token_id, self.vocabulary_size)
        return self._bytes[token_id]

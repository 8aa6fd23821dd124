"""The head of cross-attention that tells most of one sentence, where none is measured to align words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from headlight.model.records import Token, Translation


class AligningHead(NamedTuple):
    """A head of cross-attention; `shift`: the row so many places on tells of a word."""

    layer: int
    head: int
    shift: int = 0


def most_informative(translation: Translation) -> AligningHead:
    """The head whose rows point, each at a word of its own: of each source word the most that it gets."""
    rows, columns = words_among(translation.target_tokens), words_among(translation.source_tokens)
    maps = translation.attention.cross[:, :, rows][..., columns]
    scores = maps.max(axis=2, initial=0.0).sum(axis=-1)  # [layer, head]
    layer, head = np.unravel_index(int(scores.argmax()), scores.shape)
    return AligningHead(int(layer), int(head))


def words_among(tokens: Sequence[Token]) -> list[int]:
    """The places of tokens with letters or digits."""
    return [
        place for place, token in enumerate(tokens) if not token.special and any(sign.isalnum() for sign in token.text)
    ]

"""Measured alignment heads of cross-attention, and the most informative head if a model has no measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from headlight.model.records import Token, Translation


class AlignmentHead(NamedTuple):
    """A cross-attention head. `shift` is 1 if the row after a target token aligns it, 0 if its own row does."""

    layer: int
    head: int
    shift: int = 0


@dataclass(frozen=True)
class CrossHeads:
    """Measurements of a model's cross-attention heads over many sentences."""

    aligning: tuple[AlignmentHead, ...] = ()  # compared with annotated links, best first, each with its better shift
    losses: Mapping[tuple[int, int], float] = field(default_factory=dict, hash=False)  # in nats, without the head

    @property
    def best(self) -> AlignmentHead | None:
        """The head that aligns words best."""
        return self.aligning[0] if self.aligning else None

    def shift(self, layer: int, head: int) -> int | None:
        """Return the row offset at which a head aligns words, or None if it was not measured."""
        shifts = (candidate.shift for candidate in self.aligning if (candidate.layer, candidate.head) == (layer, head))
        return next(shifts, None)


UNMEASURED = CrossHeads()


def most_informative_head(translation: Translation) -> AlignmentHead:
    """Return the head whose maximum weights per source word have the largest sum."""
    rows, columns = word_positions(translation.target_tokens), word_positions(translation.source_tokens)
    maps = translation.attention.cross[:, :, rows][..., columns]
    scores = maps.max(axis=2, initial=0.0).sum(axis=-1)  # [layer, head]
    layer, head = np.unravel_index(int(scores.argmax()), scores.shape)
    return AlignmentHead(int(layer), int(head))


def word_positions(tokens: Sequence[Token]) -> list[int]:
    """Return the indices of tokens with letters or digits."""
    return [
        index
        for index, token in enumerate(tokens)
        if not token.special and any(character.isalnum() for character in token.text)
    ]

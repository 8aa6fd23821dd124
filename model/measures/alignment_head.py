"""What is known of a model's heads of cross-attention, and the one that tells most of a sentence where nothing is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from headlight.model.records import Token, Translation


class AlignmentHead(NamedTuple):
    """A cross-attention head; `shift`: the row offset at which it aligns a word."""

    layer: int
    head: int
    shift: int = 0


@dataclass(frozen=True)
class CrossHeads:
    """What was measured of a model's heads of cross-attention over many sentences."""

    aligning: tuple[AlignmentHead, ...] = ()  # on drawn links, the best first, each in the reading that aligns better
    losses: Mapping[tuple[int, int], float] = field(default_factory=dict, hash=False)  # nats without one

    @property
    def best(self) -> AlignmentHead | None:
        """The head that aligns words best."""
        return self.aligning[0] if self.aligning else None

    def shift(self, layer: int, head: int) -> int | None:
        """Which row tells of a word; None: not measured."""
        readings = (each.shift for each in self.aligning if (each.layer, each.head) == (layer, head))
        return next(readings, None)


UNMEASURED = CrossHeads()


def most_informative(translation: Translation) -> AlignmentHead:
    """The head with the highest source coverage."""
    rows, columns = word_positions(translation.target_tokens), word_positions(translation.source_tokens)
    maps = translation.attention.cross[:, :, rows][..., columns]
    scores = maps.max(axis=2, initial=0.0).sum(axis=-1)  # [layer, head]
    layer, head = np.unravel_index(int(scores.argmax()), scores.shape)
    return AlignmentHead(int(layer), int(head))


def word_positions(tokens: Sequence[Token]) -> list[int]:
    """The places of tokens with letters or digits."""
    return [
        place for place, token in enumerate(tokens) if not token.special and any(sign.isalnum() for sign in token.text)
    ]

"""Encoder outputs of a permuted sentence, with positions and without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from headlight.model.core.probes import watch
from headlight.model.core.transformer import Transformer
from headlight.model.records import FloatArray

POSITION_INDICES = "encoder.embedding.positions.places"


@dataclass(frozen=True)
class ShuffleResult:
    """The encoder's vectors of a sentence, and of the same tokens in another order."""

    order: tuple[int, ...]  # which token stands at each place now
    before: FloatArray  # [tokens, d_model]
    after: FloatArray  # [tokens, d_model], every vector at its token's original position

    @property
    def max_change(self) -> FloatArray:
        """How far each token's vector has come at most, in one of its numbers, `[tokens]`."""
        return np.asarray(np.abs(self.after - self.before).max(axis=-1), dtype=np.float32)


def encode_shuffled(model: Transformer, ids: Sequence[int], seed: int, *, positions: bool) -> ShuffleResult:
    """Shuffle the tokens by a seed, encode both orders, and sort the vectors again.

    `positions`: keep the positional encoding; False: remove it.
    """
    order = shuffle_order(len(ids), seed)
    with torch.inference_mode():
        device = next(model.parameters()).device
        both = [torch.tensor([row], device=device) for row in (list(ids), [ids[place] for place in order])]
        before, after = (_encode(model, row, positions=positions) for row in both)
    back = np.empty_like(after)
    back[list(order)] = after
    return ShuffleResult(order, before, back)


def shuffle_order(count: int, seed: int) -> tuple[int, ...]:
    """A permutation of `count` positions with as few fixed points as possible."""
    dice = torch.Generator().manual_seed(seed)
    order = torch.randperm(count, generator=dice).tolist()
    for place in range(count):
        if order[place] == place:  # with its current neighbour
            other = (place + 1) % count
            order[place], order[other] = order[other], order[place]
    return tuple(order)


def _encode(model: Transformer, ids: Tensor, *, positions: bool) -> FloatArray:
    if positions or model.config.positions == "none":
        vectors = model.encoder(ids, None)
    else:
        with watch(model, POSITION_INDICES, edit=lambda places, name: torch.full_like(places, -1)):
            vectors = model.encoder(ids, None)
    return np.asarray(vectors[0].float().cpu().numpy(), dtype=np.float32)

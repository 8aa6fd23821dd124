"""Encoder outputs of a sentence with shuffled tokens, with and without positions."""

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
    """The encoder's vectors of a sentence, before and after its tokens are shuffled."""

    order: tuple[int, ...]  # original index of the token at each new position
    before: FloatArray  # [tokens, d_model]
    after: FloatArray  # [tokens, d_model], in the original order of the tokens

    @property
    def max_change(self) -> FloatArray:
        """The largest change of a component of each token's vector, `[tokens]`."""
        return np.asarray(np.abs(self.after - self.before).max(axis=-1), dtype=np.float32)


def encode_shuffled(model: Transformer, ids: Sequence[int], seed: int, *, positions: bool) -> ShuffleResult:
    """Shuffle the tokens by a seed, encode both orders, and restore the original order of the vectors.

    `positions`: whether the encoder uses its positional encoding.
    """
    order = shuffle_order(len(ids), seed)
    with torch.inference_mode():
        device = next(model.parameters()).device
        batches = [torch.tensor([row], device=device) for row in (list(ids), [ids[index] for index in order])]
        before, after = (_encode(model, row, positions=positions) for row in batches)
    restored = np.empty_like(after)
    restored[list(order)] = after
    return ShuffleResult(order, before, restored)


def shuffle_order(count: int, seed: int) -> tuple[int, ...]:
    """Return a permutation of `count` positions with as few fixed points as possible."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(count, generator=generator).tolist()
    for index in range(count):
        if order[index] == index:  # swap with the next position
            neighbour = (index + 1) % count
            order[index], order[neighbour] = order[neighbour], order[index]
    return tuple(order)


def _encode(model: Transformer, ids: Tensor, *, positions: bool) -> FloatArray:
    if positions or model.config.positions == "none":
        vectors = model.encoder(ids, None)
    else:
        with watch(model, POSITION_INDICES, edit=lambda indices, name: torch.full_like(indices, -1)):
            vectors = model.encoder(ids, None)
    return np.asarray(vectors[0].float().cpu().numpy(), dtype=np.float32)

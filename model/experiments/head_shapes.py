"""The shapes of `MultiHeadAttention.split_heads` on a tiny batch of numbers that name their own place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from headlight.model.core.attention import MultiHeadAttention

SENTENCES, TOKENS, D_MODEL, HEADS = 2, 3, 4, 2
HEAD_WIDTH = D_MODEL // HEADS
Place = tuple[int, ...]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class HeadShapes:
    """The batch before and after each operation. `mixed` has the shape of `transposed`, but no transpose."""

    batch: IntArray  # [batch, tokens, d_model]
    viewed: IntArray  # [batch, tokens, heads, width]
    transposed: IntArray  # [batch, heads, tokens, width]
    mixed: IntArray  # [batch, heads, tokens, width]


def named_batch() -> torch.Tensor:
    """Return numbers of three digits: sentence and token from 1, dimension from 0. 123: sentence 1, token 2, dim. 3."""
    sentences = torch.arange(1, SENTENCES + 1)[:, None, None] * 100
    return sentences + torch.arange(1, TOKENS + 1)[:, None] * 10 + torch.arange(D_MODEL)


def head_shapes() -> HeadShapes:
    """Split the batch into heads with the function of the models, and with a view alone."""
    batch = named_batch()
    tensors = (
        batch,
        batch.view(SENTENCES, TOKENS, HEADS, HEAD_WIDTH),
        MultiHeadAttention(D_MODEL, HEADS).split_heads(batch),
        batch.view(SENTENCES, HEADS, TOKENS, HEAD_WIDTH),
    )
    return HeadShapes(*(tensor.numpy() for tensor in tensors))


def find_place(array: IntArray, number: int) -> Place:
    """Return the indices of a number that occurs once."""
    (place,) = np.argwhere(array == number).tolist()
    return tuple(place)

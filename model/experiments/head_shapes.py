"""The shapes in `MultiHeadAttention.split_heads`, on a tiny batch whose numbers encode their indices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from headlight.model.core.attention import MultiHeadAttention

SENTENCES, TOKENS, D_MODEL, HEADS = 2, 3, 4, 2
HEAD_WIDTH = D_MODEL // HEADS
Indices = tuple[int, ...]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class HeadShapes:
    """The batch before and after each operation."""

    batch: IntArray  # [batch, tokens, d_model]
    viewed: IntArray  # [batch, tokens, heads, width]
    transposed: IntArray  # [batch, heads, tokens, width]
    mixed: IntArray  # [batch, heads, tokens, width]: `batch` viewed with the shape of `transposed`, without transpose


def make_index_batch() -> torch.Tensor:
    """Return `[batch, tokens, d_model]` numbers of three digits: sentence and token from 1, dimension from 0."""
    sentences = torch.arange(1, SENTENCES + 1)[:, None, None] * 100
    return sentences + torch.arange(1, TOKENS + 1)[:, None] * 10 + torch.arange(D_MODEL)


def head_shapes() -> HeadShapes:
    """Split the batch into heads with `split_heads`, and wrongly with only a view."""
    batch = make_index_batch()
    tensors = (
        batch,
        batch.view(SENTENCES, TOKENS, HEADS, HEAD_WIDTH),
        MultiHeadAttention(D_MODEL, HEADS).split_heads(batch),
        batch.view(SENTENCES, HEADS, TOKENS, HEAD_WIDTH),
    )
    return HeadShapes(*(tensor.numpy() for tensor in tensors))


def find_indices(array: IntArray, number: int) -> Indices:
    """Return the indices of a number that occurs once."""
    (indices,) = np.argwhere(array == number).tolist()
    return tuple(indices)

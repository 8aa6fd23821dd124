"""Attention weights if the dimensions of a model's queries and keys are split into another number of heads."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from headlight.model.core.attention import MultiHeadAttention, attention_weights
from headlight.model.records import FloatArray

UNSCALED = 1.0


def resplit_attention(queries: FloatArray, keys: FloatArray, heads: int) -> FloatArray:
    """Return the attention weights, `[heads, queries, keys]`, of `[heads, tokens, width]` vectors split into `heads`.

    `heads` must divide the total width of a token.
    """
    weights = attention_weights(_split_heads(queries, heads), _split_heads(keys, heads))
    return np.asarray(weights[0].numpy(), dtype=np.float32)


def compute_unscaled_weights(queries: FloatArray, keys: FloatArray) -> FloatArray:
    """Return the attention weights, `[heads, queries, keys]`, without the division by √d_k."""
    query, key = (torch.from_numpy(np.array(vectors))[None] for vectors in (queries, keys))
    return np.asarray(attention_weights(query, key, scale=UNSCALED)[0].numpy(), dtype=np.float32)


def make_random_projections(stream: FloatArray, width: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Project `[tokens, d_model]` to random queries and keys, each `[1, tokens, width]` with variance about 1."""
    generator = torch.Generator().manual_seed(seed)
    normal = torch.nn.functional.layer_norm(torch.from_numpy(np.array(stream)), stream.shape[-1:])
    matrices = [
        torch.randn(stream.shape[-1], width, generator=generator) / math.sqrt(stream.shape[-1]) for _ in range(2)
    ]
    query, key = (np.asarray((normal @ matrix)[None].numpy(), dtype=np.float32) for matrix in matrices)
    return query, key


def count_attention_parameters(d_model: int, heads: int, head_width: int) -> int:
    """Count the parameters of an attention module."""
    with torch.device("meta"):
        attention = MultiHeadAttention(d_model, heads, head_width=head_width)
    return sum(parameter.numel() for parameter in attention.parameters())


def _split_heads(vectors: FloatArray, heads: int) -> Tensor:
    """Map `[heads, tokens, width]` to `[1, new heads, tokens, new width]`."""
    joined = torch.from_numpy(np.array(vectors)).transpose(0, 1)  # [tokens, heads, width]
    return joined.reshape(1, joined.shape[0], heads, -1).transpose(1, 2)

"""The effect of dividing scores by √d_k, for random queries and keys and with the models' attention code.

Components of queries and keys have mean 0 and variance 1, so q·k is a sum of d_k products with standard deviation √d_k.
Softmax turns widely spread scores into one weight near 1, where its gradient is near 0 (Vaswani et al. 2017, 3.2.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from headlight.model.core.attention import attention_scores, masked_softmax

QUERIES, KEYS = 512, 64
UNSCALED = 1.0


@dataclass(frozen=True)
class ScalingResult:
    """Softmax of random scores: "raw" without the division, "scaled" with it."""

    width: int  # d_k
    raw: float  # standard deviation of q·k
    scaled: float  # standard deviation of q·k / √d_k
    raw_largest: float  # largest weight of a row, mean over rows
    scaled_largest: float
    raw_gradient: float  # derivative of the largest weight by the score of its key, median over rows
    scaled_gradient: float
    raw_row: tuple[float, ...]  # weights of one query, in descending order
    scaled_row: tuple[float, ...]


@lru_cache(maxsize=64)
def measure_scaling(width: int, seed: int) -> ScalingResult:
    """Score the same random queries and keys with and without the division."""
    query, key = make_random_vectors(width, seed)
    raw, scaled = attention_scores(query, key, scale=UNSCALED), attention_scores(query, key)
    raw_weights, weights = masked_softmax(raw, None), masked_softmax(scaled, None)
    return ScalingResult(
        width,
        raw=float(raw.std()),
        scaled=float(scaled.std()),
        raw_largest=float(raw_weights.amax(dim=-1).mean()),
        scaled_largest=float(weights.amax(dim=-1).mean()),
        raw_gradient=softmax_gradient(raw),
        scaled_gradient=softmax_gradient(scaled),
        raw_row=_sort_weights(raw_weights[0, 0, 0]),
        scaled_row=_sort_weights(weights[0, 0, 0]),
    )


def make_random_vectors(width: int, seed: int) -> tuple[Tensor, Tensor]:
    """Draw queries and keys, each `[1, 1, tokens, width]`: one batch, one head."""
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(1, 1, QUERIES, width, generator=generator)
    return query, torch.randn(1, 1, KEYS, width, generator=generator)


def softmax_gradient(scores: Tensor) -> float:
    """Return the derivative of a row's largest weight by the score of its key: the median over rows."""
    leaf = scores.detach().clone()
    leaf.requires_grad = True
    largest = masked_softmax(leaf, None).amax(dim=-1)  # [batch, heads, queries]
    (gradients,) = torch.autograd.grad(largest.sum(), leaf)
    return float(gradients.gather(-1, scores.argmax(dim=-1, keepdim=True)).median())


def _sort_weights(weights: Tensor) -> tuple[float, ...]:
    return tuple(weights.sort(descending=True).values.tolist())

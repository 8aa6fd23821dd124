"""Why scores are divided by √d_k: random queries and keys of any width, through the attention that the models use.

Numbers of queries and keys have mean 0 and variance 1, so q·k is a sum of d_k products and spreads by √d_k. Softmax
turns widely spread scores into one weight of almost 1, where its gradient is almost 0 (Vaswani et al. 2017, 3.2.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from headlight.model.core.attention import attention_scores, masked_softmax

QUERIES, KEYS = 512, 64
UNSCALED = 1.0


@dataclass(frozen=True)
class ScalingResult:
    """Softmax of random scores, with and without the division."""

    width: int  # d_k
    raw: float  # standard deviation of q·k
    scaled: float  # of q·k / √d_k
    raw_largest: float  # the largest weight of a row, on average
    scaled_largest: float
    raw_gradient: float  # how much the largest weight moves with its own score, in the middle of all rows
    scaled_gradient: float
    raw_row: tuple[float, ...]  # the weights of one query, from the largest on
    scaled_row: tuple[float, ...]


def measure_scaling(width: int, seed: int) -> ScalingResult:
    """The same random queries and keys, scored without the division and with it."""
    query, key = random_vectors(width, seed)
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
        raw_row=_sorted(raw_weights[0, 0, 0]),
        scaled_row=_sorted(weights[0, 0, 0]),
    )


def random_vectors(width: int, seed: int) -> tuple[Tensor, Tensor]:
    """Queries and keys, each `[batch, heads, tokens, width]` with one batch and one head."""
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(1, 1, QUERIES, width, generator=generator)
    return query, torch.randn(1, 1, KEYS, width, generator=generator)


def softmax_gradient(scores: Tensor) -> float:
    """∂w/∂s of a row's largest weight by its own score, as backpropagation computes it: the median of all rows."""
    leaf = scores.detach().clone()
    leaf.requires_grad = True
    largest = masked_softmax(leaf, None).amax(dim=-1)  # [batch, heads, queries]
    (slopes,) = torch.autograd.grad(largest.sum(), leaf)
    return float(slopes.gather(-1, scores.argmax(dim=-1, keepdim=True)).median())


def _sorted(weights: Tensor) -> tuple[float, ...]:
    return tuple(weights.sort(descending=True).values.tolist())

"""The gradient at the first layer of a deep stack, with residual connections and without.

Each layer is a feed-forward network with random weights, as PyTorch initialises them, with a norm before it or without.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor, nn

WIDTH, TOKENS = 64, 8
FACTOR = 2  # hidden numbers per number of the stream


@dataclass(frozen=True)
class DepthResult:
    """Gradient of a loss by the input of each layer, from the first: its norm."""

    with_residual: tuple[float, ...]
    without: tuple[float, ...]


@lru_cache(maxsize=128)
def gradients_over_depth(depth: int, seed: int, *, norm: bool) -> DepthResult:
    """Backpropagate through the same `depth` layers, once with residual connections and once without."""
    generator = torch.Generator().manual_seed(seed)
    layers = [_make_layer(generator, norm) for _ in range(depth)]
    start = torch.randn(TOKENS, WIDTH, generator=generator)
    direction = torch.randn(TOKENS, WIDTH, generator=generator) / (TOKENS * WIDTH) ** 0.5
    return DepthResult(*(_gradient_norms(layers, start, direction, residual) for residual in (True, False)))


def run_layer(x: Tensor, layer: nn.Module, *, residual: bool) -> Tensor:
    """Apply a layer to the stream: x + f(x), or f(x) alone."""
    output: Tensor = layer(x)
    return x + output if residual else output


def _gradient_norms(layers: list[nn.Module], start: Tensor, direction: Tensor, residual: bool) -> tuple[float, ...]:
    inputs = [start.clone().requires_grad_()]
    for layer in layers:
        inputs.append(run_layer(inputs[-1], layer, residual=residual))
    loss = (inputs[-1] * direction).sum()  # ∂loss/∂output has length about 1
    return tuple(float(gradient.norm()) for gradient in torch.autograd.grad(loss, inputs[:-1]))


def _make_layer(generator: torch.Generator, norm: bool) -> nn.Module:
    wide, narrow = nn.Linear(WIDTH, FACTOR * WIDTH), nn.Linear(FACTOR * WIDTH, WIDTH)
    for linear in (wide, narrow):
        limit = linear.in_features**-0.5
        for parameter in (linear.weight, linear.bias):
            nn.init.uniform_(parameter, -limit, limit, generator=generator)
    before = nn.LayerNorm(WIDTH) if norm else nn.Identity()
    return nn.Sequential(before, wide, nn.ReLU(), narrow).requires_grad_(requires_grad=False)

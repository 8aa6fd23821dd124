"""The gradients at the layers of a deep stack, with and without residual connections.

Each layer is a feed-forward network with PyTorch's random initial weights, optionally with a norm before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor, nn

WIDTH, TOKENS = 64, 8
HIDDEN_FACTOR = 2  # hidden dimensions per dimension of the stream


@dataclass(frozen=True)
class DepthResult:
    """Norms of the gradient of a loss by the input of each layer, first layer first."""

    with_residual: tuple[float, ...]
    without: tuple[float, ...]


@lru_cache(maxsize=128)
def measure_gradients_over_depth(depth: int, seed: int, *, norm: bool) -> DepthResult:
    """Backpropagate through `depth` layers with residual connections, and through the same layers without them.

    `norm`: whether each layer begins with a layer norm.
    """
    generator = torch.Generator().manual_seed(seed)
    layers = [_make_layer(generator, norm) for _ in range(depth)]
    start = torch.randn(TOKENS, WIDTH, generator=generator)
    direction = torch.randn(TOKENS, WIDTH, generator=generator) / (TOKENS * WIDTH) ** 0.5
    return DepthResult(*(_gradient_norms(layers, start, direction, residual) for residual in (True, False)))


def run_layer(x: Tensor, layer: nn.Module, *, residual: bool) -> Tensor:
    """Apply a layer to the stream, `[tokens, width]`: x + f(x), or only f(x)."""
    output: Tensor = layer(x)
    return x + output if residual else output


def _gradient_norms(layers: list[nn.Module], start: Tensor, direction: Tensor, residual: bool) -> tuple[float, ...]:
    inputs = [start.clone().requires_grad_()]
    for layer in layers:
        inputs.append(run_layer(inputs[-1], layer, residual=residual))
    loss = (inputs[-1] * direction).sum()  # ∂loss/∂output has length about 1
    return tuple(float(gradient.norm()) for gradient in torch.autograd.grad(loss, inputs[:-1]))


def _make_layer(generator: torch.Generator, norm: bool) -> nn.Module:
    wide, narrow = nn.Linear(WIDTH, HIDDEN_FACTOR * WIDTH), nn.Linear(HIDDEN_FACTOR * WIDTH, WIDTH)
    for linear in (wide, narrow):
        limit = linear.in_features**-0.5
        for parameter in (linear.weight, linear.bias):
            nn.init.uniform_(parameter, -limit, limit, generator=generator)
    first = nn.LayerNorm(WIDTH) if norm else nn.Identity()
    return nn.Sequential(first, wide, nn.ReLU(), narrow).requires_grad_(requires_grad=False)

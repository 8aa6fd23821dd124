"""A recurrent network and one attention layer on the same vectors: how much the last output depends on each input.

Both have random weights of PyTorch's default scale, so the numbers show an effect of the architecture, not of training.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from headlight.model.core.attention import attention_weights, weighted_sum
from headlight.model.records import FloatArray

WIDTH = 32  # dimensions of a state, a query and a value


@dataclass(frozen=True)
class RecurrenceResult:
    """States, attention weights, and Frobenius norms of the gradient of the last output by each input."""

    states: FloatArray  # [positions, WIDTH]
    weights: FloatArray  # [positions, positions], causal
    recurrent_gradients: FloatArray  # [positions]
    attention_gradients: FloatArray  # [positions]


def compare_recurrence(vectors: FloatArray, seed: int) -> RecurrenceResult:
    """Run both on vectors, `[positions, width]`, after layer norm, as in a Transformer's layer."""
    inputs = nn.functional.layer_norm(torch.from_numpy(np.array(vectors)), vectors.shape[-1:])
    generator = torch.Generator().manual_seed(seed)
    scale = 1 / math.sqrt(WIDTH)
    weight_hh = _uniform(WIDTH, WIDTH, scale, generator)
    weight_ih = _uniform(WIDTH, inputs.shape[1], 1 / math.sqrt(inputs.shape[1]), generator)
    matrices = [_uniform(WIDTH, inputs.shape[1], 1 / math.sqrt(inputs.shape[1]), generator) for _ in range(3)]
    states = run_recurrence(inputs, weight_hh, weight_ih)
    weights, _ = run_attention(inputs, *matrices)
    return RecurrenceResult(
        _to_array(states),
        _to_array(weights),
        _compute_gradient_norms(lambda x: run_recurrence(x, weight_hh, weight_ih)[-1], inputs),
        _compute_gradient_norms(lambda x: run_attention(x, *matrices)[1][-1], inputs),
    )


def run_recurrence(inputs: Tensor, weight_hh: Tensor, weight_ih: Tensor) -> Tensor:
    """Compute h_t = tanh(W h_(t−1) + U x_t) for each position in turn: `[positions, WIDTH]`."""
    state, states = weight_hh.new_zeros(len(weight_hh)), []
    for x in inputs:
        state = torch.tanh(weight_hh @ state + weight_ih @ x)  # depends on the previous state
        states.append(state)
    return torch.stack(states)


def run_attention(inputs: Tensor, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Compute softmax(Q Kᵀ / √d) V for all positions at once, with a causal mask. Return weights and result."""
    q, k, v = (inputs @ matrix.T for matrix in (query, key, value))
    weights = attention_weights(q[None, None], k[None, None], torch.ones(len(q), len(q)).tril().bool()[None, None])
    return weights[0, 0], weighted_sum(weights, v[None, None])[0, 0]


def _uniform(rows: int, columns: int, limit: float, generator: torch.Generator) -> Tensor:
    return (2 * torch.rand(rows, columns, generator=generator) - 1) * limit


def _compute_gradient_norms(function: Callable[[Tensor], Tensor], inputs: Tensor) -> FloatArray:
    leaf = inputs.clone()
    leaf.requires_grad = True
    output = function(leaf)  # [WIDTH]
    jacobian = torch.stack([torch.autograd.grad(number, leaf, retain_graph=True)[0] for number in output])
    return _to_array(jacobian.pow(2).sum(dim=(0, 2)).sqrt())  # over dimensions of output and input


def _to_array(tensor: Tensor) -> FloatArray:
    return np.asarray(tensor.detach().numpy(), dtype=np.float32)

"""Records of a traced forward pass: inputs and outputs of every sub-layer as arrays.

`model/experiments/trace.py` fills these records; the measures read them. All arrays are float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Float64Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NormTrace:
    """A norm whose divisor is fixed at its value in this pass, which makes it linear.

    Its output is weight · (x − mean x) / divisor + bias.
    """

    divisors: Float64Array  # [tokens]
    weight: Float64Array  # [d_model]
    bias: Float64Array  # [d_model]: zero in RMS norm
    centred: bool  # True: layer norm, which subtracts the mean; False: RMS norm

    def apply_linear(self, vectors: Float64Array, row: int) -> Float64Array:
        """Apply the norm without its bias to summands of a token's vector, `[…, d_model]`."""
        centre = vectors.mean(axis=-1, keepdims=True) if self.centred else 0.0
        normed: Float64Array = (vectors - centre) / self.divisors[row] * self.weight
        return normed

    def apply(self, vectors: Float64Array, row: int) -> Float64Array:
        """Apply the norm with its bias to a whole vector."""
        normed: Float64Array = self.apply_linear(vectors, row) + self.bias
        return normed

    def apply_to_inputs(self, inputs: npt.NDArray[np.floating[Any]]) -> Float64Array:
        """Apply the norm to its recorded inputs, `[tokens, d_model]`."""
        return np.stack([self.apply(vector, row) for row, vector in enumerate(inputs.astype(np.float64))])


def record_norm(
    inputs: Float64Array, weight: Float64Array, bias: Float64Array | None, epsilon: float, *, centred: bool
) -> NormTrace:
    """Record the norm of `inputs`, `[tokens, d_model]`."""
    centred_inputs = inputs - inputs.mean(axis=-1, keepdims=True) if centred else inputs
    divisors = np.sqrt(np.square(centred_inputs).mean(axis=-1) + epsilon)
    return NormTrace(divisors, weight, np.zeros_like(weight) if bias is None else bias, centred)


@dataclass(frozen=True, eq=False)
class AttentionTrace:
    """One attention sub-layer: weights, values, output projection and residual input."""

    weights: Float64Array  # [heads, queries, keys]
    values: Float64Array  # [heads, keys, width]
    output_weight: Float64Array  # [heads, width, d_model]: each head's part of the output matrix
    bias: Float64Array  # [d_model]
    residual_input: Float64Array  # [queries, d_model]
    norm: NormTrace | None  # the norm after the residual sum; None with pre-norm

    def value_outputs(self) -> Float64Array:
        """Return the vector that each head and key adds to the stream per unit of weight, `[heads, keys, d_model]`."""
        vectors: Float64Array = self.values @ self.output_weight
        return vectors

    def head_outputs(self, row: int) -> Float64Array:
        """Return the output of each head in the residual stream of one token, `[heads, d_model]`."""
        head_values = np.einsum("hk,hkw->hw", self.weights[:, row], self.values)
        outputs: Float64Array = np.einsum("hw,hwd->hd", head_values, self.output_weight)
        return outputs

    def key_outputs(self, head: int, row: int) -> Float64Array:
        """Return the output of each key through one head for one token, weight · value · output: `[keys, d_model]`."""
        outputs: Float64Array = self.weights[head, row][:, None] * (self.values[head] @ self.output_weight[head])
        return outputs


@dataclass(frozen=True, eq=False)
class FeedForwardTrace:
    """One feed-forward sub-layer: output and residual input."""

    output: Float64Array  # [tokens, d_model], including the bias
    bias: Float64Array  # [d_model]
    residual_input: Float64Array  # [tokens, d_model]
    norm: NormTrace | None


@dataclass(frozen=True, eq=False)
class DecoderLayerTrace:
    """One layer of the decoder."""

    self_attention: AttentionTrace
    cross_attention: AttentionTrace
    feed_forward: FeedForwardTrace

    @property
    def parts(self) -> tuple[AttentionTrace | FeedForwardTrace, ...]:
        """Sub-layers in the order in which they run."""
        return self.self_attention, self.cross_attention, self.feed_forward


@dataclass(frozen=True, eq=False)
class Trace:
    """Trace of a sentence and its translation."""

    encoder: Sequence[AttentionTrace]
    decoder: Sequence[DecoderLayerTrace]
    embeddings: Float64Array  # [target, d_model]: decoder embeddings, before positions
    embeddings_with_positions: Float64Array  # [target, d_model]: decoder embeddings with positions
    embedding_norm: NormTrace | None  # the norm after the positions, in some models
    final_norm: NormTrace | None  # the decoder's final norm, in some models
    output_scale: float  # factor of the decoder's output before the projection to logits
    logits: Float64Array  # [target, vocabulary]

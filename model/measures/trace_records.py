"""Records of a traced forward pass: inputs and outputs of every sub-layer as arrays.

`model/experiments/trace.py` fills these records; the measures read them. All arrays are float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NormTrace:
    """A norm with the scale of this run, which makes it linear: gain · (x − mean x) / size, plus a shift."""

    sizes: Numbers  # [tokens]: divisor of each token's vector
    gain: Numbers  # [d_model]
    shift: Numbers  # [d_model]: zero in RMS norm
    centred: bool  # whether the mean is subtracted: not in RMS norm

    def apply_linear(self, vectors: Numbers, row: int) -> Numbers:
        """Apply the norm without its shift to parts of a token's vector, `[…, d_model]`."""
        centre = vectors.mean(axis=-1, keepdims=True) if self.centred else 0.0
        normed: Numbers = (vectors - centre) / self.sizes[row] * self.gain
        return normed

    def apply(self, vectors: Numbers, row: int) -> Numbers:
        """Apply the norm with its shift to a whole vector."""
        normed: Numbers = self.apply_linear(vectors, row) + self.shift
        return normed

    def normalised_inputs(self, inputs: npt.NDArray[np.floating[Any]]) -> Numbers:
        """Apply the norm to the vectors from which it was recorded, `[tokens, d_model]`."""
        return np.stack([self.apply(vector, row) for row, vector in enumerate(inputs.astype(np.float64))])


def norm_trace(inputs: Numbers, gain: Numbers, shift: Numbers | None, epsilon: float, *, centred: bool) -> NormTrace:
    """Record the norm of these vectors, `[tokens, d_model]`."""
    centred_inputs = inputs - inputs.mean(axis=-1, keepdims=True) if centred else inputs
    sizes = np.sqrt(np.square(centred_inputs).mean(axis=-1) + epsilon)
    return NormTrace(sizes, gain, np.zeros_like(gain) if shift is None else shift, centred)


@dataclass(frozen=True, eq=False)
class AttentionTrace:
    """One attention sub-layer: weights, values, outputs and residual input."""

    weights: Numbers  # [heads, queries, keys]
    values: Numbers  # [heads, keys, width]
    output: Numbers  # [heads, width, d_model]: each head's part of the output matrix
    bias: Numbers  # [d_model]
    residual_input: Numbers  # [queries, d_model]
    norm: NormTrace | None  # the norm after the residual sum; None with pre-norm

    def value_outputs(self) -> Numbers:
        """Return the vector that each head and key adds to the stream per unit of weight, `[heads, keys, d_model]`."""
        vectors: Numbers = self.values @ self.output
        return vectors

    def head_outputs(self, row: int) -> Numbers:
        """Return the output of each head in the residual stream of one token, `[heads, d_model]`."""
        mixed = np.einsum("hk,hkw->hw", self.weights[:, row], self.values)
        outputs: Numbers = np.einsum("hw,hwd->hd", mixed, self.output)
        return outputs

    def key_outputs(self, head: int, row: int) -> Numbers:
        """Return the output of each key through one head for one token, weight · value · output: `[keys, d_model]`."""
        outputs: Numbers = self.weights[head, row][:, None] * (self.values[head] @ self.output[head])
        return outputs


@dataclass(frozen=True, eq=False)
class FeedForwardTrace:
    """One feed-forward sub-layer: output and residual input."""

    output: Numbers  # [tokens, d_model], including the bias
    bias: Numbers  # [d_model]
    residual_input: Numbers  # [tokens, d_model]
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
    embedded: Numbers  # [target, d_model]: decoder embeddings, before positions
    positioned: Numbers  # [target, d_model]: decoder embeddings with positions
    embedding_norm: NormTrace | None  # the norm after the positions, in some models
    final_norm: NormTrace | None  # the decoder's final norm, in some models
    output_scale: float  # factor of the decoder's output before the projection to logits
    logits: Numbers  # [target, vocabulary]

"""Direct effect of each decoder component on a logit (https://arxiv.org/abs/2104.07143 and earlier work).

The residual stream is the sum of the embedding, the positions, the outputs of all heads and feed-forward networks, and
biases. With the divisor of every norm fixed at its value in this pass, a logit is a sum of the same terms:

    logit = Σ (part after the norms that follow it) · row of the output matrix + biases

A head's term is the effect of its output on the logit, without effects through later components.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from headlight.model.measures.trace_records import AttentionTrace, FeedForwardTrace, Float64Array, NormTrace, Trace
from headlight.model.records import Kind

TermPart = Literal["embedding", "positions", "head", "feed_forward", "bias"]
TermName = tuple[TermPart, Kind | None, int | None, int | None]
KINDS: tuple[Kind | None, ...] = ("decoder", "cross", None)  # parts of a layer in order; None: the feed-forward network


@dataclass(frozen=True, eq=False)
class LogitTerm:
    """A decoder component and its contributions to the logits of some words."""

    part: TermPart
    kind: Kind | None  # only for heads
    layer: int | None
    head: int | None
    effects: Float64Array  # [words]


def direct_effects(trace: Trace, row: int, matrix: Float64Array, biases: Float64Array) -> list[LogitTerm]:
    """Split the logits of some words in one row into terms, which sum to the logits.

    Args:
        trace: The recorded forward pass.
        row: Index of the generated token.
        matrix: Rows of the output matrix for the words, `[words, d_model]`.
        biases: Output biases of the words, `[words]`.
    """
    embedding, with_position = trace.embeddings[row], trace.embeddings_with_positions[row]
    if embedding.shape == with_position.shape:
        parts: list[TermName] = [("embedding", None, None, None), ("positions", None, None, None)]
        vectors = np.stack([embedding, with_position - embedding])
    else:  # positions are concatenated, not added
        parts = [("embedding", None, None, None)]
        vectors = with_position[None]
    constant: Float64Array = np.zeros(vectors.shape[-1])
    vectors, constant = _apply_norm(trace.embedding_norm, vectors, constant, row)
    for layer, block in enumerate(trace.decoder):
        for kind, part in zip(KINDS, block.parts, strict=True):
            if not part.residual_input.any():  # an intervention removed the residual connection
                vectors, constant = vectors * 0, constant * 0
            outputs = _compute_output(part, row)
            parts += [
                ("feed_forward", None, layer, None) if kind is None else ("head", kind, layer, head)
                for head in range(len(outputs))
            ]
            vectors, constant = np.concatenate([vectors, outputs]), constant + part.bias
            vectors, constant = _apply_norm(part.norm, vectors, constant, row)
    vectors, constant = _apply_norm(trace.final_norm, vectors, constant, row)
    effects = trace.output_scale * vectors @ matrix.T  # [parts, words]
    terms = [LogitTerm(*part, effect) for part, effect in zip(parts, effects, strict=True)]
    return [*terms, LogitTerm("bias", None, None, None, trace.output_scale * matrix @ constant + biases)]


def propagate(trace: Trace, kind: Kind, layer: int, row: int, vectors: Float64Array) -> Float64Array:
    """Propagate vectors that a head adds to the stream, `[…, d_model]`, to the output, through all later norms."""
    is_after_head = False
    for layer_index, name, part in _iterate_parts(trace):
        is_after_head = is_after_head or (layer_index == layer and name == kind)
        if not is_after_head:
            continue
        if (layer_index, name) != (layer, kind) and not part.residual_input.any():
            vectors = vectors * 0
        if part.norm is not None:
            vectors = part.norm.apply_linear(vectors, row)
    if trace.final_norm is not None:
        vectors = trace.final_norm.apply_linear(vectors, row)
    return trace.output_scale * vectors


def _iterate_parts(trace: Trace) -> Iterator[tuple[int, Kind | None, AttentionTrace | FeedForwardTrace]]:
    for layer, block in enumerate(trace.decoder):
        for name, part in zip(KINDS, block.parts, strict=True):
            yield layer, name, part


def _compute_output(part: AttentionTrace | FeedForwardTrace, row: int) -> Float64Array:
    """Return the outputs of the heads or of the network, without biases, `[heads or 1, d_model]`."""
    if isinstance(part, AttentionTrace):
        return part.head_outputs(row)
    output: Float64Array = (part.output[row] - part.bias)[None]
    return output


def _apply_norm(
    norm: NormTrace | None, vectors: Float64Array, constant: Float64Array, row: int
) -> tuple[Float64Array, Float64Array]:
    return (vectors, constant) if norm is None else (norm.apply_linear(vectors, row), norm.apply(constant, row))

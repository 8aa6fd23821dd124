"""Direct effect of each decoder component on a logit (https://arxiv.org/abs/2104.07143 and before).

The stream is a sum: embedding, positions, what each head and each feed-forward network writes, and biases. With every
norm taken at the scale that it had in this run, a logit is that sum, too, term by term:

    logit = Σ (part after the norms that follow it) · row of the output matrix + biases

A head's term is its own output, not the effect through later components.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from headlight.model.measures.trace_records import AttentionTrace, FeedForwardTrace, NormTrace, Numbers, Trace
from headlight.model.records import Kind

TermPart = Literal["embedding", "positions", "head", "feed_forward", "bias"]
TermName = tuple[TermPart, Kind | None, int | None, int | None]
KINDS: tuple[Kind | None, ...] = ("decoder", "cross", None)  # of a layer's parts; None: its feed-forward network


@dataclass(frozen=True, eq=False)
class LogitTerm:
    """A decoder component and its contribution to each of the chosen logits."""

    part: TermPart
    kind: Kind | None  # of heads
    layer: int | None
    head: int | None
    effects: Numbers  # [words]


def direct_effects(trace: Trace, row: int, matrix: Numbers, biases: Numbers) -> list[LogitTerm]:
    """The terms of some logits of one row, which sum to them.

    Args:
        trace: What ran.
        row: The place of the translation that is being written.
        matrix: The rows of the output matrix that belong to the words, `[words, d_model]`.
        biases: Output bias of their logits, `[words]`.
    """
    embedded, positioned = trace.embedded[row], trace.positioned[row]
    if embedded.shape == positioned.shape:
        parts: list[TermName] = [("embedding", None, None, None), ("positions", None, None, None)]
        vectors = np.stack([embedded, positioned - embedded])
    else:  # positions are concatenated, not added
        parts = [("embedding", None, None, None)]
        vectors = positioned[None]
    constant: Numbers = np.zeros(vectors.shape[-1])
    vectors, constant = _through_norm(trace.embedding_norm, vectors, constant, row)
    for layer, block in enumerate(trace.decoder):
        for kind, part in zip(KINDS, block.parts, strict=True):
            if not part.residual_input.any():  # an intervention cut the residual
                vectors, constant = vectors * 0, constant * 0
            new = _part_output(part, row)
            parts += [
                ("feed_forward", None, layer, None) if kind is None else ("head", kind, layer, head)
                for head in range(len(new))
            ]
            vectors, constant = np.concatenate([vectors, new]), constant + part.bias
            vectors, constant = _through_norm(part.norm, vectors, constant, row)
    vectors, constant = _through_norm(trace.final_norm, vectors, constant, row)
    effects = trace.output_scale * vectors @ matrix.T  # [parts, words]
    terms = [LogitTerm(*part, each) for part, each in zip(parts, effects, strict=True)]
    return [*terms, LogitTerm("bias", None, None, None, trace.output_scale * matrix @ constant + biases)]


def propagate(trace: Trace, kind: Kind, layer: int, row: int, vectors: Numbers) -> Numbers:
    """What vectors that a head writes, `[…, d_model]`, are at the output: after all norms that follow."""
    reached = False
    for at, name, part in _ordered_terms(trace):
        reached = reached or (at == layer and name == kind)
        if not reached:
            continue
        if (at, name) != (layer, kind) and not part.residual_input.any():
            vectors = vectors * 0
        if part.norm is not None:
            vectors = part.norm.apply_linear(vectors, row)
    if trace.final_norm is not None:
        vectors = trace.final_norm.apply_linear(vectors, row)
    return trace.output_scale * vectors


def _ordered_terms(trace: Trace) -> Iterator[tuple[int, Kind | None, AttentionTrace | FeedForwardTrace]]:
    for layer, block in enumerate(trace.decoder):
        for name, part in zip(KINDS, block.parts, strict=True):
            yield layer, name, part


def _part_output(part: AttentionTrace | FeedForwardTrace, row: int) -> Numbers:
    """What heads or the network add to the stream, without biases, `[heads or 1, d_model]`."""
    if isinstance(part, AttentionTrace):
        return part.head_outputs(row)
    written: Numbers = (part.output[row] - part.bias)[None]
    return written


def _through_norm(norm: NormTrace | None, vectors: Numbers, constant: Numbers, row: int) -> tuple[Numbers, Numbers]:
    return (vectors, constant) if norm is None else (norm.apply_linear(vectors, row), norm.apply(constant, row))

"""Norm-weighted attention ‖α f(x)‖: how long the vector is that a key adds (Kobayashi et al. 2020).

https://arxiv.org/abs/2004.10102, equation 3: a head may look hard at a token whose value is nearly zero, as many do at
the end of a sentence. Here f(x) is the value times the head's part of the output matrix, and heads add before the
length is taken, since what counts is what reaches the stream.
"""

from __future__ import annotations

import numpy as np

from headlight.model.measures.trace_records import AttentionTrace, Numbers, Trace


def weighted_value_norms(attention: AttentionTrace) -> Numbers:
    """Norm of each key's weighted value in each query's residual stream, `[queries, keys]`."""
    values = attention.value_outputs()
    rows = [
        np.linalg.norm(np.einsum("hk,hkd->kd", attention.weights[:, row], values), axis=-1)
        for row in range(attention.weights.shape[1])
    ]
    return np.stack(rows)


def cross_value_norms(trace: Trace) -> Numbers:
    """The same of cross-attention, the mean over layers, `[target, source]`."""
    lengths: Numbers = np.mean([weighted_value_norms(layer.cross_attention) for layer in trace.decoder], axis=0)
    return lengths

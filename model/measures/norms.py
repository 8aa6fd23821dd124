"""Norm-weighted attention ‖α f(x)‖: the norm of the vector that a key adds (Kobayashi et al. 2020).

https://arxiv.org/abs/2004.10102, equation 3: a head may give a high weight to a token whose value is nearly zero, as
many heads do at the end of a sentence. f(x) is the value times the head's part of the output matrix. Heads are summed
before the norm, because their sum is added to the residual stream.
"""

from __future__ import annotations

import numpy as np

from headlight.model.measures.trace_records import AttentionTrace, Float64Array, Trace


def weighted_value_norms(attention: AttentionTrace) -> Float64Array:
    """Return the norm of each key's weighted value in each query's residual stream, `[queries, keys]`."""
    values = attention.value_outputs()
    rows = [
        np.linalg.norm(np.einsum("hk,hkd->kd", attention.weights[:, row], values), axis=-1)
        for row in range(attention.weights.shape[1])
    ]
    return np.stack(rows)


def cross_value_norms(trace: Trace) -> Float64Array:
    """Return the weighted value norms of cross-attention, averaged over layers, `[target, source]`."""
    norms: Float64Array = np.mean([weighted_value_norms(layer.cross_attention) for layer in trace.decoder], axis=0)
    return norms

"""Conversion of Longformer and LED attention, which is stored by distance, to maps `[row, column]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headlight.model.recordings.layers import to_numpy
from headlight.model.recordings.recording import RecordingError


def expand_windows(local_layers: Sequence[Any], global_layers: Sequence[Any] | None) -> list[np.ndarray]:
    """Convert each layer to `[batch, head, row, column]`.

    A layer of `local_layers` is `[batch, head, row, global token or distance]`: first the weights of the tokens with
    global attention, then those of the keys around the row, the nearest `window / 2` on each side
    (https://arxiv.org/abs/2004.05150). The row of a token with global attention is zero there, and stored in a layer of
    `global_layers` as `[batch, head, column, global token]`.
    """
    results = []
    for index, local_layer in enumerate(local_layers):
        local = to_numpy(local_layer)
        # The model pads to whole windows, and removes the padding only from the local layers.
        all_columns = None if global_layers is None else to_numpy(global_layers[index])[:, :, : local.shape[2]]
        global_count = 0 if all_columns is None else all_columns.shape[-1]
        batch, heads, rows, width = local.shape
        max_distance = (width - global_count - 1) // 2
        result = np.zeros((batch, heads, rows, rows), dtype=local.dtype)
        for distance in range(-max_distance, max_distance + 1):
            queries = np.arange(max(0, -distance), min(rows, rows - distance))
            result[:, :, queries, queries + distance] = local[:, :, queries, global_count + max_distance + distance]
        if all_columns is not None:
            for sentence in range(batch):
                tokens = _global_tokens(local[sentence], all_columns[sentence])
                result[sentence][:, :, tokens] += local[sentence, :, :, : len(tokens)]
                result[sentence][:, tokens] = all_columns[sentence, :, :, : len(tokens)].transpose(0, 2, 1)
        results.append(result)
    return results


def _global_tokens(local: np.ndarray, all_columns: np.ndarray) -> np.ndarray:
    """Return the indices of the tokens with global attention: their rows are zero, unlike those of other tokens.

    The rows of padding are zero, too, but no token with global attention attends to padding.
    """
    is_zero = ~local.any(axis=(0, 2))
    is_key = all_columns.any(axis=(0, 2))
    tokens = np.flatnonzero(is_zero & is_key)
    count = int(all_columns.any(axis=(0, 1)).sum())  # sentences of a batch may have fewer than the longest
    if len(tokens) != count:
        raise RecordingError(
            f"{count} tokens have global attention, but {len(tokens)} rows are stored as such. Give the outputs of one "
            "call, of a model in evaluation mode."
        )
    return tokens

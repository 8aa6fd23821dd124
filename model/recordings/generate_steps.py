"""Attention from `generate`: a tuple of layers per step, each with some rows of a map, joined into whole maps.

Step 0 reads the whole prompt; each later step reads one token and adds one row. With beams, every step has a batch row
for each beam, and `beam_indices` gives the batch row of the sequence at each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headlight.model.recordings.layers import to_numpy
from headlight.model.recordings.recording import RecordingError


def is_stepwise(value: Any) -> bool:
    """Whether attention is nested as steps × layers."""
    return isinstance(value, (list, tuple)) and bool(value) and isinstance(value[0], (list, tuple))


def join_steps(
    steps: Sequence[Sequence[Any]], beams: Sequence[int], *, growing_columns: bool, label: str
) -> list[np.ndarray | None]:
    """Join the rows of all steps to layers `[head, row, column]`; None for a layer without attention.

    `beams[step]` is the batch row of the sequence. With `growing_columns`, the keys are the tokens read so far, so
    later steps have more keys; without it, all steps have the same keys.
    """
    used_steps = [list(layers) for layers, _ in zip(steps, beams, strict=False)]
    counts = {len(layers) for layers in used_steps}
    if len(counts) != 1:
        raise RecordingError(
            f"{label}: the steps have {sorted(counts)} layers. Give the outputs of one call of generate."
        )
    return [
        None
        if used_steps[0][layer] is None
        else _join_layer([step[layer] for step in used_steps], beams, grows=growing_columns, label=label)
        for layer in range(counts.pop())
    ]


def _join_layer(parts: Sequence[Any], beams: Sequence[int], *, grows: bool, label: str) -> np.ndarray:
    rows = []
    for step, (part, beam) in enumerate(zip(parts, beams, strict=False)):
        array = to_numpy(part)
        if array.ndim != 4 or not 0 <= beam < array.shape[0]:
            raise RecordingError(
                f"{label}: step {step + 1} has the shape {array.shape}, which has no [batch {beam}, head, row, column]"
                ". Give the outputs of generate(…, output_attentions=True, return_dict_in_generate=True) as they are."
            )
        rows.append(array[beam])  # [head, row, column]
    row_count = sum(step_rows.shape[1] for step_rows in rows)
    keys = row_count if grows else rows[0].shape[2]
    layer_map = np.zeros((rows[0].shape[0], row_count, keys), dtype=np.result_type(*rows))
    end = 0
    for step_rows in rows:
        end += step_rows.shape[1]
        key_count = end if grows else keys
        available = step_rows.shape[2]
        # A cache of fixed length has unused columns at its end; a sliding-window cache lacks the first columns.
        columns = step_rows[:, :, : min(available, key_count)]
        first = max(0, key_count - available)
        layer_map[:, end - step_rows.shape[1] : end, first : first + columns.shape[2]] = columns
    return layer_map


def beam_rows(outputs_beams: Any, sequence: int, steps: int) -> list[int]:
    """Return the batch row of a sequence at each step; without beams, always the same row."""
    if outputs_beams is None:
        return [sequence] * steps
    rows = to_numpy(outputs_beams)[sequence][:steps]
    return [int(row) for row in rows if row >= 0]  # −1 follows the end of the sequence

"""What `generate` returns: a tuple of layers for each step, a row or a few of each map, put together as one.

Step 0 reads the whole beginning; each later step reads one token and adds one row. With beams, every step has a row for
each beam, and `beam_indices` says in which of them the sequence stood.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headlight.model.recordings.layers import to_numpy
from headlight.model.recordings.recording import RecordingError


def is_stepwise(value: Any) -> bool:
    """Whether attention comes as steps × layers."""
    return isinstance(value, (list, tuple)) and bool(value) and isinstance(value[0], (list, tuple))


def join_steps(
    steps: Sequence[Sequence[Any]], beams: Sequence[int], *, growing_columns: bool, what: str
) -> list[np.ndarray | None]:
    """Each layer as `[head, row, column]`: the rows of all steps, one below the other.

    `beams[step]`: in which row of the batch the sequence stood. `grows`: keys are the tokens read so far, so that step
    per step there are more; without a cache all steps have the same keys.
    """
    used = [list(layers) for layers, _ in zip(steps, beams, strict=False)]
    counts = {len(layers) for layers in used}
    if len(counts) != 1:
        raise RecordingError(
            f"{what}: the steps have {sorted(counts)} layers. Give the outputs of one call of generate."
        )
    return [
        None
        if used[0][layer] is None
        else _of_layer([step[layer] for step in used], beams, grows=growing_columns, what=what)
        for layer in range(counts.pop())
    ]


def _of_layer(parts: Sequence[Any], beams: Sequence[int], *, grows: bool, what: str) -> np.ndarray:
    rows = []
    for step, (part, beam) in enumerate(zip(parts, beams, strict=False)):
        array = to_numpy(part)
        if array.ndim != 4 or not 0 <= beam < array.shape[0]:
            raise RecordingError(
                f"{what}: step {step + 1} has the shape {array.shape}, which has no [batch {beam}, head, row, column]. "
                "Give the outputs of generate(…, output_attentions=True, return_dict_in_generate=True) as they are."
            )
        rows.append(array[beam])  # [head, row, column]
    read = sum(each.shape[1] for each in rows)
    keys = read if grows else rows[0].shape[2]
    whole = np.zeros((rows[0].shape[0], read, keys), dtype=np.result_type(*rows))
    done = 0
    for each in rows:
        done += each.shape[1]
        wanted = done if grows else keys
        have = each.shape[2]
        # A cache of fixed length has room to spare at its end; one of a window has lost its beginning.
        columns = each[:, :, : min(have, wanted)]
        first = max(0, wanted - have)
        whole[:, done - each.shape[1] : done, first : first + columns.shape[2]] = columns
    return whole


def beam_rows(outputs_beams: Any, sequence: int, steps: int) -> list[int]:
    """In which row of the batch a sequence stood at each step; without beams always in its own."""
    if outputs_beams is None:
        return [sequence] * steps
    places = to_numpy(outputs_beams)[sequence][:steps]
    return [int(place) for place in places if place >= 0]  # −1 after the end

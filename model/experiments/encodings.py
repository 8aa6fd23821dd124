"""Arrays of all registered positional encodings, with the sizes of a given model, for display."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from headlight.model.core.config import TransformerConfig
from headlight.model.core.positions import make_positions
from headlight.model.records import FloatArray, read_only

LEARNED_ENCODINGS = ("learned", "relative")  # encodings whose values training determines


def _change_encoding(config: TransformerConfig, encoding: str) -> TransformerConfig:
    """Return the config with this encoding. Offset and closed waves apply only to the encoding of the model."""
    if encoding == config.positions:
        return replace(config, relative_each_layer=False)
    return replace(config, positions=encoding, relative_each_layer=False, closed_waves=False, position_offset=0)


@lru_cache(maxsize=128)
def make_encoding_array(config: TransformerConfig, encoding: str, length: int) -> FloatArray:
    """Return an encoding as an array: `[positions, width]` or `[heads, queries, keys]`.

    "relative" has the indices of the buckets instead of trained values. The width of "learned" is 0.
    """
    config = _change_encoding(config, encoding)
    if encoding == "learned":
        return read_only(np.zeros((length, 0), dtype=np.float32))  # type: ignore[no-any-return]
    if encoding == "relative":  # distances that share a bucket get the same value: the bucket's index
        positions: Any = make_positions(replace(config, heads=1, head_width=config.resolved_head_width), causal=False)
        for bucket in range(config.relative_buckets):
            positions.table.data[bucket] = bucket
        return to_numpy(positions.as_array(length))
    return to_numpy(make_positions(config, causal=False).as_array(length))


def periods(config: TransformerConfig, encoding: str) -> list[float] | None:
    """Return the wavelength of each dimension, in positions, or None for encodings without waves."""
    if encoding == "rotary":
        width, base, order = config.resolved_head_width, config.rotary_base, "pairs"
    elif encoding in ("sinusoidal", "sinusoidal_halves"):
        width, base, order = config.position_width or config.d_model, 10_000.0, encoding
    else:
        return None
    closed = config.closed_waves and encoding == config.positions
    half = (width + 1) // 2
    pairs = [dimension % half if order == "sinusoidal_halves" else dimension // 2 for dimension in range(width)]
    exponents = [pair / (half - 1) if closed else 2 * pair / width for pair in pairs]
    return [2 * math.pi * base**exponent for exponent in exponents]


def to_numpy(tensor: Any) -> FloatArray:
    """Convert a tensor on any device and of any dtype to a read-only float32 array."""
    array: FloatArray = read_only(np.array(tensor.float().cpu().numpy(), dtype=np.float32))
    return array

"""Positions added to the word embedding, or concatenated with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headlight.model.core.positions import sinusoidal_table
from headlight.model.records import FloatArray

INPUT_PROJECTIONS = 3  # projections of an attention module to queries, keys and values


@dataclass(frozen=True)
class JoinedEmbedding:
    """A word embedding combined with the encoding of one position."""

    word: FloatArray  # [d_model]
    position: FloatArray  # [d_model], or [width] if concatenated
    result: FloatArray  # [d_model], or [d_model + width] if concatenated
    similarity_to_word: float  # cosine between `word` and the first d_model dimensions of `result`
    similarities_by_position: tuple[float, ...]  # cosine between `result` and the word combined with each position


def join_position(
    word: FloatArray, position: int, position_count: int, *, concatenate: bool, width: int
) -> JoinedEmbedding:
    """Add the encoding of a position to a word embedding; `concatenate` appends `width` dimensions instead."""
    table = np.asarray(sinusoidal_table(position_count, width if concatenate else len(word)).numpy())
    rows = np.stack([np.concatenate([word, row]) if concatenate else word + row for row in table])  # [positions, width]
    result = rows[position]
    return JoinedEmbedding(
        word, table[position], result, cosine(word, result[: len(word)]), tuple(cosine(result, row) for row in rows)
    )


def cosine(first: FloatArray, second: FloatArray) -> float:
    """Return the cosine similarity, computed in float64."""
    vectors = first.astype(np.float64), second.astype(np.float64)
    return float(vectors[0] @ vectors[1] / (np.linalg.norm(vectors[0]) * np.linalg.norm(vectors[1])))


def count_extra_parameters(d_model: int, width: int) -> int:
    """Count the additional parameters of an attention module whose input has `width` more dimensions."""
    return INPUT_PROJECTIONS * d_model * width

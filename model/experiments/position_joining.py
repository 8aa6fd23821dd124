"""Positions added to the word embedding, or concatenated with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headlight.model.core.positions import sinusoidal_table
from headlight.model.records import FloatArray

MATRICES = 3  # of an attention read the vector: for queries, keys and values


@dataclass(frozen=True)
class JoinedEmbedding:
    """A word at one place."""

    word: FloatArray  # [d_model]
    position: FloatArray  # [d_model], or as wide as was asked
    result: FloatArray  # [d_model], or wider
    similarity_to_word: float  # the cosine between the word alone and what became of its numbers
    similarities_by_position: tuple[float, ...]  # the cosine between this vector and the same word at each place


def join_position(word: FloatArray, place: int, places: int, *, beside: bool, width: int) -> JoinedEmbedding:
    """A word embedding and the encoding of a position; `beside` concatenates `width` numbers of it."""
    table = np.asarray(sinusoidal_table(places, width if beside else len(word)).numpy())
    rows = np.stack([np.concatenate([word, row]) if beside else word + row for row in table])  # [places, width]
    result = rows[place]
    return JoinedEmbedding(
        word, table[place], result, cosine(word, result[: len(word)]), tuple(cosine(result, row) for row in rows)
    )


def cosine(one: FloatArray, other: FloatArray) -> float:
    """From −1, opposite, to 1, the same direction."""
    wide = one.astype(np.float64), other.astype(np.float64)
    return float(wide[0] @ wide[1] / (np.linalg.norm(wide[0]) * np.linalg.norm(wide[1])))


def extra_parameters(d_model: int, width: int) -> int:
    """Additional parameters of one attention for this many more input dimensions."""
    return MATRICES * d_model * width

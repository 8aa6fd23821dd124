"""NumPy arrays of the finished model: weights, intermediate results for the main sentence, and rows for an exercise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch

from headlight.model.records import FloatArray
from headlight.model.training.build_lesson import lines
from headlight.model.training.build_lesson.fit import right_share
from headlight.model.training.build_lesson.lesson_file import read_file
from headlight.model.training.build_lesson.model import MAX_LENGTH, POSITIONS, forward
from headlight.model.training.build_lesson.parts import ALL_PARTS
from headlight.model.training.build_lesson.sentences import END, HELD_OUT_PAIRS, PAIRS, START, SentencePair, make_batch
from headlight.model.training.build_lesson.trained import ALIGNED

# Bounds of the largest weight of a row that a reader draws. A row without a clear maximum could only be guessed.
MIN_LARGEST, MAX_LARGEST = 0.6, 0.97


def positions() -> FloatArray:
    """Return the position table: [positions, width]."""
    return POSITIONS[: MAX_LENGTH // 2].numpy()


def matrices() -> dict[str, FloatArray]:
    """Return the weights by name."""
    return {name: matrix.numpy() for name, matrix in lines.matrices().items()}


def main_trace() -> dict[str, FloatArray]:
    """Return the intermediate results for the main sentence, with masked scores as 0."""
    return {name: _finite(tensor.numpy()) for name, tensor in lines.trace().items()}


def _finite(array: np.ndarray[Any, Any]) -> FloatArray:
    return np.where(np.isfinite(array), array, 0).astype(np.float32)


@cache
def right_count() -> int:
    """Return the number of pairs that the model translates correctly."""
    return round(right_share(ALL_PARTS, read_file().final, PAIRS) * len(PAIRS))


@dataclass(frozen=True)
class RowToDraw:
    """A cross-attention row of a held-out sentence, which a reader draws."""

    source: tuple[str, ...]
    read: str  # the decoder input of the row
    write: str  # the word that the row predicts
    head: int
    weights: tuple[float, ...]  # one per source word


@cache
def rows_to_draw() -> tuple[RowToDraw, ...]:
    """Return clear rows of held-out sentences that the model translates correctly.

    Each row attends most to the word that it translates. Rows whose largest weight is near 0.8 come first.
    """
    weights = read_file().final
    long_pairs = [pair for pair in HELD_OUT_PAIRS if len(pair.source) > 3]
    pairs = [pair for pair in long_pairs if right_share(ALL_PARTS, weights, [pair]) == 1]
    rows = [row for pair in pairs for row in _clear_rows(pair)]
    return tuple(sorted(rows, key=lambda row: abs(max(row.weights) - 0.8)))


@torch.no_grad()
def _clear_rows(pair: SentencePair) -> list[RowToDraw]:
    weights = read_file().final
    shares = forward(ALL_PARTS, weights, make_batch([pair]))["cross.shares"][0, 0]  # [heads, read words, Chinese]
    rows = []
    for head, row in np.ndindex(*shares.shape[:2]):
        row_weights = tuple(shares[head, row].tolist())
        words = (START, *pair.target, END)
        strongest_word = pair.source[int(np.argmax(row_weights))]
        if MIN_LARGEST <= max(row_weights) <= MAX_LARGEST and ALIGNED.get(strongest_word) == words[row + 1]:
            rows.append(RowToDraw(pair.source, words[row], words[row + 1], head, row_weights))
    return rows

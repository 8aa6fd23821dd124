"""Encodes attention weights as characters, slightly more than one byte per weight.

The weights from 0 to 1 are cut into cells, and each cell has a letter. Small weights are by far the most frequent, and
their letters take one byte as UTF-8; further ones take two, and from 0.17 on three. Compression would save no more, and
takes longer than all the rest (`docs/experiments.md`).

The cells lie so that a weight and what comes of its letter look the same with one, two, three and four decimals: where
rounding to any of these parts two numbers, a cell ends. `viz/widgets/core/weight-decoding.js` has the same table.
"""

from __future__ import annotations

import zlib
from functools import cache

import numpy as np

from headlight.model.records import FloatArray

LEVELS = 20_000  # the finest cells: half a unit of the fourth decimal
CHUNK_WEIGHTS = 1 << 15  # weights that are turned into letters together: they stay in the processor's cache
# One-byte characters: printable, and not escaped in JSON or HTML.
ONE_BYTE = "".join(letter for letter in map(chr, range(0x21, 0x7F)) if letter not in "\"&'<>\\")
TWO_BYTES = range(0x100, 0x800)
THREE_BYTES = 0x4E00  # from here on
COMPRESSION_LEVEL = (
    6  # of compression: what a weight has beyond its first bits is chance, and no level finds more in it
)


def encode_weights(weights: FloatArray, *, causal: bool = False) -> str:
    """A letter for each weight, in the order of memory; of `causal` maps those on and below the diagonal alone."""
    if causal:
        rows, columns = weights.shape[-2:]
        weights = weights[..., np.tri(rows, columns, dtype=bool)]
    flat, letters = weights.reshape(-1), np.empty(weights.size, dtype="<u2")
    for first in range(0, flat.size, CHUNK_WEIGHTS):
        part = slice(first, first + CHUNK_WEIGHTS)
        cells = np.multiply(flat[part], LEVELS, dtype=np.float64).astype(np.intp)  # exact products, rounded down
        alphabet().take(cells, mode="clip", out=letters[part])
    return letters.tobytes().decode("utf-16-le")


def compress_weights(weights: FloatArray) -> bytes:
    """The number of each weight's letter, compressed (zlib): the low bytes of all, then the high ones."""
    flat, numbers = weights.reshape(-1), np.empty(weights.size, dtype="<u2")
    for first in range(0, flat.size, CHUNK_WEIGHTS):
        part = slice(first, first + CHUNK_WEIGHTS)
        cells = np.multiply(flat[part], LEVELS, dtype=np.float64).astype(np.intp)
        level_codes().take(cells, mode="clip", out=numbers[part])
    planes = numbers.view(np.uint8).reshape(-1, 2).T
    return zlib.compress(planes.tobytes(), COMPRESSION_LEVEL)


@cache
def level_codes() -> np.ndarray:
    """Which letter each of the finest cells, 0 to `CELLS`, has, counted from 0; neighbours may share one."""
    cells = np.arange(LEVELS + 1)
    fourth = (cells + 1) // 2  # the number shown with four decimals
    # Within one such number, three decimals round down and up where it ends in 5, two where it ends in 50, and so on.
    parted = np.logical_or.reduce([fourth % (10 * half) == 5 * half for half in (1, 10, 100)])
    begins = (cells % 2 == 1) | parted
    begins[[0, 1, LEVELS]] = True  # zero and one have exact codes
    places: np.ndarray = (np.cumsum(begins) - 1).astype("<u2")
    return places


@cache
def alphabet() -> np.ndarray:
    """The letter of each of the finest cells as its number in Unicode."""
    places = level_codes()
    signs = [*map(ord, ONE_BYTE), *TWO_BYTES]
    further = THREE_BYTES + np.arange(places[-1] + 1 - len(signs))
    letters: np.ndarray = np.array([*signs, *further], dtype="<u2")[places]
    return letters

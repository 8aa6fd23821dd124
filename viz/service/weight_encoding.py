"""Encoding of attention weights as characters, slightly more than one byte per weight.

The range from 0 to 1 is divided into cells of one character each. Small weights are by far the most frequent, so their
characters take one byte in UTF-8; others take two bytes, and three from 0.17 on. Compression saves no more bytes and
takes more time than all other steps (`docs/experiments.md`).

A weight and its decoded value round to the same number with one to four decimals, because a cell ends at each number
where one of these roundings changes. `viz/widgets/core/weight-decoding.js` has the same table.
"""

from __future__ import annotations

import zlib
from functools import cache

import numpy as np

from headlight.model.records import FloatArray

LEVELS = 20_000  # number of finest cells, of width 5e-5
CHUNK_WEIGHTS = 1 << 15  # weights that are encoded together, to fit into the processor's cache
# One-byte characters: printable, and not escaped in JSON or HTML.
ONE_BYTE = "".join(letter for letter in map(chr, range(0x21, 0x7F)) if letter not in "\"&'<>\\")
TWO_BYTES = range(0x100, 0x800)
THREE_BYTES = 0x4E00  # the first three-byte character
COMPRESSION_LEVEL = 6  # the low bits of weights are noise, so higher levels compress no better


def encode_weights(weights: FloatArray, *, causal: bool = False) -> str:
    """Encode weights in memory order; `causal` omits the cells above the diagonal."""
    if causal:
        rows, columns = weights.shape[-2:]
        weights = weights[..., np.tri(rows, columns, dtype=bool)]
    flat, letters = weights.reshape(-1), np.empty(weights.size, dtype="<u2")
    for start in range(0, flat.size, CHUNK_WEIGHTS):
        chunk = slice(start, start + CHUNK_WEIGHTS)
        cells = np.multiply(flat[chunk], LEVELS, dtype=np.float64).astype(np.intp)  # the products are exact in float64
        alphabet().take(cells, mode="clip", out=letters[chunk])
    return letters.tobytes().decode("utf-16-le")


def compress_weights(weights: FloatArray) -> bytes:
    """Compress the indices of the weights' characters with zlib: all low bytes, then all high bytes."""
    flat, codes = weights.reshape(-1), np.empty(weights.size, dtype="<u2")
    for start in range(0, flat.size, CHUNK_WEIGHTS):
        chunk = slice(start, start + CHUNK_WEIGHTS)
        cells = np.multiply(flat[chunk], LEVELS, dtype=np.float64).astype(np.intp)
        make_level_codes().take(cells, mode="clip", out=codes[chunk])
    planes = codes.view(np.uint8).reshape(-1, 2).T
    return zlib.compress(planes.tobytes(), COMPRESSION_LEVEL)


@cache
def make_level_codes() -> np.ndarray:
    """Return the character index of each finest cell, 0 to `LEVELS`. Neighbouring cells may share a character."""
    cells = np.arange(LEVELS + 1)
    rounded = (cells + 1) // 2  # the cell's number rounded to four decimals, times 1e4
    # Three decimals round down or up within a number that ends in 5, two decimals in 50, and so on.
    is_boundary = np.logical_or.reduce([rounded % (10 * half) == 5 * half for half in (1, 10, 100)])
    is_start = (cells % 2 == 1) | is_boundary
    is_start[[0, 1, LEVELS]] = True  # zero and one have exact codes
    codes: np.ndarray = (np.cumsum(is_start) - 1).astype("<u2")
    return codes


@cache
def alphabet() -> np.ndarray:
    """Return the code point of the character of each finest cell."""
    codes = make_level_codes()
    short_letters = [*map(ord, ONE_BYTE), *TWO_BYTES]
    long_letters = THREE_BYTES + np.arange(codes[-1] + 1 - len(short_letters))
    letters: np.ndarray = np.array([*short_letters, *long_letters], dtype="<u2")[codes]
    return letters

"""PNG thumbnail of all heads, for viewers that run no scripts, such as a repository preview."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from headlight.model.recordings.recording import Maps
from headlight.viz.notebook.recording_json import downsample
from headlight.viz.theme import THEMES, colour_scale

GAP = 3  # pixels between heads
MIN_HEAD_PIXELS = 24  # per side
MAX_HEADS = 24  # layers, and heads per layer


def wall_pixels(maps: Maps) -> bytes:
    """Return a PNG with one row per layer and one column per head. Darkness is the square root of the weight."""
    layers, heads = (min(count, MAX_HEADS) for count in maps.shape[:2])
    tiles = [[downsample(maps.select(layer, head)) for head in range(heads)] for layer in range(layers)]
    repeats = [max(1, -(-MIN_HEAD_PIXELS // size)) for size in tiles[0][0].shape]
    height, width = (size * times for size, times in zip(tiles[0][0].shape, repeats, strict=True))
    levels = np.full((layers * (height + GAP), heads * (width + GAP)), 255, dtype=np.uint8)
    for row, tile_row in enumerate(tiles):
        for column, tile in enumerate(tile_row):
            pixels = np.repeat(np.repeat(np.sqrt(tile), repeats[0], axis=0), repeats[1], axis=1)
            top, left = row * (height + GAP), column * (width + GAP)
            levels[top : top + height, left : left + width] = np.round(254 * pixels)
    return encode_png(levels)


def encode_png(levels: np.ndarray, scale: str = "headlight") -> bytes:
    """Encode a palette PNG of 255 colours; level 255 is transparent (https://www.w3.org/TR/png-3/)."""
    colours = [str(colour) for _, colour in colour_scale(scale, THEMES["light"], 255)]
    palette = b"".join(bytes.fromhex(colour[1:]) for colour in [*colours, "#ffffff"])
    height, width = levels.shape
    scanlines = np.concatenate([np.zeros((height, 1), dtype=np.uint8), levels], axis=1)  # no filter
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", palette),
        (b"tRNS", b"\xff" * 255 + b"\x00"),
        (b"IDAT", zlib.compress(scanlines.tobytes())),
        (b"IEND", b""),
    ]
    png = b"\x89PNG\r\n\x1a\n"
    for name, data in chunks:
        png += struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    return png

"""PNG thumbnail of all heads, for viewers that run no scripts (such as a repository preview)."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from headlight.model.recordings.recording import Maps
from headlight.viz.notebook.recording_json import downsample
from headlight.viz.theme import THEMES, colour_scale

GAP = 3  # pixels between heads
MIN_HEAD_PIXELS = 24  # minimum side of a head
MAX_HEADS = 24  # limit for layers and for heads


def wall_pixels(maps: Maps) -> bytes:
    """One row per layer, one column per head; darkness is the square root of the weight, as on the head wall."""
    layers, heads = (min(count, MAX_HEADS) for count in maps.shape[:2])
    tiles = [[downsample(maps.select(layer, head)) for head in range(heads)] for layer in range(layers)]
    repeat = [max(1, -(-MIN_HEAD_PIXELS // size)) for size in tiles[0][0].shape]
    height, width = (size * times for size, times in zip(tiles[0][0].shape, repeat, strict=True))
    levels = np.full((layers * (height + GAP), heads * (width + GAP)), 255, dtype=np.uint8)
    for row, tile_row in enumerate(tiles):
        for column, tile in enumerate(tile_row):
            picture = np.repeat(np.repeat(np.sqrt(tile), repeat[0], axis=0), repeat[1], axis=1)
            top, left = row * (height + GAP), column * (width + GAP)
            levels[top : top + height, left : left + width] = np.round(254 * picture)
    return encode_png(levels)


def encode_png(levels: np.ndarray) -> bytes:
    """Encode a palette PNG of 255 colours; level 255 is transparent (https://www.w3.org/TR/png-3/)."""
    colours = [str(colour) for _, colour in colour_scale("headlight", THEMES["light"], 255)]
    table = b"".join(bytes.fromhex(colour[1:]) for colour in [*colours, "#ffffff"])
    height, width = levels.shape
    lines = np.concatenate([np.zeros((height, 1), dtype=np.uint8), levels], axis=1)  # no filter
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", table),
        (b"tRNS", b"\xff" * 255 + b"\x00"),
        (b"IDAT", zlib.compress(lines.tobytes())),
        (b"IEND", b""),
    ]
    result = b"\x89PNG\r\n\x1a\n"
    for name, data in parts:
        result += struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    return result

"""PNG thumbnail of all heads, for viewers that run no scripts, such as a repository preview."""

from __future__ import annotations

import numpy as np

from headlight.model.recordings.recording import Maps
from headlight.viz.export.png import encode_png
from headlight.viz.notebook.recording_json import downsample

GAP = 3  # pixels between heads
MIN_HEAD_PIXELS = 24  # per side
MAX_HEADS = 24  # layers, and heads per layer


def wall_pixels(maps: Maps) -> bytes:
    """Return a PNG with one row per layer and one column per head. Darkness is the square root of the weight."""
    layers, heads = (min(count, MAX_HEADS) for count in maps.shape[:2])
    tiles = [[downsample(maps.select(layer, head)) for head in range(heads)] for layer in range(layers)]
    repeats = [max(1, -(-MIN_HEAD_PIXELS // size)) for size in tiles[0][0].shape]
    height, width = (size * repeat_count for size, repeat_count in zip(tiles[0][0].shape, repeats, strict=True))
    levels = np.full((layers * (height + GAP), heads * (width + GAP)), 255, dtype=np.uint8)
    for row, tile_row in enumerate(tiles):
        for column, tile in enumerate(tile_row):
            pixels = np.repeat(np.repeat(np.sqrt(tile), repeats[0], axis=0), repeats[1], axis=1)
            top, left = row * (height + GAP), column * (width + GAP)
            levels[top : top + height, left : left + width] = np.round(254 * pixels)
    return encode_png(levels)

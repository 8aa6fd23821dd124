"""PNG encoder without Pillow (https://www.w3.org/TR/png-3/), for a palette of 255 colours or for RGB."""

from __future__ import annotations

import struct
import zlib

import numpy as np

from headlight.viz.theme import THEMES, colour_scale


def encode_png(levels: np.ndarray, scale: str = "headlight") -> bytes:
    """Encode a palette PNG from levels [height, width] as uint8: 0 to 254 are colours, 255 is transparent."""
    colours = [str(colour) for _, colour in colour_scale(scale, THEMES["light"], 255)]
    palette = b"".join(bytes.fromhex(colour[1:]) for colour in [*colours, "#ffffff"])
    chunks = [(b"PLTE", palette), (b"tRNS", b"\xff" * 255 + b"\x00")]
    return _encode(levels, 3, chunks)


def encode_rgb_png(pixels: np.ndarray) -> bytes:
    """Encode an RGB PNG from pixels [height, width, 3] as uint8."""
    return _encode(pixels, 2, [])


def _encode(pixels: np.ndarray, colour_type: int, chunks: list[tuple[bytes, bytes]]) -> bytes:
    height, width = pixels.shape[:2]
    lines = pixels.reshape(height, -1)
    scanlines = np.concatenate([np.zeros((height, 1), dtype=np.uint8), lines], axis=1)  # no filter
    header = struct.pack(">IIBBBBB", width, height, 8, colour_type, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n"
    for name, data in [(b"IHDR", header), *chunks, (b"IDAT", zlib.compress(scanlines.tobytes(), 9)), (b"IEND", b"")]:
        png += struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    return png

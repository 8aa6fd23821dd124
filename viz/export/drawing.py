"""A vector drawing of rectangles, lines, texts and images, and its conversion to SVG and PDF. `png_drawing` writes PNG.

All texts use a fixed-width font, so their widths are known: 0.6 em, or 1 em for wide characters.
"""

from __future__ import annotations

import base64
import html
import unicodedata
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from headlight.viz.export.png import encode_rgb_png

LATIN_WIDTH, WIDE_WIDTH = 0.6, 1.0  # em
BASELINE = 0.35  # em from the middle of a line of text to its baseline
Anchor = Literal["start", "middle", "end"]
FONTS = {
    "Latin": "/Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding",
    # Not embedded: viewers have a font for Chinese, or substitute one.
    "Wide": "/Type /Font /Subtype /Type0 /BaseFont /STSong-Light /Encoding /UniGB-UTF16-H /DescendantFonts [<< /Type "
    "/Font /Subtype /CIDFontType0 /BaseFont /STSong-Light /CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) "
    "/Supplement 2 >> /DW 1000 >>]",
}


@dataclass(frozen=True)
class Rectangle:
    """A filled rectangle from its upper left corner."""

    x: float
    y: float
    width: float
    height: float
    colour: str


@dataclass(frozen=True)
class Line:
    """A line between two points."""

    x1: float
    y1: float
    x2: float
    y2: float
    width: float
    colour: str


@dataclass(frozen=True)
class Text:
    """A line of text around `y`. `vertical` text reads upwards, and is anchored at its lower end."""

    x: float
    y: float
    text: str
    size: float
    colour: str
    anchor: Anchor = "start"
    vertical: bool = False


@dataclass(frozen=True, eq=False)
class Image:
    """Pixels [height, width, 3] as uint8, scaled to a rectangle; `smooth` interpolates between them."""

    x: float
    y: float
    width: float
    height: float
    pixels: np.ndarray
    smooth: bool = False


Shape = Rectangle | Line | Text | Image


@dataclass(frozen=True)
class Drawing:
    """Shapes, drawn in their order, on a background. Units are points, and y grows downward."""

    width: float
    height: float
    background: str
    shapes: Sequence[Shape]


def stack(drawings: Sequence[Drawing]) -> Drawing:
    """Combine drawings into one, below each other."""
    shapes: list[Shape] = []
    top = 0.0
    for drawing in drawings:
        shapes += [_move_down(shape, top) for shape in drawing.shapes]
        top += drawing.height
    return Drawing(max(drawing.width for drawing in drawings), top, drawings[0].background, shapes)


def _move_down(shape: Shape, offset: float) -> Shape:
    if isinstance(shape, Line):
        return replace(shape, y1=shape.y1 + offset, y2=shape.y2 + offset)
    return replace(shape, y=shape.y + offset)


def text_width(text: str, size: float) -> float:
    """Return the width of a text in points."""
    return size * sum(WIDE_WIDTH if _is_wide(letter) else LATIN_WIDTH for letter in text)


def to_svg(drawing: Drawing) -> bytes:
    """Return the drawing as SVG."""
    width, height = _format_number(drawing.width), _format_number(drawing.height)
    has_images = any(isinstance(shape, Image) for shape in drawing.shapes)
    links = ' xmlns:xlink="http://www.w3.org/1999/xlink"' if has_images else ""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg"{links} width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="Courier, monospace" shape-rendering="crispEdges">',
        f'<rect width="{width}" height="{height}" fill="{drawing.background}"/>',
        *map(_svg_shape, drawing.shapes),
        "</svg>",
    ]
    return ("\n".join(lines) + "\n").encode()


def _svg_shape(shape: Shape) -> str:
    if isinstance(shape, Rectangle):
        position = f'x="{_format_number(shape.x)}" y="{_format_number(shape.y)}"'
        size = f'width="{_format_number(shape.width)}" height="{_format_number(shape.height)}"'
        return f'<rect {position} {size} fill="{shape.colour}"/>'
    if isinstance(shape, Image):
        return _svg_image(shape)
    if isinstance(shape, Line):
        start = f'x1="{_format_number(shape.x1)}" y1="{_format_number(shape.y1)}"'
        end = f'x2="{_format_number(shape.x2)}" y2="{_format_number(shape.y2)}"'
        stroke = f'stroke="{shape.colour}" stroke-width="{_format_number(shape.width)}" shape-rendering="auto"'
        return f"<line {start} {end} {stroke}/>"
    middle = BASELINE * shape.size
    x, y = (shape.x + middle, shape.y) if shape.vertical else (shape.x, shape.y + middle)
    rotation = f' transform="rotate(-90 {_format_number(x)} {_format_number(y)})"' if shape.vertical else ""
    style = f'font-size="{_format_number(shape.size)}" fill="{shape.colour}" text-anchor="{shape.anchor}"'
    position = f'x="{_format_number(x)}" y="{_format_number(y)}"'
    return f"<text {position} {style}{rotation}>{html.escape(printable(shape.text))}</text>"


def _svg_image(shape: Image) -> str:
    position = f'x="{_format_number(shape.x)}" y="{_format_number(shape.y)}"'
    size = f'width="{_format_number(shape.width)}" height="{_format_number(shape.height)}" preserveAspectRatio="none"'
    rendering = "" if shape.smooth else ' style="image-rendering:pixelated"'
    data = base64.b64encode(encode_rgb_png(shape.pixels)).decode()
    return f'<image {position} {size}{rendering} xlink:href="data:image/png;base64,{data}"/>'


def to_pdf(drawing: Drawing) -> bytes:
    """Return the drawing as a PDF of one page."""
    background = Rectangle(0, 0, drawing.width, drawing.height, drawing.background)
    content = "\n".join(_pdf_shape(shape, drawing.height) for shape in (background, *drawing.shapes))
    stream = zlib.compress(content.encode("ascii"))
    fonts = " ".join(f"/{name} << {font} >>" for name, font in FONTS.items())
    box = f"[0 0 {_format_number(drawing.width)} {_format_number(drawing.height)}]"
    resources = f"<< /Font << {fonts} >> >>"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox {box} /Contents 4 0 R /Resources {resources} >>".encode(),
        f"<< /Length {len(stream)} /Filter /FlateDecode >>\nstream\n".encode() + stream + b"\nendstream",
    ]
    return _pdf_file(objects)


def _pdf_file(objects: Sequence[bytes]) -> bytes:
    result, offsets = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"), []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(result))
        result += f"{number} 0 obj\n".encode() + content + b"\nendobj\n"
    table = len(result)
    result += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    result += b"".join(f"{offset:010} 00000 n \n".encode() for offset in offsets)
    result += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n".encode()
    return bytes(result)


def _pdf_shape(shape: Shape, height: float) -> str:
    """Return the operators of a shape. In PDF, y grows upward."""
    if isinstance(shape, Image):
        return _pdf_image(shape, height)
    colour = " ".join(_format_number(channel / 255) for channel in _parse_rgb(shape.colour))
    if isinstance(shape, Rectangle):
        corner = f"{_format_number(shape.x)} {_format_number(height - shape.y - shape.height)}"
        return f"{colour} rg {corner} {_format_number(shape.width)} {_format_number(shape.height)} re f"
    if isinstance(shape, Line):
        start, end = (
            f"{_format_number(x)} {_format_number(height - y)}" for x, y in ((shape.x1, shape.y1), (shape.x2, shape.y2))
        )
        return f"{colour} RG {_format_number(shape.width)} w {start} m {end} l S"
    x, y, middle = shape.x, height - shape.y, BASELINE * shape.size
    shift = {"start": 0.0, "middle": 0.5, "end": 1.0}[shape.anchor] * text_width(shape.text, shape.size)
    matrix = ("0 1 -1 0", x + middle, y - shift) if shape.vertical else ("1 0 0 1", x - shift, y - middle)
    parts = [_pdf_text(run, shape.size) for run in _runs(printable(shape.text))]
    return f"BT {colour} rg {matrix[0]} {_format_number(matrix[1])} {_format_number(matrix[2])} Tm {' '.join(parts)} ET"


def _pdf_image(shape: Image, height: float) -> str:
    """Return an inline image (PDF 32000, 8.9.7), in hexadecimal digits."""
    rows, columns = shape.pixels.shape[:2]
    matrix = f"{_format_number(shape.width)} 0 0 {_format_number(shape.height)} {_format_number(shape.x)}"
    header = f"/W {columns} /H {rows} /BPC 8 /CS /RGB /I {str(shape.smooth).lower()} /F /AHx"
    data = shape.pixels.tobytes().hex()
    return f"q {matrix} {_format_number(height - shape.y - shape.height)} cm BI {header} ID {data}> EI Q"


def _pdf_text(run: str, size: float) -> str:
    if _is_wide(run[0]):
        return f"/Wide {_format_number(size)} Tf <{run.encode('utf-16-be').hex()}> Tj"
    return f"/Latin {_format_number(size)} Tf <{run.encode('cp1252', 'replace').hex()}> Tj"


def _runs(text: str) -> list[str]:
    """Split a text where the font changes."""
    runs: list[str] = []
    for letter in text:
        if runs and _is_wide(runs[-1][0]) == _is_wide(letter):
            runs[-1] += letter
        else:
            runs.append(letter)
    return runs


def _is_wide(letter: str) -> bool:
    """Whether a letter is outside the Latin font."""
    return unicodedata.east_asian_width(letter) in ("W", "F") or not letter.encode("cp1252", "ignore")


def printable(text: str) -> str:
    """Return the text with spaces for letters that are not printable."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _parse_rgb(colour: str) -> tuple[int, int, int]:
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue


def _format_number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".") or "0"

"""Conversion of a drawing to PNG with Pillow. System fonts supply letters that Pillow's font lacks."""

from __future__ import annotations

import io
import re
from functools import cache
from itertools import groupby
from typing import Any

from headlight.model.errors import MissingPackageError, ModelError
from headlight.viz.export.drawing import Drawing, Image, Line, Rectangle, Text, printable

try:
    import PIL.Image
    from PIL import ImageDraw, ImageFont
except ImportError as error:
    raise MissingPackageError("PNG needs Pillow: pip install pillow. SVG and PDF need nothing.") from error

SCALE = 2  # pixels per point
ARROW, ARROW_WIDTH, ARROW_HEAD = "→", 0.9, 0.2  # em
SIMILAR_LETTERS = str.maketrans({"×": "x", "–": "-", "—": "-", "−": "-"})  # Pillow's font lacks the first of each pair
MISSING_LETTER = "\uffff"  # a noncharacter, for which every font draws its sign for missing letters
SYSTEM_FONTS = (
    *(
        "DejaVuSans.ttf",
        "arial.ttf",
        "Arial.ttf",
        "NotoSans-Regular.ttf",
        "LiberationSans-Regular.ttf",
        "Arimo-Regular.ttf",
    ),
    *("NotoSansCJK-Regular.ttc", "NotoSansSC-Regular.otf", "NotoSansSC-Regular.ttf", "SourceHanSansSC-Regular.otf"),
    *("wqy-microhei.ttc", "wqy-zenhei.ttc", "DroidSansFallbackFull.ttf", "PingFang.ttc", "Hiragino Sans GB.ttc"),
    *("STHeiti Light.ttc", "msyh.ttc", "simsun.ttc", "Arial Unicode.ttf", "Symbola.ttf"),
)


def to_png(drawing: Drawing) -> bytes:
    """Return the drawing as PNG. Raise a `ModelError` for letters that no font of this computer has."""
    image = PIL.Image.new("RGB", (round(drawing.width * SCALE), round(drawing.height * SCALE)), drawing.background)
    canvas = ImageDraw.Draw(image)
    for shape in drawing.shapes:
        if isinstance(shape, Rectangle):
            left, top, right, bottom = _pixel_bounds(shape)
            canvas.rectangle((left, top, max(left, right - 1), max(top, bottom - 1)), fill=shape.colour)
        elif isinstance(shape, Image):
            _paste_image(image, shape)
        elif isinstance(shape, Line):
            points = [value * SCALE for value in (shape.x1, shape.y1, shape.x2, shape.y2)]
            canvas.line(points, fill=shape.colour, width=max(1, round(shape.width * SCALE)))
        else:
            _paste_text(image, shape)
    content = io.BytesIO()
    image.save(content, "PNG")
    return content.getvalue()


def _pixel_bounds(shape: Rectangle | Image) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom in pixels."""
    corners = (shape.x, shape.y, shape.x + shape.width, shape.y + shape.height)
    left, top, right, bottom = (round(value * SCALE) for value in corners)
    return left, top, right, bottom


def _paste_image(image: Any, shape: Image) -> None:
    left, top, right, bottom = _pixel_bounds(shape)
    method = PIL.Image.Resampling.BICUBIC if shape.smooth else PIL.Image.Resampling.NEAREST
    pixels = PIL.Image.fromarray(shape.pixels)
    image.paste(pixels.resize((max(1, right - left), max(1, bottom - top)), method), (left, top))


def _paste_text(image: Any, shape: Text) -> None:
    mask = _text_mask(printable(shape.text).translate(SIMILAR_LETTERS), shape.size * SCALE)
    offset = {"start": 0.0, "middle": 0.5, "end": 1.0}[shape.anchor] * mask.width
    x, y = shape.x * SCALE, shape.y * SCALE
    if shape.vertical:
        corner = (round(x - mask.height / 2), round(y - mask.width + offset))
        mask = mask.rotate(90, expand=True)
    else:
        corner = (round(x - offset), round(y - mask.height / 2))
    image.paste(shape.colour, corner, mask)


def _text_mask(text: str, size: float) -> Any:
    """Return a greyscale image of a text, white on black, with the height of a line."""
    runs = [run for part in re.split(f"({ARROW})", text) for run in _runs(part, size)]
    widths = [ARROW_WIDTH * size if font is None else font.getlength(run) for run, font in runs]
    ascent, descent = _load_font(None, size).getmetrics()
    mask = PIL.Image.new("L", (max(1, round(sum(widths))), ascent + descent))
    canvas = ImageDraw.Draw(mask)
    start = 0.0
    for (run, font), width in zip(runs, widths, strict=True):
        if font is None:
            _draw_arrow(canvas, start, ascent, size)
        else:
            canvas.text((start, ascent), run, fill=255, font=font, anchor="ls")
        start += width
    return mask


def _draw_arrow(canvas: Any, start: float, baseline: float, size: float) -> None:
    left, right = start + 0.1 * size, start + (ARROW_WIDTH - 0.1) * size
    middle, head, width = baseline - 0.3 * size, ARROW_HEAD * size, max(1, round(size / 12))
    canvas.line((left, middle, right, middle), fill=255, width=width)
    canvas.line((right - head, middle - head, right, middle, right - head, middle + head), fill=255, width=width)


def _runs(text: str, size: float) -> list[tuple[str, Any]]:
    """Split a text into runs of one font, into a single run if possible. An arrow is drawn, so its font is None."""
    if text == ARROW:
        return [(text, None)]
    fonts = (font for name in (None, *SYSTEM_FONTS) if (font := _load_font(name, size)) is not None)
    whole = next((font for font in fonts if all(_has_letter(font, letter) for letter in text)), None)
    if whole is not None:
        return [(text, whole)] if text else []
    return [("".join(letters), font) for font, letters in groupby(text, lambda letter: _letter_font(letter, size))]


def _letter_font(letter: str, size: float) -> Any:
    """Return the first font that has a letter."""
    for name in (None, *SYSTEM_FONTS):
        font = _load_font(name, size)
        if font is not None and _has_letter(font, letter):
            return font
    raise ModelError(
        f"Pillow's font has only Latin letters. Export .svg or .pdf for {letter!r} (U+{ord(letter):04X}), or install "
        "a font that has it, such as DejaVu Sans, or Noto Sans CJK for Chinese."
    )


@cache
def _has_letter(font: Any, letter: str) -> bool:
    """Whether a font draws a letter other than the sign for a missing one."""
    return bytes(font.getmask(letter)) != bytes(font.getmask(MISSING_LETTER))


@cache
def _load_font(name: str | None, size: float) -> Any:
    """Load a system font, or Pillow's font if `name` is None. Returns None if the font is not installed."""
    try:
        return ImageFont.load_default(size) if name is None else ImageFont.truetype(name, size)
    except OSError:
        return None

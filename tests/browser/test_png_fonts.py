"""Pictures as PNG take letters that Pillow's font lacks from other fonts, such as those of the page's tests."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageFont

from headlight.viz.export import png_drawing
from headlight.viz.export.drawing import Drawing, Text
from headlight.viz.export.png_drawing import to_png
from tests.browser.browsers import OURS


def ink(text: str) -> np.ndarray:
    """Darkness of a text in a drawing."""
    content = to_png(Drawing(60, 20, "#ffffff", (Text(2, 10, text, 10, "#000000"),)))
    return 255 - np.asarray(Image.open(io.BytesIO(content)).convert("L")).astype(int)


@pytest.mark.parametrize("letter", ["猫", "ä"])
def test_letters_come_from_a_font_that_has_them(letter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = [str(path) for path in sorted((OURS / "fonts").glob("*Regular*"))]
    monkeypatch.setattr(png_drawing, "SYSTEM_FONTS", (*png_drawing.SYSTEM_FONTS, *installed))
    plain = ImageFont.load_default(20)
    assert bytes(plain.getmask(letter)) == bytes(plain.getmask("\uffff"))  # a box
    darkness = ink(letter)
    rows, columns = (np.flatnonzero(darkness.any(axis=axis)) for axis in (1, 0))
    box = darkness[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    masks = [ImageFont.truetype(name, 20).getmask(letter) for name in png_drawing.SYSTEM_FONTS if has_font(name)]
    sizes = [mask.getbbox() and mask.crop(mask.getbbox()).size for mask in masks]
    assert box.shape[::-1] in sizes  # as wide and as high as in one of the fonts
    assert ink(f"a{letter}").sum() > ink("a").sum()


def has_font(name: str) -> bool:
    try:
        ImageFont.truetype(name, 20)
    except OSError:
        return False
    return True

"""`view.export`: pictures without a browser, with the numbers of the heads."""

from __future__ import annotations

import base64
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

import headlight
from headlight import Translator
from headlight.errors import ModelError, RecordingError
from headlight.viz.export import png_drawing
from headlight.viz.export.drawing import Drawing, Line, Rectangle, Text, text_width, to_pdf, to_svg
from headlight.viz.export.drawing import Image as Picture
from headlight.viz.export.png_drawing import to_png
from headlight.viz.notebook.view_pictures import MAX_TILE_CELLS
from headlight.viz.theme import THEMES, colour_scale, head_colour
from tests.viz.notebook.test_showing import CAUSAL, NAMES

SVG = "{http://www.w3.org/2000/svg}"
COLOURS = [str(colour) for _, colour in colour_scale("headlight", THEMES["light"], 255)]


def shapes(path: Path, tag: str) -> list[dict[str, str]]:
    root = ElementTree.fromstring(path.read_text(encoding="utf-8"))  # noqa: S314 (written by Headlight)
    return [{**element.attrib, "words": element.text or ""} for element in root.iter(f"{SVG}{tag}")]


def pdf_content(content: bytes) -> str:
    """The operators of the page, after a check of the table of objects."""
    for number, offset in enumerate(re.findall(rb"(\d{10}) 00000 n", content), start=1):
        assert content[int(offset) :].startswith(f"{number} 0 obj".encode())
    match = re.search(rb"/Length (\d+) /Filter /FlateDecode >>\nstream\n", content)
    assert match is not None
    return zlib.decompress(content[match.end() : match.end() + int(match[1])]).decode()


def test_a_head_has_a_cell_for_each_weight(tmp_path: Path) -> None:
    view = headlight.show(CAUSAL, tokens=NAMES, layer=1, head=2)
    view.export(tmp_path / "head.svg", "head")
    cells = [shape for shape in shapes(tmp_path / "head.svg", "rect") if shape.get("width") == "14"]
    left, top = min(float(cell["x"]) for cell in cells), min(float(cell["y"]) for cell in cells)
    picture = np.zeros((7, 7), dtype=int)
    for cell in cells:
        row, column = (round((float(cell[axis]) - start) / 14) for axis, start in (("y", top), ("x", left)))
        picture[row, column] = COLOURS.index(cell["fill"])
    np.testing.assert_array_equal(picture, np.rint(CAUSAL[1, 2] * 254))
    words = [text["words"] for text in shapes(tmp_path / "head.svg", "text")]
    assert words[:14] == NAMES * 2
    assert "layer 2, head 3" in " ".join(words[14:])


def test_the_wall_has_every_head(tmp_path: Path) -> None:
    headlight.show(CAUSAL, tokens=NAMES).export(tmp_path / "wall.svg")
    cells = [shape for shape in shapes(tmp_path / "wall.svg", "rect") if shape.get("width") == "8"]
    levels = np.rint(np.sqrt(CAUSAL) * 254).astype(int)
    assert sorted(COLOURS.index(cell["fill"]) for cell in cells) == sorted(levels[levels > 0].tolist())
    words = [text["words"] for text in shapes(tmp_path / "wall.svg", "text")]
    assert words[:5] == ["1", "2", "3", "1", "2"]
    large = np.full((1, 1, 50, 50), 0.02)
    headlight.show(large).export(tmp_path / "large.svg")
    assert len(shapes(tmp_path / "large.svg", "rect")) == MAX_TILE_CELLS**2 + 2
    assert "50 × 50" in " ".join(text["words"] for text in shapes(tmp_path / "large.svg", "text"))


def test_lines_overlay_several_heads(tmp_path: Path) -> None:
    view = headlight.show(CAUSAL, tokens=NAMES)
    view.export(tmp_path / "lines.svg", "lines", heads=[0, 2], caption="two heads")
    count = int((CAUSAL[0, [0, 2]] >= 0.01).sum())
    assert len(shapes(tmp_path / "lines.svg", "line")) == count
    texts = shapes(tmp_path / "lines.svg", "text")
    assert [(text["words"], text["fill"]) for text in texts[:2]] == [
        ("1", head_colour(THEMES["light"], 0)), ("3", head_colour(THEMES["light"], 1)),
    ]  # fmt: skip
    assert texts[-1]["words"] == "two heads"


def test_pdf_and_png_have_the_same_drawing(tmp_path: Path) -> None:
    view = headlight.show(CAUSAL, tokens=NAMES)
    for form in ("svg", "pdf", "png"):
        view.export(tmp_path / f"wall.{form}")
    rectangles = len(shapes(tmp_path / "wall.svg", "rect"))
    content = (tmp_path / "wall.pdf").read_bytes()
    assert pdf_content(content).count(" re f") == rectangles
    size = re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", content)
    picture = Image.open(tmp_path / "wall.png")
    assert size is not None
    assert picture.size == (round(2 * float(size[1])), round(2 * float(size[2])))
    colours = {f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in picture.convert("RGB").get_flattened_data()}
    assert {COLOURS[level] for level in np.rint(np.sqrt(CAUSAL[0, 0]) * 254).astype(int).ravel()} <= colours


@contextmanager
def no_system_fonts() -> Iterator[None]:
    """A computer that has Pillow's font alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(png_drawing, "SYSTEM_FONTS", ())
        yield


def ink(*texts: Text) -> np.ndarray:
    """Dark pixels of texts in a drawing of 60 × 20 units."""
    return np.asarray(Image.open(io.BytesIO(to_png(Drawing(60, 20, "#ffffff", texts)))).convert("L")) < 128


def test_png_draws_arrows_and_letters_that_pillows_font_lacks(tmp_path: Path) -> None:
    with no_system_fonts():
        words = ink(Text(2, 10, "am", 10, "#000000"))
        arrow = ink(Text(2, 10, "→", 10, "#000000"))
        both = ink(Text(2, 10, "am→", 10, "#000000"))
        end = np.flatnonzero(words.any(axis=0)).max()
        np.testing.assert_array_equal(both[:, :end], words[:, :end])
        rows, columns = (np.flatnonzero(arrow.any(axis=axis)) for axis in (1, 0))
        line = np.argmax(arrow.sum(axis=1))  # the row of the shaft, as long as the arrow
        assert arrow[line, columns.min() : columns.max() + 1].all()
        left, right = arrow[:, : columns.mean().astype(int)], arrow[:, columns.mean().astype(int) :]
        assert right.sum() > left.sum()  # the head is at the right
        assert np.abs(rows.mean() - line) <= 1
        assert both.sum() > words.sum() + 0.8 * arrow.sum()
        translation = Translator.load("toy", device="cpu").translate("ich mochte ein bier")
        view = headlight.show(translation)
        for kind in ("decoder", "cross"):
            view.kind = kind
            for what in ("wall", "head", "lines"):
                view.export(tmp_path / f"{kind}-{what}.png", what)
                with Image.open(tmp_path / f"{kind}-{what}.png") as picture:
                    assert picture.width > 100


def test_texts_of_all_scripts_are_escaped_and_placed() -> None:
    texts = (Text(10, 20, "<b>猫</b>\n", 10, "#000000", "end"), Text(5, 5, "é\\()", 8, "#ff0000", vertical=True))
    drawing = Drawing(50, 40, "#ffffff", (*texts, Line(0, 0, 9, 9, 1, "#0000ff"), Rectangle(1, 2, 3, 4, "#00ff00")))
    assert b"&lt;b&gt;" in to_svg(drawing)
    ElementTree.fromstring(to_svg(drawing))  # noqa: S314 (written by Headlight)
    content = pdf_content(to_pdf(drawing))
    assert f"<{'猫'.encode('utf-16-be').hex()}> Tj" in content
    assert f"<{chr(233).encode('cp1252').hex()}5c2829> Tj" in content
    assert "1 34 3 4 re f" in content  # y grows upward
    assert text_width("ab猫", 10) == pytest.approx(22)
    with no_system_fonts(), pytest.raises(ModelError, match=r"only Latin letters. Export \.svg or \.pdf"):
        to_png(drawing)
    latin = Drawing(40, 40, "#ffffff", (Text(20, 38, "word", 8, "#000000", vertical=True),))
    dark = np.asarray(Image.open(io.BytesIO(to_png(latin))).convert("L")) < 128
    rows, columns = np.flatnonzero(dark.any(axis=1)), np.flatnonzero(dark.any(axis=0))
    assert rows.max() <= 76
    assert np.ptp(rows) > np.ptp(columns)  # taller than wide


def test_translations_name_both_words_of_a_row(tmp_path: Path) -> None:
    translation = Translator.load("toy", device="cpu").translate("ich mochte ein bier")
    view = headlight.show(translation)
    for what in ("wall", "head", "lines"):
        view.export(tmp_path / f"{what}.svg", what, theme="dark")
    words = [text["words"] for text in shapes(tmp_path / "head.svg", "text")]
    first, start = translation.target_tokens[0].text, translation.decoder_tokens[0].text
    assert words[0] == f"{start} → {first}"


def test_errors_say_what_to_do(tmp_path: Path) -> None:
    view = headlight.show(CAUSAL, tokens=NAMES)
    for call, says in (
        (lambda: view.export(tmp_path / "wall.gif"), r"none of the endings \.svg, \.pdf, \.png"),
        (lambda: view.export(tmp_path / "none" / "wall.svg"), "Create it first"),
        (lambda: view.export(tmp_path / "wall.svg", "pie"), "what must be one of wall, head, lines"),
        (lambda: view.export(tmp_path / "wall.svg", theme="pink"), "theme must be one of"),
        (lambda: view.export(tmp_path / "wall.svg", heads=[1]), "would be ignored"),
        (lambda: view.export(tmp_path / "wall.svg", "lines", heads=[9]), "head must be a whole number"),
        (lambda: headlight.show(CAUSAL, layer="mean").export(tmp_path / "a.svg", "head"), "Select it: view.layer = 0"),
    ):
        with pytest.raises(RecordingError, match=says):
            call()


def pictured_levels(element: dict[str, str]) -> np.ndarray:
    """The levels of an image's cells, from its colours."""
    content = base64.b64decode(element["{http://www.w3.org/1999/xlink}href"].partition(",")[2])
    pixels = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))
    colours = [tuple(bytes.fromhex(colour[1:])) for colour in COLOURS]
    return np.array([[colours.index(tuple(pixel)) for pixel in row] for row in pixels.tolist()])


def test_static_picture_has_every_head_and_the_selected_one(tmp_path: Path) -> None:
    view = headlight.show(CAUSAL, tokens=NAMES, layer=1, head=2)
    (tmp_path / "view.svg").write_text(view._repr_mimebundle_()[0]["image/svg+xml"], encoding="utf-8")
    images = shapes(tmp_path / "view.svg", "image")
    for image, weights in zip(images, CAUSAL.reshape(6, 7, 7), strict=True):
        np.testing.assert_array_equal(pictured_levels(image), np.rint(np.sqrt(weights) * 254))
    view.export(tmp_path / "head.svg", "head")
    cells = [shape["fill"] for shape in shapes(tmp_path / "head.svg", "rect")[1:]]
    assert [shape["fill"] for shape in shapes(tmp_path / "view.svg", "rect")[1:]] == cells
    words = [text["words"] for text in shapes(tmp_path / "view.svg", "text")]
    assert "".join(words).count("cat") == 2
    view.head = "max"  # no single map
    assert "<rect" in view._repr_mimebundle_()[0]["image/svg+xml"]
    assert view._repr_mimebundle_()[0]["image/svg+xml"].count("<text") < len(words)


def test_static_picture_of_a_comparison_has_both_inputs() -> None:
    view = headlight.compare(CAUSAL, CAUSAL[:, :2])
    assert view._repr_mimebundle_()[0]["image/svg+xml"].count("<image") == 6 + 4


def test_translation_has_an_image_without_scripts() -> None:
    translation = Translator.load("toy", device="cpu").translate("ich mochte ein bier")
    view = headlight.show(translation)
    image = re.search(r'<img [^>]*src="data:image/png;base64,([^"]+)"', view._repr_html_())
    assert image is not None
    layers, heads, rows, columns = translation.attention.cross.shape
    sizes = [count * -(-24 // count) + 3 for count in (columns, rows)]
    assert Image.open(io.BytesIO(base64.b64decode(image[1]))).size == (heads * sizes[0], layers * sizes[1])


def test_images_are_drawn_in_every_format() -> None:
    pixels = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [9, 8, 7]]], dtype=np.uint8)
    drawing = Drawing(30, 20, "#ffffff", (Picture(4, 2, 20, 10, pixels),))
    assert b'x="4" y="2" width="20" height="10"' in to_svg(drawing)
    content = pdf_content(to_pdf(drawing))
    assert "q 20 0 0 10 4 8 cm BI /W 2 /H 2" in content  # y grows upward
    assert f"ID {pixels.tobytes().hex()}> EI" in content
    picture = np.asarray(Image.open(io.BytesIO(to_png(drawing))))  # two pixels per unit
    np.testing.assert_array_equal(picture[4:24, 8:48], pixels.repeat(10, axis=0).repeat(20, axis=1))
    assert (picture[:4] == 255).all()
    assert (picture[24:] == 255).all()

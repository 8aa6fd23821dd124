"""The image of a vision model is in the page of its view, and pictures lay a row's weights over it."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import headlight
from headlight.errors import RecordingError
from headlight.viz.theme import THEMES, colour_scale
from tests.model.recordings import families
from tests.viz.notebook.test_pictures import shapes
from tests.viz.notebook.test_showing import CAUSAL, NAMES, page_data

HREF = "{http://www.w3.org/1999/xlink}href"
COLOURS = np.array(
    [list(bytes.fromhex(str(colour)[1:])) for _, colour in colour_scale("headlight", THEMES["light"], 255)]
)
PIXELS = np.random.default_rng(3).integers(0, 256, (24, 24, 3)).astype(np.uint8)


def vision_view(**options: Any) -> Any:
    """A view of a model that reads 3 × 3 patches of 8 × 8 pixels."""
    pixels = torch.tensor(PIXELS.transpose(2, 0, 1) / 255, dtype=torch.float32)
    return headlight.show(families.vit(), image=pixels, **options)


def decoded(address: str) -> np.ndarray:
    """The pixels of an image that is written as an address."""
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(address.partition("base64,")[2]))).convert("RGB"))


def test_page_has_the_image_and_the_place_of_each_token() -> None:
    (view,) = page_data(vision_view())["views"]
    picture = view["picture"]
    np.testing.assert_array_equal(decoded(picture["image"]), PIXELS)
    assert (picture["rows"], picture["columns"], picture["places"]) == (3, 3, [None, *range(9)])
    (words,) = page_data(headlight.show(CAUSAL, tokens=NAMES))["views"]
    assert words["picture"] is None


def expected_picture(weights: np.ndarray) -> np.ndarray:
    """Three fifths of each pixel are the colour of its patch."""
    result = np.zeros(PIXELS.shape)
    for row in range(24):
        for column in range(24):
            level = weights[row // 8 * 3 + column // 8] / weights.max()
            result[row, column] = 0.4 * PIXELS[row, column] + 0.6 * COLOURS[round(254 * float(level))]
    return result


@pytest.mark.parametrize("row", [0, 5])
def test_picture_has_the_weights_of_the_row(row: int, tmp_path: Path) -> None:
    view = vision_view(layer=1, head=2, row=row)
    view.export(tmp_path / "picture.svg", "picture")
    view.export(tmp_path / "head.svg", "head")
    expected = expected_picture(view.sources[0].attention.of("self")[1, 2, row, 1:])
    for name, frame in (("picture", (12, 12)), ("head", None)):
        (image,) = shapes(tmp_path / f"{name}.svg", "image")
        assert np.abs(decoded(image[HREF]) - expected).max() <= 1
        assert (image["width"], image["height"]) == ("224", "224")
        lines = shapes(tmp_path / f"{name}.svg", "line")
        assert len(lines) == (4 if row else 0)  # a frame around the patch of the row; the class token has none
        if row and frame:
            places = [float(line[axis]) for line in lines for axis in ("x1", "y1")]
            assert (min(places[0::2]) - 12, min(places[1::2]) - 12) == pytest.approx((224 / 3, 224 / 3), abs=1e-3)
        words = " ".join(text["words"] for text in shapes(tmp_path / f"{name}.svg", "text"))
        assert f"the row {['[CLS]', 0, 0, 0, 0, '2·2'][row]} over the image" in words
    for form in ("png", "pdf"):
        view.export(tmp_path / f"picture.{form}", "picture", theme="dark", caption="a cat")
        assert (tmp_path / f"picture.{form}").stat().st_size > 1000


def test_picture_needs_an_image_and_a_row(tmp_path: Path) -> None:
    for view in (vision_view(), headlight.show(CAUSAL, tokens=NAMES, row=1)):
        with pytest.raises(RecordingError, match=r"image of a vision model and a row: .* view\.row = 0"):
            view.export(tmp_path / "picture.svg", "picture")
    vision_view().export(tmp_path / "head.svg", "head")
    assert not shapes(tmp_path / "head.svg", "image")
    with pytest.raises(RecordingError, match="needs one layer"):
        vision_view(layer="mean", row=0).export(tmp_path / "picture.svg", "picture")


def test_static_picture_of_a_large_image_is_its_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    view = vision_view(row=0)
    count = view._repr_mimebundle_()[0]["image/svg+xml"].count("<image")
    assert count == 2 * 3 + 1  # all heads, and the image below the selected one
    monkeypatch.setattr("headlight.viz.notebook.static_picture.MAX_HEAD_TOKENS", 9)
    bundle = view._repr_mimebundle_()[0]["image/svg+xml"]
    assert bundle.count("<image") == 2 * 3 + 1
    assert "over the image" in " ".join(bundle.split())

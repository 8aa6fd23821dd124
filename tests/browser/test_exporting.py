"""The number view and all exports contain the model's numbers."""

from __future__ import annotations

import base64
import html
import io
import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

import headlight
from headlight.model.measures.statistics import measure
from headlight.model.records import KINDS, FloatArray, Translation
from headlight.viz.theme import THEMES, colour_scale
from tests.browser.acting import plotly_values, resize, title, wait_until_idle
from tests.browser.axe import barriers
from tests.browser.conftest import Visit, saved_page
from tests.chosen import CHOSEN, SENTENCE

NEAR = 1.01 / 20_000
ROUNDED = 5e-4 + 1e-7  # three decimals are shown; those of one weight are exact


def save(page: Page, form: str, folder: Path) -> Path:
    """Export a file and return its path."""
    with page.expect_download() as waiting:
        page.click(".take-away > .link")
        page.get_by_role("menuitem", name=re.compile(f"^{form}")).click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


# The boxes of each scrolled entry and of the menu, and the text boxes of each name and explanation.
BOXES = """(menu) => {
  const sides = ({ left, top, right, bottom }) => [left, top, right, bottom];
  const letters = (it) => {
    const range = document.createRange();
    range.selectNodeContents(it);
    return sides(range.getBoundingClientRect());
  };
  const entries = [...menu.querySelectorAll('button')].flatMap((entry) => {
    entry.scrollIntoView({ block: 'nearest' });
    return [sides(entry.getBoundingClientRect()), sides(menu.getBoundingClientRect())];
  });
  return { entries, texts: [...menu.querySelectorAll('b, span')].map(letters) };
}"""


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_export_menu_items_do_not_overlap_or_overflow(visit: Visit, locale: str) -> None:
    page = visit(locale=locale)
    for width, height in ((1440, 900), (1280, 900), (1280, 720), (1024, 768), (768, 1024), (390, 844), (360, 640)):
        resize(page, width, height)
        page.click(".take-away > .link")
        boxes = page.locator(".take-away .menu").evaluate(BOXES)
        seen = page.evaluate("document.body.clientWidth")  # without the scrollbar of the page
        for left, top, right, bottom in boxes["entries"]:
            assert min(left, top) >= 0, (width, height)
            assert (right <= seen, bottom <= height) == (True, True), (width, height, right, bottom)
        assert len(boxes["texts"]) == len(boxes["entries"])
        for one, other in combinations(boxes["texts"], 2):
            beside = one[2] <= other[0] or other[2] <= one[0]
            below = one[3] <= other[1] + 1 or other[3] <= one[1] + 1
            assert beside or below, (width, height, one, other)
        page.mouse.click(5, 5)
        expect(page.locator(".take-away .menu")).to_be_hidden()


def table(page: Page) -> FloatArray:
    """Return the cells of the number view; NaN if masked."""
    rows = page.evaluate(
        "() => [...document.querySelectorAll('.explorer .numbers tbody tr')].map((row) => "
        "[...row.querySelectorAll('td')].map((cell) => cell.textContent))"
    )
    return np.array([[np.nan if cell == "–" else float(cell.replace("−", "-")) for cell in row] for row in rows])


def test_number_view_matches_model(page: Page, example: Translation) -> None:
    page.click("[data-view=numbers]")
    for kind in KINDS:
        page.click(f"[data-kind={kind}]")
        page.click('.wall-grid button[data-layer="2"][data-head="5"]')
        one = example.attention_map(kind, 2, 5)
        np.testing.assert_allclose(table(page), np.where(one.allowed, one.weights, np.nan), atol=ROUNDED)
        names = page.locator(".explorer .numbers tbody th").all_text_contents()
        rows = zip(one.previous_tokens, one.rows, strict=True)
        read_and_written = [f"{read.text.strip()} → {token.text.strip()}" for read, token in rows]
        assert names == ([token.text.strip() for token in one.rows] if kind == "encoder" else read_and_written)
    page.keyboard.press("p")
    page.click('.wall-grid button[data-layer="0"][data-head="3"]')
    cross = example.attention.cross
    np.testing.assert_allclose(table(page), cross[2, 5] - cross[0, 3], atol=ROUNDED + 2 * NEAR)


@pytest.mark.journey
def test_csv_npz_and_json_match_model(page: Page, folder: Path, example: Translation) -> None:
    page.click('.wall-grid button[data-layer="1"][data-head="2"]')
    table = pd.read_csv(save(page, "CSV", folder), index_col=0, encoding="utf-8-sig")
    np.testing.assert_allclose(table.to_numpy(), example.attention.cross[1, 2], atol=1e-6)
    arrays = np.load(save(page, "NPZ", folder))
    content = json.loads(save(page, "JSON", folder).read_text(encoding="utf-8"))
    for kind in KINDS:
        np.testing.assert_array_equal(arrays[kind], example.attention.of(kind))
        np.testing.assert_allclose(content[kind], example.attention.of(kind), atol=1e-7)


def map_boxes(vector: str) -> list[tuple[float, ...]]:
    """Return left, top, width and height of each map in an SVG."""
    layer = re.search(r'<g class="bglayer">(.*?)</g>', vector)
    assert layer is not None
    boxes = re.findall(r'class="bg" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', layer[1])
    return [tuple(map(float, numbers)) for numbers in boxes]


def cell_colours(picture: Image.Image, box: tuple[float, ...], shape: tuple[int, ...]) -> FloatArray:
    """Return the colour at the centre of each cell, `[rows, columns, rgb]`, of a map in a box of an image."""
    left, top, width, height = box
    pixels = np.asarray(picture.convert("RGB"), dtype=np.float64)
    rows, columns = shape
    down = (top + (np.arange(rows) + 0.5) * height / rows).astype(int)
    across = (left + (np.arange(columns) + 0.5) * width / columns).astype(int)
    return pixels[np.ix_(down, across)]


def expected_colours(weights: FloatArray) -> FloatArray:
    """Return the colour of each weight in the light theme, `[rows, columns, rgb]`."""
    scale = colour_scale("headlight", THEMES["light"])
    stops = np.array([[int(colour[place : place + 2], 16) for place in (1, 3, 5)] for _, colour in scale])
    places = [place for place, _ in scale]
    return np.stack([np.interp(weights, places, stops[:, part]) for part in range(3)], axis=-1)


def test_exported_images_show_same_numbers_at_print_size(page: Page, folder: Path, example: Translation) -> None:
    page.click('.wall-grid button[data-layer="1"][data-head="2"]')
    weights = example.attention.cross[1, 2]
    vector = save(page, "SVG", folder).read_text(encoding="utf-8")
    image = re.search(r'<image[^>]+href="data:image/png;base64,([^"]+)"', vector)
    (ground,) = map_boxes(vector)
    assert image is not None
    cells = Image.open(io.BytesIO(base64.b64decode(image[1])))
    whole = (0, 0, *cells.size)
    np.testing.assert_allclose(cell_colours(cells, whole, weights.shape), expected_colours(weights), atol=2)
    labels = {word.strip() for name in re.findall(r">([^<>]+)</text>", vector) for word in name.split("→")}
    tokens = (*example.source_tokens, *example.target_tokens)
    assert {token.text.strip() for token in tokens if not token.special} <= labels
    picture = Image.open(save(page, "PNG", folder))
    assert picture.width >= 1800  # three times the size on the screen
    box = tuple(3 * number for number in ground)
    np.testing.assert_allclose(cell_colours(picture, box, weights.shape), expected_colours(weights), atol=2)


def test_exported_cells_are_square_for_one_and_two_heads(page: Page, folder: Path, example: Translation) -> None:
    rows, columns = example.attention.cross.shape[2:]
    assert rows != columns
    (alone,) = map_boxes(save(page, "SVG", folder).read_text(encoding="utf-8"))
    page.keyboard.press("p")
    page.keyboard.press("ArrowRight")
    three = map_boxes(save(page, "SVG", folder).read_text(encoding="utf-8"))
    assert len(three) == 3
    for _, _, width, height in (alone, *three):
        assert abs(width / columns - height / rows) < 0.05


@pytest.mark.journey
def test_saved_page_works_offline_with_same_numbers(
    page: Page, folder: Path, browser: Browser, example: Translation
) -> None:
    page.click('.wall-grid button[data-layer="2"][data-head="1"]')
    path = save(page, "HTML", folder)
    with saved_page(browser, path, ".explorer .plot .main-svg") as saved:
        np.testing.assert_allclose(plotly_values(saved), example.attention.cross[2, 1], atol=NEAR)
        assert title(saved) == "Layer 3 · Head 2"
        assert f"Headlight {headlight.__version__} · " in saved.inner_text(".last-line .licence")
        saved.keyboard.press("ArrowRight")
        assert title(saved) == "Layer 3 · Head 3"
        np.testing.assert_allclose(plotly_values(saved), example.attention.cross[2, 2], atol=NEAR)
        saved.keyboard.press("1")
        saved.click('.wall-grid button[data-layer="2"][data-head="2"]')  # another kind has another initial head
        np.testing.assert_allclose(plotly_values(saved), example.attention.encoder[2, 2], atol=NEAR)
        saved.locator(".colouring select").select_option("entropy")
        expected = measure(example, "encoder", "entropy")[2, 2]
        expect(saved.locator('.thumb[data-layer="2"][data-head="2"]')).to_have_attribute(
            "data-value", f"{expected:.1f}"
        )
        saved.click(".head-table summary")
        expect(saved.locator(".head-table tbody tr")).to_have_count(measure(example, "encoder", "entropy").size)


@pytest.mark.journey
def test_link_is_copied_to_clipboard(page: Page) -> None:
    page.click(".take-away > .link")
    page.get_by_role("menuitem", name="Link").click()
    expect(page.locator(".toast")).to_contain_text("Link copied")
    assert page.evaluate("navigator.clipboard.readText()").startswith(page.url.split("#")[0])


def test_python_snippet_reproduces_reranked_translation(visit: Visit) -> None:
    page = visit("#" + urlencode({"text": SENTENCE}))
    expect(page.locator(".translate")).to_contain_text(CHOSEN)
    wait_until_idle(page)
    page.click(".take-away > .link")
    page.get_by_role("menuitem", name="Python").click()
    expect(page.locator(".toast")).to_contain_text("Python copied")
    *lines, last, _ = page.evaluate("navigator.clipboard.readText()").split("\n")
    known: dict[str, Any] = {}
    exec("\n".join(lines), known)  # noqa: S102 - what a reader would paste
    assert [*lines][-1].endswith(
        'beam_size=4, no_repeat=4, back_weight=0.3, way_back=Translator.load("en-de"))'
    )  # and no default option
    assert CHOSEN in known["result"].text
    np.testing.assert_allclose(eval(last, known).weights, plotly_values(page), atol=NEAR)  # noqa: S307


def test_embedded_head_matches_python_snippet(page: Page, visit: Visit) -> None:
    page.click('.wall-grid button[data-layer="2"][data-head="1"]')
    copied = []
    for form, called in (("Frame", "Iframe"), ("Python", "Python")):
        page.click(".take-away > .link")
        page.get_by_role("menuitem", name=re.compile(f"^{form}")).click()
        expect(page.locator(".toast")).to_contain_text(f"{called} copied")
        copied.append(page.evaluate("navigator.clipboard.readText()"))
    frame, code = copied
    match = re.fullmatch(
        r'<iframe src="([^"]+)" title="Cross-attention, Layer 3 · Head 2"[^<>]*></iframe>', frame.strip()
    )
    assert match
    snippet = html.unescape(match[1])
    *lines, last, _ = code.split("\n")
    known: dict[str, Any] = {}
    exec("\n".join(lines), known)  # noqa: S102 - what a reader would paste
    np.testing.assert_allclose(eval(last, known).weights, plotly_values(page), atol=NEAR)  # noqa: S307

    alone = visit(snippet.partition(page.url.split("#")[0])[2], width=760, height=720)
    assert title(alone) == "Layer 3 · Head 2"
    np.testing.assert_allclose(plotly_values(alone), plotly_values(page), atol=NEAR)
    for part in (".top", ".translate", ".tabs", ".wall-grid", ".list", ".kinds"):
        assert not alone.locator(part).first.is_visible(), part
    box = alone.locator(".explorer .plane").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 720
    alone.keyboard.press("ArrowRight")
    assert title(alone) == "Layer 3 · Head 3"
    whole = alone.get_by_role("link", name="Open in Headlight")
    whole.hover()
    href = whole.get_attribute("href") or ""
    assert "embed" not in href
    assert "head=2" in href
    assert barriers(alone, ".gradio-container") == []

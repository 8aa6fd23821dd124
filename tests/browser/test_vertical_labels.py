"""Chinese labels are upright everywhere, also above columns, where other scripts are rotated."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

import headlight
from tests.browser.acting import wait_until_idle
from tests.browser.conftest import PATIENCE, Visit
from tests.browser.test_worksheet import printed
from tests.model.recordings.test_reading import softmax

SENTENCE = "我昨天买了三本书，你喜欢吗？"
ASKED = {"text": SENTENCE, "model": "zh-en", "back_weight": 0}

# For each visible text: whether it has Chinese characters, its rotation, and its text orientation.
LYING = """(root) => {
  const walker = document.createTreeWalker(document.querySelector(root), NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    let matrix = new DOMMatrix();
    for (let each = element; each; each = each.parentElement) {
      matrix = new DOMMatrix(getComputedStyle(each).transform).multiply(matrix);
    }
    const { writingMode, textOrientation } = getComputedStyle(element);
    const squares = /[\\u3000-\\u303f\\u4e00-\\u9fff\\uff00-\\uffef]/.test(text);
    found.push({ text, squares, a: matrix.a, b: matrix.b, vertical: writingMode !== 'horizontal-tb', textOrientation });
  }
  return found;
}"""
# Texts drawn on a canvas, with their rotation.
DRAWN = """
globalThis.written = [];
const fill = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
  const { a, b } = this.getTransform();
  globalThis.written.push({ text, a, b });
  return fill.call(this, text, ...place);
};
"""


def require_upright(texts: list[dict[str, Any]], *, latin: bool) -> None:
    """Check that Chinese texts are upright and that Latin column labels, if `latin`, are rotated."""
    squares = [each for each in texts if each["squares"]]
    turned = [
        each for each in squares if each["a"] <= 0 or abs(each["b"]) > 1e-6 or each["textOrientation"] == "sideways"
    ]
    assert not turned, turned
    assert any(each["vertical"] for each in squares)
    columns = [each for each in texts if each["vertical"] and not each["squares"]]
    assert all(each["a"] == -1 for each in columns), columns
    assert bool(columns) == latin


@pytest.mark.parametrize(
    ("look", "ready", "root"),
    [
        ({"kind": "cross", "special": 1}, ".explorer .columns .label", ".explorer .map"),
        ({"kind": "encoder", "special": 1}, ".explorer .columns .label", ".explorer .map"),
        ({"tab": "learn", "lesson": "walk.scores.0"}, ".lesson-heat .above", ".lesson"),
        ({"tab": "word"}, ".method .cells i", ".headlight-word .methods"),
    ],
)
def test_column_labels_are_upright(visit: Visit, look: dict[str, Any], ready: str, root: str) -> None:
    page = visit("#" + urlencode(ASKED | look), drawn=ready)
    wait_until_idle(page)
    require_upright(page.evaluate(LYING, root), latin=True)


def test_worksheet_labels_are_upright(visit: Visit) -> None:
    page = visit("#" + urlencode(ASKED))
    with printed(page):
        require_upright(page.evaluate(LYING, ".class-sheet"), latin=True)


def test_gif_labels_are_upright(visit: Visit) -> None:
    page = visit("#" + urlencode(ASKED), script=DRAWN)
    page.evaluate("written.length = 0")
    page.locator(".take-away > button").click()
    with page.expect_download():
        page.locator(".take-away [role=menuitem]", has_text="GIF").last.click()
    canvas_texts = page.evaluate("written")
    squares = [each for each in canvas_texts if any(letter in SENTENCE for letter in each["text"])]
    assert {"我", "？"} <= {each["text"] for each in squares}
    assert all(each["a"] == 1 and each["b"] == 0 for each in squares)
    assert any(each["b"] == -1 for each in canvas_texts)


def test_saved_view_labels_are_upright(browser: Browser, tmp_path: Path) -> None:
    tokens = ["你", "喜欢", "书", "，", "book", "吗", "？"]
    headlight.show(softmax((2, 3, 7, 7), mask=np.tri(7)), tokens=tokens).save(tmp_path / "view.html")
    page: Page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto((tmp_path / "view.html").as_uri())
    page.wait_for_selector(".explorer .columns .label")
    require_upright(page.evaluate(LYING, ".explorer"), latin=True)
    page.close()

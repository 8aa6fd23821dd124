"""In the view of a vision model, the weights of the highlighted row are laid over the image."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from headlight.viz.theme import THEMES, colour_scale
from tests.browser.conftest import PATIENCE, Watch
from tests.browser.test_notebooks import as_widget, other_notebook, output_page
from tests.viz.notebook.test_vision import vision_view

COLOURS = (
    "() => [...document.querySelectorAll('.patches .token')].map((patch) => getComputedStyle(patch).backgroundColor)"
)
CLEAR = "rgba(0, 0, 0, 0)"


def expected_colours(weights: np.ndarray) -> np.ndarray:
    """Interpolate the samples of the colour scale at the weights, relative to the largest."""
    samples = [list(bytes.fromhex(str(colour)[1:])) for _, colour in colour_scale("headlight", THEMES["light"])]
    places = np.linspace(0, 1, len(samples))
    levels = np.round(255 * weights / weights.max()) / 255
    return np.stack([np.interp(levels, places, channel) for channel in np.transpose(samples)], axis=1)


@pytest.mark.journey
def test_weights_of_a_row_are_laid_over_the_image(browser: Browser, tmp_path: Path) -> None:
    view = vision_view(layer=1, head=2)
    weights = view.sources[0].attention.of("self")[1, 2]
    view.save(tmp_path / "view.html")
    watch = Watch("file:", [])
    with browser.new_context(locale="en-US") as context:
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        leave = watch.follow(page)
        page.goto((tmp_path / "view.html").as_uri())
        expect(page.locator(".patches .token")).to_have_count(9)
        image = page.locator(".picture img")
        assert image.evaluate("(image) => [image.naturalWidth, image.naturalHeight]") == [24, 24]
        boxes = [page.locator(each).bounding_box() for each in (".picture img", ".patches")]
        assert boxes[0] == boxes[1]  # the patches cover the image exactly
        assert page.evaluate(COLOURS) == [CLEAR] * 9
        expect(page.locator(".strips .token")).to_have_text(["[CLS]"])  # patches are in the image alone
        for row, element in (
            (0, ".strips .token"),
            (6, ".patches .token >> nth=5"),  # the second row, the third column
            (9, ".rows .label[data-row='9']"),
        ):
            page.locator(element).hover()
            colours = page.evaluate(COLOURS)
            rgba = np.array([[float(part) for part in re.findall(r"[\d.]+", colour)] for colour in colours])
            assert np.abs(rgba[:, :3] - expected_colours(weights[row, 1:])).max() <= 1
            assert set(rgba[:, 3]) == {0.6}
            name = ["[CLS]", *(f"{1 + place // 3}·{1 + place % 3}" for place in range(9))][row]
            expect(page.locator(".picture p b")).to_have_text(name)
            expect(page.locator(".picture p")).to_contain_text(f"{weights[row, 1:].max():.4f}")
            expect(page.locator(".picture p")).to_contain_text(f"{weights[row, 0]:.2f} in total")
            chosen = page.locator(".patches .token").evaluate_all(
                "(patches) => patches.flatMap((patch, place) => (patch.classList.contains('chosen') ? [place] : []))"
            )
            assert chosen == ([row - 1] if row else [])
        page.locator(".patches .token").nth(4).click()
        page.mouse.move(0, 0)
        expect(page.locator(".patches .token.chosen")).to_have_count(1)
        expect(page.locator(".picture p b")).to_have_text("2·2")
        leave()
    assert not watch.faults, "\n".join(watch.faults)


def test_image_is_shown_under_the_policy_of_vs_code(browser: Browser) -> None:
    view = vision_view(row=0)
    with browser.new_context(locale="en-US") as context:
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        for content in (view._repr_html_(), as_widget(view)):
            output = output_page(content, body='data-vscode-theme-kind="vscode-dark"')
            frame = other_notebook(page, output, "allow-scripts allow-same-origin")
            image = frame.locator(".picture img")
            expect(image).to_be_visible()
            assert image.evaluate("(image) => image.naturalWidth") == 24
            expect(frame.locator(".picture p b")).to_have_text("[CLS]")

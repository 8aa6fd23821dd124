"""Heads: selection by click and key, and the exact numbers of the model."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from headlight.model.records import KINDS, Translation
from tests.browser.acting import expose_state, plotly_values, state, title

NEAR = 1.01 / 20_000  # weights are sent with about four decimals


@pytest.fixture
def translation(page: Page, example: Translation) -> Translation:
    assert page.input_value("#sentence") == example.source_text
    return example


def allowed(translation: Translation, kind: str, layer: int, head: int) -> np.ndarray:
    one = translation.attention_map(kind, layer, head)
    return np.where(one.allowed, one.weights, np.nan)


@pytest.mark.slow(after=1)
@pytest.mark.journey
@pytest.mark.parametrize("kind", KINDS)
def test_every_head_matches_model(page: Page, translation: Translation, kind: str) -> None:
    page.click(f"[data-kind={kind}]")
    layers, heads = translation.attention.of(kind).shape[:2]
    for layer in range(layers):
        for head in range(heads):
            page.click(f'.wall-grid button[data-layer="{layer}"][data-head="{head}"]')
            np.testing.assert_allclose(plotly_values(page), allowed(translation, kind, layer, head), atol=NEAR)
            assert title(page) == f"Layer {layer + 1} · Head {head + 1}"


@pytest.mark.journey
def test_arrow_keys_step_through_heads(page: Page, translation: Translation) -> None:
    page.click('.wall-grid button[data-layer="0"][data-head="0"]')
    page.keyboard.press("ArrowRight")
    assert title(page) == "Layer 1 · Head 2"
    np.testing.assert_allclose(plotly_values(page), allowed(translation, "cross", 0, 1), atol=NEAR)
    page.keyboard.press("ArrowDown")
    assert title(page) == "Layer 2 · Head 2"
    page.keyboard.press("1")
    assert page.locator("[data-kind=encoder]").get_attribute("aria-checked") == "true"
    encoder = (
        state(page, "layer"),
        state(page, "head"),
    )  # each kind shows its last selected head, initially its clearest
    np.testing.assert_allclose(plotly_values(page), allowed(translation, "encoder", *encoder), atol=NEAR)
    page.keyboard.press("3")
    assert title(page) == "Layer 2 · Head 2"


def test_averages_and_maxima_match_heads(page: Page, translation: Translation) -> None:
    expect(page.locator('.wall-grid button[data-head="mean"]')).to_have_count(0)
    page.check('[data-field="averages"]')
    page.click('.wall-grid button[data-layer="1"][data-head="mean"]')
    np.testing.assert_allclose(plotly_values(page), translation.attention.cross[1].mean(axis=0), atol=NEAR)
    page.click('.wall-grid button[data-layer="mean"][data-head="max"]')
    np.testing.assert_allclose(plotly_values(page), translation.attention.cross.max(axis=(0, 1)), atol=NEAR)


def test_thumbnail_hover_previews_and_leave_restores_selection(page: Page) -> None:
    before = title(page)
    page.hover('.wall-grid button[data-layer="2"][data-head="6"]')
    expect(page.locator(".explorer .turn h2")).to_have_text("Layer 3 · Head 7")
    page.hover(".explorer .wall > p")
    expect(page.locator(".explorer .turn h2")).to_have_text(before)


def test_token_hover_shades_attended_tokens_and_shows_weight(page: Page, translation: Translation) -> None:
    page.click('.wall-grid button[data-layer="0"][data-head="3"]')
    page.hover(".explorer .rows .label >> nth=2")
    row = translation.attention.cross[0, 3, 2]
    assert page.inner_text(".explorer .list .numeric >> nth=1") == f"{row.max():.4f}"
    assert f"puts {row.max():.3f} of its attention on" in page.inner_text(".translate .headline.sentence")
    label = page.locator(".explorer .columns .label").nth(int(row.argmax()))
    colour = label.evaluate("(label) => label.style.backgroundColor")
    assert colour.startswith("rgb")
    expect(page.locator(f'.translate .token[data-keys="s{row.argmax()}"]')).to_have_css("background-color", colour)
    page.hover(f'.translate .word[data-keys="t{2}"]')
    assert page.inner_text(".explorer .list .numeric >> nth=1") == f"{row.max():.4f}"


@pytest.mark.journey
def test_click_pins_and_escape_unpins(page: Page) -> None:
    page.click(".explorer .rows .label >> nth=3")
    page.hover("h1")
    expose_state(page)
    assert (state(page, "row"), state(page, "column")) == (3, None)
    assert page.locator(".explorer .band.pinned:not([hidden])").count() == 1
    page.keyboard.press("Escape")
    assert state(page, "row") is None


@pytest.mark.journey
def test_comparison_shows_difference_of_two_heads(page: Page, translation: Translation) -> None:
    page.click('.wall-grid button[data-layer="0"][data-head="3"]')
    page.keyboard.press("p")
    page.click('.wall-grid button[data-layer="1"][data-head="5"]')
    first, second = translation.attention.cross[0, 3], translation.attention.cross[1, 5]
    np.testing.assert_allclose(plotly_values(page, 0), first, atol=NEAR)
    np.testing.assert_allclose(plotly_values(page, 1), second, atol=NEAR)
    np.testing.assert_allclose(plotly_values(page, 2), first - second, atol=2 * NEAR)
    page.keyboard.press("Escape")  # the selected row
    page.keyboard.press("Escape")
    assert page.locator("#panel-heads .plot").count() == 1


def test_word_rows_sum_to_one(page: Page) -> None:
    page.check("[data-field=words]")
    np.testing.assert_allclose(np.nansum(plotly_values(page), axis=1), 1.0, atol=1e-3)


def test_hidden_special_tokens_are_noted_and_rescaling_is_optional(page: Page, translation: Translation) -> None:
    page.uncheck("[data-field=special]")
    hidden = plotly_values(page)
    assert hidden.shape == (len(translation.target_tokens) - 1, len(translation.source_tokens) - 1)
    assert "not renormalised" in page.inner_text(".explorer .note")
    assert np.nansum(hidden, axis=1).max() < 1.001
    page.check("[data-field=rescale]")
    np.testing.assert_allclose(np.nansum(plotly_values(page), axis=1), 1.0, atol=1e-3)
    assert "Rows are renormalised" in page.inner_text(".explorer .note")


def test_number_view_shows_same_weights(page: Page, translation: Translation) -> None:
    page.click('.wall-grid button[data-layer="0"][data-head="3"]')
    page.click("[data-view=numbers]")
    cells = page.locator(".numbers tbody td").all_inner_texts()
    assert [float(cell) for cell in cells] == pytest.approx(
        translation.attention.cross[0, 3].ravel().tolist(), abs=6e-4
    )


def test_line_hover_fades_other_lines(page: Page) -> None:
    page.click("[data-view=lines]")
    page.hover(".lines .label.row >> nth=1")
    script = "(paths) => paths.map((path) => Number(path.getAttribute('stroke-opacity')))"
    opacities = page.eval_on_selector_all(".lines path", script)
    assert min(opacities) == pytest.approx(0.025)
    assert max(opacities) > 0.1

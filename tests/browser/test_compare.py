"""Two models: the reverse model on shared axes, other models, keys, permalinks, sizes and languages."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from headlight.model.measures.map_reduction import merge_words
from headlight.model.records import FloatArray, Translation
from headlight.viz.service.examples import EXAMPLES
from tests.browser.acting import open_tab, state, wait_until_idle
from tests.browser.conftest import Visit
from tests.browser.polling import wait_for_function

TAB = ".headlight-beside"
NEAR = 1e-3  # tolerance of sums of weights with four decimals


def maps(page: Page) -> list[FloatArray]:
    """Return the weights of A, B and their difference; NaN if a side lacks a word."""
    values = page.evaluate(
        f"""[...document.querySelectorAll('{TAB} .plot')].map((plot) =>
          plot.data.find((trace) => trace.name === 'weights').z.map((row) => [...row]))"""
    )
    return [np.array(each, dtype=np.float64) for each in values]


def thumb(page: Page, number: int, layer: int, head: int) -> Locator:
    side = page.locator(f"{TAB} .one").nth(number)
    return side.locator(f'.thumb[data-layer="{layer}"][data-head="{head}"]')


def chosen(page: Page, number: int) -> str:
    """Return the selected head of a side as `layer.head`."""
    selected_thumb = page.locator(f"{TAB} .one").nth(number).locator(".thumb[aria-selected=true]")
    return f"{selected_thumb.get_attribute('data-layer')}.{selected_thumb.get_attribute('data-head')}"


def shared(first: FloatArray, second: FloatArray) -> float:
    """Return the shared attention of two maps, over the rows and columns that both have."""
    rows = ~np.isnan(first).all(axis=1) & ~np.isnan(second).all(axis=1)
    columns = ~np.isnan(first).all(axis=0) & ~np.isnan(second).all(axis=0)
    one, other = (each[np.ix_(rows, columns)] for each in (first, second))
    one, other = (each / each.sum(axis=1, keepdims=True) for each in (one, other))
    return float(np.minimum(one, other).sum(axis=1).mean())


@pytest.mark.journey
def test_reverse_model_is_shown_on_same_axes(visit: Visit, example: Translation) -> None:
    page = visit(height=2400)
    open_tab(page, "beside")
    expect(page.locator(f"{TAB} [data-mode=back]")).to_have_attribute("aria-pressed", "true")
    thumb(page, 0, 2, 6).click()
    page.mouse.move(0, 0)
    first, second, difference = maps(page)
    words = merge_words(example.attention_map("cross", 2, 6)).weights
    ours = first[~np.isnan(first).all(axis=1)][:, ~np.isnan(first).all(axis=0)]
    np.testing.assert_allclose(ours, words, atol=NEAR)
    np.testing.assert_allclose(np.nansum(second, axis=0)[~np.isnan(second).all(axis=0)], 1, atol=1e-2)  # transposed
    np.testing.assert_allclose(difference, first - second, atol=1e-6)
    ranked = [float(share) for share in page.locator(f"{TAB} .rank .numeric").all_inner_texts()]
    assert ranked == sorted(ranked, reverse=True)
    assert ranked[0] == pytest.approx(shared(first, second), abs=6e-4)  # B shows the head most similar to A's
    assert page.inner_text(f"{TAB} .shares").startswith(f"{ranked[0]:.3f} shared attention per row")
    # A head of B is selected, stays selected, and follows A again.
    follow = page.locator(f"{TAB} .pin")
    expect(follow).to_have_attribute("aria-pressed", "true")
    thumb(page, 1, 0, 0).click()
    page.keyboard.press("ArrowRight")
    assert chosen(page, 1) == "0.1"
    expect(follow).to_have_attribute("aria-pressed", "false")
    thumb(page, 0, 1, 1).click()
    assert (chosen(page, 0), chosen(page, 1)) == ("1.1", "0.1")
    follow.click()
    expect(page.locator(f"{TAB} .rank button").first).to_have_attribute("aria-pressed", "true")
    # A pinned word is highlighted in all three maps and is part of the page's selection.
    page.locator(f"{TAB} .rows .label").first.focus()
    page.keyboard.press("Escape")
    expect(page.locator(f"{TAB} .look").first).to_be_empty()
    page.locator(f"{TAB} .trio .rows .label").nth(1).click()
    assert state(page, "row") is not None
    assert page.locator(f"{TAB} .band.pinned:visible").count() == 3
    word = page.locator(f"{TAB} .trio .rows .label").nth(1).inner_text()
    expect(page.locator(f"{TAB} .look").first).to_contain_text(f"{word} looks at")
    page.keyboard.press("m")
    expect(page.locator(f"{TAB} .numbers table")).to_have_count(3)
    page.keyboard.press("m")
    # The same model with greedy search: all three kinds, stored in the permalink.
    page.click(f"{TAB} [data-mode=same]")
    wait_until_idle(page)
    expect(page.locator(f"{TAB} .one h2").last).to_contain_text("greedy")
    page.click(f"{TAB} [data-kind=encoder]")
    wait_until_idle(page)
    one, other, _ = maps(page)
    np.testing.assert_allclose(one, other, atol=1.1e-4)  # the last decimal may be rounded
    assert page.inner_text(f"{TAB} .shares").startswith("1.000 shared attention per row")
    wait_for_function(page, "location.hash.includes('beside_beam=1') && location.hash.includes('beside=de-en')")
    page.click(f"{TAB} [data-mode=back]")
    wait_until_idle(page)
    assert page.locator(f"{TAB} .kinds").is_hidden()
    expect(page.locator(f"{TAB} .plot")).to_have_count(3)


def test_permalinks_with_second_model_restore_comparison(visit: Visit, example: Translation) -> None:
    page = visit("#tab=beside&beside=toy&beside_same=1&layer=0&head=0&beside_head=1.2", height=1600)
    wait_until_idle(page)
    assert page.locator(f"{TAB} .choices select.model").input_value() == "toy"
    assert (chosen(page, 0), chosen(page, 1)) == ("0.0", "1.2")
    expect(page.locator(f"{TAB} .one .reads").last).to_have_text(example.text)
    page.get_by_label("Use A’s translation").uncheck()
    wait_until_idle(page)
    expect(page.locator(f"{TAB} .one .reads").last).not_to_have_text(example.text)
    page.goto(re.sub("#.*", "", page.url) + "#tab=beside&beside=nobody")
    expect(page.locator(f"{TAB} .error").last).to_contain_text("There is no model")
    page.locator(f"{TAB} .choices select.model").select_option("toy")
    wait_until_idle(page)
    expect(page.locator(f"{TAB} .error").last).to_be_empty()
    expect(page.locator(f"{TAB} .plot")).to_have_count(3)


def test_chinese_phone_stacks_maps_without_horizontal_scroll(visit: Visit, example: Translation) -> None:
    page = visit("#tab=beside", locale="zh-CN", width=360, height=740, has_touch=True, is_mobile=True)
    wait_until_idle(page)
    tops = [frame.bounding_box() for frame in page.locator(f"{TAB} .frame").all()]
    assert len(tops) == 3
    for before, after in pairwise(tops):
        assert before is not None
        assert after is not None
        assert after["y"] >= before["y"] + before["height"]
    known = f"{EXAMPLES[0].text} {example.text} {page.inner_text(f'{TAB} .reads >> nth=1')}"
    words_on_page = set(re.findall(r"[A-Za-z]{4,}", page.inner_text(f"{TAB} .tops, {TAB} .line, {TAB} .legend")))
    assert words_on_page <= set(re.findall(r"[A-Za-z]{4,}", known))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.click(f"{TAB} [data-mode=same]")
    wait_until_idle(page)
    for kind in ("encoder", "decoder", "cross"):
        page.click(f"{TAB} [data-kind={kind}]")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), kind

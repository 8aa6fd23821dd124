"""Permalinks, languages, themes and sizes."""

from __future__ import annotations

import re
from itertools import pairwise
from urllib.parse import parse_qsl

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import headlight
from tests.browser.acting import (
    expose_state,
    open_alternatives,
    plotly_values,
    resize,
    state,
    switch_language,
    title,
    translate,
    translation,
    wait_for_translation,
)
from tests.browser.conftest import Visit
from tests.browser.polling import wait_for_function

NEAR = 1.01 / 20_000  # weights are sent with about four decimals


# ---------------------------------------------------------------- address


@pytest.mark.journey
def test_permalink_restores_all_state(visit: Visit) -> None:
    page = visit()
    expose_state(page)
    translate(page, "Wo wohnt deine Schwester?")
    page.click("[data-kind=encoder]")
    page.click('.wall-grid button[data-layer="3"][data-head="5"]')
    page.check("[data-field=words]")
    if state(page, "row") != 1:  # a click on the selected row deselects it
        page.click(".explorer .rows .label >> nth=1")
    page.select_option("[data-field=scale]", "log")
    wait_for_function(page, "location.hash.includes('scale=log') && location.hash.includes('row=1')")
    hash_ = page.evaluate("location.hash")
    link_values = {"text": "Wo wohnt deine Schwester?", "kind": "encoder", "layer": "3", "head": "5", "row": "1"}
    assert dict(parse_qsl(hash_.removeprefix("#"))) == link_values | {
        "words": "1",
        "scale": "log",
    }  # and no default value
    other = visit(hash_)
    expose_state(other)
    wait_for_translation(other, "Wo wohnt deine Schwester?")
    for field in ("kind", "layer", "head", "row", "column", "words", "scale", "view"):
        assert state(other, field) == state(page, field), field
    assert other.input_value("#sentence") == "Wo wohnt deine Schwester?"
    np.testing.assert_allclose(plotly_values(other), plotly_values(page), atol=NEAR)


def test_permalink_contains_forced_prefix(visit: Visit) -> None:
    page = visit()
    open_alternatives(page.locator(".translate .word").nth(3))
    page.locator(".translate .alternatives button:enabled").first.click()
    expect(page.locator(".translate .word.forced")).to_have_count(1)
    wait_for_function(page, "location.hash.includes('prefix_ids=')")
    other = visit(page.evaluate("location.hash"))
    expect(other.locator(".translate .word.forced")).to_have_count(1)
    assert translation(other) == translation(page)


@pytest.mark.journey
@pytest.mark.slow(after=1)
@pytest.mark.parametrize("hash_", ["#layer=99&head=-3&kind=nonsense&row=x&pinned=9.9&scale=7", "#%%%&text="])
def test_broken_permalink_restores_valid_parts(visit: Visit, hash_: str) -> None:
    page = visit(hash_)
    assert title(page).startswith("Layer ")
    assert translation(page)


# ---------------------------------------------------------------- languages, themes, sizes


@pytest.mark.journey
def test_browser_language_is_default_and_can_be_switched(visit: Visit) -> None:
    page = visit(locale="zh-CN")
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    expect(page.locator(".explorer .wall h2")).to_have_text("所有注意力头")
    page.get_by_role("button", name="EN", exact=True).click()
    expect(page.locator(".explorer .wall h2")).to_have_text("All heads")
    page.get_by_role("button", name="中文").click()
    expect(page.locator("[data-view=matrix]")).to_have_text("矩阵")


@pytest.mark.journey
def test_chinese_page_contains_no_english(visit: Visit) -> None:
    page = visit("#tab=heads", locale="zh-CN")
    words = page.locator("body").inner_text()
    english = set(re.findall(r"[A-Za-z]{4,}", words))
    sentence = set(re.findall(r"[A-Za-z]{4,}", page.input_value("#sentence") + translation(page)))
    assert english - sentence <= {"Headlight", "Cividis", "Apache"}


@pytest.mark.journey
def test_theme_follows_system_and_can_be_switched(visit: Visit) -> None:
    page = visit(color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    scale = "document.querySelector('.explorer .plot').data.at(-1).colorscale[0][1]"
    dark, first = page.evaluate(ground), page.evaluate(scale)
    page.get_by_role("button", name="Switch between light and dark").click()
    wait_for_function(page, f"{ground} !== '{dark}'")
    wait_for_function(page, f"{scale} !== '{first}'")


@pytest.mark.journey
def test_page_never_scrolls_horizontally(page: Page) -> None:
    for width in (360, 700, 960, 1440, 3840):
        resize(page, width)
        for kind in ("encoder", "decoder", "cross"):
            page.click(f"[data-kind={kind}]")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (width, kind)


def test_long_sentences_remain_usable(visit: Visit) -> None:
    page = visit(width=1280)
    expose_state(page)
    translate(page, " ".join(["Der Mann sieht das Haus am See."] * 12))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.click("[data-kind=encoder]")
    assert plotly_values(page).shape[0] > 80
    assert page.locator(".explorer .tick:not(.tick-word)").count() > 8  # every tenth is numbered
    words = page.locator(".explorer .rows .tick-word").all_text_contents()
    assert len(words) > 25  # about every third is labelled
    assert set(words) <= {"Der", "Mann", "sieht", "das", "Haus", "am", "See", ".", "</s>"}
    assert page.locator(".explorer .columns .tick-word").count() == plotly_values(page).shape[0] // 10
    boxes = page.locator(".explorer .rows .tick-word").evaluate_all(
        "(all) => all.map((word) => word.getBoundingClientRect()).map(({top, bottom}) => [top, bottom])"
    )
    assert all(bottom <= top + 1 for (_, bottom), (top, _) in pairwise(boxes))
    names = page.locator(".explorer .list > div > span:first-child").all_text_contents()
    assert all(re.fullmatch(r"(.+ \d+ → )?.+ \d+", name) for name in names if "</s>" not in name), names
    page.uncheck("[data-field=fit]")
    box = page.locator(".explorer .map-scroll.scrolls")
    assert box.evaluate("(box) => box.scrollWidth > box.clientWidth")


def test_layout_is_stable_while_translation_streams(page: Page) -> None:
    expose_state(page)
    top = page.locator(".explorer .kinds").bounding_box()
    page.fill("#sentence", "Das Haus ist alt.")
    page.press("#sentence", "Enter")
    tops = set()
    for _ in range(20):
        tops.add((page.locator(".explorer .kinds").bounding_box() or {})["y"])
    wait_for_translation(page, "Das Haus ist alt.")
    assert tops == {(top or {})["y"]}


# ---------------------------------------------------------------- the last line


def test_footer_shows_version(visit: Visit) -> None:
    page = visit()
    for language in ("en", "zh"):
        switch_language(page, language)
        expect(page.locator(".last-line .licence")).to_contain_text(f"Headlight {headlight.__version__} · ")

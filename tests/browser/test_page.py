"""Address, languages, themes, sizes, files to take away, hostile text, and what assistive technology finds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from model import Translator
from tests.browser.acting import drawn, modules, settled, state, title, translate, translation
from tests.browser.conftest import Visit, Watch
from viz.session import Selection, from_link

NEAR = 1 / 65_535
SERIOUS = ("serious", "critical")
HOSTILE = (
    "${alert(1)}",
    "{{this}}",
    "C:\\users\\neu",
    "ein ` Zeichen",
    "</script><img src=x onerror=alert(1)>",
    "<b>fett</b> & <a href='https://example.com'>hier</a>",
)


# ---------------------------------------------------------------- address


def test_the_address_restores_everything_for_another_visitor(visit: Visit) -> None:
    page = visit()
    modules(page)
    translate(page, "Wo wohnt deine Schwester?")
    page.click("[data-kind=encoder]")
    page.click('.wall-grid button[data-layer="3"][data-head="5"]')
    page.check("[data-field=words]")
    page.click(".explorer .rows .label >> nth=1")
    page.select_option("[data-field=scale]", "log")
    page.wait_for_function("location.hash.includes('scale=log') && location.hash.includes('row=1')")
    hash_ = page.evaluate("location.hash")
    ours = from_link(hash_.removeprefix("#"))  # Python reads an address as the browser does
    assert ours.request.text == "Wo wohnt deine Schwester?"
    assert ours.selection == Selection(kind="encoder", layer=3, head=5, row=1, words=True, scale="log")
    other = visit(hash_)
    modules(other)
    settled(other, "Wo wohnt deine Schwester?")
    for field in ("kind", "layer", "head", "row", "column", "words", "scale", "view"):
        assert state(other, field) == state(page, field), field
    assert other.input_value("#sentence") == "Wo wohnt deine Schwester?"
    np.testing.assert_allclose(drawn(other), drawn(page), atol=NEAR)


def test_a_continued_translation_is_in_the_address(visit: Visit) -> None:
    page = visit()
    page.locator(".desk .word").nth(3).hover()
    page.locator(".desk .alternatives button:enabled").first.click()
    expect(page.locator(".desk .word.forced")).to_have_count(1)
    page.wait_for_function("location.hash.includes('prefix_ids=')")
    other = visit(page.evaluate("location.hash"))
    expect(other.locator(".desk .word.forced")).to_have_count(1)
    assert translation(other) == translation(page)


@pytest.mark.parametrize("hash_", ["#layer=99&head=-3&kind=nonsense&row=x", "#%%%&text=", "#pinned=9.9&scale=7"])
def test_a_broken_address_shows_what_of_it_makes_sense(visit: Visit, hash_: str) -> None:
    page = visit(hash_)
    assert title(page).startswith("Layer ")
    assert translation(page)


# ---------------------------------------------------------------- languages, themes, sizes


def test_a_chinese_browser_gets_chinese_and_may_switch(visit: Visit) -> None:
    page = visit(locale="zh-CN")
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    expect(page.locator(".explorer .wall h2")).to_have_text("所有注意力头")
    page.get_by_role("button", name="EN").click()
    expect(page.locator(".explorer .wall h2")).to_have_text("All heads")
    page.get_by_role("button", name="中文").click()
    expect(page.locator("[data-view=matrix]")).to_have_text("矩阵")


def test_no_english_is_left_on_the_chinese_page(visit: Visit) -> None:
    page = visit("#tab=heads", locale="zh-CN")
    words = page.locator("body").inner_text()
    english = set(re.findall(r"[A-Za-z]{4,}", words))
    sentence = set(re.findall(r"[A-Za-z]{4,}", page.input_value("#sentence") + translation(page)))
    assert english - sentence <= {"Headlight", "Cividis"}


def test_the_theme_follows_the_system_and_switches_live(visit: Visit) -> None:
    page = visit(color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    scale = "document.querySelector('.explorer .plot').data.at(-1).colorscale[0][1]"
    dark, first = page.evaluate(ground), page.evaluate(scale)
    page.get_by_role("button", name="Switch between light and dark").click()
    page.wait_for_function(f"{ground} !== '{dark}'")
    page.wait_for_function(f"{scale} !== '{first}'")


@pytest.mark.parametrize("width", [360, 700, 960, 1440, 3840])
def test_the_page_never_scrolls_sideways(visit: Visit, width: int) -> None:
    page = visit(width=width)
    modules(page)
    for kind in ("encoder", "decoder", "cross"):
        page.click(f"[data-kind={kind}]")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), kind


def test_long_sentences_stay_usable(visit: Visit) -> None:
    page = visit(width=1280)
    modules(page)
    translate(page, " ".join(["Der Mann sieht das Haus am See."] * 12))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.click("[data-kind=encoder]")
    assert drawn(page).shape[0] > 80
    assert page.locator(".explorer .tick").count() > 8  # every tenth is numbered
    page.uncheck("[data-field=fit]")
    box = page.locator(".explorer .map-scroll.scrolls")
    assert box.evaluate("(box) => box.scrollWidth > box.clientWidth")


def test_nothing_jumps_while_a_translation_arrives(page: Page) -> None:
    modules(page)
    top = page.locator(".explorer .kinds").bounding_box()
    page.fill("#sentence", "Das Haus ist alt.")
    page.press("#sentence", "Enter")
    tops = set()
    for _ in range(20):
        tops.add((page.locator(".explorer .kinds").bounding_box() or {})["y"])
    settled(page, "Das Haus ist alt.")
    assert tops == {(top or {})["y"]}


# ---------------------------------------------------------------- to take away


def save(page: Page, form: str, folder: Path) -> Path:
    with page.expect_download() as waiting:
        page.click(".take-away > .link")
        page.get_by_role("menuitem", name=re.compile(f"^{form}")).click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def test_files_hold_the_numbers_on_show(page: Page, folder: Path, translator: Translator) -> None:
    page.click('.wall-grid button[data-layer="1"][data-head="2"]')
    weights = translator.translate(page.input_value("#sentence"), beam_size=4, no_repeat=4).attention
    table = pd.read_csv(save(page, "CSV", folder), index_col=0, encoding="utf-8-sig")
    np.testing.assert_allclose(table.to_numpy(), weights.cross[1, 2], atol=1e-6)
    arrays = np.load(save(page, "NPZ", folder))
    np.testing.assert_array_equal(arrays["encoder"], weights.encoder)
    content = json.loads(save(page, "JSON", folder).read_text(encoding="utf-8"))
    np.testing.assert_allclose(content["decoder"], weights.decoder, atol=1e-7)


def test_pictures_are_pictures(page: Page, folder: Path) -> None:
    picture = save(page, "PNG", folder).read_bytes()
    assert picture.startswith(b"\x89PNG")
    width = int.from_bytes(picture[16:20], "big")
    assert width >= 1800  # three times the size of the screen's
    assert "<svg" in save(page, "SVG", folder).read_text(encoding="utf-8")[:200]


def test_the_saved_page_opens_offline_with_the_same_numbers(page: Page, folder: Path, browser: Browser) -> None:
    page.click('.wall-grid button[data-layer="2"][data-head="1"]')
    path = save(page, "HTML", folder)
    context = browser.new_context(offline=True)
    saved = context.new_page()
    watch = Watch("file:", [])
    watch.follow(saved)
    saved.goto(path.as_uri())
    saved.wait_for_selector(".explorer .plot .main-svg")
    np.testing.assert_allclose(drawn(saved), drawn(page), atol=NEAR)
    assert title(saved) == "Layer 3 · Head 2"
    saved.keyboard.press("ArrowRight")
    assert title(saved) == "Layer 3 · Head 3"
    context.close()
    assert not watch.faults


def test_a_link_is_copied(page: Page) -> None:
    page.click(".take-away > .link")
    page.get_by_role("menuitem", name="Link").click()
    expect(page.locator(".toast")).to_contain_text("Link copied")
    assert page.evaluate("navigator.clipboard.readText()").startswith(page.url.split("#")[0])


# ---------------------------------------------------------------- hostile text


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_reads_back_letter_by_letter_and_never_runs(visit: Visit, text: str) -> None:
    page = visit()
    modules(page)
    page.evaluate("() => { window.alert = () => { window.canary = true; }; }")
    translate(page, text)
    page.click("[data-kind=encoder]")
    tokens = [token for token in state(page, "answer")["source"] if not token.get("special")]
    shown = page.locator(".explorer .strip[data-side=source] .token:not(.special)").all_text_contents()
    assert "".join("".join(shown).replace("␣", "").split()) == "".join(text.split())  # ␣: a space that is a token
    labels = page.locator(".explorer .rows .label span:not(.special)").all_text_contents()
    assert labels == [token["label"] for token in tokens]
    page.click("[data-view=lines]")
    page.click("[data-view=numbers]")
    assert not page.evaluate("window.canary")
    assert page.locator("img[src=x]").count() == 0
    assert page.input_value("#sentence") == text


# ---------------------------------------------------------------- people


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(visit: Visit, scheme: str) -> None:
    page = visit(color_scheme=scheme)
    page.get_by_role("button", name="Options").click()
    found = Axe().run(page).response["violations"]
    bad = [f"{each['id']}: {node['html']}" for each in found if each["impact"] in SERIOUS for node in each["nodes"]]
    assert not bad, "\n".join(bad)


def test_everything_is_reached_by_keyboard(page: Page) -> None:
    page.locator("#sentence").focus()
    seen = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.className.toString().split(' ')[0]"))
    assert {"go", "link", "word", "thumb", "pin"} <= seen


def test_reduced_motion_is_respected(visit: Visit) -> None:
    page = visit(reduced_motion="reduce")
    modules(page)
    translate(page, "Das Haus ist alt.")
    assert page.locator(".desk .word.arrives").count() == 0

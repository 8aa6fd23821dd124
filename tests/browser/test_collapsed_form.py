"""In tabs with large content, the desk folds to one line, and a click unfolds it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from headlight.viz.figure_phrases import phrases
from tests.browser.acting import open_tab, state, translation, wait_for_translation, wait_until_idle
from tests.browser.axe import barriers
from tests.browser.conftest import Visit

LINE, CHANGE = ".desk-line .both", ".desk-line .change"
HIGHEST = 430  # pixels from the top of a window of 1280 x 900 to the figure of a lesson
TEXT = "Guten Tag."


def top(page: Page, part: str) -> float:
    box = page.locator(part).first.bounding_box()
    assert box is not None
    return box["y"]


def test_lesson_folds_desk_and_one_click_opens_it(visit: Visit) -> None:
    page = visit("#tab=learn&lesson=walk.softmax.3", drawn=".lesson-row-of-tokens button")
    wait_until_idle(page)
    assert top(page, ".lesson-row-of-tokens") <= HIGHEST
    expect(page.locator(LINE)).to_contain_text(page.input_value("#sentence"))
    expect(page.locator("#sentence")).to_be_hidden()
    page.locator(CHANGE).focus()
    page.keyboard.press("Enter")
    expect(page.locator("#sentence")).to_be_focused()
    assert page.evaluate("document.activeElement.scrollHeight <= document.activeElement.clientHeight + 1")
    page.fill("#sentence", TEXT)
    page.press("#sentence", "Enter")
    wait_for_translation(page, TEXT)
    expect(page.locator(LINE)).to_be_hidden()  # it stays open and shows the status of the answer
    page.click(CHANGE)
    expect(page.locator(LINE)).to_contain_text(TEXT)
    assert page.evaluate("document.activeElement.matches('.desk-line .change')")
    wait_until_idle(page)
    # The sentence is the same in every view; See shows the complete form.
    open_tab(page, "heads")
    expect(page.locator(".desk-line")).to_be_hidden()
    assert (page.input_value("#sentence"), state(page, "translation")["source_text"]) == (TEXT, TEXT)
    assert translation(page)


@pytest.mark.parametrize("tab", ["sentiment", "models"])
def test_other_tabs_fold_desk_on_chinese_phone(visit: Visit, tab: str) -> None:
    page = visit(width=360, height=780, locale="zh-CN", color_scheme="dark", has_touch=True)
    open_tab(page, tab)
    line = page.locator(LINE)
    expect(line).to_be_visible()
    expect(page.locator(CHANGE)).to_have_text(phrases("zh")["desk_change"])
    box = page.locator(CHANGE).bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 360
    assert barriers(page, ".translate") == []
    line.tap()
    expect(page.locator("#sentence")).to_be_focused()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    open_tab(page, "heads")
    open_tab(page, tab)
    expect(line).to_be_visible()  # collapsed again


def test_sentence_error_unfolds_desk(page: Page) -> None:
    open_tab(page, "learn")
    page.evaluate("dispatchEvent(new CustomEvent('headlight-request', {detail: {model: 'nothing'}}))")
    expect(page.locator("#sentence")).to_be_visible()
    expect(page.locator(".translate")).to_contain_text("nothing")
    wait_until_idle(page)

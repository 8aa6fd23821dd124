"""Saved views: stored, reordered by mouse and keys, presented, and exported as a file and a link."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from headlight.viz.figure_phrases import phrases
from headlight.viz.service.examples import EXAMPLES
from tests.browser.acting import open_tab, state, switch_language, wait_until_idle
from tests.browser.axe import barriers
from tests.browser.conftest import Visit
from tests.browser.polling import wait_for_function

EN, ZH = phrases("en"), phrases("zh")
NOTE = "Which word does <b>gestern</b> attend to?"


def titles(page: Page) -> list[str]:
    titles: list[str] = page.locator(".deck-list input").evaluate_all("(all) => all.map((it) => it.value)")
    return titles


def check_presented(page: Page, number: int, title: str) -> None:
    """Check that a saved view is presented."""
    expect(page.locator(".beamer-bar h2")).to_have_text(title)
    expect(page.locator(".beamer-ways .numeric")).to_have_text(f"{number} / 3")


def test_views_are_saved_reordered_and_presented(visit: Visit, tmp_path: Path) -> None:
    page = visit("#tab=learn&lesson=walk.scores.0.token-5", drawn=".lesson[data-step]", height=720)
    expect(page.locator(".deck-button")).to_be_hidden()
    page.get_by_role("button", name=EN["lesson_kit_save"]).click()
    expect(page.locator(".deck-toast")).to_contain_text(EN["deck_saved"].replace("{number}", "1"))
    open_tab(page, "heads")
    page.click('.wall-grid button[data-layer="2"][data-head="1"]')
    page.click(".take-away > .link")
    page.get_by_role("menuitem", name=EN["form_deck"]).click()
    open_tab(page, "why")
    page.click(".deck-button")
    page.locator(".deck-panel").get_by_role("button", name=EN["deck_save"]).click()
    lesson, head, why = (
        f"{EN['lesson_walk_name']} · {EN['lesson_walk_scores_title']}",
        "Cross-attention · Layer 3 · Head 2",
        EN["tab_why"],
    )
    assert titles(page) == [lesson, head, why]

    # Reorder by buttons and by keys: the focus follows. Notes are plain text.
    page.get_by_role("button", name="Move view 3 up").click()
    assert titles(page) == [lesson, why, head]
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Move view 2 up"
    page.get_by_role("textbox", name="Title of view 2").press("Alt+ArrowUp")
    assert titles(page) == [why, lesson, head]
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Title of view 1"
    page.get_by_role("textbox", name="Note on view 2").fill(NOTE)
    page.get_by_role("button", name="Remove view 1").click()
    assert titles(page) == [lesson, head]
    assert page.evaluate("document.activeElement.textContent") == "Undo"
    page.get_by_role("textbox", name="Note on view 2").fill("later")  # later changes stay
    page.get_by_role("button", name="Undo").press("Enter")
    assert titles(page) == [why, lesson, head]
    expect(page.get_by_role("textbox", name="Note on view 3")).to_have_value("later")
    page.get_by_role("textbox", name="Note on view 3").fill("")
    assert barriers(page, ".deck-panel") == []
    page.keyboard.press("Escape")
    page.reload()
    page.click(".deck-button")
    expect(page.locator(".deck-list input")).to_have_count(3)  # the module that draws them is loaded now
    assert titles(page) == [why, lesson, head]

    # Presentation: enlarged, one view at a time, with its note.
    page.locator(".deck-panel").get_by_role("button", name=EN["deck_show"]).click()
    check_presented(page, 1, why)
    page.keyboard.press("ArrowLeft")
    check_presented(page, 1, why)
    page.keyboard.press("ArrowRight")
    check_presented(page, 2, lesson)
    expect(page.locator(".beamer-words p")).to_have_text(NOTE)
    expect(page.locator(".lesson[data-step=scores] .figure canvas").first).to_be_visible()
    page.locator("#panel-learn input[type=range]:visible").first.focus()  # a remote changes views wherever the focus is
    page.keyboard.press("PageUp")
    check_presented(page, 1, why)
    page.keyboard.press("PageDown")
    check_presented(page, 2, lesson)
    expect(page.locator(".lesson[data-step=scores] .figure canvas").first).to_be_visible()
    expect(page.locator(".tabs")).to_be_hidden()
    expect(page.locator(".translate.folded .sentence-line").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert barriers(page, ".beamer-bar") == []
    larger = page.evaluate("document.querySelector('.lesson h2').getBoundingClientRect().height")
    cell = page.locator(".lesson .figure canvas").first
    box = cell.bounding_box()
    assert box
    cell.hover(
        position={"x": box["width"] * 1.5 / 15, "y": box["height"] * 0.5 / 15}
    )  # the enlarged map reacts to the pointer
    expect(page.locator(".value-tip")).to_contain_text("Der · Hund:")
    page.keyboard.press("PageDown")
    check_presented(page, 3, head)
    assert state(page, "beamer")
    wait_for_function(page, "headlight.tab === 'heads' && headlight.layer === 2 && headlight.head === 1")
    page.keyboard.press("Home")
    check_presented(page, 1, why)
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Escape")
    expect(page.locator(".beamer-bar")).to_be_hidden()
    expect(page.locator(".tabs")).to_be_visible()
    assert page.evaluate("document.querySelector('.lesson h2').getBoundingClientRect().height") < larger

    # A file and a link open the deck for another visitor, with or without views.
    page.click(".deck-button")
    with page.expect_download() as saving:
        page.get_by_role("button", name=EN["deck_file"]).click()
    file = tmp_path / "deck.json"
    saving.value.save_as(file)
    assert [each["note"] for each in json.loads(file.read_text(encoding="utf-8"))["views"]] == ["", NOTE, ""]
    page.locator(".deck-panel").get_by_role("button", name=EN["deck_link"]).click()
    expect(page.locator(".deck-status")).to_have_text(EN["deck_link_copied"])
    link = str(page.evaluate("navigator.clipboard.readText()")).partition(page.url.split("#")[0])[2]
    wait_until_idle(page)

    other = visit(link, width=360, height=640, locale="zh-CN", color_scheme="dark")
    expect(other.locator(".deck-panel")).to_be_visible()
    assert titles(other) == [why, lesson, head]
    expect(other.locator(".deck-guest")).to_be_hidden()  # there was no other deck, so it is stored
    assert other.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert barriers(other, ".deck-panel") == []
    other.get_by_role("button", name=ZH["deck_view_remove"].replace("{number}", "1")).click()
    other.locator(".deck-panel input[type=file]").set_input_files(file)
    expect(other.locator(".deck-guest")).to_contain_text(ZH["deck_guest"].replace("{count}", "3").replace("{own}", "2"))
    other.get_by_role("button", name=ZH["deck_guest_add"]).click()
    assert titles(other) == [lesson, head, why, lesson, head]
    other.get_by_role("button", name=ZH["deck_view_show"].replace("{number}", "2")).click()
    expect(other.locator(".beamer-bar h2")).to_have_text(head)
    assert other.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert barriers(other, ".beamer-bar") == []
    other.get_by_role("button", name=ZH["deck_leave"]).click()
    file.write_text("{}", encoding="utf-8")
    other.evaluate("dispatchEvent(new CustomEvent('headlight-deck', { detail: 'open' }))")
    other.locator(".deck-panel input[type=file]").set_input_files(file)
    expect(other.locator(".deck-status")).to_have_text(ZH["deck_bad_file"].replace("{name}", "deck.json"))
    wait_until_idle(other)


# Size of the map's labels in pixels of the window, the map's lower edge, and the top of the bar.
SEEN = """() => {
  const root = document.documentElement;
  const scale = root.getBoundingClientRect().width / root.offsetWidth;
  const names = [...document.querySelectorAll('.explorer :is(.columns .label span, .rows .label span, .strip .token)')];
  return {
    letters: Math.min(...names.map((it) => parseFloat(getComputedStyle(it).fontSize) * scale)),
    rows: document.querySelectorAll('.explorer .rows .label').length,
    bottom: document.querySelector('.explorer .plane').getBoundingClientRect().bottom,
    bar: document.querySelector('.beamer-bar').getBoundingClientRect().top,
  };
}"""


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_presentation_shows_all_rows_or_note(visit: Visit, locale: str) -> None:
    table = phrases(locale[:2])
    views = [{"title": "short", "note": NOTE, "hash": "#layer=2&head=5"}]
    views.append({"title": "long", "note": NOTE, "hash": "#" + urlencode({"text": EXAMPLES[4].text, "words": 0})})
    script = f"localStorage.setItem('headlight-deck', {json.dumps(json.dumps(views))})"
    page = visit(height=720, locale=locale, script=script)
    page.click(".deck-button")
    page.locator(".deck-panel").get_by_role("button", name=table["deck_show"], exact=True).click()
    expect(page.locator(".beamer-bar h2")).to_have_text("short")
    wait_for_function(page, "document.querySelector('.explorer .rows .label').parentElement.childElementCount === 12")
    wait_until_idle(page)
    seen = page.evaluate(SEEN)
    assert seen["letters"] >= 18
    assert seen["bottom"] <= seen["bar"]
    expect(page.locator(".explorer .in-view")).to_be_hidden()
    page.keyboard.press("PageDown")
    wait_for_function(page, "document.querySelectorAll('.explorer .rows .label').length > 18")
    wait_until_idle(page)
    seen = page.evaluate(SEEN)
    assert seen["letters"] >= 18
    text = table["map_rows_in_view"].replace("{count}", str(seen["rows"])).replace("{first}", "1")
    note, map_ = page.locator(".explorer .in-view"), page.locator(".explorer .map-scroll")
    map_.evaluate("(it) => it.scrollTo(0, 0)")  # scrolled so that the highlighted row is visible
    expect(note).to_have_text(re.compile(re.escape(text).replace(r"\{last\}", r"(\d+)")))
    box, bar = note.bounding_box(), page.locator(".beamer-bar").bounding_box()
    assert box
    assert bar
    assert box["y"] + box["height"] <= bar["y"]
    map_.evaluate("(it) => it.scrollTo(0, it.scrollHeight)")
    expect(note).to_contain_text(str(seen["rows"]))
    expect(note).not_to_have_text(re.compile(re.escape(text).replace(r"\{last\}", r"(\d+)")))
    assert barriers(page, "#panel-heads .head") == []
    page.keyboard.press("Escape")
    expect(page.locator(".beamer-bar")).to_be_hidden()
    expect(note).to_be_hidden()


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_saved_views_are_reachable_on_phone(visit: Visit, locale: str) -> None:
    saved_views = json.dumps([{"title": "Why", "note": "", "hash": "#tab=why"}])
    script = f"localStorage.setItem('headlight-deck', {json.dumps(saved_views)})"
    page = visit(width=360, height=640, has_touch=True, locale=locale, script=script)
    door = page.locator(".top .deck-button")
    places = page.locator(".top h1, .top .segments button, .top .round").evaluate_all(
        "(all) => all.map((it) => it.getBoundingClientRect()).map((it) => [it.left, it.right, it.top, it.bottom])"
    )
    for (_, right, _, bottom), (left, _, top, _) in pairwise(places):  # side by side
        assert right <= left
        assert top < bottom
    box = door.bounding_box()
    assert box
    assert min(box["width"], box["height"]) >= 44
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert barriers(page, ".top") == []
    door.tap()
    expect(page.locator(".deck-list input")).to_have_value("Why")
    page.locator(".deck-panel").get_by_role("button", name=phrases(locale[:2])["deck_show"], exact=True).tap()
    expect(page.locator(".beamer-bar h2")).to_have_text("Why")
    page.get_by_role("button", name=phrases(locale[:2])["deck_leave"]).tap()
    expect(door).to_be_visible()
    wait_until_idle(page)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_plan_is_not_counted_among_the_visitors_own_views(visit: Visit, language: str) -> None:
    words, page = phrases(language), visit("#tab=learn", drawn=".lesson-row")
    if language != "en":
        switch_language(page, language)
    plans = page.locator(".plans button")
    for index, count in ((0, 9), (1, 16), (0, 9)):
        plans.nth(index).click()
        expect(page.locator(".deck-list input")).to_have_count(count)
        expect(page.locator(".deck-guest p")).to_have_text(words["deck_guest_none"].format(count=count))
        expect(page.locator(".deck-panel > .quiet").first).to_have_text(words["deck_says_guest"])
        page.keyboard.press("Escape")
    assert page.evaluate("localStorage.getItem('headlight-deck')") is None
    expect(page.locator(".deck-button")).to_be_visible()  # leads back to the plan
    page.click(".deck-button")
    page.get_by_role("button", name=words["deck_guest_add"]).click()
    assert len(page.evaluate("JSON.parse(localStorage.getItem('headlight-deck'))")) == 9
    expect(page.locator(".deck-guest")).to_be_hidden()


def test_the_list_says_what_done_needs(visit: Visit) -> None:
    page = visit("#tab=learn", drawn=".lesson-row")
    page.evaluate("localStorage.setItem('headlight-learn', JSON.stringify({ done: { walk: 'done' } }))")
    page.reload()
    expect(page.locator(".lesson-list .top-line")).to_contain_text(EN["lesson_done_needs"])
    expect(page.locator(".lesson-row[data-lesson=walk] .end")).to_contain_text(re.compile(r"0 of \d+ answered"))

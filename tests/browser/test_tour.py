"""The tour: five steps for new visitors, not offered again once finished or skipped."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from headlight.viz.figure_phrases import phrases
from tests.browser.acting import choose_panel, open_tab, state, wait_until_idle
from tests.browser.axe import barriers
from tests.browser.conftest import Visit
from tests.browser.polling import wait_for_function

CARD, RING = ".tour-card", ".tour-ring"
# An element within the ring of each step.
POINTED = {
    "see": ".translate .out .text",
    "row": "#panel-heads .rows .label.chosen",
    "head": "#panel-heads .wall-grid [aria-selected=true]",
    "kinds": "#panel-heads .kinds [aria-checked=true]",
    "try": ".tabs [aria-selected=true]",
}
FITS = """([ring, card, part]) => {
  const [one, other, real] = [ring, card, part].map((name) => document.querySelector(name).getBoundingClientRect());
  const rings = one.left <= real.left && one.top <= real.top && one.right >= real.right && one.bottom >= real.bottom;
  const free = other.top >= one.bottom || other.bottom <= one.top || other.left >= one.right || other.right <= one.left;
  const width = document.documentElement.clientWidth;
  const within = other.left >= 0 && other.right <= width && other.top >= 0 && other.bottom <= innerHeight;
  return rings && free && within;
}"""


def assert_step(page: Page, step: str, language: str) -> None:
    """Check that the ring encloses the step's target and that the card is next to it, within the window."""
    expect(page.locator(CARD)).to_have_attribute("data-step", step)
    expect(page.locator(f"{CARD} h2")).to_have_text(phrases(language)[f"start_{step}_title"])
    wait_for_function(page, FITS, arg=[RING, CARD, POINTED[step]])


def places(page: Page) -> list[float]:
    """Return the positions of the page's parts."""
    parts = ".translate, .tabs, #panel-heads .kinds, #panel-heads .plane"
    tops: list[float] = page.locator(parts).evaluate_all("(all) => all.map((it) => it.getBoundingClientRect().top)")
    return tops


def wait_until_scrolled(page: Page) -> None:
    """Wait until smooth scrolling has ended, because it would move the page."""
    page.evaluate(
        """() => new Promise((done) => {
          const frame = (then) => requestAnimationFrame(() => requestAnimationFrame(then));
          const look = (before) => frame(() => (scrollY === before ? done() : look(scrollY)));
          look(null);
        })"""
    )


@pytest.mark.journey
def test_tour_has_five_steps_by_keyboard_and_runs_once(visit: Visit) -> None:
    page = visit(greeted=False)
    before = places(page)
    begin = page.get_by_role("button", name="Start here").first
    expect(begin).to_be_visible()
    expect(page.locator(CARD)).to_be_hidden()
    begin.focus()
    page.keyboard.press("Enter")
    for number, step in enumerate(POINTED, start=1):
        assert_step(page, step, "en")
        expect(page.locator(f"{CARD} .quiet")).to_have_text(f"{number} of 5")
        assert page.evaluate("document.activeElement.matches('.tour-card .go')")
        for _ in range(page.locator(f"{CARD} button:visible").count()):  # the focus cycles within the card
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.closest('.tour-card') !== null")
        assert page.evaluate("document.activeElement.matches('.tour-card .go')")
        page.keyboard.press("ArrowRight" if number % 2 else "Enter")
        if number == 2:  # forward and back
            page.keyboard.press("ArrowLeft")
            assert_step(page, step, "en")
            assert barriers(page, CARD) == []
            page.keyboard.press("Enter")
    expect(page.locator(CARD)).to_be_hidden()
    expect(page.locator(RING)).to_be_hidden()
    assert places(page) == before  # the layout is the same with and without the offer
    expect(page.locator(".top .line")).to_have_text(phrases("en")["line"])
    assert page.evaluate("document.activeElement.matches('.top .help')")
    page.reload()
    page.wait_for_selector(".explorer .plot .main-svg")
    expect(page.locator(".top .line")).to_have_text(phrases("en")["line"])

    # Elements that move under the card open nothing: neither a head nor a term.
    page.click(".top .help")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert_step(page, "head", "en")
    title = page.locator(".explorer .stage h2").first.inner_text()
    for part in (".wall-grid .thumb >> nth=3", ".term >> nth=0"):
        page.locator(part).hover(force=True)
    assert state(page, "preview") is None
    assert page.locator(".explorer .stage h2").first.inner_text() == title
    expect(page.locator(".term-card")).to_be_hidden()
    page.keyboard.press("Escape")

    # The tour starts again from the header and from Learn; Escape and opening another tab end it.
    page.click(".top .help")
    assert_step(page, "see", "en")
    page.keyboard.press("Escape")
    expect(page.locator(CARD)).to_be_hidden()
    open_tab(page, "learn")
    page.get_by_role("button", name=phrases("en")["lesson_first_steps"]).click()
    assert_step(page, "see", "en")
    assert state(page, "tab") == "heads"
    choose_panel(page, "learn")
    expect(page.locator(CARD)).to_be_hidden()
    wait_until_idle(page)


@pytest.mark.parametrize(("motion", "height"), [("no-preference", 780), ("reduce", 560)])
def test_tour_steps_are_visible_on_chinese_phone(visit: Visit, motion: str, height: int) -> None:
    options = {"locale": "zh-CN", "color_scheme": "dark", "has_touch": True, "reduced_motion": motion}
    page = visit(width=360, height=height, greeted=False, **options)
    before = places(page)
    page.locator(".top .start").tap()
    for step in POINTED:
        assert_step(page, step, "zh")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        if step in ("head", "try"):  # with phrases for touch screens
            expect(page.locator(f"{CARD} #tour-text")).to_have_text(phrases("zh")[f"start_{step}_says_touch"])
        if motion == "reduce" and step == "row":
            assert barriers(page, CARD) == []
            page.locator(f"{CARD} .link").first.tap()
            break
        page.locator(f"{CARD} .go").tap()
    expect(page.locator(CARD)).to_be_hidden()
    if motion != "reduce":  # after the last step, the focus is visible
        wait_for_function(page, "document.activeElement.getBoundingClientRect().top >= 0")
    wait_until_scrolled(page)
    page.evaluate("scrollTo(0, 0)")
    assert places(page) == before
    expect(page.locator(".top .line")).to_have_text(phrases("zh")["line"])


def test_skipped_tour_is_not_offered_again(visit: Visit) -> None:
    page = visit(greeted=False, width=1440)  # narrow pages offer the tour without its question
    before = places(page)
    expect(page.locator(".tour-offer")).to_contain_text(phrases("en")["start_offer"])
    page.get_by_role("button", name="Start here").first.click()
    page.locator(f"{CARD} .link").first.click()
    expect(page.locator(".tour-offer")).to_be_hidden()
    expect(page.locator(".top .line")).to_have_text(phrases("en")["line"])
    assert places(page) == before
    page.reload()
    page.wait_for_selector(".explorer .plot .main-svg")
    expect(page.locator(".top .line")).to_have_text(phrases("en")["line"])

"""Terms are explained on hover, focus and tap, in both languages, but not in user text."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from headlight.viz.figure_phrases import phrases
from tests.browser.acting import open_tab, switch_language, translate
from tests.browser.axe import barriers
from tests.browser.conftest import Visit
from tests.browser.polling import wait_for_function

CARD = ".term-card"
TABS = ("heads", "whatif", "learn", "word", "why", "sentiment")


def explained_terms(page: Page, tab: str, language: str) -> list[str]:
    """Open a view in a language and return its explained terms."""
    forms = {term.removesuffix("_in"): text for term, text in phrases(language).items() if term.endswith("_in")}
    names: list[str] = wait_for_function(
        page,
        """([tab, forms]) => {
          const terms = [...document.querySelectorAll(`#panel-${tab} .term`)].filter((term) => term.checkVisibility());
          const names = terms.map(({dataset}) => dataset.term);
          const formsOf = ({dataset}) => forms[`term_${dataset.term}`].toLowerCase();
          const known = (term) => formsOf(term).includes(term.textContent.toLowerCase());
          const fits = new Set(names).size === names.length && terms.every(known);
          return fits && (terms.length || tab === 'learn') && names;
        }""",
        arg=[tab, forms],
    )
    return names


def apart(term: Locator, card: Locator) -> bool:
    """Whether a card does not cover its term and is within the window."""
    one, other = term.bounding_box(), card.bounding_box()
    assert one is not None
    assert other is not None
    window = term.page.evaluate("[document.documentElement.clientWidth, innerHeight]")
    inside = other["x"] >= 0 and other["x"] + other["width"] <= window[0]
    return inside and (other["y"] >= one["y"] + one["height"] - 5 or other["y"] + other["height"] <= one["y"] + 5)


@pytest.mark.journey
def test_first_occurrence_of_each_term_is_explained_but_not_user_text(page: Page) -> None:
    translate(page, "Der Token attention head layer softmax.")
    for language in ("en", "zh"):
        switch_language(page, language)
        for tab in TABS:
            open_tab(page, tab)
            assert explained_terms(page, tab, language) or tab == "learn"
            inside = page.locator(f"#panel-{tab} :is(bdi, button, b, .token, .label, textarea) .term")
            assert inside.count() == 0, tab
    assert page.locator(".translate :is(.text, .field, bdi) .term").count() == 0
    open_tab(page, "learn")
    expect(page.locator(".all-terms dt")).to_have_count(len([key for key in phrases() if key.endswith("_in")]))


def test_term_card_opens_by_hover_focus_and_key_and_closes_by_escape(page: Page) -> None:
    explained_terms(page, "heads", "en")
    term, card = page.locator("#panel-heads .term[data-term=head]"), page.locator(CARD)
    says = phrases("en")["term_head_says"]
    expect(card).to_be_hidden()
    term.hover()
    expect(card).to_contain_text(says)
    assert apart(term, card)
    card.hover()  # the pointer may move onto the card
    wait_for_function(page, "() => document.querySelector('.term-card').matches(':hover')")
    expect(card).to_be_visible()
    page.mouse.move(640, 5)
    expect(card).to_be_hidden()
    term.focus()
    expect(card).to_contain_text(says)
    assert (
        page.evaluate("document.getElementById(document.activeElement.getAttribute('aria-describedby')).textContent")
        == says
    )
    assert barriers(page, "#panel-heads .wall") == []
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    assert term.evaluate("(term) => term === document.activeElement")
    page.keyboard.press("Enter")
    expect(card).to_be_visible()
    page.keyboard.press("Tab")
    expect(card).to_be_hidden()
    kind = page.locator("#panel-heads [data-kind=cross]")
    kind.hover()
    expect(card).to_contain_text(phrases("en")["term_cross_says"])
    assert kind.get_attribute("aria-describedby") == "term-cross"


def test_term_card_opens_and_closes_by_tap(visit: Visit) -> None:
    page = visit(width=360, height=780, locale="zh-CN", color_scheme="dark", has_touch=True)
    explained_terms(page, "heads", "zh")
    term, card = page.locator("#panel-heads .term").first, page.locator(CARD)
    term.tap()
    expect(card).to_contain_text(phrases("zh")[f"term_{term.get_attribute('data-term')}_says"])
    assert apart(term, card)
    assert barriers(page, CARD) == []
    term.tap()
    expect(card).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

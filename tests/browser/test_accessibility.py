"""Accessibility: axe, keyboard operation, reduced motion."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from headlight.model.records import Translation
from headlight.viz.tabs import TABS, VIEWS
from tests.browser.acting import expose_state, open_tab, plotly_values, state, title, translate, wait_until_idle
from tests.browser.axe import SERIOUS, barriers
from tests.browser.conftest import Visit

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844, "has_touch": True, "is_mobile": True}
NEAR = 1.01 / 20_000  # weights are sent with about four decimals
MAX_STOPS = 60  # presses of Tab
# The reason why the focus is invisible, or an empty string.
UNSEEN = """() => {
  const element = document.activeElement;
  if (element === document.body) return 'nothing is focused';
  const { width, height } = element.getBoundingClientRect();
  const ringed = (style) => style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
  const field = element.closest('.field') ?? element; // fields show it by their lower edge
  const seen = ringed(getComputedStyle(element)) || getComputedStyle(field).boxShadow !== 'none';
  return width && height && seen ? null : element.outerHTML.slice(0, 200);
}"""


# ---------------------------------------------------------------- what axe finds


@pytest.mark.slow(after=1)
@pytest.mark.journey
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_all_tabs_pass_axe_in_both_themes(visit: Visit, size: dict[str, int]) -> None:
    page = visit(**size, color_scheme="light", reduced_motion="reduce")
    page.get_by_role("button", name="Options").click()
    everything: tuple[str, ...] = ()
    colours = ("color-contrast",)  # the theme changes only colours
    colours: dict[tuple[str, str], list[str]] = {}
    # Colours do not depend on the size.
    themes = (("light", everything), ("dark", colours)) if size is DESKTOP else (("light", everything),)
    for theme, rules in themes:
        if state(page, "theme") != theme:
            page.get_by_role("button", name="Switch between light and dark").click()
        wait_until_idle(page)
        colours[theme, "around"] = barriers(page, {"exclude": [".panel"]}, impacts=SERIOUS, rules=rules)
        for tab in TABS:
            open_tab(page, tab)
            colours[theme, tab] = barriers(page, f"#panel-{tab}", impacts=SERIOUS, rules=rules)
    assert state(page, "theme") == themes[-1][0]
    assert not any(colours.values()), {where: says for where, says in colours.items() if says}


# ---------------------------------------------------------------- the keyboard alone


def go(page: Page, key: str, goal: str) -> None:
    """Press a key until an element has the focus, and check that every focus is visible."""
    for _ in range(MAX_STOPS):
        page.keyboard.press(key)
        assert page.evaluate(UNSEEN) is None
        if page.evaluate("(goal) => document.activeElement.matches(goal)", goal):
            return
    pytest.fail(f"{key} never came to {goal}")


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)
        assert page.evaluate(UNSEEN) is None


def test_comparison_is_operable_by_keyboard(page: Page, example: Translation) -> None:
    cross = example.attention.cross
    page.locator("#sentence").focus()
    assert page.evaluate(UNSEEN) is None
    go(page, "Tab", ".wall-grid .thumb")
    while title(page) != "Layer 1 · Head 1":
        press(page, "ArrowUp" if "Layer 1" not in title(page) else "ArrowLeft")
    press(page, "ArrowDown", "ArrowRight", "ArrowRight", "p")
    assert state(page, "pinned") == {"layer": 1, "head": 2}
    press(page, "ArrowUp", "ArrowRight")
    plots = page.locator(".explorer .plot")
    expect(plots).to_have_count(3)
    np.testing.assert_allclose(plotly_values(page, 0), cross[1, 2], atol=NEAR)
    np.testing.assert_allclose(plotly_values(page, 1), cross[0, 3], atol=NEAR)
    np.testing.assert_allclose(plotly_values(page, 2), cross[1, 2] - cross[0, 3], atol=2 * NEAR)
    press(page, "Escape", "Escape")  # Escape first clears the row, then the comparison
    expect(plots).to_have_count(1)
    np.testing.assert_allclose(plotly_values(page), cross[0, 3], atol=NEAR)
    go(page, "Shift+Tab", "#sentence")
    page.keyboard.press("Control+A")
    page.keyboard.type("Ja.")
    assert page.input_value("#sentence") == "Ja."


def test_tabs_exports_and_words_are_operable_by_keyboard(page: Page) -> None:
    page.locator("#sentence").focus()
    go(page, "Tab", ".translate .word")
    press(page, "ArrowRight", "Enter")
    assert page.evaluate("document.activeElement.closest('.alternatives') !== null")
    press(page, "Escape")
    assert page.evaluate("document.activeElement.matches('.translate .word')")
    go(page, "Shift+Tab", ".tabs [role=tab]")
    press(page, "ArrowRight")
    assert state(page, "tab") == VIEWS["change"][0]
    press(page, "ArrowLeft")
    go(page, "Tab", ".take-away > .link")
    press(page, "Enter", "ArrowDown")
    assert page.evaluate("document.activeElement.matches('[role=menuitem]')")
    press(page, "Escape")
    assert page.evaluate("document.activeElement.matches('.take-away > .link')")


def test_skip_link_opens_heads_from_any_tab(page: Page) -> None:
    open_tab(page, "models")
    go(page, "Shift+Tab", ".skip")
    page.keyboard.press("Enter")
    assert state(page, "tab") == "heads"
    assert page.evaluate("document.activeElement.matches('.explorer')")
    before = title(page)
    page.keyboard.press("ArrowRight")
    assert title(page) != before


def test_scrollable_map_scrolls_by_keyboard(visit: Visit) -> None:
    page = visit(**PHONE)
    expose_state(page)
    translate(page, "Der Mann sieht das Haus am See. " * 8)
    page.click("[data-kind=encoder]")
    if page.is_checked("[data-field=fit]"):
        page.uncheck("[data-field=fit]")
    before = title(page)
    box = page.locator(".explorer .map-scroll.scrolls")
    for key, side in (("ArrowRight", "scrollLeft"), ("ArrowDown", "scrollTop")):
        after = "(box, side) => new Promise((done) => requestAnimationFrame(() => done(box[side])))"
        for _ in range(MAX_STOPS):
            box.press(key)
            if box.evaluate(after, side) > 0:
                break
        else:
            pytest.fail(f"{key} scrolls nothing")
    assert title(page) == before


# ---------------------------------------------------------------- motion


def test_reduced_motion_disables_animation(visit: Visit) -> None:
    page = visit(reduced_motion="reduce")
    expose_state(page)
    translate(page, "Das Haus ist alt.")
    assert page.locator(".translate .word.arrives").count() == 0

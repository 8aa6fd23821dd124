"""Layout: no overlaps, no shifts, related parts together, from phones to very wide windows."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.acting import expose_state, open_tab, resize, title, translate, wait_until_idle
from tests.browser.conftest import Visit, visiting
from tests.browser.polling import wait_for_function

LONG = (
    "Die Wissenschaftlerin, die seit vielen Jahren an der Universität in Leipzig arbeitet, kam gestern Abend nach "
    "einer langen Sitzung endlich nach Hause, fand auf dem Küchentisch einen Brief, in dem ihr Bruder mit wenigen "
    "Worten erklärte, dass er im Frühling mit seiner Familie aus Kanada zurückkommen und ein kleines Haus am Rand der "
    "Stadt kaufen wolle, und setzte sich zu der Katze auf das alte rote Sofa am Fenster."
)  # more than 80 tokens
PIECES = "Meine Großmutter kocht am Sonntag immer Hühnersuppe und trinkt dazu ein dunkles Bier."
HEADS = 50  # more than the number of heads, averages and maxima of a kind
ROUNDED = 0.51  # pixels
HERE, THERE = '[data-layer="0"][data-head="3"]', '[data-layer="1"][data-head="1"]'


@pytest.fixture(scope="module")
def shared(browser: Browser, address: str) -> Iterator[Page]:
    """Share one visit between tests that restore the page."""
    with visiting(browser, address) as visit:
        yield visit(width=1440)


def box(locator: Locator) -> dict[str, float]:
    box = locator.bounding_box()
    assert box is not None
    return {**box, "right": box["x"] + box["width"], "bottom": box["y"] + box["height"]}


def do_not_overlap(one: dict[str, float], other: dict[str, float]) -> bool:
    beside = one["right"] <= other["x"] + ROUNDED or other["right"] <= one["x"] + ROUNDED
    return beside or one["bottom"] <= other["y"] + ROUNDED or other["bottom"] <= one["y"] + ROUNDED


def compare(page: Page) -> None:
    page.click(f".wall-grid {HERE}")
    page.keyboard.press("p")
    page.click(f".wall-grid {THERE}")
    page.hover("h1")


def has_class(name: str) -> re.Pattern[str]:
    """Return a pattern for a CSS class in a class attribute."""
    return re.compile(rf"(^|\s){name}(\s|$)")


def style(locator: Locator, name: str, part: str | None = None) -> str:
    value: str = locator.evaluate("(it, [name, part]) => getComputedStyle(it, part)[name]", [name, part])
    return value


# ---------------------------------------------------------------- comparing


def test_compared_maps_have_equal_size_without_overlap(visit: Visit) -> None:
    page = visit()
    compare(page)
    expect(page.locator("#panel-heads .frame .plot .main-svg").first).to_be_visible()
    for width in (820, 1000, 1440, 3840):
        resize(page, width)
        assert_maps_do_not_overlap(page, width)


def assert_maps_do_not_overlap(page: Page, width: int) -> None:
    maps = [box(each) for each in page.locator("#panel-heads .frame .map").all()]
    planes = [box(each) for each in page.locator("#panel-heads .frame .plane").all()]
    texts = [box(each) for each in page.locator("#panel-heads :is(.frame > :is(h3, p), .largest > *)").all()]
    assert len(maps) == len(planes) == 3
    parts = maps + texts
    assert all(do_not_overlap(one, other) for place, one in enumerate(parts) for other in parts[:place]), width
    assert len({(plane["width"], plane["height"]) for plane in planes}) == 1, width
    first, second, difference = planes
    assert first["y"] == pytest.approx(second["y"], abs=ROUNDED)
    assert first["x"] == pytest.approx(difference["x"], abs=ROUNDED)
    assert max(each["right"] for each in parts) <= box(page.locator("#panel-heads .head"))["right"] + ROUNDED, width


def test_each_comparison_view_has_caption(shared: Page) -> None:
    compare(shared)
    captions = {}
    for view in ("matrix", "effect", "lines", "numbers"):
        shared.click(f"[data-view={view}]")
        wait_until_idle(shared)
        captions[view] = shared.inner_text("#panel-heads .head .says")
    assert captions["matrix"].startswith("Each cell of A minus")
    assert "in nats" in captions.pop("effect")
    assert "blue" in captions["lines"]
    assert "orange" in captions["lines"]
    assert captions["numbers"].startswith("Each number is A minus B")
    assert len({each.split("Mean absolute difference ")[1] for each in captions.values()}) == 1
    shared.click("[data-view=matrix]")
    shared.keyboard.press("p")


# ---------------------------------------------------------------- nothing jumps


# The map's top and the head's name after each of `count` presses of the right arrow.
TURN = """(times) => {
  const [tops, titles] = [[], []];
  for (let time = 0; time < times; time++) {
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true, cancelable: true }));
    tops.push(Math.round(document.querySelector('#panel-heads .plane').getBoundingClientRect().top + scrollY));
    titles.push(document.querySelector('#panel-heads .turn h2').textContent);
  }
  return [tops, titles];
}"""


def test_map_position_is_stable_across_heads(visit: Visit) -> None:
    page = visit()
    for width in (360, 820, 1000, 1440):
        resize(page, width)
        for kind in ("encoder", "decoder", "cross"):
            page.click(f"[data-kind={kind}]")
            page.evaluate("() => document.activeElement.blur()")  # else the keys would still change the kind
            tops, titles = page.evaluate(TURN, HEADS)
            assert len(set(titles)) > 20
            assert len(set(tops)) == 1, f"{kind}, {width} pixels: {sorted(set(tops))}"


def test_head_selection_is_announced_but_not_hover(shared: Page) -> None:
    announced = shared.locator("#panel-heads [aria-live]")
    shared.click(f".wall-grid {HERE}")
    expect(announced).to_have_text("Layer 1 · Head 4")
    shared.hover(f".wall-grid {THERE}")
    expect(shared.locator("#panel-heads .turn h2")).to_have_text("Layer 2 · Head 2")
    assert announced.inner_text() == "Layer 1 · Head 4"
    shared.hover("h1")
    assert shared.locator("#panel-heads h2[aria-live]").count() == 0


# ---------------------------------------------------------------- long sentences


def test_long_lines_view_scrolls_below_slider(visit: Visit) -> None:
    page = visit(width=1440, height=900)
    translate(page, LONG)
    page.click("[data-view=lines]")
    # For one frame, the page keeps the height of the last layout.
    wait_for_function(page, "() => document.documentElement.scrollHeight < 3 * 900")
    lines = page.locator("#panel-heads .lines.scrolls")
    assert lines.evaluate("(it) => it.scrollHeight > it.clientHeight + 400")
    assert box(page.locator("#panel-heads .legend input"))["bottom"] <= box(lines)["y"]
    page.hover("h1")
    page.locator(".translate .word").nth(38).click()
    page.hover("h1")
    chosen = box(page.locator(".lines .label.row.chosen"))
    assert box(lines)["y"] < chosen["y"]
    assert chosen["bottom"] < box(lines)["bottom"]


def test_folded_column_labels_use_little_space(visit: Visit) -> None:
    page = visit(width=1440)
    translate(page, LONG)
    assert box(page.locator("#panel-heads .map > .columns"))["height"] < 48
    token = box(page.locator(".translate .shades .token").nth(60))
    page.mouse.click((token["x"] + token["right"]) / 2, (token["y"] + token["bottom"]) / 2)
    plane, name = (
        box(page.locator("#panel-heads .plane")),
        box(page.locator("#panel-heads .map > .columns .label:not(.dim) span")),
    )
    assert name["bottom"] <= plane["y"]
    assert name["right"] <= plane["right"] + ROUNDED
    assert name["height"] < name["width"]


def test_initial_cells_on_phone_are_touchable(visit: Visit) -> None:
    page = visit(width=360, height=780, has_touch=True)
    translate(page, LONG)
    expect(page.locator("[data-field=fit]")).not_to_be_checked()
    assert box(page.locator("#panel-heads .rows .label").first)["height"] >= 20
    expose_state(page)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


# ---------------------------------------------------------------- pieces of one word


def test_word_pieces_are_adjacent(visit: Visit) -> None:
    page = visit(width=1440)
    translate(page, PIECES)
    script = """(pieces) => pieces.map((piece) => {
      const [before, here] = [piece.previousSibling, piece].map((each) => each.getClientRects()[0]);
      return before.top === here.top ? here.left - before.right : 0;
    })"""
    pieces = ".translate .word.joins"
    assert page.locator(pieces).count() > 1
    gaps = page.eval_on_selector_all(pieces, script)
    assert gaps == pytest.approx([0] * len(gaps), abs=0.1)
    assert style(page.locator(pieces).first, "borderStartStartRadius") == "0px"


# ---------------------------------------------------------------- numbers


def test_number_view_marks_pinned_row_and_column(shared: Page) -> None:
    shared.click("[data-view=numbers]")
    shared.locator("#panel-heads .numbers tbody tr").nth(2).locator("td").nth(4).click()
    shared.hover("h1")
    columns, rows = (
        shared.locator("#panel-heads .numbers thead th").count(),
        shared.locator("#panel-heads .numbers tbody tr").count(),
    )
    assert shared.locator("#panel-heads .numbers .pinned-row").count() == columns + 1
    assert shared.locator("#panel-heads .numbers .pinned-column").count() == rows + 1
    plain, marked = (
        style(shared.locator(f"#panel-heads .numbers {cell}").first, "backgroundColor")
        for cell in ("td", ".pinned-row")
    )
    assert plain != marked
    shared.keyboard.press("Escape")
    assert shared.locator("#panel-heads .numbers :is(.pinned-row, .pinned-column)").count() == 0
    shared.click("[data-view=matrix]")


# ---------------------------------------------------------------- the page around


def test_very_wide_window_is_used_and_hidden_parts_stay_hidden(visit: Visit) -> None:
    page = visit(width=3840, height=2160)
    assert box(page.locator("#widget-translate"))["width"] > 2000
    skip = page.locator(".top .skip")
    assert style(skip, "clipPath") == "inset(50%)"
    skip.focus()
    assert style(skip, "clipPath") == "none"
    assert box(skip)["width"] > 60


def test_footer_links_to_api_page(visit: Visit) -> None:
    page = visit()
    for width in (1440, 360):
        resize(page, width)
        line = box(page.locator(".last-line"))
        first = box(page.locator(".last-line p").first)
        assert first["x"] == pytest.approx(line["x"], abs=1), width
        assert page.locator("footer").evaluate_all("(all) => all.every((each) => !each.offsetHeight)"), width
    # Gradio's API panel requests the tools, which this server does not have; the request suffices here.
    page.evaluate(
        """() => document.querySelector('footer .show-api').addEventListener('click', (event) => {
          document.body.dataset.called = 'yes';
          event.stopImmediatePropagation();
        }, true)"""
    )
    page.click(".last-line button")
    expect(page.locator("body[data-called=yes]")).to_have_count(1)


def test_tabs_fade_only_if_scrollable(visit: Visit) -> None:
    page = visit(width=360, height=780)
    tabs = page.locator(".tabs")
    assert box(page.locator(".tabs button").last)["right"] <= 360  # all fit
    expect(tabs).not_to_have_class(has_class("more-after"))
    resize(page, 260, 780)
    expect(tabs).to_have_class(has_class("more-after"))
    page.locator(".tabs button").last.click()
    wait_until_idle(page)
    expect(tabs).not_to_have_class(has_class("more-after"))
    expect(tabs).to_have_class(has_class("more-before"))
    assert box(page.locator(".tabs button").last)["right"] <= 260


def test_placeholder_is_paler_than_text(shared: Page) -> None:
    shared.click("[aria-controls=options]")
    field = shared.locator(".options input[placeholder]").first
    assert style(field, "color", "::placeholder") != style(field, "color")
    assert style(field, "color", "::placeholder") == style(shared.locator("#panel-heads .wall > .quiet"), "color")
    shared.click("[aria-controls=options]")


def test_key_hints_fit_few_lines(shared: Page) -> None:
    tops = shared.locator("#panel-heads .keys span").evaluate_all("(all) => all.map((each) => each.offsetTop)")
    assert len(set(tops)) <= 2
    assert box(shared.locator("#panel-heads .keys"))["y"] > box(shared.locator("#panel-heads .tools"))["bottom"]


# ---------------------------------------------------------------- other tabs


def test_disclosure_elements_share_style(shared: Page) -> None:
    for tab in ("positions", "decoding", "why", "models"):
        open_tab(shared, tab)
        card = shared.locator(f"#panel-{tab} .link.card").first
        if tab == "models":
            card.click()
        summary = shared.locator(f"#panel-{tab} summary").first
        assert (style(summary, "content", "::before"), style(summary, "display")) == ('"+"', "inline-block")
        if tab == "models":
            card.click()
    open_tab(shared, "heads")


def test_row_names_align_with_column_header(shared: Page) -> None:
    script = """(cells) => cells.map((cell) => {
      const range = document.createRange();
      const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
      while (!texts.nextNode().data.trim());
      range.selectNodeContents(texts.currentNode);
      return Math.round(range.getBoundingClientRect().left);
    })"""
    for tab, names in (("decoding", ".step :is(thead, tbody) th:first-child"), ("why", ".dimensions th:first-child")):
        open_tab(shared, tab)
        if tab == "why":
            shared.click("#panel-why summary")
        expect(shared.locator(f"#panel-{tab} {names}").nth(1)).to_be_visible()
        assert len(set(shared.eval_on_selector_all(f"#panel-{tab} {names}", script))) == 1, tab
    open_tab(shared, "heads")


def test_bar_chart_fills_panel_width(shared: Page) -> None:
    open_tab(shared, "decoding")
    plot = shared.locator(".headlight-decoding .chart .main-svg").first
    assert box(plot)["width"] > 0.95 * box(shared.locator("#panel-decoding"))["width"]
    notes = shared.locator(".headlight-decoding .chart .annotation").evaluate_all(
        "(all) => all.map((each) => each.getBoundingClientRect().right)"
    )
    assert max(notes) > 0.8 * box(plot)["right"]
    open_tab(shared, "heads")


def test_first_dimension_matches_formula(shared: Page) -> None:
    open_tab(shared, "positions")
    expect(shared.locator(".headlight-positions .block").last.locator("h3")).to_have_text("Dimension 0")
    legends = shared.locator(".headlight-positions .legend").all_inner_texts()
    assert not legends[1].split()[0].startswith("−")  # no product is negative
    open_tab(shared, "heads")
    assert title(shared)

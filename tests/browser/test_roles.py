"""Head roles: chips, the coloured wall, the table, word links, and the explanation of a head."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from headlight.model.measures.statistics import measure
from headlight.model.records import Translation
from tests.browser.acting import state, wait_until_idle
from tests.browser.conftest import Visit
from tests.browser.polling import wait_for_function

TAB = ".headlight-explorer"


def chosen(page: Page) -> tuple[int, int]:
    return int(state(page, "layer")), int(state(page, "head"))


@pytest.mark.journey
def test_chips_measures_and_table_select_heads(visit: Visit, example: Translation) -> None:
    page = visit(height=2200)
    # A chip outlines its heads and selects them one after another.
    chip = page.locator(f"{TAB} .head-role").first
    count = int(chip.locator(".numeric").inner_text())
    name = chip.get_attribute("data-role")
    assert page.locator(f"{TAB} .has-role").count() == 0
    for number in range(count):
        page.keyboard.press("c")
        expect(chip.locator(".numeric")).to_have_text(f"{number + 1} / {count}")
        layer, head = chosen(page)
        roles = page.evaluate("headlight.translation.roles.cross")
        assert roles[layer][head][0] == name
    assert page.locator(f"{TAB} .has-role").count() == count
    page.keyboard.press("c")
    expect(chip).to_have_attribute("aria-pressed", "false")
    assert page.locator(f"{TAB} .has-role").count() == 0
    # The wall shows a measure: a number on each head, stored in the permalink.
    page.locator(f"{TAB} .colouring select").select_option("peak")
    wait_for_function(page, "location.hash.includes('measure=peak')")
    tile = page.locator(f'{TAB} .thumb[data-layer="0"][data-head="2"]')
    expected = measure(example, "cross", "peak")
    assert float("0" + (tile.get_attribute("data-value") or "")) == np.float64(f"{expected[0, 2]:.2f}")
    # The table is sorted by a column in both directions, and selects a head.
    page.click(f"{TAB} .head-table:not(.explain, .finder) summary")
    table = page.locator(f"{TAB} .head-table:not(.explain, .finder)")
    by_peak = table.locator("th", has_text=re.compile("^peak"))
    by_peak.locator("button").focus()
    page.keyboard.press("Enter")
    expect(by_peak).to_have_attribute("aria-sort", "descending")
    values = [float(text) for text in table.locator("td.sorted").all_inner_texts()]
    assert values == sorted(values, reverse=True)
    assert len(values) == expected.size
    page.keyboard.press("Enter")
    expect(by_peak).to_have_attribute("aria-sort", "ascending")
    table.locator("tbody button").first.click()
    assert chosen(page) == tuple(int(each) for each in np.unravel_index(expected.argmin(), expected.shape))


def test_links_rank_heads_and_head_is_explained(visit: Visit) -> None:
    page = visit(height=2200)
    page.click(f"{TAB} .finder summary")
    finder = page.locator(f"{TAB} .finder")
    word = finder.locator(".words.source button").nth(1)
    for _ in range(2):
        word.click()
    expect(word).to_have_attribute("aria-pressed", "false")
    expect(finder.get_by_role("status").first).to_have_text(f"{word.inner_text()} is deselected.")
    word.focus()
    page.keyboard.press("Enter")
    finder.locator(".words.target button").nth(1).focus()
    page.keyboard.press("Enter")
    expect(finder.locator(".pharaoh input")).to_have_value("1-1")
    expect(finder.locator("line")).to_have_count(1)
    finder.locator(".pharaoh input").fill("0-0 1:1")
    expect(finder.locator(".error").first).to_contain_text("1:1")
    finder.locator(".pharaoh input").fill("0-0 1-1p")
    expect(finder.locator("line.possible")).to_have_count(1)
    # Links taken from a head give that head an error rate of zero.
    finder.get_by_role("button", name=re.compile("^Start from")).click()
    rates = [float(row.locator("td").nth(1).inner_text()) for row in finder.locator("tbody tr").all()]
    assert rates == sorted(rates)
    assert rates[0] == 0
    finder.locator("tbody button").last.click()
    name = finder.locator("tr.chosen th").first.inner_text()
    assert re.fullmatch(r"L\d+·H\d+", name)
    finder.get_by_role("button", name=f"Explain {name}").click()
    expect(page.locator(f"{TAB} .explained").first).to_contain_text("In this sentence")
    wait_until_idle(page)  # what the server knows of it over a corpus comes later
    examples = page.locator(f"{TAB} .examples button")
    if examples.count():  # the model has been measured over a corpus
        before = chosen(page)
        text = examples.first.inner_text()
        examples.first.click()
        wait_for_function(page, "(text) => !headlight.busy && headlight.translation.request.text === text", arg=text)
        assert chosen(page) == before


def test_address_of_a_head_opens_its_explanation(visit: Visit) -> None:
    page = visit("#" + urlencode({"kind": "cross", "layer": 0, "head": 3, "explain": 1}), height=2200)
    about = page.locator(f"{TAB} .explain .explained")
    expect(about.last).to_contain_text("its alignment error rate is 0.05 (0.04 to 0.07)", timeout=60_000)
    expect(about.last).to_contain_text("Layer 1 · Head 4")
    page.click('.wall-grid button[data-layer="1"][data-head="2"]')
    expect(about.last).to_contain_text("Layer 2 · Head 3")
    assert "explain=1" in page.evaluate("location.hash")
    page.click(f"{TAB} .explain summary")
    wait_for_function(page, "!location.hash.includes('explain')")

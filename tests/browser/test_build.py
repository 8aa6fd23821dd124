"""Learn, the lesson "Build it yourself": numbers are checked, lines are run, rows are drawn, parts go in and out."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from headlight.viz.figure_phrases import phrases
from headlight.viz.lessons.build import read_build
from tests.browser.acting import open_tab, switch_language
from tests.browser.axe import barriers
from tests.browser.conftest import Visit

FIELD = ".build [data-field]"
PUT = ".build-actions .go"


def visit_part(visit: Visit, part: str, **options: Any) -> Page:
    return visit(f"#tab=learn&lesson=build.{part}", drawn=".build[data-part]", **options)


def wait_for_part(page: Page, part: str) -> None:
    page.wait_for_selector(f".build[data-part={part}]")


@pytest.mark.journey
def test_a_reader_builds_the_first_parts_and_the_last_ones(visit: Visit) -> None:
    words, answer = phrases("en"), read_build({})
    page = visit()
    open_tab(page, "learn")
    page.click(".lesson-row[data-lesson=build]")
    wait_for_part(page, "words")
    expect(page.locator(PUT)).to_be_disabled()

    # The first number is that of another word, then right; a sum counts, too.
    fields = page.locator(FIELD)
    expect(fields).to_have_count(2)
    table, row = answer["weights"]["source_table"], answer["source_words"].index(answer["source"][1])
    other = next(index for index in range(8) if abs(table[index][0] - table[row][0]) > 0.1)
    fields.nth(0).fill(str(table[other][0]))
    page.keyboard.press("Enter")
    note = page.locator(".build-operation .note")
    expect(note).to_contain_text(words["build_wrong_row_of"].split("{")[0].strip())
    for index in range(2):
        fields.nth(index).fill(f"{table[row][index]} + 0*3")
        page.keyboard.press("Enter")
    expect(page.locator(".build .number-field.right")).to_have_count(2)

    # A wrong line fails with PyTorch's words, an own line that is no code says so, the right one passes.
    page.get_by_role("button", name="ids @ E", exact=True).click()
    expect(page.locator(".line-verdict")).to_contain_text("RuntimeError: mat1 and mat2 shapes cannot be multiplied")
    page.fill(".build .own-line", "import os")
    page.keyboard.press("Enter")
    expect(page.locator(".line-verdict")).to_contain_text("import os")
    expect(page.locator(PUT)).to_be_disabled()
    page.get_by_role("button", name="E[ids]", exact=True).click()
    expect(page.locator(".line-verdict")).to_contain_text(words["build_passes_words"])
    page.click(PUT)
    expect(page.locator(".model-picture .socket.empty[data-socket^=words]")).to_have_count(0)
    page.click(PUT)
    wait_for_part(page, "qkv")
    expect(page).to_have_url(re.compile("lesson=build[.]qkv"))

    # Hovering a cell lights its row and its column and shows the sum.
    page.hover(".product [data-cell='3,1']")
    expect(page.locator(".product [data-left='3'].lit")).to_have_count(4)
    expect(page.locator(".product [data-top='1'].lit")).to_have_count(4)
    expect(page.locator(".build .sum")).to_contain_text("×")

    # The mask is drawn by clicks, and by keys.
    page.evaluate("location.hash = '#tab=learn&lesson=build.mask'")
    wait_for_part(page, "mask")
    page.click(".build .sum button")
    expect(note).to_contain_text("21")
    for later in range(1, 7):
        page.locator(f"[data-mask='0,{later}']").focus()
        page.keyboard.press(" ")
    page.click(".build .sum button")
    expect(note).to_contain_text("15")

    # Cross-attention: the wrong direction fails, the right one passes; a row is drawn by keys and compared.
    page.evaluate("location.hash = '#tab=learn&lesson=build.cross'")
    wait_for_part(page, "cross")
    for side in ("qm", "ky", "vy"):
        page.click(f"[data-side={side}]")
    expect(page.locator(".line-verdict")).to_contain_text("must match the size of tensor")
    for side in ("qy", "km", "vm"):
        page.locator(f"[data-side={side}]").click()
        if side != "vm":
            expect(page.locator(f"[data-side={side}]")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".line-verdict")).to_contain_text(words["build_passes_cross"])
    page.click("[data-view=draw]")
    weights = answer["rows_to_draw"][0]["weights"]
    best = weights.index(max(weights))
    page.locator(f"[data-bar='{best}']").focus()
    for _ in range(14):
        page.keyboard.press("ArrowUp")
    page.click(".build .sum button")
    bars = [1.0 if index == best else 0.3 for index in range(len(weights))]
    own = round(100 * sum(min(bar / sum(bars), weight) for bar, weight in zip(bars, weights, strict=True)))
    expect(note).to_contain_text(f"{own}%")
    expect(page.locator(PUT)).to_be_enabled()
    assert not barriers(page, ".build")
    switch_language(page, "zh")
    expect(page.locator(".build h2")).to_have_text(phrases("zh")["build_idea_cross"])


def test_tab_and_enter_keep_the_focus_and_what_is_typed(visit: Visit) -> None:
    page = visit_part(visit, "words")
    answer = read_build({})
    numbers = answer["weights"]["source_table"][answer["source_words"].index(answer["source"][1])]
    page.locator(FIELD).nth(0).fill(str(numbers[0]))
    page.keyboard.press("Tab")
    expect(page.locator(FIELD).nth(0)).to_have_class(re.compile("right"))
    expect(page.locator(FIELD).nth(1)).to_be_focused()
    page.keyboard.type("-1")
    # A line that runs meanwhile draws the part anew: the unfinished number and the caret stay.
    page.evaluate("[...document.querySelectorAll('.build .candidates button')].at(-1).click()")
    expect(page.locator(".line-verdict")).to_contain_text("IndexError")
    expect(page.locator(FIELD).nth(1)).to_be_focused()
    page.keyboard.type("*1.5")
    page.keyboard.press("Enter")
    expect(page.locator(".build .number-field.right")).to_have_count(2)
    assert abs(numbers[1] + 1.5) < 0.01
    expect(page.locator(FIELD).nth(1)).to_have_value("−1.5")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_finished_model_says_that_it_translates_everything(visit: Visit, language: str, tmp_path: Path) -> None:
    words, page = phrases(language), visit_part(visit, "next", width=1280, height=800)
    build_everything(page)
    if language != "en":
        switch_language(page, language)
    right = page.locator(".build-results .writes .before")
    expect(right).to_contain_text(words["build_all_right"].format(all=84))
    expect(right).to_contain_text(words["build_whole_start"].format(perfect=4, starts=8))
    expect(right).to_contain_text(words["build_whole_own"].format(right=84, all=84))
    # Two lines of text have room above and below them.
    text = "(button) => { const range = new Range(); range.selectNodeContents(button); return range"
    margins = page.eval_on_selector(
        PUT,
        f"{text}.getBoundingClientRect().top - button.getBoundingClientRect().top; }}",
    )
    assert margins >= 6
    with page.expect_download() as download:
        page.get_by_role("button", name=words["build_save_script"]).click()
    assert download.value.suggested_filename == "headlight_build.py"
    download.value.save_as(tmp_path / "headlight_build.py")
    assert (tmp_path / "headlight_build.py").read_text(encoding="utf-8") == read_build({})["script"]
    # The decoder's words above those that it has to write, with the loss of each.
    lines = [row.locator("td").all_inner_texts() for row in page.locator(".loss-lines tr").all()]
    assert lines[0][1:] == lines[1][:-1] == ["I", "like", "the", "book", "you", "read"]
    assert (lines[2].pop(4), lines[3].pop(4)) == ("?", "?")  # the number that the reader calculates
    for probability, loss in zip(lines[2], lines[3], strict=True):
        assert abs(-math.log(float(probability)) - float(loss)) <= 0.0051


def test_a_low_loss_without_the_mask_has_its_reason_and_masked_weights_are_zero(visit: Visit) -> None:
    page = visit_part(visit, "mask")
    names = [part["name"] for part in read_build({})["parts"]]
    page.evaluate("(names) => localStorage.setItem('headlight-build', JSON.stringify(names))", names[:11])
    page.reload()
    note = page.locator(".build-results .loss-note")
    expect(note).to_have_text(phrases("en")["build_loss_copied"].format(part=12))
    page.locator(".build-actions .link:visible").click()
    expect(page.locator(".mask-cell.masked")).to_have_text(["0"] * 21)
    page.click(PUT)
    expect(note).to_have_text(phrases("en")["build_loss_honest"])


def test_one_weight_of_cross_attention_by_hand(visit: Visit) -> None:
    page, answer = visit_part(visit, "cross"), read_build({})
    page.click("[data-view=weight]")
    printed = {name: answer["printed"][f"cross.{name}"][answer["head"]] for name in ("query", "key", "totals")}
    row = answer["written_row"]
    query, key, total = printed["query"][row], printed["key"][2], printed["totals"][row]
    expect(page.locator(".known-query")).to_contain_text(f"{query[0]:.2f}")
    raw = round(query[0] * key[0] + query[1] * key[1], 2)
    for name, text in (("raw", f"{raw}"), ("score", f"{raw}/√2"), ("power", "e^4.76"), ("weight", f"e^4.76/{total}")):
        page.locator(f"[data-field={name}]").fill(text)
        page.keyboard.press("Enter")
        expect(page.locator(f"[data-field={name}]")).to_have_class(re.compile("right"))
    expect(page.locator(".build .sum")).to_contain_text("0.91")


def test_the_answer_of_cross_attention_draws_the_row_as_well(visit: Visit) -> None:
    page, row = visit_part(visit, "cross"), read_build({})["rows_to_draw"][0]
    page.click("[data-view=draw]")
    expect(page.locator(PUT)).to_be_disabled()
    page.get_by_role("button", name=phrases("en")["build_show_answer"]).click()
    for index, weight in enumerate(row["weights"]):
        expect(page.locator(f"[data-bar='{index}']")).to_have_attribute("aria-valuenow", str(round(100 * weight)))
    expect(page.locator(PUT)).to_be_enabled()


def test_a_picture_box_says_that_it_opens_its_part(visit: Visit) -> None:
    page = visit_part(visit, "words")
    expect(page.locator(".picture-hint")).to_have_text(phrases("en")["build_picture_hint"])
    box = page.locator("[data-socket^=softmax]")
    expect(box.locator("title")).to_have_text(phrases("en")["build_open_part"].format(part="softmax"))
    assert box.evaluate("(element) => getComputedStyle(element).cursor") == "pointer"
    box.focus()
    page.keyboard.press("Enter")
    wait_for_part(page, "softmax")


def test_a_phone_shows_the_one_hot_row_and_one_row_of_a_sum(visit: Visit) -> None:
    page, answer = visit_part(visit, "words", width=390, height=844), read_build({})
    index = answer["source_words"].index(answer["source"][1])
    expect(page.locator(".one-hot span")).to_have_text(["1" if each == index else "0" for each in range(8)])
    # The cell of the second row does not exist on a phone.
    page.set_viewport_size({"width": 1280, "height": 900})
    page.evaluate("location.hash = '#tab=learn&lesson=build.residual'")
    wait_for_part(page, "residual")
    page.hover(".product [data-cell='4,1']")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator(".product.addition .row-word")).to_have_count(1)
    expect(page.locator(".build .sum")).to_contain_text("+")


@pytest.mark.parametrize(("language", "width"), [("en", 1280), ("zh", 1280), ("en", 390)])
def test_no_number_is_cut_and_nothing_lies_on_the_results(visit: Visit, language: str, width: int) -> None:
    page = visit_part(visit, "words", width=width, height=800)
    if language != "en":
        switch_language(page, language)
    for part in read_build({})["parts"]:
        page.evaluate("(part) => { location.hash = `#tab=learn&lesson=build.${part}` }", part["name"])
        wait_for_part(page, part["name"])
        page.locator(".build-actions .link:visible").first.click()  # fills all fields
        expect(page.locator(".line-verdict")).to_have_class(re.compile("passes"))
        cut = "(all) => all.filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.outerHTML)"
        parts = ".build .number-field, .build .cell, .build .sum"
        assert page.eval_on_selector_all(parts, cut) == [], part["name"]
        bottom = "(element) => element.getBoundingClientRect().bottom"
        results = page.eval_on_selector(".build-results", "(element) => element.getBoundingClientRect().top")
        for column in (".build .note", ".build .line-verdict"):
            assert page.eval_on_selector(column, bottom) <= results, (part["name"], column)


def build_everything(page: Page) -> None:
    """Mark all parts as built, as a returning reader finds them."""
    names = [part["name"] for part in read_build({})["parts"]]
    page.evaluate("(names) => localStorage.setItem('headlight-build', JSON.stringify(names))", names)
    page.reload()
    page.wait_for_selector(".build[data-part]")


def test_a_part_that_is_taken_out_shows_a_sentence_that_fails(visit: Visit) -> None:
    page = visit_part(visit, "positions")
    build_everything(page)
    whole = page.locator(".build-results .translation").inner_text()
    assert whole == "I like the book you read"
    page.click(".build-actions .link")
    without = read_build({})["variants"]["without_positions"]
    expect(page.locator(".build-results .quiet").last).to_contain_text(without["failing"]["source"])
    assert page.locator(".build-results .translation em").count() > 0
    expect(page.locator(".model-picture .removed")).to_have_count(2)
    page.click(".build-actions .link")
    expect(page.locator(".build-results .translation")).to_have_text(whole)


def test_the_large_model_shows_the_same_cell(visit: Visit) -> None:
    page = visit_part(visit, "scores")
    page.click(".large-button")
    table = page.locator(".large-table table")
    expect(table.locator("tbody tr")).to_have_count(3)
    rows = [
        [float(cell.replace("−", "-")) for cell in row.locator("td").all_text_contents()]
        for row in table.locator("tbody tr").all()
    ]
    for query, key, product in zip(*rows, strict=True):
        assert abs(query * key - product) < 0.05
    total = float(page.locator(".build-large .large-note").inner_text().split()[-1].rstrip(".").replace("−", "-"))
    assert abs(sum(rows[2]) - total) < 0.2
    page.click(".build-large .link")
    page.wait_for_selector(".lesson[data-step=scores]")


@pytest.mark.parametrize("width", [1440, 1280, 1024, 390])
def test_no_part_scrolls_sideways(visit: Visit, width: int) -> None:
    page = visit_part(visit, "words", width=width, height=900)
    for part in read_build({})["parts"]:
        page.evaluate("(part) => { location.hash = `#tab=learn&lesson=build.${part}` }", part["name"])
        wait_for_part(page, part["name"])
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), part["name"]
        fits = "(element) => element.scrollWidth <= element.clientWidth"
        assert page.eval_on_selector(".build .numbers", fits), part["name"]

"""First visits: the offer of the other direction, scores, other models, sizes of click targets."""

from __future__ import annotations

import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from headlight import Translator
from headlight.viz.settings import MODELS
from tests.browser.acting import open_tab, state, title, translate, translation, wait_for_translation
from tests.browser.conftest import Answered, Visit
from tests.browser.polling import wait_for_function

ENGLISH = "The dog is sleeping under the table now."
GERMAN = "Der Hund schläft unter dem Tisch."
LONG = " ".join(["Der Hund sieht die Katze und die Katze sieht den Hund"] * 9) + "."
SMALLEST = 24  # pixels
TABS = ("heads", "whatif", "learn", "beside", "positions", "decoding", "word", "why", "sentiment", "models")


# ---------------------------------------------------------------- another language


@pytest.mark.journey
def test_wrong_source_language_offers_other_direction(page: Page) -> None:
    translate(page, ENGLISH)
    says = page.locator(".looks-like")
    expect(says).to_contain_text("This looks like English. Translate English → German?")
    says.get_by_role("button", name="German").click()
    wait_for_function(page, "window.headlight.translation.model.name === 'en-de' && !window.headlight.busy")
    assert page.input_value("#sentence") == ENGLISH
    assert "Hund" in translation(page)
    expect(says).to_have_text("")


def test_direction_offer_disappears_while_typing(page: Page) -> None:
    says = page.locator(".looks-like")
    translate(page, GERMAN)
    expect(says).to_have_text("")
    translate(page, ENGLISH)
    expect(says).to_contain_text("English")
    before = page.locator(".tabs").bounding_box()
    page.type("#sentence", " And")
    expect(says).to_have_text("")
    assert page.locator(".tabs").bounding_box() == before  # its line stays in place


def test_direction_offer_is_translated_to_chinese(visit: Visit) -> None:
    page = visit(locale="zh-CN", width=360)
    translate(page, ENGLISH)
    expect(page.locator(".looks-like")).to_contain_text("这看起来是英语。 改为 英语 → 德语？")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


# ---------------------------------------------------------------- seconds, scores


def test_cached_answer_shows_no_duration(visit: Visit) -> None:
    one, other = visit(), visit()
    text = "Wo hast du gestern den roten Ball gesehen?"
    expect(one.locator(".translate .meta")).to_contain_text("cached")  # the first answer is part of the page
    translate(one, text)
    expect(one.locator(".translate .meta")).to_have_text(re.compile(r"\d\.\d\d s"))
    translate(other, text)
    expect(other.locator(".translate .meta")).to_contain_text("cached")
    assert " s " not in other.inner_text(".translate .meta")


def test_own_translation_is_scored_without_reliability_grade(
    page: Page, translator: Translator, answered: Answered
) -> None:
    mine = "Dog the seen yesterday banana."
    text = GERMAN
    translate(page, text)
    own = answered(text)
    forced = translator.translate(text, target=mine)
    page.get_by_role("button", name="Options").click()
    page.fill("[data-field=target]", mine)
    page.press("[data-field=target]", "Enter")
    note = page.locator(".translate .verdict")
    expect(note).to_contain_text("Your translation")
    numbers = [float(number.replace("−", "-")) for number in re.findall(r"−?\d+\.\d+", note.inner_text())]
    costliest = min(forced.target_tokens, key=lambda token: token.probability or 0.0)
    expected = [forced.log_probability, own.log_probability, costliest.probability]
    np.testing.assert_allclose(numbers, expected, atol=0.006)
    expect(note.locator("b")).to_have_text(costliest.text.strip() or costliest.text)
    assert note.locator(".grade").count() == 0
    assert forced.reliability is None
    assert own.reliability is not None


# ---------------------------------------------------------------- which head, which second model


def test_new_model_resets_selection(page: Page) -> None:
    page.click('.wall-grid button[data-layer="2"][data-head="0"]')
    page.click("[data-kind=encoder]")
    text = "狗在桌子底下睡觉"
    page.evaluate(
        "(text) => dispatchEvent(new CustomEvent('headlight-request', {detail: {model: 'zh-en', text}}))",
        text,
    )
    wait_for_translation(page, text)
    assert state(page, "kind") == "cross"
    chosen = state(page, "layer"), state(page, "head")
    opening = state(page, "translation")["opening"]
    assert chosen == (opening["layer"], opening["head"])
    assert state(page, "row") == opening["row"]


def test_new_sentence_keeps_selected_head(page: Page) -> None:
    page.click('.wall-grid button[data-layer="1"][data-head="2"]')
    translate(page, GERMAN)
    assert title(page) == "Layer 2 · Head 3"


def test_two_models_does_not_default_to_toy(page: Page) -> None:
    open_tab(page, "beside")
    pressed = page.locator(".headlight-beside .choices [aria-pressed=true]")
    assert pressed.get_attribute("data-mode") == "back"
    menu = page.locator(".headlight-beside select.model")
    assert "toy" in menu.locator("option").evaluate_all("(all) => all.map((each) => each.value)")


# ---------------------------------------------------------------- long sentences


def test_three_digit_column_number_is_not_clipped(page: Page) -> None:
    tokens = Translator.load(MODELS / "de-en").translate(LONG, target="Dog").source_tokens
    text = LONG if len(tokens) <= 101 else LONG[: tokens[99].end]
    translate(page, text)
    page.click("[data-kind=encoder]")
    tick = page.locator(".explorer .columns .tick", has_text=re.compile("^100$"))
    plane = page.locator(".explorer .plane").bounding_box()
    box = tick.evaluate(
        """(tick) => {
          const range = document.createRange();
          range.selectNodeContents(tick);
          const {left, right} = range.getBoundingClientRect();
          return [left, right];
        }"""
    )
    assert plane is not None
    assert plane["x"] <= box[0] < box[1] <= plane["x"] + plane["width"] + 0.5


@pytest.mark.parametrize("width", [1280, 360])
def test_visible_row_weights_sum_without_scrolling(visit: Visit, width: int) -> None:
    page = visit(width=width)
    translate(page, LONG)
    open_tab(page, "why")
    assert page.locator("#panel-why").evaluate(
        """(panel) => [...panel.querySelectorAll('*')].every((each) => {
          const { overflowX, overflowY } = getComputedStyle(each);
          const scrolls = [overflowX, overflowY].some((value) => /auto|scroll/.test(value));
          return !scrolls || (each.scrollHeight <= each.clientHeight + 1 && each.scrollWidth <= each.clientWidth + 1);
        })"""
    )
    page.click(".headlight-why .products > summary")
    rows = page.locator(".headlight-why .row tbody tr")
    assert rows.count() == 41
    # Tolerance of each column: three decimals, and four.
    for table, place, rounded in (("row", 4, 5e-4), ("row", 5, 5e-5), ("stream", 2, 5e-4)):
        lines = page.locator(f".headlight-why .{table}")
        cells = lines.locator(f"tbody tr td:nth-of-type({place})").all_inner_texts()
        total = float(lines.locator(f"tfoot td:nth-of-type({place})").inner_text().replace("−", "-"))
        summed = sum(float(cell.replace("−", "-")) for cell in cells)
        assert summed == pytest.approx(total, abs=42 * rounded), table
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    more = page.locator(".headlight-why .row tr.rest button")
    expect(more).to_have_text(re.compile(r"^\d+ more$"))
    folded = int(more.inner_text().split()[0])
    more.click()
    expect(rows).to_have_count(40 + folded)
    expect(page.locator(".headlight-why .stream tbody tr")).to_have_count(40 + folded)


# ---------------------------------------------------------------- models, targets


@pytest.mark.parametrize(("width", "most"), [(1280, 2200), (360, 3400)])
def test_model_table_fits_window(visit: Visit, width: int, most: int) -> None:
    page = visit(width=width)
    open_tab(page, "models")
    assert page.evaluate("document.documentElement.scrollHeight") < most
    heights = page.locator("tr.model").evaluate_all("(all) => all.map((each) => each.offsetHeight)")
    assert max(heights) < (56 if width == 1280 else 170)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    card = page.get_by_role("button", name="Card of zh-en")
    card.click()
    expect(card).to_have_attribute("aria-expanded", "true")
    expect(page.locator("article[data-model=zh-en]")).to_be_visible()
    scores = page.locator("article[data-model=zh-en] figure.scores dd")
    assert scores.count() >= 2
    assert all(each > 0 for each in scores.locator(".bar").evaluate_all("(all) => all.map((bar) => bar.offsetWidth)"))
    wrong = page.locator("article[data-model=zh-en] .squares .wrong").count()
    percentage = page.locator("tr.model[data-model=zh-en] .plain .numeric").inner_text()
    assert percentage == f"{int(100 * (120 - wrong) / 120 + 0.5)}%"  # halves are rounded up
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    card.click()
    expect(page.locator("article")).to_have_count(0)


def small_targets(page: Page) -> list[str]:
    boxes: list[str] = page.evaluate(
        """(smallest) => [...document.querySelectorAll('button, a, select, input, textarea, summary, [role=button]')]
          .filter((each) => each.checkVisibility() && !each.matches('.word, .skip, footer *')) // words are in lines
          .map((each) => (each.matches('input[type=checkbox], input[type=radio]') ? each.closest('label') : each))
          .filter((each) => {
            const {width, height} = each.getBoundingClientRect();
            return width > 0 && Math.min(width, height) < smallest - 0.5;
          })
          .map((each) => `${each.tagName} ${each.className} ${each.textContent}`)""",
        SMALLEST,
    )
    return boxes


def test_click_targets_are_large_enough(page: Page) -> None:
    for tab in TABS:
        open_tab(page, tab)
        assert small_targets(page) == [], tab

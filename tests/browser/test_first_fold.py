"""What a newcomer sees without scrolling: the map, a row that is chosen, and a sentence that says what it shows."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from headlight.model.records import Translation
from tests.browser.acting import held, resize, settled, state, translate
from tests.browser.conftest import Visit

LOWEST = 620  # pixels from the top of a window of 1280 x 900 to the first row of cells
OTHER = "Meine Schwester hat mir gestern erzählt, dass sie nach Berlin zieht."
CHOSEN = ".explorer .rows .label.chosen"
SENTENCE = ".explorer .sentence"
PARTS = (
    ".top > *, .translate .side > *, .translate .label-row > *, .translate .under > *, #panel-heads .kinds button, "
    "#panel-heads :is(.topline > *, .sentence, .says, .strip, .plane, .list, .tools, .wall-grid)"
)


def top(page: Page, part: str) -> float:
    box = page.locator(part).first.bounding_box()
    assert box is not None
    return box["y"]


@pytest.mark.journey
@pytest.mark.parametrize(("language", "theme"), [("en-US", "light"), ("zh-CN", "dark")])
def test_the_map_begins_within_the_first_window(visit: Visit, language: str, theme: str) -> None:
    page = visit(locale=language, color_scheme=theme)
    assert top(page, ".explorer .plane") <= LOWEST
    assert page.evaluate("scrollY") == 0


def test_the_first_sight_is_of_the_head_that_aligns_best_with_a_row_that_is_chosen(
    page: Page, example: Translation
) -> None:
    best = state(page, "translation")["model"]["best_head"]
    assert best
    assert (state(page, "layer"), state(page, "head")) == (best["layer"], best["head"])
    row = state(page, "row")
    assert row is not None
    weights = example.attention.cross[best["layer"], best["head"], row]
    key = example.source_tokens[int(weights.argmax())]
    written = [token.text.strip() for token in example.target_tokens]
    sentence = page.inner_text(SENTENCE)
    assert f"puts {weights.max():.2f} of its attention on {key.text.strip()}" in sentence
    if best["shift"]:  # the row tells of the word above it, and predicts its own
        assert sentence.startswith(f"After {written[row - 1]}, ")
        assert sentence.endswith(f"the row predicts {written[row]}.")
    else:
        assert sentence.startswith(f"While writing {written[row]}, ")
    assert page.inner_text(f"{CHOSEN} >> nth=0") == written[row]
    assert page.locator(".explorer .strips .token.chosen").inner_text() == written[row]
    assert page.inner_text(".explorer .list h3").startswith(f"{written[row]} looks at")
    assert "row sums to 1.00" in page.inner_text(".explorer .list h3")


def test_a_row_is_chosen_after_each_translation_and_the_reader_may_let_go_of_it(page: Page) -> None:
    translate(page, OTHER)
    first = state(page, "row")
    assert first is not None
    expect(page.locator(CHOSEN)).to_have_count(1)
    page.keyboard.press("Escape")
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("Escape")
    assert state(page, "row") is None
    expect(page.locator(SENTENCE)).to_have_text("Hover over a word or a cell. Click to pin it.")
    translate(page, "Ich trinke ein Bier.")
    assert state(page, "row") is not None


def test_an_address_that_names_a_head_chooses_no_row_of_its_own(visit: Visit) -> None:
    page = visit("#layer=1&head=2")
    assert state(page, "row") is None
    page.evaluate("() => { location.hash = '#text=Ich+trinke+ein+Bier.'; }")
    settled(page, "Ich trinke ein Bier.")
    assert state(page, "row") is not None


def test_the_kinds_stand_in_one_line_with_their_names_and_take_the_word_along(page: Page) -> None:
    names = ["Encoder self-attention", "Decoder self-attention", "Cross-attention"]
    kinds = page.locator(".explorer .kinds button")
    assert [each.inner_text() for each in kinds.all()] == names
    assert len({(each.bounding_box() or {})["y"] for each in kinds.all()}) == 1
    row = state(page, "row")
    word = page.inner_text(f"{CHOSEN} >> nth=0")
    page.click("[data-kind=decoder]")
    assert (state(page, "row"), page.inner_text(f"{CHOSEN} >> nth=0")) == (row, word)
    page.click("[data-kind=encoder]")
    best = state(page, "translation")["model"]["best_head"]
    asked = min(row + best["shift"], held(page, "cross").shape[2] - 1)
    partner = int(held(page, "cross")[best["layer"], best["head"], asked][:-1].argmax())
    assert state(page, "row") == partner
    expect(page.locator(SENTENCE)).to_contain_text(re.compile("^Reading "))
    page.click("[data-kind=cross]")
    assert (state(page, "layer"), state(page, "head")) == (best["layer"], best["head"])


def test_a_chosen_word_stays_chosen_when_words_are_merged(page: Page) -> None:
    word = page.inner_text(f"{CHOSEN} >> nth=0")
    page.check("[data-field=words]")
    assert word in page.inner_text(f"{CHOSEN} >> nth=0")
    page.uncheck("[data-field=special]")
    assert word in page.inner_text(f"{CHOSEN} >> nth=0")


def test_the_list_stays_in_sight_beside_tall_lines(visit: Visit) -> None:
    page = visit(width=1280, height=600)
    translate(page, " ".join([OTHER] * 2))
    page.click("[data-view=lines]")
    beyond = top(page, "#panel-heads .list") + 60
    page.evaluate("(beyond) => scrollTo(0, beyond)", beyond)
    page.wait_for_function("(beyond) => scrollY > beyond - 10", arg=beyond)
    assert top(page, "#panel-heads .list") >= 0


@pytest.mark.journey
@pytest.mark.parametrize("widths", [(360, 420, 600), (768, 900, 1024)])
def test_nothing_reaches_beyond_a_narrow_window(visit: Visit, widths: tuple[int, ...]) -> None:
    page = visit(width=widths[0], height=800, has_touch=widths[0] < 700)
    for width in widths:
        resize(page, width, 800)
        beyond = page.locator(PARTS).evaluate_all(
            "(all, width) => all.filter((it) => it.getBoundingClientRect().right > width).map((it) => it.className)",
            width,
        )
        assert beyond == [], width
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_on_a_phone_the_parts_stand_one_below_the_other(visit: Visit) -> None:
    page = visit(width=360, height=780, has_touch=True)
    parts = [".translate", ".tabs", ".kinds", ".kind-says", ".wall", ".turn", ".segments", ".sentence", ".strips"]
    parts = [*(part if part in parts[:2] else f"#panel-heads {part}" for part in parts)]
    parts += [f"#panel-heads {part}" for part in (".plane", ".list", ".tools")]
    tops = [top(page, part) for part in parts]
    assert tops == sorted(tops), dict(zip(parts, tops, strict=True))


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_on_a_phone_the_name_of_the_head_is_whole(visit: Visit, locale: str) -> None:
    page = visit(width=360, height=780, locale=locale)
    assert page.locator(".explorer .turn h2").first.evaluate("(it) => it.scrollWidth <= it.clientWidth")

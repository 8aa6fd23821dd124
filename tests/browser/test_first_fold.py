"""Above the fold: the map, a selected row, and its description."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from headlight.model.records import Translation
from headlight.viz.service.examples import EXAMPLES, Example
from tests.browser.acting import page_weights, resize, state, translate, wait_for_translation
from tests.browser.conftest import Visit
from tests.model.translate.test_opening import PAIRS

LOWEST = 620  # pixels from the top of a window of 1280 x 900 to the first row of cells
OTHER = "Meine Schwester hat mir gestern erzählt, dass sie nach Berlin zieht."
CHOSEN = ".explorer .rows .label.chosen"
WRITTEN = f"{CHOSEN} .written >> nth=0"
SENTENCE = ".translate .headline.sentence"
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
def test_map_starts_above_the_fold(visit: Visit, language: str, theme: str) -> None:
    page = visit(locale=language, color_scheme=theme)
    assert top(page, ".explorer .plane") <= LOWEST
    assert page.evaluate("scrollY") == 0


@pytest.mark.journey
def test_matrix_starts_high_on_phone(visit: Visit) -> None:
    page = visit(width=390, height=844)
    assert top(page, ".explorer .head .maps") <= 600


def test_initial_selection_is_aligned_word_pair(page: Page, example: Translation) -> None:
    opening = state(page, "translation")["opening"]
    layer, head, row = (opening[name] for name in ("layer", "head", "row"))
    assert (state(page, "layer"), state(page, "head"), state(page, "row")) == (layer, head, row)
    assert [layer, head] not in state(page, "translation")["late"]
    weights = example.attention.cross[layer, head, row]
    target_word, key = (
        example.target_tokens[row].text.strip(),
        example.source_tokens[int(weights.argmax())].text.strip(),
    )
    assert f"{target_word} {key}" in PAIRS["relative"]
    sentence = page.inner_text(SENTENCE)
    assert sentence.startswith(f"While writing {target_word}, ")
    assert f"puts {weights.max():.3f} of its attention on {key}" in sentence
    assert page.inner_text(WRITTEN) == target_word
    assert page.locator(".translate .word.chosen").inner_text() == target_word
    listed = " ".join(page.inner_text(".explorer .list h3").split())
    assert re.fullmatch(rf"\S+ → {target_word} looks at row sums to 1.00", listed)


@pytest.mark.parametrize("case", [each for each in EXAMPLES if each.model in ("zh-en", "en-zh", "en-de")])
def test_initial_selection_is_aligned_in_other_languages(visit: Visit, case: Example) -> None:
    page = visit(f"#{urlencode({'text': case.text, 'model': case.model})}")
    wait_for_translation(page, case.text)
    target, read = (state(page, "translation")[side] for side in ("target", "source"))
    layer, head, row = (state(page, name) for name in ("layer", "head", "row"))
    column = int(page_weights(page, "cross")[layer, head, row].argmax())
    assert f"{target[row]['label']} {read[column]['label']}" in PAIRS[case.name]


def test_shifted_head_is_labelled(page: Page) -> None:
    layer, head = state(page, "translation")["late"][0]
    page.click(f'.wall-grid button[data-layer="{layer}"][data-head="{head}"]')
    page.locator(".explorer .rows .label").nth(4).click()
    row = page.locator(".explorer .rows .label").nth(4)
    above, word = (row.locator(name).inner_text() for name in (".read", ".written"))
    sentence = page.inner_text(SENTENCE)
    assert sentence.startswith(f"Having just written {above}, ")
    assert sentence.endswith(f"next comes {word}.")
    listed = " ".join(page.inner_text(".explorer .list h3").split())
    assert listed.startswith(f"{above} → {word} looks at")
    expect(page.locator("#panel-heads")).to_contain_text("Remembers the word just translated: read it one word late")
    page.click(".explain summary")
    expect(page.locator(".explain .explained")).to_contain_text("tells of the word above")


def test_row_is_selected_after_translation_and_can_be_unpinned(page: Page) -> None:
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


def test_permalink_with_head_selects_no_row(visit: Visit) -> None:
    page = visit("#layer=1&head=2")
    assert state(page, "row") is None
    page.evaluate("() => { location.hash = '#text=Ich+trinke+ein+Bier.'; }")
    wait_for_translation(page, "Ich trinke ein Bier.")
    assert state(page, "row") is not None


def test_kinds_fit_one_line_and_keep_selected_word(page: Page) -> None:
    names = ["Encoder 64", "Decoder 24", "Cross-attention 24"]
    kinds = page.locator(".explorer .kinds button")
    assert [" ".join(each.inner_text().split()) for each in kinds.all()] == names
    assert len({(each.bounding_box() or {})["y"] for each in kinds.all()}) == 1
    row = state(page, "row")
    word = page.inner_text(WRITTEN)
    page.click("[data-kind=decoder]")
    assert (state(page, "row"), page.inner_text(WRITTEN)) == (row, word)
    page.click("[data-kind=encoder]")
    opening = {name: state(page, "translation")["opening"][name] for name in ("layer", "head")}
    best = state(page, "translation")["model"]["best_head"]
    expected_row = min(row + best["shift"], page_weights(page, "cross").shape[2] - 1)
    partner = int(page_weights(page, "cross")[best["layer"], best["head"], expected_row][:-1].argmax())
    assert state(page, "row") == partner
    expect(page.locator(SENTENCE)).to_contain_text(re.compile("^Reading "))
    page.click("[data-kind=cross]")
    assert {"layer": state(page, "layer"), "head": state(page, "head")} == opening


def test_selected_word_survives_merging_tokens(page: Page) -> None:
    word = page.inner_text(WRITTEN)
    page.check("[data-field=words]")
    assert word in page.inner_text(WRITTEN)
    page.uncheck("[data-field=special]")
    assert word in page.inner_text(WRITTEN)


@pytest.mark.journey
@pytest.mark.slow(after=1)
@pytest.mark.parametrize("widths", [(360, 420, 600), (768, 900, 1024)])
def test_nothing_overflows_narrow_window(visit: Visit, widths: tuple[int, ...]) -> None:
    page = visit(width=widths[0], height=800, has_touch=widths[0] < 700)
    for width in widths:
        resize(page, width, 800)
        beyond = page.locator(PARTS).evaluate_all(
            "(all, width) => all.filter((it) => it.getBoundingClientRect().right > width).map((it) => it.className)",
            width,
        )
        assert beyond == [], width
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width


def test_parts_are_stacked_on_phone(visit: Visit) -> None:
    page = visit(width=360, height=780, has_touch=True)
    within = (".turn", ".plane", ".segments", ".kinds", ".wall-grid", ".link-heads", ".question", ".list", ".tools")
    parts = [".tabs", ".translate", ".headline", *(f"#panel-heads {part}" for part in within)]
    tops = [top(page, part) for part in parts]
    assert tops == sorted(tops), dict(zip(parts, tops, strict=True))


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_head_name_is_not_truncated_on_phone(visit: Visit, locale: str) -> None:
    page = visit(width=360, height=780, locale=locale)
    assert page.locator(".explorer .turn h2").first.evaluate("(it) => it.scrollWidth <= it.clientWidth")

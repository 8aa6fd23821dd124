"""Two models side by side: numbers, what is lit on both sides, the second model's choices, keys, the address."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from headlight import Translator
from headlight.model.measures.merging import by_words
from headlight.model.records import FloatArray, Kind, Translation
from headlight.viz.answers.examples import EXAMPLES
from headlight.viz.settings import MODELS
from tests.browser.acting import at_rest, modules, open_tab, state, traces
from tests.browser.conftest import Visit, visiting

TAB = ".headlight-beside"
NEAR = 4e-4  # of sums of weights, each of them known to half a unit of the fourth decimal
TEXT = EXAMPLES[0].text


@pytest.fixture(scope="module")
def toy() -> Translator:
    return Translator.load(MODELS / "toy")


@pytest.fixture(scope="module")
def second(toy: Translator) -> Translation:
    """What the second model says to the sentence of a first visit."""
    return toy.translate(TEXT, beam_size=4, no_repeat=4)


@pytest.fixture(scope="module")
def page(browser: Browser, address: str) -> Iterator[Page]:
    """One visit for all that only look; each test says where."""
    with visiting(browser, address) as visit:
        yield visit("#beside=toy", height=2400)


def look(page: Page, kind: Kind, layer: int, head: int) -> None:
    """The tab with this head of the first model; the second shows the one most like it."""
    open_tab(page, "beside")
    page.click(f"{TAB} [data-kind={kind}]")
    thumb(page, 0, layer, head).click()
    if page.get_attribute(f"{TAB} .pin", "aria-pressed") == "false":
        page.click(f"{TAB} .pin")
    page.mouse.move(0, 0)


def side(page: Page, number: int) -> Locator:
    return page.locator(f"{TAB} .one").nth(number)


def thumb(page: Page, number: int, layer: int, head: int) -> Locator:
    return side(page, number).locator(f'.thumb[data-layer="{layer}"][data-head="{head}"]')


def chosen(page: Page, number: int) -> str:
    """The tokens that are framed in the sentences of a side."""
    return "".join(side(page, number).locator(".strip .token.chosen").all_inner_texts())


def words(translation: Translation, kind: Kind, layer: int, head: int) -> FloatArray:
    return by_words(translation.attention_map(kind, layer, head)).weights


def shares(first: FloatArray, second: Translation, kind: Kind) -> dict[str, float]:
    """How much of each row the heads of the second model share with this map of words, the best first."""
    layers, heads = second.attention.of(kind).shape[:2]
    found = {
        f"Layer {layer + 1} · Head {head + 1}": float(
            np.minimum(first, words(second, kind, layer, head)).sum(axis=1).mean()
        )
        for layer in range(layers)
        for head in range(heads)
    }
    return dict(sorted(found.items(), key=lambda item: -item[1]))


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize(("layer", "head"), [(0, 3), (2, 6)])
def test_the_head_most_alike_is_shown_with_its_share_and_the_difference(
    page: Page, example: Translation, second: Translation, layer: int, head: int
) -> None:
    look(page, "encoder", layer, head)
    first = words(example, "encoder", layer, head)
    expected = shares(first, second, "encoder")
    (best, most), *_ = expected.items()
    expect(side(page, 1).locator("h2")).to_have_text(best)
    assert float(page.inner_text(f"{TAB} .number .value")) == pytest.approx(most, abs=NEAR)
    listed = [row.split("\n") for row in page.locator(f"{TAB} .rank button").all_inner_texts()]
    assert len(listed) == 6
    for name, *_, share in listed:
        assert float(share) == pytest.approx(expected[name], abs=NEAR)
    at, of = re.fullmatch(r"Layer (\d+) · Head (\d+)", best).groups()  # type: ignore[union-attr]
    difference = first - words(second, "encoder", int(at) - 1, int(of) - 1)
    drawn = next(trace["z"] for trace in traces(page, f"{TAB} .alike .plot") if trace["type"] == "heatmap")
    np.testing.assert_allclose(drawn, difference, atol=NEAR)


def test_any_head_of_one_stands_beside_any_head_of_the_other_with_the_models_numbers(
    page: Page, example: Translation, second: Translation
) -> None:
    look(page, "cross", 1, 5)
    thumb(page, 1, 0, 2).click()
    for number, (translation, layer, head) in enumerate([(example, 1, 5), (second, 0, 2)]):
        drawn = page.evaluate(f"document.querySelectorAll('{TAB} .one')[{number}].querySelector('.plot').data[0].z")
        np.testing.assert_allclose(drawn, translation.attention.cross[layer, head], atol=1e-5)
    expect(page.locator(f"{TAB} .pin")).to_have_attribute("aria-pressed", "false")
    thumb(page, 0, 1, 6).click()
    expect(side(page, 1).locator("h2")).to_have_text("Layer 1 · Head 3")  # it stays where it was put


# ---------------------------------------------------------------- what is lit


def test_a_token_lights_the_tokens_of_the_other_side_that_cover_its_characters(
    page: Page, example: Translation, second: Translation
) -> None:
    look(page, "encoder", 2, 6)
    page.keyboard.press("Escape")  # the word that is chosen at first
    place = next(number for number, token in enumerate(example.source_tokens) if token.text.strip() == "schläft")
    side(page, 0).locator(".rows .label").nth(place).hover()
    assert (chosen(page, 0), chosen(page, 1)) == ("schläft", "schläft")
    start = TEXT.index("schläft")
    letters = [number for number, token in enumerate(second.source_tokens) if start <= token.start < start + 7]
    assert len(letters) > 1
    title = side(page, 1).locator("h2").inner_text()
    layer, head = (int(number) - 1 for number in re.findall(r"\d+", title))
    row = second.attention.encoder[layer, head, letters].mean(axis=0)
    assert float(side(page, 1).locator(".readout .value").inner_text()) == pytest.approx(row.max(), abs=NEAR)
    side(page, 1).locator(".strip .token", has_text=re.compile("^ä$")).first.hover()
    assert (chosen(page, 0), chosen(page, 1)) == ("schläft", "ä")
    page.mouse.move(0, 0)
    assert (chosen(page, 0), chosen(page, 1)) == ("", "")


def test_a_word_that_the_other_model_did_not_write_is_said_to_be_missing(page: Page) -> None:
    look(page, "cross", 2, 6)
    side(page, 0).locator(".strip .token", has_text="yesterday").click()
    assert chosen(page, 0) == "yesterday"
    assert side(page, 1).locator(".readout").inner_text() == "toy did not write “yesterday” here."
    side(page, 0).locator(".strip .token", has_text=re.compile("^I$")).click()
    assert (chosen(page, 0), chosen(page, 1)) == ("I", "i")
    page.keyboard.press("Escape")
    page.mouse.move(0, 0)
    assert chosen(page, 0) == ""


def test_a_cell_of_the_difference_lights_both_sides(page: Page) -> None:
    look(page, "encoder", 2, 6)
    name = page.locator(f"{TAB} .pairs button bdi").first.inner_text()
    page.locator(f"{TAB} .pairs button").first.hover()
    assert name.split(" → ")[0] == chosen(page, 0) == chosen(page, 1)
    page.mouse.move(0, 0)


# ---------------------------------------------------------------- keys


def test_arrows_turn_the_heads_of_the_side_in_use_alone(page: Page) -> None:
    look(page, "cross", 0, 0)
    thumb(page, 1, 0, 0).click()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    expect(side(page, 1).locator("h2")).to_have_text("Layer 2 · Head 2")
    expect(side(page, 0).locator("h2")).to_have_text("Layer 1 · Head 1")
    expect(side(page, 1).locator(".thumb[aria-selected=true]")).to_be_focused()
    side(page, 0).locator(".thumb[aria-selected=true]").focus()
    page.keyboard.press("ArrowLeft")
    expect(side(page, 0).locator("h2")).to_have_text("Maximum of all heads")
    page.keyboard.press("1")
    expect(page.locator(f"{TAB} [data-kind=encoder]")).to_have_attribute("aria-checked", "true")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(side(page, 1).locator(".strip .chosen").first).to_be_visible()
    assert (chosen(page, 0), chosen(page, 1)) == ("Hund", "Hund")
    page.keyboard.press("Escape")
    assert (chosen(page, 0), chosen(page, 1)) == ("", "")


def test_a_maximum_gets_no_share_for_its_rows_sum_to_nothing(page: Page) -> None:
    look(page, "cross", 0, 0)
    side(page, 0).locator('.thumb[data-layer="0"][data-head="max"]').click()
    expect(page.locator(f"{TAB} .number")).to_contain_text("The rows of a maximum of several heads")
    assert page.inner_text(f"{TAB} .number .value") == ""


# ---------------------------------------------------------------- the second model


def test_a_narrower_beam_and_the_first_ones_words(visit: Visit, example: Translation) -> None:
    page = visit("#tab=beside&beside=de-en")
    at_rest(page)
    expect(page.locator(f"{TAB} .number .value")).to_have_text("1.0000")  # the same model, the same beam
    side(page, 1).locator(".controls select.numeric").select_option("1")
    at_rest(page)
    expect(side(page, 1)).to_contain_text("beam 1")
    side(page, 1).locator("select.model").select_option("toy")
    at_rest(page)
    expect(side(page, 1).locator(".reads")).not_to_have_text(example.text)
    side(page, 1).get_by_label("Use A’s translation").check()
    at_rest(page)
    expect(side(page, 1).locator(".reads")).to_have_text(example.text)
    words_ = len({token.word for token in example.target_tokens if not token.special}) + 1
    expect(page.locator(f"{TAB} .number")).to_contain_text(f"over {words_} of {words_} rows")
    thumb(page, 1, 1, 3).click()
    page.wait_for_function("location.hash.includes('beside_head=1.3')")
    hash_ = page.evaluate("location.hash")
    assert {"tab=beside", "beside=toy", "beside_same=1", "beside_beam=1"} <= set(hash_[1:].split("&"))
    other = visit(hash_)
    at_rest(other)
    expect(side(other, 1).locator("h2")).to_have_text("Layer 2 · Head 4")
    assert other.inner_text(f"{TAB} .alike") == page.inner_text(f"{TAB} .alike")


def test_a_model_that_is_not_here_is_named_and_another_may_be_chosen(visit: Visit) -> None:
    page = visit("#tab=beside&beside=nobody")
    at_rest(page)
    expect(side(page, 1).locator(".error")).to_contain_text("There is no model")
    assert page.locator(f"{TAB} .alike").is_hidden()
    assert side(page, 1).locator(".plot").count() == 0
    side(page, 1).locator("select.model").select_option("toy")
    at_rest(page)
    expect(side(page, 1).locator(".error")).to_be_empty()
    expect(side(page, 1).locator(".reads")).to_contain_text("i want a")


def test_the_first_model_is_the_pages_own(visit: Visit) -> None:
    page = visit("#tab=beside&text=ich+mochte+ein+bier")
    modules(page)
    at_rest(page)
    side(page, 0).locator("select.model").select_option("toy")
    page.wait_for_function("headlight.translation.model.name === 'toy' && !headlight.busy")
    at_rest(page)
    expect(page.locator(".translate .out")).to_have_text("i want a beer .")
    expect(side(page, 0).locator(".reads")).to_have_text("i want a beer .")
    expect(side(page, 1).locator("select.model")).to_have_value("de-en")  # it reads the same language
    side(page, 1).locator("select.model").select_option("en-de")
    at_rest(page)
    expect(side(page, 1)).to_contain_text("en-de reads English, but the sentence is German")
    assert state(page, "beside") == "en-de"


# ---------------------------------------------------------------- sizes, languages


def test_a_phone_stacks_the_sides_and_never_scrolls_sideways(visit: Visit) -> None:
    page = visit("#tab=beside", width=360, height=740, has_touch=True, is_mobile=True)
    at_rest(page)
    first, other = (side(page, number).bounding_box() for number in (0, 1))
    assert first is not None
    assert other is not None
    assert other["y"] >= first["y"] + first["height"]
    for kind in ("encoder", "decoder", "cross"):
        page.click(f"{TAB} [data-kind={kind}]")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), kind


def test_the_chinese_tab_speaks_chinese(visit: Visit, example: Translation, second: Translation) -> None:
    page = visit("#tab=beside", locale="zh-CN")
    at_rest(page)
    shown = set(re.findall(r"[A-Za-z]{4,}", page.inner_text(TAB)))
    assert shown <= set(re.findall(r"[A-Za-z]{4,}", f"{TEXT} {example.text} {second.text}"))
    assert "这两个头有多相似" in page.inner_text(TAB)

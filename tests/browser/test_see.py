"""See: rows with both words, ribbons, pinned cells, questions next to the map, and view modes."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from headlight import Translator
from headlight.model.experiments.account import list_other_candidates
from headlight.model.experiments.effects import (
    LIKELIEST,
    make_effect_maps,
    measured_effects,
    summarise_effects,
    word_effects,
)
from headlight.model.experiments.importance import AttentionPart
from headlight.model.experiments.scan import scan
from headlight.model.measures.trace_records import Float64Array
from headlight.model.records import Intervention, Translation
from headlight.viz.tabs import VIEWS
from tests.browser.acting import (
    choose_panel,
    expose_state,
    hold_calls,
    open_tab,
    resize,
    state,
    switch_language,
    traces,
    wait_for_translation,
    wait_until_idle,
)
from tests.browser.conftest import Visit
from tests.browser.polling import wait_for_function

LISTED = 4
STILL = (  # these elements do not move
    ".translate .headline",
    ".translate .sentence-field, .translate .field",
    ".translate .text",
    ".judgement",
    ".explorer .kinds",
    ".wall-grid",
    ".explorer .topline",
    ".explorer .ask",
)
PLACES = """(selectors) => Object.fromEntries(selectors.map((selector) => {
  const { left, top, width } = document.querySelector(selector).getBoundingClientRect();
  return [selector, [left, top + scrollY, width].map(Math.round)];
}))"""
MIN_RIBBON = 0.15  # as in `ribbons.js`


def test_pinned_cell_weights_are_shown_for_all_heads(page: Page, example: Translation) -> None:
    row, column = 4, 9
    page.click(f".explorer .rows .label >> nth={row}")
    page.evaluate("(column) => document.querySelectorAll('.explorer .columns .label')[column].click()", column)
    box = page.locator(".explorer .plane").bounding_box()
    assert box is not None
    rows, columns = example.attention.cross.shape[2:]
    page.mouse.click(box["x"] + box["width"] * (column + 0.5) / columns, box["y"] + box["height"] * (row + 0.5) / rows)
    assert (state(page, "row"), state(page, "column")) == (row, column)
    weights = example.attention.cross[:, :, row, column]
    for layer, head in np.ndindex(weights.shape):
        tile = page.locator(f'.wall-grid [data-layer="{layer}"][data-head="{head}"]')
        tile_value = int(tile.get_attribute("data-value") or "-1")
        assert abs(tile_value - 100 * weights[layer, head]) <= 0.51
    listed = [float(text) for text in page.locator(".link-heads .bars .numeric").all_text_contents()]
    np.testing.assert_allclose(listed, np.sort(weights.ravel())[::-1][:LISTED], atol=1e-3)
    expect(page.locator(".link-heads .quiet").first).to_contain_text(f"{(weights > 0.5).sum()} of {weights.size} heads")
    page.get_by_role("button", name="Show the maps again").click()
    expect(page.locator(".wall-grid [data-value]")).to_have_count(0)


@pytest.mark.journey
def test_ribbons_connect_attended_words(page: Page, example: Translation) -> None:
    layer, head = state(page, "layer"), state(page, "head")
    weights = example.attention.cross[layer, head]
    words = np.array([not token.special for token in example.source_tokens])
    is_word = np.array([not token.special for token in example.target_tokens])
    between = weights[is_word][:, words]
    expect(page.locator(".ribbons path")).to_have_count(int((between >= MIN_RIBBON).sum()))
    row = state(page, "row")
    expect(page.locator(".ribbons path.marked")).to_have_count(int((weights[row][words] >= MIN_RIBBON).sum()))
    page.click("[data-kind=encoder]")
    expect(page.locator(".ribbons path.marked").first).to_be_attached()


@pytest.mark.journey
def test_question_answers_match_model(page: Page, example: Translation, translator: Translator) -> None:
    layer, head, row = (state(page, name) for name in ("layer", "head", "row"))
    page.click(".question.weight-computed summary")
    cells = page.locator(".weight-computed .chosen td")
    weights = example.attention.cross[layer, head, row]
    expect(cells.nth(2)).to_have_text(f"{weights.max():.3f}")
    shares = [float(text) for text in page.locator(".weight-computed tr td:last-child").all_text_contents()]
    assert shares[-1] == pytest.approx(1, abs=1e-3)
    assert sum(shares[:-1]) == pytest.approx(1, abs=2e-3)
    page.click(".question.head-needed summary")
    without = translator.translate(
        example.source_text,
        target=[token.id for token in example.target_tokens],
        interventions=[Intervention(kind="cross", layer=layer, head=head, action="remove")],
    )
    expect(page.locator(".head-needed .bar .numeric").nth(1)).to_have_text(
        f"{without.target_tokens[row].probability:.2f}", timeout=60_000
    )
    page.get_by_role("button", name="Keep it off").click()
    assert state(page, "tab") == "whatif"
    expect(page.locator(".headline.change")).to_contain_text(re.compile(r"off: .+; the old one is"))


@pytest.mark.journey
def test_effect_map_matches_model(page: Page, visit: Visit, example: Translation, translator: Translator) -> None:
    layer, head, row = (state(page, name) for name in ("layer", "head", "row"))
    weights = next(each["z"] for each in traces(page, ".explorer .head .plot") if each["type"] == "heatmap")
    page.click("[data-view=effect]")
    wait_until_idle(page)
    maps = make_effect_maps(translator, example, "cross")
    map_values = next(each["z"] for each in traces(page, ".explorer .head .plot") if each["type"] == "heatmap")
    expected = np.sign(maps[layer, head]) * np.sqrt(np.minimum(1, np.abs(maps[layer, head]) / 0.4))
    np.testing.assert_allclose(map_values, expected, atol=2e-3)
    signed = [f"{total:+.2f}".replace("-", "−") for total in (maps[:, :, row].sum(), maps[layer, :, row].sum())]
    sums = page.locator(".explorer .effect-status p").first
    expect(sums).to_have_text(f"All 24 heads together: {signed[0]} nats. Layer {layer + 1}: {signed[1]}.")
    column = int(example.attention.cross[layer, head, row].argmax())
    effect = f"{maps[layer, head, row, column]:+.2f}"
    expect(page.locator(".translate .headline").first).to_contain_text(f"supports sleeping: {effect} nats predicted")
    box = page.locator(".explorer .plane").bounding_box()
    assert box is not None
    rows, columns = example.attention.cross.shape[2:]
    page.mouse.click(box["x"] + box["width"] * (column + 0.5) / columns, box["y"] + box["height"] * (row + 0.5) / rows)
    for place in np.ndindex(maps.shape[:2]):
        tile = page.locator(f'.wall-grid [data-layer="{place[0]}"][data-head="{place[1]}"]')
        tile_value = float((tile.get_attribute("data-value") or "nan").replace("−", "-"))
        assert tile_value == pytest.approx(100 * maps[(*place, row, column)], abs=0.51)
    again = visit(page.evaluate("location.hash"))
    expect(again.locator(".translate .headline").first).to_contain_text(f"{effect} nats predicted")
    page.get_by_role("button", name="on its lead").click()
    wait_until_idle(page)
    leads = make_effect_maps(translator, example, "cross", LIKELIEST)
    map_values = next(each["z"] for each in traces(page, ".explorer .head .plot") if each["type"] == "heatmap")
    expected = np.sign(leads[layer, head]) * np.sqrt(np.minimum(1, np.abs(leads[layer, head]) / 0.4))
    np.testing.assert_allclose(map_values, expected, atol=2e-3)
    expect(page.locator(".translate .headline").first).to_contain_text("The rival is asleep.")
    assert "lead=1" in page.evaluate("location.hash")
    page.click("[data-view=matrix]")
    back = next(each["z"] for each in traces(page, ".explorer .head .plot") if each["type"] == "heatmap")
    np.testing.assert_allclose(back, weights)


def test_compared_effects_match_model(page: Page, example: Translation, translator: Translator) -> None:
    first, second = (0, 3), (1, 1)
    for head in (first, second):
        page.click(f'.wall-grid [data-layer="{head[0]}"][data-head="{head[1]}"]')
        if head == first:
            page.keyboard.press("p")
    page.click("[data-view=effect]")
    wait_until_idle(page)
    maps = make_effect_maps(translator, example, "cross")
    difference = maps[first] - maps[second]
    for number, effects in enumerate((maps[first], maps[second], difference)):
        map_values = next(
            each["z"] for each in traces(page, ".explorer .frame .plot", number) if each["type"] == "heatmap"
        )
        np.testing.assert_allclose(
            map_values, np.sign(effects) * np.sqrt(np.minimum(1, np.abs(effects) / 0.4)), atol=5e-3
        )
    listed = page.locator(".explorer .largest .numeric").all_inner_texts()
    largest = difference.ravel()[np.argsort(-np.abs(difference).ravel())[: len(listed)]]
    np.testing.assert_allclose([float(text.replace("−", "-")) for text in listed], largest, atol=1e-3)
    expect(page.locator(".explorer .says").first).to_contain_text(f"{np.abs(difference).mean():.3f}")
    page.locator(".explorer .largest button").first.click()
    row, column = np.unravel_index(np.abs(difference).argmax(), difference.shape)
    numbers = [f"{each[row, column]:+.2f}".replace("-", "−") for each in (difference, maps[first], maps[second])]
    expect(page.locator(".translate .headline").first).to_contain_text(
        f"{numbers[0]} nats predicted (A {numbers[1]}, B {numbers[2]})"
    )


def test_encoder_effects_are_on_the_clicked_word(
    page: Page, visit: Visit, example: Translation, translator: Translator
) -> None:
    place = [token.text.strip() for token in example.target_tokens].index("sleeping")
    (rival,) = translator.target_tokenizer.encode("now")
    page.click("[data-view=effect]")
    page.click(".explorer [data-kind=encoder]")
    status = page.locator(".explorer .effect-status")
    expect(status).to_contain_text("Click a word of the translation")
    assert_effects(page, make_effect_maps(translator, example, "encoder"))
    page.click(".translate .out .word:has-text('sleeping')")
    (word,) = word_effects(translator, example, [place])
    expect(status).to_contain_text(f"All 64 heads together: {signed(word.heads('encoder').sum())} nats.")
    assert_effects(page, word.cells["encoder"])
    expect(page.locator(".explorer .legend").first).to_contain_text("nats, for sleeping; predicted")
    expect(page.locator(".translate .out .word.chosen")).to_have_text("sleeping")
    wait_for_function(page, "(text) => location.hash.includes(text)", arg=f"&word={place}")
    again = visit(page.evaluate("location.hash") + f"&lead=1&rival={place}.{rival}")
    (lead,) = word_effects(translator, example, [place], rival)
    expect(again.locator(".explorer .legend").first).to_contain_text(
        "nats, for the lead of sleeping over now; predicted"
    )
    expect(again.locator(".explorer .effect-status")).to_contain_text(
        f"All 64 heads together: {signed(lead.heads('encoder').sum())} nats."
    )
    assert_effects(again, lead.cells["encoder"])
    page.get_by_role("button", name="on the translation").click()
    expect(status).to_contain_text("Click a word of the translation")
    assert state(page, "word") is None


def test_a_word_is_chosen_in_the_encoder_by_keyboard(page: Page) -> None:
    page.click("[data-view=effect]")
    page.click(".explorer [data-kind=encoder]")
    page.focus(".translate .out .word >> nth=0")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator(".translate .out .word.chosen")).to_have_text("dog")
    assert state(page, "word") == 1
    expect(page.locator(".translate .alternatives")).to_be_hidden()
    expect(page.locator(".translate .out .word:focus")).to_have_text("dog")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    assert state(page, "word") == 2
    page.keyboard.press("Enter")  # as a second click
    expect(page.locator(".translate .alternatives")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    assert state(page, "word") is None


def assert_effects(page: Page, maps: Float64Array) -> None:
    """Assert that the large map shows the effects of the selected head."""
    wait_until_idle(page)
    effects = maps[state(page, "layer"), state(page, "head")]
    map_values = next(each["z"] for each in traces(page, ".explorer .head .plot") if each["type"] == "heatmap")
    np.testing.assert_allclose(map_values, np.sign(effects) * np.sqrt(np.minimum(1, np.abs(effects) / 0.4)), atol=5e-3)


def signed(number: float) -> str:
    return f"{number:+.2f}".replace("-", "−")


def test_effects_have_a_sum_instead_of_average_and_maximum(
    page: Page, example: Translation, translator: Translator
) -> None:
    page.check('#panel-heads [data-field="averages"]')
    page.click('.wall-grid [data-layer="1"][data-head="max"]')
    page.click("[data-view=effect]")
    wait_until_idle(page)
    assert state(page, "head") == "mean"
    expect(page.locator(".wall-grid [data-head=max]")).to_have_count(0)
    expect(page.locator(".explorer .topline h2")).to_have_text("Layer 2 · Sum of heads")
    effects = make_effect_maps(translator, example, "cross")[1].sum(axis=0)
    map_values = next(each["z"] for each in traces(page, ".explorer .head .plot") if each["type"] == "heatmap")
    np.testing.assert_allclose(map_values, np.sign(effects) * np.sqrt(np.minimum(1, np.abs(effects) / 0.4)), atol=5e-3)
    page.click("[data-view=matrix]")
    expect(page.locator(".wall-grid [data-head=max]")).to_have_count(4)


def test_words_beside_emoji_have_ribbons(visit: Visit) -> None:
    text = "Der Hund 🐶 schläft im Garten 🌳."
    page = visit(f"#{urlencode({'text': text, 'model': 'de-en'})}")
    wait_for_translation(page, text)
    words = page.locator(".translate .shades .token")
    expect(words).to_have_text(["Der", "Hund", "schläft", "im", "Garten", "."])
    expect(page.locator(".ribbons path.marked").first).to_be_attached()
    box, ribbon = words.nth(2).bounding_box(), page.locator(".ribbons path.marked").first.bounding_box()
    assert box is not None
    assert ribbon is not None
    middle = box["x"] + box["width"] / 2
    assert ribbon["x"] - 8 <= middle <= ribbon["x"] + ribbon["width"] + 8


def test_word_effects_against_a_typed_rival_are_in_the_address(
    page: Page, visit: Visit, example: Translation, translator: Translator
) -> None:
    row = state(page, "row")
    (rival,) = translator.target_tokenizer.encode("now")
    page.click(".word-effects summary")
    field = page.locator(".word-effects .rivals input")
    field.fill("zebra")
    field.press("Enter")
    expect(page.locator(".word-effects .rivals .error")).to_contain_text("“zebra” is 2 tokens: ze + bra.")
    field.fill("now")
    field.press("Enter")
    summary = summarise_effects(translator, example, row, 5, rival)
    expected = [signed(head.predicted) for head in summary.strongest]
    predicted = page.locator(".word-effects .bars button .numeric:nth-child(3)")
    expect(predicted).to_have_text(expected)
    expect(page.locator(".word-effects .rivals [aria-pressed=true]")).to_have_text("now")
    wait_for_function(page, "(text) => location.hash.includes(text)", arg=f"rival={row}.{rival}")
    again = visit(page.evaluate("location.hash"))
    expect(again.locator(".word-effects .bars button .numeric:nth-child(3)")).to_have_text(expected)
    expect(again.locator(".word-effects .rivals [aria-pressed=true]")).to_have_text("now")


def test_word_effects_list_predicted_and_measured_values(
    page: Page, example: Translation, translator: Translator
) -> None:
    row = state(page, "row")
    page.click(".word-effects summary")
    listed = page.locator(".word-effects .bars button")
    expect(listed).to_have_count(5)
    summary = summarise_effects(translator, example, row, 5)
    heads = summary.strongest
    for layer, head in np.ndindex(summary.heads["cross"].shape):
        tile = page.locator(f'.wall-grid [data-layer="{layer}"][data-head="{head}"]')
        tile_value = float((tile.get_attribute("data-value") or "nan").replace("−", "-"))
        assert tile_value == pytest.approx(100 * summary.heads["cross"][layer, head], abs=0.51)
    for button, head in zip(listed.all(), heads, strict=True):
        place = (
            button.get_attribute("data-kind"),
            button.get_attribute("data-layer"),
            button.get_attribute("data-head"),
        )
        assert place == (head.kind, str(head.layer), str(head.head))
        measured_values = [float(text.replace("−", "-")) for text in button.locator(".numeric").all_inner_texts()]
        assert measured_values == pytest.approx([head.predicted, head.measured], abs=0.0051)
    listed.nth(1).click()
    assert (state(page, "kind"), state(page, "layer"), state(page, "head")) == (
        heads[1].kind,
        heads[1].layer,
        heads[1].head,
    )
    expect(listed.nth(1)).to_have_attribute("aria-pressed", "true")
    page.click(".word-effects summary")
    expect(page.locator(".wall-grid [data-value]")).to_have_count(0)


def test_word_effects_compare_with_a_rival_and_measure_the_shown_head(
    page: Page, example: Translation, translator: Translator
) -> None:
    row = state(page, "row")
    token = example.target_tokens[row]
    rival = list_other_candidates(token)[0]
    page.click(".word-effects summary")
    bars = page.locator(".word-effects .bars button")
    expect(bars).to_have_count(5)
    page.locator(".word-effects .rivals").get_by_role("button", name=rival.text.strip(), exact=True).click()
    summary = summarise_effects(translator, example, row, 5, rival.id)
    tile = page.locator('.wall-grid [data-layer="0"][data-head="0"]')
    expect(tile).to_have_attribute("data-value", re.compile(rf"^.?{abs(100 * summary.heads['cross'][0, 0]):.0f}$"))
    listed = {(head.kind, head.layer, head.head) for head in summary.strongest}
    other = next(head for head in range(8) if ("cross", 0, head) not in listed)
    page.click(f'.wall-grid button[data-layer="0"][data-head="{other}"]')
    expect(bars).to_have_count(6)
    part = AttentionPart("cross", 0, other)
    (measured,) = measured_effects(translator, example, row, [(part,)], rival.id)
    expect(bars.last.locator(".numeric").nth(1)).to_have_text(f"{measured:+.2f}".replace("-", "−"))


@pytest.mark.journey
def test_views_share_one_position(page: Page) -> None:
    places = set()
    for view, panels in VIEWS.items():
        choose_panel(page, panels[0])
        expect(page.locator(".tabs [aria-selected=true]")).to_have_count(1)
        boxes = [button.bounding_box() for button in page.locator(".tabs button").all()]
        places.add(tuple((box["x"], box["y"]) for box in boxes if box))
        assert page.locator(".tabs button").nth(list(VIEWS).index(view)).get_attribute("aria-selected") == "true"
    assert len(places) == 1


@pytest.mark.parametrize("size", [(1440, 900), (1280, 720)])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_hover_does_not_shift_layout(page: Page, size: tuple[int, int], language: str) -> None:
    resize(page, *size)
    switch_language(page, language)
    wait_until_idle(page)
    opening = page.evaluate(PLACES, STILL)

    def assert_still(what: str) -> None:
        wait_until_idle(page)
        places = page.evaluate(PLACES, STILL)
        assert {name: place for name, place in places.items() if place != opening[name]} == {}, what

    for layer, head in ((0, 3), (1, 6), (2, 0)):
        page.click(f'.wall-grid [data-layer="{layer}"][data-head="{head}"]')
        assert_still(f"head {head} of layer {layer}")
    page.hover(".explorer .rows .label >> nth=2")
    assert_still("a row below the pointer")
    page.click(".explorer .rows .label >> nth=4")
    assert_still("a pinned row")
    page.evaluate("document.querySelectorAll('.explorer .columns .label')[9].click()")
    assert_still("a pinned cell")
    page.keyboard.press("Escape")
    assert_still("nothing pinned")
    for kind in ("decoder", "encoder", "cross"):
        page.click(f"[data-kind={kind}]")
        assert_still(kind)
    page.locator(".player input").fill("5")
    assert_still("five words written")


@pytest.mark.parametrize("panel", [panel for panels in VIEWS.values() for panel in panels])
def test_permalink_of_removed_tab_opens_its_panel(visit: Visit, panel: str) -> None:
    page = visit(f"#tab={panel}", drawn=f"#panel-{panel}")
    expect(page.locator(f"#panel-{panel}")).to_be_visible()
    view = next(view for view, panels in VIEWS.items() if panel in panels)
    expect(page.locator(".tabs [aria-selected=true]")).to_have_text(view.capitalize())


def test_leaving_view_cancels_its_requests(page: Page) -> None:
    expose_state(page)
    hold_calls(page, "explain_row", "explain_stream")
    page.evaluate(
        """() => {
          window.aborted = 0;
          const asked = window.fetch;
          window.fetch = (address, options) => {
            options?.signal?.addEventListener('abort', () => window.aborted++);
            return asked(address, options);
          };
        }"""
    )
    choose_panel(page, "why")
    wait_for_function(page, "() => held.length === 2")
    choose_panel(page, "heads")
    assert page.evaluate("window.aborted") >= 2
    page.evaluate("() => { const all = held; held = { push: (go) => go() }; for (const go of all) go(); }")
    open_tab(page, "why")
    expect(page.locator(".headlight-why .error:not(:empty)")).to_have_count(0)


@pytest.mark.journey
def test_reliability_reasons_open_by_keyboard(page: Page) -> None:
    summary = page.locator(".judgement summary")
    expect(summary).to_contain_text(re.compile(r"\d+ of 100 like it are"))
    expect(page.locator(".judgement .back")).to_be_hidden()
    summary.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".judgement .back")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".judgement .back")).to_be_hidden()


@pytest.mark.journey
def test_what_stands_out_is_listed_below_the_grade_and_each_finding_opens_its_cell(
    page: Page, translator: Translator, example: Translation
) -> None:
    findings = scan(translator, example)
    page.locator(".judgement summary").click()
    rows = page.locator(".findings li")
    expect(rows).to_have_text([finding.sentence() for finding in findings])
    for index, finding in enumerate(findings):
        rows.nth(index).get_by_role("button").click()
        kind, layer, head, row, column = finding.cell
        page_selection = [state(page, name) for name in ("kind", "layer", "head", "row", "column")]
        assert page_selection == [kind, layer, head, row, column]
    page.keyboard.press("Escape")
    expect(page.locator(".findings")).to_be_hidden()

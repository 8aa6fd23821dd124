"""What if: heads by mouse and keyboard, masked and swapped words, chips, undo, permalinks, phone, Chinese."""

from __future__ import annotations

import json
import re
from threading import Event
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from headlight import Translator
from headlight.model.experiments.effects import compute_sentence_head_effects
from headlight.model.records import Translation
from headlight.viz.service.examples import EXAMPLES
from headlight.viz.tabs import whatif as whatif_tab
from tests.browser.acting import expose_state, hold_calls, open_tab, release_calls, state, traces, wait_until_idle
from tests.browser.conftest import PATIENCE, Answered, Visit
from tests.browser.polling import wait_for_function
from tests.chosen import CHOSEN, SENTENCE

TAB = ".headlight-whatif"
TEXT = EXAMPLES[0].text
DEFAULTS = {"beam_size": 4, "no_repeat": 4}


@pytest.fixture
def page(visit: Visit) -> Page:
    page = visit(height=1600)
    open_tab(page, "whatif")
    page.click(f"{TAB} [data-kind=cross]")
    return page


def thumb(page: Page, layer: int | str, head: int | str) -> None:
    page.click(f'{TAB} .thumb[data-layer="{layer}"][data-head="{head}"]')
    page.mouse.move(0, 0)


def wait_for_result(page: Page) -> None:
    """Wait for the result under the interventions."""
    expect(page.locator(f"{TAB} .total:not(.unchanged)")).to_be_visible()
    wait_until_idle(page)


def chips(page: Page) -> list[str]:
    return [text.removesuffix(" ×") for text in page.locator(f"{TAB} .chip").all_inner_texts()]


def shown_row(page: Page, row: int) -> np.ndarray:
    """Return a row of the displayed map."""
    row_values: np.ndarray = next(
        each["z"] for each in traces(page, f"{TAB} .head .plot") if each["type"] == "heatmap"
    )[row]
    return row_values


def displayed_loss(page: Page) -> float:
    return float(page.inner_text(f"{TAB} .sum").replace("−", "-"))


def changed_text(page: Page) -> str:
    """Return the translation under the interventions."""
    changed: str = page.locator(".translate .after-change").text_content() or ""
    return changed or page.inner_text(".translate .out .text")


def show_map(page: Page) -> None:
    page.click(f"{TAB} .middle > .topline button:has-text('Map')")


def forced_under(translator: Translator, example: Translation, changes: object) -> Translation:
    ids = tuple(token.id for token in example.target_tokens)
    return translator.translate(TEXT, target=ids, interventions=changes, **DEFAULTS)


def test_click_toggles_head(page: Page, translator: Translator, answered: Answered, example: Translation) -> None:
    expect(page.locator(f"{TAB} .total.unchanged")).to_be_visible()
    thumb(page, 0, 3)
    wait_for_result(page)
    off = [{"action": "remove", "kind": "cross", "layer": 0, "head": 3}]
    loss = forced_under(translator, example, off).log_probability - example.log_probability
    assert displayed_loss(page) == pytest.approx(loss, abs=0.006)
    changed = translator.translate(
        TEXT, beam_size=4, no_repeat=4, interventions=off
    )  # a single answer: nothing is reranked
    assert re.sub(r"\W", "", changed_text(page)) == re.sub(r"\W", "", changed.text)
    assert chips(page) == ["Cross L1·H4: off"]
    show_map(page)
    page.wait_for_selector(f"{TAB} .head .plot .main-svg")
    values = page.evaluate(f"document.querySelector('{TAB} .head .plot').data[0].z")
    assert np.array(values, dtype=float).sum() == 0
    (difference, *_) = [each["z"] for each in traces(page, f"{TAB} .difference-map .plot") if each["type"] == "heatmap"]
    np.testing.assert_allclose(difference, -example.attention.cross[0, 3], atol=1e-4)
    thumb(page, 0, 3)
    expect(page.locator(f"{TAB} .total.unchanged")).to_be_visible()
    assert chips(page) == []


def test_pending_interventions_are_shown(page: Page) -> None:
    says = page.locator(f"{TAB} .total > p").last
    expect(says).to_have_text("No interventions yet.")
    hold_calls(page, "changed_translation")
    thumb(page, 0, 3)
    expect(says).to_have_text("Translating without Cross L1·H4…")
    thumb(page, 1, "mean")
    expect(says).to_have_text("Translating without Cross L1·H4, layer 2…")
    release_calls(page)
    wait_for_result(page)
    expect(says).to_contain_text("The translation changes")


def test_comparison_uses_unreranked_translation(visit: Visit, translator: Translator) -> None:
    page = visit(f"#text={SENTENCE.replace(' ', '+')}&tab=whatif", drawn=f"{TAB} .word", height=1600)
    expect(page.locator(".translate .out")).to_contain_text(CHOSEN)
    own = translator.translate(SENTENCE, **DEFAULTS)
    for name in ("before", "after"):
        wait_until_idle(page)
        words = page.locator(f"{TAB} .word .name bdi").all_inner_texts()
        assert "".join(words) == own.text.replace(" ", "") + "</s>", name
        if name == "before":
            thumb(page, 0, 3)
            wait_for_result(page)
    expect(page.locator("#widget-whatif")).to_contain_text(
        "Both sides are the model’s own first choice, without the check by translating back."
    )


@pytest.mark.journey
def test_undo_redo_reset_and_permalink(page: Page, visit: Visit) -> None:
    thumb(page, 1, 0)
    page.click(f"{TAB} .brushes button:has-text('softer')")
    thumb(page, 2, "mean")
    wait_for_result(page)
    assert chips(page) == ["Cross L2·H1: off", "Cross layer 3: softer (temperature 4)"]
    both = displayed_loss(page)
    page.click(f"{TAB} .steps button:has-text('Undo')")
    wait_until_idle(page)
    assert chips(page) == ["Cross L2·H1: off"]
    page.click(f"{TAB} .steps button:has-text('Redo')")
    wait_until_idle(page)
    assert len(chips(page)) == 2
    wait_for_function(page, "location.hash.includes('temperature')")  # also the second change
    hash_ = page.evaluate("location.hash")
    again = visit(hash_, height=1600)
    wait_for_result(again)
    assert chips(again) == chips(page)
    assert displayed_loss(again) == both
    page.click(f"{TAB} .chip >> nth=0")
    wait_until_idle(page)
    assert chips(page) == ["Cross layer 3: softer (temperature 4)"]
    page.click(f"{TAB} .steps button:has-text('Reset')")
    expect(page.locator(f"{TAB} .total.unchanged")).to_be_visible()
    wait_for_function(page, "!location.hash.includes('interventions')")
    page.click(f"{TAB} .steps button:has-text('Undo')")
    wait_for_result(page)


def test_interventions_are_operable_by_keyboard(page: Page) -> None:
    page.focus(f"{TAB} .thumb[aria-selected=true]")
    before = page.text_content(f"{TAB} .head h2")
    page.keyboard.press("ArrowRight")
    assert page.text_content(f"{TAB} .head h2") != before
    assert chips(page) == []  # arrow keys select without changing anything
    page.keyboard.press("x")
    wait_for_result(page)
    assert len(chips(page)) == 1
    page.keyboard.press("u")
    expect(page.locator(f"{TAB} .total.unchanged")).to_be_visible()
    page.keyboard.press("r")
    wait_for_result(page)
    page.keyboard.press("Enter")  # the focused thumbnail again: on
    expect(page.locator(f"{TAB} .total.unchanged")).to_be_visible()


@pytest.mark.journey
def test_word_is_masked_swapped_and_restored(page: Page, answered: Answered) -> None:
    word = page.locator(f"{TAB} .source-word", has_text="Hund")
    word.click()
    page.click(f"{TAB} .asks button:has-text('Mask')")
    wait_for_result(page)
    assert chips(page) == ["“Hund” masked"]
    show_map(page)
    for kind in ("cross", "encoder"):
        page.click(f"{TAB} [data-kind={kind}]")
        page.hover(f"{TAB} .strip[data-side=source] .token:has-text('Hund')")
        expect(page.locator(f"{TAB} .readout .value")).to_have_text("–")  # it has no summary
        expect(page.locator(f"{TAB} .readout .words")).to_have_text("Hund · masked")
    word.click()
    expect(page.locator(f"{TAB} .total.unchanged")).to_be_visible()
    word.click()
    page.fill(f"{TAB} .asks input", "Kater")
    page.press(f"{TAB} .asks input", "Enter")
    wait_for_result(page)
    assert chips(page) == ["“Hund” → “Kater”"]
    other = answered(TEXT.replace("Hund", "Kater")).text
    assert re.sub(r"\W", "", changed_text(page)) == re.sub(r"\W", "", other)
    total = page.locator(f"{TAB} .total")
    expect(total.locator(".sum")).to_be_empty()  # for another sentence
    expect(total.locator("> .quiet")).to_contain_text(re.compile(r"in 1 of 1\d words"))  # "." and "</s>" are not words
    page.fill(f"{TAB} .pair textarea", "")  # rejected: the previous result is removed
    page.press(f"{TAB} .pair textarea", "Enter")
    complaint = "No word of the sentence is left. Keep at least one."
    expect(page.locator(f"{TAB} .pair textarea + .error")).to_have_text(complaint)
    expect(page.locator(f"{TAB} .pair textarea")).to_have_accessible_description(complaint)
    expect(page.locator(f"{TAB} .total.unchanged")).to_be_visible()
    assert total.locator("> .quiet").inner_text() == ""


def test_a_headline_keeps_the_first_letter_of_a_word_of_the_sentence(page: Page) -> None:
    first_letter = "getComputedStyle(document.querySelector('.headline.change'), '::first-letter').textTransform"
    page.select_option(f"{TAB} .menus select >> nth=0", "no_positions")
    wait_for_result(page)
    expect(page.locator(".headline.change")).to_contain_text("encoder positions off: ")
    assert page.evaluate(first_letter) == "uppercase"
    page.click(f"{TAB} .steps button:has-text('Reset')")
    page.fill(f"{TAB} .pair textarea", TEXT.replace("gestern", "heute"))
    page.press(f"{TAB} .pair textarea", "Enter")
    wait_for_result(page)
    expect(page.locator(".headline.change")).to_contain_text("“gestern” → “heute”: ")
    assert page.evaluate(first_letter) == "none"


def test_patching_finds_word_that_makes_the_difference(page: Page) -> None:
    other = TEXT.replace("Hund", "Mann")
    expect(page.locator(f"{TAB} .patching")).to_be_hidden()
    page.fill(f"{TAB} .pair textarea", other)
    page.press(f"{TAB} .pair textarea", "Enter")
    wait_for_result(page)
    page.click(f"{TAB} .patching button.link")
    expect(page.locator(f"{TAB} .patching button.link")).to_be_hidden(timeout=120_000)
    expect(page.locator(f"{TAB} .patching > p:not(.quiet)")).to_contain_text("the state of Mann alone brings dog back")
    cells = page.locator(f"{TAB} .patching tbody tr >> nth=-1").locator("td").all_inner_texts()
    assert cells[1] == "1.00"
    assert all(float(cell.replace("−", "-")) < 0.1 for place, cell in enumerate(cells) if place != 1)
    page.locator(f"{TAB} .patching .bars button").first.click()
    expect(page.locator(f"{TAB} .patching .bars button").first).to_have_attribute("aria-pressed", "true")
    page.click(f"{TAB} .steps button:has-text('Reset')")
    expect(page.locator(f"{TAB} .patching")).to_be_hidden()


def test_copy_borrow_and_minimal_pair(
    page: Page, translator: Translator, answered: Answered, example: Translation
) -> None:
    page.select_option(f"{TAB} .brushes select", "copy")
    page.select_option(f"{TAB} .map-source select", "1.2")
    thumb(page, 0, 5)  # an earlier layer cannot borrow the map of a later one
    expect(page.locator(f"{TAB} .map-source .refused")).to_be_visible()
    assert chips(page) == []
    thumb(page, 2, 5)
    wait_for_result(page)
    assert chips(page) == ["Cross L3·H6: uses the map of L2·H3"]
    copied = {"action": "copy", "kind": "cross", "layer": 2, "head": 5, "from_layer": 1, "from_head": 2}
    loss = forced_under(translator, example, [copied]).log_probability - example.log_probability
    assert displayed_loss(page) == pytest.approx(loss, abs=0.006)
    thumb(page, 2, 5)
    expect(page.locator(f"{TAB} .total.unchanged")).to_be_visible()
    page.select_option(f"{TAB} .brushes select", "borrow")
    page.fill(f"{TAB} .map-source input", "Die Katze trinkt Milch.")
    thumb(page, 0, 3)
    wait_for_result(page)
    borrowed = {"action": "borrow", "kind": "cross", "layer": 0, "head": 3, "text": "Die Katze trinkt Milch."}
    assert json.loads(state(page, "interventions")) == [borrowed]
    loss = forced_under(translator, example, [borrowed]).log_probability - example.log_probability
    assert displayed_loss(page) == pytest.approx(loss, abs=0.006)
    page.click(f"{TAB} .steps button:has-text('Reset')")
    other = TEXT.replace("Hund, den", "Katze, die").replace("Der", "Die")
    page.fill(f"{TAB} .pair textarea", other)
    page.press(f"{TAB} .pair textarea", "Enter")
    wait_for_result(page)
    assert chips(page) == ["“Der” → “Die”", "“Hund” → “Katze”", "“den” → “die”"]
    expected_text = answered(other).text
    assert re.sub(r"\W", "", changed_text(page)) == re.sub(r"\W", "", expected_text)
    show_map(page)
    expect(page.locator(f"{TAB} .difference-map .plot .main-svg").first).to_be_visible()
    page.click(f"{TAB} .steps button:has-text('Undo')")  # one step
    expect(page.locator(f"{TAB} .total.unchanged")).to_be_visible()
    assert chips(page) == []


def test_positions_layers_and_single_weight_change_output(page: Page) -> None:
    page.select_option(f"{TAB} .menus select >> nth=0", "no_positions")
    wait_for_result(page)
    page.click(f"{TAB} .menus input >> nth=0")
    wait_until_idle(page)
    assert chips(page)[0] == "encoder positions off"
    assert "without feed-forward" in chips(page)[1]
    page.click(f"{TAB} .steps button:has-text('Reset')")
    expect(page.locator(f"{TAB} .total.unchanged")).to_be_visible()
    show_map(page)
    plane = page.locator(f"{TAB} .head .plane").first
    plane.click(position={"x": 12, "y": 12})
    slider = page.locator(f"{TAB} .one-weight input")
    slider.focus()
    page.keyboard.press("Home")
    wait_for_result(page)
    (change,) = json.loads(state(page, "interventions"))
    assert (change["action"], change["row"], change["column"], change["amount"]) == ("drag", 0, 0, 0)


def test_weight_is_edited_by_drag_and_keys(page: Page) -> None:
    thumb(page, 0, 3)  # selected, and off
    wait_for_result(page)
    page.click(f"{TAB} .steps button:has-text('Reset')")
    expect(page.locator(f"{TAB} .total.unchanged")).to_be_visible()
    show_map(page)
    plane = page.locator(f"{TAB} .head .plane").first
    plane.click(position={"x": 12, "y": 12})
    knob = page.locator(f"{TAB} .knob")
    before = float(knob.get_attribute("aria-valuenow") or "")
    box = knob.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 6, box["y"] + 6)
    page.mouse.down()
    page.mouse.move(box["x"] + 6, box["y"] + 30)
    page.mouse.move(box["x"] + 6, box["y"] + 6 + 160 * (before - 0.25))
    left = page.locator(f"{TAB} .one-weight [role=status]")
    expect(left).to_have_text("0.75 is left for the rest of the row, in the same proportions.")
    promised = shown_row(page, 0)  # the map previews the changed row
    assert promised.sum() == pytest.approx(1, abs=1e-3)
    assert promised[0] == pytest.approx(0.25, abs=0.01)
    assert not json.loads(state(page, "interventions") or "[]")
    page.mouse.up()
    wait_for_result(page)
    (change,) = json.loads(state(page, "interventions"))
    assert (change["action"], change["row"], change["column"]) == ("drag", 0, 0)
    assert change["amount"] == pytest.approx(0.25, abs=0.01)
    np.testing.assert_allclose(shown_row(page, 0), promised, atol=2e-3)  # the model's original row
    plane.click(position={"x": 12, "y": 12})  # the result cleared the pinned cell
    knob.focus()
    heads = (state(page, "layer"), state(page, "head"))
    page.keyboard.press("ArrowUp")
    wait_for_result(page)
    (change,) = json.loads(state(page, "interventions"))
    assert change["amount"] == pytest.approx(0.30, abs=0.01)
    assert (state(page, "layer"), state(page, "head")) == heads
    page.click(f"{TAB} .steps button:has-text('Reset')")
    expect(page.locator(f"{TAB} .total.unchanged")).to_be_visible()


def test_weight_error_is_shown_at_weight_editor(visit: Visit) -> None:
    drag = {"action": "drag", "kind": "cross", "layer": 0, "head": 98, "row": 0, "column": 0, "amount": 0.5}
    page = visit(f"#tab=whatif&interventions={json.dumps([drag])}", drawn=f"{TAB} .try")
    show_map(page)
    expect(page.locator(f"{TAB} .one-weight > label + .error")).to_contain_text("98")
    page.click(f"{TAB} .steps button:has-text('Reset')")
    expect(page.locator("#whatif-error")).to_be_empty()


def test_head_error_is_not_shown_at_word_field(visit: Visit) -> None:
    changes = [
        {"action": "erase", "start": 0, "end": 3},
        {"action": "remove", "kind": "cross", "layer": 0, "head": 98},
    ]
    page = visit(f"#tab=whatif&interventions={json.dumps(changes)}", drawn=f"{TAB} .try")
    expect(page.locator("#whatif-error")).to_contain_text("98")
    expect(page.locator(f"{TAB} :not([aria-describedby]) > #whatif-error")).to_be_visible()
    expect(page.locator(f"{TAB} [aria-describedby=whatif-error]")).to_have_count(0)


def test_word_interventions_are_dropped_with_sentence_and_head_ones_stay(page: Page) -> None:
    thumb(page, 0, 3)
    page.locator(f"{TAB} .source-word", has_text="Hund").click()
    page.click(f"{TAB} .asks button:has-text('Leave out')")
    wait_for_result(page)
    assert len(chips(page)) == 2
    expose_state(page)
    page.fill("#sentence", "Guten Tag.")
    page.press("#sentence", "Enter")
    wait_for_function(page, "window.headlight.translation.request.text === 'Guten Tag.' && !window.headlight.busy")
    wait_until_idle(page)
    assert chips(page) == ["Cross L1·H4: off"]


@pytest.mark.parametrize("width", [360, 1280])
def test_whatif_is_not_clipped_on_chinese_phone(visit: Visit, width: int) -> None:
    changes = json.dumps([{"action": "remove", "kind": "cross", "layer": 0}])
    page = visit(f"#tab=whatif&language=zh&interventions={changes}", width=width)
    wait_for_result(page)
    assert chips(page) == ["交叉 第 1 层：关闭"]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for control in page.locator(f"{TAB} :is(button, select, input)").all():
        if control.is_visible():
            box = control.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width + 1


def test_importance_colours_wall_and_prunes_least_important_first(
    page: Page, translator: Translator, example: Translation
) -> None:
    predicted = compute_sentence_head_effects(translator, example)["cross"]
    listed = page.locator(f"{TAB} .predicted-heads button")
    expect(listed).to_have_count(5)
    for button in listed.all():
        if button.get_attribute("data-kind") == "cross":
            layer, head = (int(button.get_attribute(f"data-{name}") or "") for name in ("layer", "head"))
            number = float(button.locator(".numeric").first.inner_text().replace("−", "-"))
            assert number == pytest.approx(predicted[layer, head], abs=0.0051)
    page.click(f"{TAB} .importance button:has-text('Measure')")
    points = page.locator(f"{TAB} .cloud circle")
    expect(points).to_have_count(112)
    titles = [
        re.fullmatch(r"(\w+ L\d·H\d): predicted (\S+), measured (\S+)", text) for text in points.all_text_contents()
    ]
    assert len({title and title[1] for title in titles}) == 112
    (title,) = (title for title in titles if title and title[1] == "Cross L1·H4")
    assert float(title[2].replace("−", "-")) == pytest.approx(predicted[0, 3], abs=0.0051)
    together = page.locator(f"{TAB} .importance .link", has_text="with every other head")
    expect(together).to_be_visible()
    layers, heads = example.attention.cross.shape[:2]
    loss_labels = page.locator(f"{TAB} .thumb .loss")
    assert loss_labels.count() == (layers + 1) * (heads + 1) - heads  # no loss of one head in all layers is measured
    off = [{"action": "remove", "kind": "cross", "layer": 0, "head": 3}]
    loss = example.log_probability - forced_under(translator, example, off).log_probability
    assert float(title[3].replace("−", "-")) == pytest.approx(loss, abs=0.0051)
    cell = page.locator(f'{TAB} .thumb[data-layer="0"][data-head="3"]')
    assert float(cell.locator(".loss").inner_text().replace("−", "-")) == pytest.approx(loss, abs=0.06)
    page.click(f"{TAB} .brushes button:has-text('inspect')")
    thumb(page, 1, 0)
    expect(together).to_contain_text("L2·H1")
    thumb(page, 0, 3)
    expect(together).to_contain_text("L1·H4")
    together.click()
    expect(page.locator(f"{TAB} .importance [role=status]")).to_contain_text("interacts most")
    assert loss_labels.count() == layers * heads
    heads_off = [
        {"action": "remove", "kind": "cross", "layer": layer, "head": head} for layer, head in ((0, 3), (1, 0))
    ]
    alone = [forced_under(translator, example, [each]).log_probability for each in heads_off]
    pair = forced_under(translator, example, heads_off).log_probability
    sign = page.locator(f'{TAB} .thumb[data-layer="1"][data-head="0"]').get_attribute("title") or ""
    interaction = float(sign.rsplit(": ", 1)[1].replace("−", "-"))
    assert interaction == pytest.approx(sum(alone) - pair - example.log_probability, abs=0.011)
    page.click(f"{TAB} .pruning button:has-text('order of this sentence')")
    page.focus(f"{TAB} .pruning input")
    page.keyboard.press("ArrowRight")
    wait_for_result(page)
    page.keyboard.press("ArrowRight")
    expect(page.locator(f"{TAB} .chip")).to_have_count(2)
    wait_until_idle(page)
    changes = json.loads(state(page, "interventions"))
    expected = forced_under(translator, example, changes).log_probability - example.log_probability
    assert displayed_loss(page) == pytest.approx(expected, abs=0.006)
    page.click(f"{TAB} .brushes button:text-is('off')")
    thumb(page, 0, 3)
    expect(page.locator(f"{TAB} .chip")).to_have_count(3)
    wait_until_idle(page)
    page.focus(f"{TAB} .pruning input")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(f"{TAB} .chip")).to_have_count(2)
    assert "Cross L1·H4: off" in chips(page)  # the slider restores only the heads that it removed
    page.click(f"{TAB} .importance button:has-text('maps')")
    assert loss_labels.count() == 0


def test_measurement_can_be_stopped(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    go, measure = Event(), whatif_tab.measure_next_batch

    def waits(*arguments: Any) -> dict[str, Any]:
        go.wait(PATIENCE / 1000)  # the measurement is still running when it is stopped, also on a fast machine
        return measure(*arguments)

    monkeypatch.setattr(whatif_tab, "measure_next_batch", waits)
    button = page.locator(f"{TAB} .importance .link").first
    try:
        button.click()
        expect(button).to_have_text("Stop")
        button.click()
        expect(button).to_have_text("Measure all heads")
    finally:
        go.set()


def test_click_counts_if_answer_arrives_during_press(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    go, word_values = Event(), whatif_tab.compare_words

    def waits(*arguments: Any) -> list[dict[str, Any]]:
        go.wait(PATIENCE / 1000)
        return word_values(*arguments)

    def press(control: str) -> None:
        """Deliver the pending answer while the button is pressed."""
        page.hover(control)
        page.mouse.down()
        go.set()
        wait_for_result(page)
        page.mouse.up()
        go.clear()

    monkeypatch.setattr(whatif_tab, "compare_words", waits)
    try:
        thumb(page, 0, 3)
        press(f"{TAB} .brushes button:has-text('softer')")
        expect(page.locator(f"{TAB} .brushes [aria-pressed=true]")).to_have_text("softer")
        thumb(page, 1, 0)
        press(f"{TAB} .source-word:has-text('Hund')")
        page.click(f"{TAB} .asks button:has-text('Mask')")
        show_map(page)
        press(f"{TAB} .head .end button:text-is('Before')")
        expect(page.locator(f"{TAB} .head .end [aria-pressed=true]")).to_have_text("Before")
        thumb(page, 2, 2)
        press(f"{TAB} .chip >> nth=0")
        expect(page.locator(f"{TAB} .chip")).to_have_count(3)
        press(f"{TAB} .steps button:has-text('Undo')")
        expect(page.locator(f"{TAB} .chip")).to_have_count(4)
        press(f"{TAB} .source-word.mask")  # a second click removes the mask
        expect(page.locator(f"{TAB} .chip")).to_have_count(3)
        press(f"{TAB} .kinds [data-kind=encoder]")
        assert state(page, "kind") == "encoder"
    finally:
        go.set()


def test_answer_keeps_focus(page: Page) -> None:
    for head in (0, 1, 2):
        thumb(page, 0, head)
    undo = page.locator(f"{TAB} .steps button", has_text="Undo")
    undo.focus()
    for left in (2, 1):
        page.keyboard.press("Enter")
        wait_for_result(page)
        assert len(chips(page)) == left
        expect(undo).to_be_focused()
    menu = page.locator(f"{TAB} .menus select").first
    menu.focus()
    page.keyboard.press("ArrowDown")
    wait_for_result(page)
    expect(menu).to_be_focused()
    expect(menu).to_have_value("no_positions")


def test_answer_keeps_open_menu(page: Page) -> None:
    page.locator(f"{TAB} .source-word", has_text="Hund").click()
    page.keyboard.press("x")  # a head is switched off meanwhile
    wait_for_result(page)
    expect(page.locator(f"{TAB} .asks")).to_be_visible()


def test_permalink_with_invalid_interventions_ignores_them(visit: Visit) -> None:
    known = json.dumps([{"action": "remove", "kind": "cross", "layer": 0}])
    page = visit("#tab=whatif&interventions=[null]")
    for changes in ('[{"action":"drag","kind":"cross","layer":0}]', '[{"action":"remove","kind":"x"}]', "{}"):
        expect(page.locator(f"{TAB} .total.unchanged")).to_be_visible()
        assert chips(page) == []
        for address in (known, changes):  # from a sensible sentence to a nonsensical one
            page.evaluate("(changes) => { location.hash = `#tab=whatif&interventions=${changes}`; }", address)
            expect(page.locator(f"{TAB} .chip")).to_have_count(1 if address == known else 0)
    expect(page.locator(f"{TAB} .total.unchanged")).to_be_visible()

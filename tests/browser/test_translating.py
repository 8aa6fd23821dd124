"""Translating: typing, submitting, alternatives, and errors next to their fields."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from headlight import DecodingOptions, Translator
from headlight.viz.page import Page as HeadlightPage
from headlight.viz.service.examples import EXAMPLES
from headlight.viz.tabs import translate as translate_tab
from headlight.viz.tabs.translate import TranslateWidget
from tests.browser.acting import (
    expose_state,
    hold_calls,
    open_alternatives,
    open_tab,
    release_calls,
    state,
    translate,
    translation,
    wait_for_translation,
)
from tests.browser.conftest import Visit, find_translate_widget, visiting
from tests.browser.polling import wait_for_function

USUAL = DecodingOptions(beam_size=4, no_repeat=4)
SENTENCE = "Meine Schwester möchte morgen mit dem Zug nach Berlin fahren."


def expected(translator: Translator, text: str, **options: object) -> str:
    return translator.translate(text, beam_size=4, no_repeat=4, **options).text


@pytest.mark.journey
def test_first_visit_shows_model_translation(page: Page, translator: Translator) -> None:
    text = page.input_value("#sentence")
    assert text
    assert translation(page) == expected(translator, text)


@pytest.mark.journey
def test_enter_submits_typed_text(page: Page, translator: Translator) -> None:
    expose_state(page)
    assert translate(page, SENTENCE) == expected(translator, SENTENCE)


def test_space_tokens_and_word_pieces_have_labels(page: Page) -> None:
    text = "Asdf qwer Þór"
    translate(page, text)
    assert "␣" not in page.inner_text(".translate .out")
    strips = page.locator(".explorer .strip")
    assert strips.first.inner_text().startswith(text)
    whole = strips.first.locator(".token", has_text="Þ")  # its pieces form one word without a gap
    assert "joined" in str(whole.get_attribute("class"))
    assert "␣" not in "".join(strips.all_inner_texts())
    columns = page.locator(".explorer .columns .label")
    names = columns.all_inner_texts()
    assert "Þ 2/2" in names
    assert not [name for name in names if re.fullmatch(r"\W?\d/\d", name)]
    expect(columns.nth(names.index("␣"))).to_have_attribute("title", "just a space")


def test_shift_enter_inserts_newline_without_request(page: Page) -> None:
    before = translation(page)
    page.fill("#sentence", "Eine Zeile")
    page.press("#sentence", "Shift+Enter")
    assert page.input_value("#sentence") == "Eine Zeile\n"
    assert translation(page) == before


@pytest.mark.journey
def test_selected_alternative_continues_translation(page: Page, translator: Translator) -> None:
    expose_state(page)
    translate(page, SENTENCE)
    word = page.locator(".translate .word").nth(4)
    place = int(word.get_attribute("data-place") or "")
    open_alternatives(word)
    other = page.locator(".translate .alternatives button:enabled").first
    chosen = other.locator("bdi").inner_text()
    before = state(page, "translation")["target"]
    other.click()
    expect(page.locator(".translate .word.forced")).to_have_text(chosen.strip())
    ids = [token["id"] for token in before[:place]]
    alternative = next(each for each in before[place]["alternatives"] if each[1] != before[place]["id"])
    assert translation(page) == expected(translator, SENTENCE, prefix=(*ids, alternative[1]))
    page.get_by_text("Back to the model’s own translation").click()
    expect(page.locator(".translate .word.forced")).to_have_count(0)
    wait_for_translation(page, SENTENCE)
    assert translation(page) == expected(translator, SENTENCE)


def score(page: Page, target: str) -> None:
    page.fill("[data-field=target]", target)
    page.press("[data-field=target]", "Enter")
    expect(page.locator(".translate .out")).to_have_text(target)
    expect(page.locator(".translate .verdict")).to_contain_text("Your translation: log probability")


def test_own_translation_is_shown_until_reset(page: Page) -> None:
    before = translation(page)
    page.get_by_role("button", name="Options").click()
    score(page, "My sister takes the train.")
    page.get_by_text("Back to the model’s own translation").click()
    expect(page.locator(".translate .out")).to_have_text(before)
    expect(page.locator("[data-field=target]")).to_have_value("")
    expect(page.locator(".translate .verdict .grade")).to_be_visible()


def test_own_translation_is_cleared_for_new_sentence(page: Page, translator: Translator) -> None:
    expose_state(page)
    page.get_by_role("button", name="Options").click()
    score(page, "I had a beer.")
    page.get_by_role("button", name="Options").click()  # collapsed and discarded
    page.select_option("#examples", label="Question")
    question = next(example.text for example in EXAMPLES if example.name == "question")
    wait_for_translation(page, question)
    assert translation(page) == expected(translator, question)
    page.get_by_role("button", name="Options").click()
    expect(page.locator("[data-field=target]")).to_have_value("")
    score(page, "I had a beer.")
    assert translate(page, SENTENCE) == expected(translator, SENTENCE)
    expect(page.locator("[data-field=target]")).to_have_value("")


def test_sentence_typed_after_own_translation_is_scored_with_it(page: Page) -> None:
    expose_state(page)
    page.get_by_role("button", name="Options").click()
    page.fill("[data-field=target]", "I had a beer.")
    assert translate(page, "Ich trinke ein Bier.") == "I had a beer."


@pytest.mark.journey
def test_empty_sentence_shows_message_and_keeps_content(page: Page) -> None:
    before = translation(page)
    page.fill("#sentence", "   ")
    page.press("#sentence", "Enter")
    expect(page.locator("#sentence-error")).to_contain_text("Type a sentence first")
    assert translation(page) == before


@pytest.mark.journey
def test_too_long_sentence_stays_in_field_and_error_names_limit(page: Page) -> None:
    text = "Haus " * 120
    page.fill("#sentence", text)
    page.press("#sentence", "Enter")
    expect(page.locator("#sentence-error")).to_contain_text(re.compile("600 characters.*500"))
    assert page.input_value("#sentence") == text


def test_new_sentence_clears_previous_notes_immediately(page: Page) -> None:
    status, words = (
        page.locator(".translate .judged :is(.verdict, .back, .meta)"),
        page.locator(".translate .out .text"),
    )
    below = page.locator(".tabs").bounding_box()
    hold_calls(page, "stream_messages")
    page.fill("#sentence", SENTENCE)
    page.press("#sentence", "Enter")
    expect(status.nth(0)).to_have_text("Checking…")
    assert status.all_text_contents()[1:] == ["", ""]
    expect(words).to_have_css("opacity", "0.5")  # still those of the previous sentence
    assert page.locator(".tabs").bounding_box() == below
    release_calls(page)
    wait_for_translation(page, SENTENCE)
    expect(status.nth(0)).not_to_have_text("Checking…")
    expect(status.nth(2)).to_contain_text("tokens in")
    expect(words).to_have_css("opacity", "1")


@pytest.mark.parametrize("live", [False, True])
def test_rejected_sentence_marks_previous_result_stale(visit: Visit, live: bool) -> None:
    page = visit(live=live)
    last = page.input_value("#sentence")
    page.click("#sentence")
    page.keyboard.press("Control+A")
    page.keyboard.insert_text("x " * 394 + "x")
    if not live:  # no error is shown while the visitor types
        page.keyboard.press("Enter")
        expect(page.locator("#sentence-error")).to_contain_text("789 characters")
    expect(page.locator(".translate .verdict")).to_have_text("Not translated. Below: the previous sentence.")
    visible_parts = (".translate .out .text", "#widget-explorer")
    for part in visible_parts:
        expect(page.locator(part)).to_have_css("opacity", "0.5")
    for tab in ("whatif", "word", "why", "decoding"):
        open_tab(page, tab)
        expect(page.locator(f"#widget-{tab}")).to_have_css("opacity", "0.5")
    open_tab(page, "heads")
    page.fill("#sentence", last)
    expect(page.locator(".translate .meta")).to_contain_text("tokens in")
    for part in visible_parts:
        expect(page.locator(part)).to_have_css("opacity", "1")


def test_invalid_option_shows_error_next_to_field(page: Page) -> None:
    page.get_by_role("button", name="Options").click()
    page.fill("[data-field=beam_size]", "99")
    page.press("[data-field=beam_size]", "Enter")
    expect(page.locator("#option-beam_size-error")).to_contain_text("from 1 to 10")
    assert page.get_attribute("[data-field=beam_size]", "aria-describedby") == "option-beam_size-error"
    assert page.get_attribute("[data-field=beam_size]", "aria-invalid") == "true"


@pytest.mark.parametrize("width", [360, 820, 1440])
def test_option_error_does_not_shift_layout(visit: Visit, width: int) -> None:
    page = visit(width=width)
    page.get_by_role("button", name="Options").click()
    places = """() => ['.tabs', '[data-field=target]'].map((name) => {
      return document.querySelector(name).getBoundingClientRect().top + scrollY;
    })"""
    before = page.evaluate(places)
    for name, value, says in (("beam_size", "99", "from 1 to 10"), ("seed", "-7", "from 0 to 9007199254740991")):
        page.fill(f"[data-field={name}]", value)
        page.press(f"[data-field={name}]", "Enter")
        expect(page.locator(f"#option-{name}-error")).to_contain_text(says)
        assert page.evaluate(places) == before
        page.fill(f"[data-field={name}]", "")


def test_fields_show_requested_values(page: Page) -> None:
    expose_state(page)
    page.get_by_role("button", name="Options").click()
    beam, temperature = page.locator("[data-field=beam_size]"), page.locator("[data-field=temperature]")
    beam.fill("3")
    temperature.fill("1")
    expect(beam).to_be_disabled()
    expect(beam).to_have_value("1")  # sampling and beam search exclude each other
    translate(page, SENTENCE)
    options = state(page, "translation")["request"]["options"]
    assert (options["beam_size"], options["temperature"]) == (1, 1)
    temperature.fill("0")
    expect(beam).to_have_value("3")
    beam.fill("")
    beam.press("Enter")
    expect(beam).to_have_value("4")
    wait_for_function(page, "!headlight.busy && headlight.translation.request.options.beam_size === 4")
    assert page.get_attribute("[data-field=seed]", "max") == str(2**53 - 1)


@pytest.mark.journey
def test_concurrent_visitors_get_separate_answers(visit: Visit, translator: Translator) -> None:
    sentences = ("Der Zug ist schon weg.", "Die Katze schläft auf dem Sofa.")
    pages = [visit(), visit()]
    for one, sentence in zip(pages, sentences, strict=True):
        expose_state(one)
        one.fill("#sentence", sentence)
        one.press("#sentence", "Enter")
    for one, sentence in zip(pages, sentences, strict=True):
        wait_for_translation(one, sentence)
        assert translation(one) == expected(translator, sentence)


def test_zerogpu_requests_use_gradio_queue(
    browser: Browser, served_on_zero_gpu: HeadlightPage, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    with visiting(browser, str(served_on_zero_gpu.local_url)) as visit:
        check_gradio_queue(visit(), translator, find_translate_widget(served_on_zero_gpu), monkeypatch)


def check_gradio_queue(
    page: Page, translator: Translator, translate_widget: TranslateWidget, monkeypatch: pytest.MonkeyPatch
) -> None:
    with page.expect_request("**/queue/join*"):
        assert translate(page, "Der Zug ist schon weg.") == expected(translator, "Der Zug ist schon weg.")
    monkeypatch.setattr(translate_tab, "DEFER_FROM_CHARACTERS", 1000)
    assert translate(page, SENTENCE) == expected(translator, SENTENCE)
    assert len(translate_widget.deferred_answers._texts) > 0  # it was fetched as a deferred answer
    monkeypatch.setattr(translate_widget.deferred_answers, "store", lambda text: "gone")
    page.fill("#sentence", "Ein Hund schläft.")
    page.press("#sentence", "Enter")
    expect(page.locator(".translate")).to_contain_text("This result does not exist or was already fetched")
    monkeypatch.undo()
    translate(page, "Ein Hund schläft jetzt.")
    expect(page.locator(".translate")).not_to_contain_text("This result does not exist or was already fetched")

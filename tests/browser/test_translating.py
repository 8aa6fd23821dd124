"""Type, press Enter, read; go on from another word; errors beside their field."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from model import DecodingOptions, Translator
from tests.browser.acting import modules, settled, state, translate, translation
from tests.browser.conftest import Visit

USUAL = DecodingOptions(beam_size=4, no_repeat=4)
SENTENCE = "Meine Schwester möchte morgen mit dem Zug nach Berlin fahren."


def expected(translator: Translator, text: str, **given: object) -> str:
    return translator.translate(text, beam_size=4, no_repeat=4, **given).text


def test_a_first_visit_shows_a_real_translation_at_once(page: Page, translator: Translator) -> None:
    text = page.input_value("#sentence")
    assert text
    assert translation(page) == expected(translator, text)


def test_enter_translates_what_was_typed(page: Page, translator: Translator) -> None:
    modules(page)
    assert translate(page, SENTENCE) == expected(translator, SENTENCE)


def test_shift_enter_begins_a_new_line_and_asks_for_nothing(page: Page) -> None:
    before = translation(page)
    page.fill("#sentence", "Eine Zeile")
    page.press("#sentence", "Shift+Enter")
    assert page.input_value("#sentence") == "Eine Zeile\n"
    assert translation(page) == before


def test_an_alternative_continues_the_translation_from_there(page: Page, translator: Translator) -> None:
    modules(page)
    translate(page, SENTENCE)
    word = page.locator(".desk .word").nth(4)
    place = int(word.get_attribute("data-place") or "")
    word.hover()
    other = page.locator(".desk .alternatives button:enabled").first
    chosen = other.locator("bdi").inner_text()
    before = state(page, "answer")["target"]
    other.click()
    expect(page.locator(".desk .word.forced")).to_have_text(chosen.strip())
    ids = [token["id"] for token in before[:place]]
    alternative = next(each for each in before[place]["alternatives"] if each[1] != before[place]["id"])
    assert translation(page) == expected(translator, SENTENCE, prefix=(*ids, alternative[1]))
    page.get_by_text("Back to the model’s own words").click()
    expect(page.locator(".desk .word.forced")).to_have_count(0)
    settled(page, SENTENCE)
    assert translation(page) == expected(translator, SENTENCE)


def test_ones_own_translation_is_looked_at(page: Page) -> None:
    page.get_by_role("button", name="Options").click()
    page.fill("[data-field=target]", "My sister takes the train.")
    page.press("[data-field=target]", "Enter")
    expect(page.locator(".desk .out")).to_have_text("My sister takes the train.")


def test_nothing_typed_gets_a_kind_message_and_nothing_is_lost(page: Page) -> None:
    before = translation(page)
    page.fill("#sentence", "   ")
    page.press("#sentence", "Enter")
    expect(page.locator("#sentence-error")).to_contain_text("type a sentence first")
    assert translation(page) == before


def test_what_is_too_long_stays_in_its_field_and_says_the_limit(page: Page) -> None:
    text = "Haus " * 120
    page.fill("#sentence", text)
    page.press("#sentence", "Enter")
    expect(page.locator("#sentence-error")).to_contain_text(re.compile("600 characters.*500"))
    assert page.input_value("#sentence") == text


def test_a_wrong_option_is_said_beside_its_field(page: Page) -> None:
    page.get_by_role("button", name="Options").click()
    page.fill("[data-field=beam_size]", "99")
    page.press("[data-field=beam_size]", "Enter")
    field = page.locator(".options label", has=page.locator("[data-field=beam_size]"))
    expect(field.locator(".error")).to_contain_text("from 1 to 10")


def test_two_visitors_at_once_get_their_own_answers(visit: Visit, translator: Translator) -> None:
    sentences = ("Der Zug ist schon weg.", "Die Katze schläft auf dem Sofa.")
    pages = [visit(), visit()]
    for one, sentence in zip(pages, sentences, strict=True):
        modules(one)
        one.fill("#sentence", sentence)
        one.press("#sentence", "Enter")
    for one, sentence in zip(pages, sentences, strict=True):
        settled(one, sentence)
        assert translation(one) == expected(translator, sentence)

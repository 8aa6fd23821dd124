"""The worksheet: printed from Heads, with questions and, on the last page, their answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from headlight.model.records import Translation
from headlight.viz.figure_phrases import phrases
from tests.browser.acting import open_tab, state
from tests.browser.conftest import Visit

SHEET = ".gradio-container > .class-sheet"


@contextmanager
def printed(page: Page) -> Iterator[None]:
    """Emulate print until the end of the block."""
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    yield
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")


@pytest.mark.journey
@pytest.mark.slow(after=1)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_worksheet_questions_match_answers_page(visit: Visit, language: str, example: Translation) -> None:
    page = visit(locale={"en": "en-US", "zh": "zh-CN"}[language], color_scheme="light" if language == "en" else "dark")
    page.click('.wall-grid button[data-layer="1"][data-head="4"]')
    with printed(page):
        expect(page.locator(SHEET)).to_be_visible()
        expect(page.locator(".tabs")).to_be_hidden()
        expect(page.locator(f"{SHEET} table")).to_have_count(3)
        title = page.locator(f"{SHEET} h2").filter(has_text=phrases(language)["kind_cross"])
        expect(title).to_contain_text(re.compile(r"2\D+5"))
        questions = page.locator(f"{SHEET} section:not(.answers) li").all_inner_texts()
        answers = page.locator(f"{SHEET} .answers li").all_inner_texts()
        assert len(questions) == len(answers) >= 3
        assert page.locator(f"{SHEET} .answers").evaluate("(it) => getComputedStyle(it).breakBefore") == "page"
        # The answers for the selected head, by its numbers.
        own = page.locator(f"{SHEET} section").filter(has_text=phrases(language)["kind_cross"]).locator("li")
        numbers = [int(each) for each in own.evaluate_all("(all) => all.map((it) => it.value)")]
        source, target = (
            [token.text.strip() for token in tokens] for tokens in (example.source_tokens, example.target_tokens)
        )
        weights = example.attention.cross[1, 4]
        for line, number in zip(own.all_inner_texts(), numbers, strict=True):
            word, _, share = answers[number - 1].rpartition(" ")  # some ask for a number only
            if word in source and (asked_word := next((each for each in target if f"“{each}”" in line), None)):
                row = weights[target.index(asked_word)]
                assert source[int(row.argmax())] == word
                np.testing.assert_allclose(row.max(), float(share), atol=0.006)
    expect(page.locator(SHEET)).to_have_count(0)
    assert (state(page, "layer"), state(page, "head")) == (1, 4)
    open_tab(page, "positions")
    with printed(page):
        expect(page.locator(SHEET)).to_have_count(0)

"""Hostile input is displayed unchanged or rejected with a reason, and never executed."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from headlight.model.text.cleaning import clean_text
from headlight.viz.errors import PageError
from headlight.viz.figure_phrases import phrases
from headlight.viz.tabs.translate import TranslateWidget
from tests.browser.acting import open_tab, translate, wait_for_translation, wait_until_idle
from tests.browser.conftest import PATIENCE, Visit, saved_page
from tests.browser.polling import wait_for_function
from tests.browser.test_exporting import save
from tests.viz.api.test_nasty_inputs import INPUTS, build_text, may_be_refused, may_be_translated

TYPED = 100_000  # characters; tests of the endpoints send a megabyte
MORE = (
    "${alert(1)}",
    "{{this}}",
    "C:\\users\\neu",
    "ein ` Zeichen",
    "</script><img src=x onerror=alert(1)>",
    "<b>fett</b> & <a href='https://example.com'>hier</a>",
)
CASES = {case["id"]: case for case in INPUTS if "json" not in case and len(build_text(case)) <= TYPED}
CASES |= {text: {"id": text, "text": text, "expect": "ok"} for text in MORE}
TOY = "#text=ich+mochte&model=toy&beam_size=1"  # the smallest model, because only the page is tested
# Elements that would execute code if a text were parsed as markup.
ALIVE = (
    "img, iframe, object, embed, base, form, marquee, .headlight :is(script, style, [href^='javascript:']),"
    ".main-svg a, [onerror], [onload], [onfocus], [onmouseover]"
)
# Only JSON can pass half a surrogate pair to the browser.
TYPE = """async ([text, patience]) => {
  const field = document.getElementById('sentence');
  field.value = JSON.parse(text);
  field.dispatchEvent(new Event('input', { bubbles: true }));
  field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
  const end = performance.now() + patience;
  while (headlight.busy && performance.now() < end) await new Promise((done) => setTimeout(done, 4));
  const texts = (selector) => [...document.querySelectorAll(selector)].map((each) => each.textContent);
  const { translation, busy } = headlight;
  return {
    busy,
    error: document.getElementById('sentence-error').textContent,
    stands: field.value,
    answered: translation.request.text,
    strip: texts('.explorer .strip[data-side=source] .token:not(.special)'),
    rows: texts('.explorer .rows .label span:not(.special)'),
    labels: translation.source.filter((token) => !token.special).map((token) => token.label),
  };
}"""


def record_execution(page: Page) -> int:
    """Record executed markup from now on; return the current number of active elements."""
    names = ["alert", "confirm", "prompt", "open"]
    page.evaluate("(names) => names.forEach((name) => (window[name] = () => (window.canary = name)))", names)
    return page.locator(ALIVE).count()


def assert_nothing_executed(page: Page, before: int) -> None:
    assert page.evaluate("window.canary ?? null") is None
    assert page.locator(ALIVE).count() == before


def plain(text: str) -> str:
    """Return the text without spaces; ␣ is a space token."""
    return "".join(text.replace("␣", "").split())


def error_text(translate_widget: TranslateWidget, text: str) -> str:
    """Return the English error for a text; empty if it can be translated."""
    try:
        translate_widget.service.check({"text": text, "model": "toy"})
    except PageError as error:
        table = phrases("en")
        values: dict[str, Any] = dict(error.values)
        values["name"] = table.get(f"field_{values.get('name')}", values.get("name"))
        return table[f"error_{error.word}"].format(**values)
    return ""


def assert_displayed_unchanged(page: Page, translate_widget: TranslateWidget, cases: Mapping[str, Any]) -> None:
    wait_for_translation(page, "ich mochte")
    page.click("[data-kind=encoder]")
    before = record_execution(page)
    for name, case in cases.items():
        text = build_text(case)
        stands = text.replace("\r\n", "\n").replace("\r", "\n")  # as the browser stores it
        result = page.evaluate(TYPE, [json.dumps(text), PATIENCE])
        assert not result["busy"], name
        assert result["stands"] == stands, name
        assert result["error"] == error_text(translate_widget, stands), name
        if result["error"]:
            assert may_be_refused(case, "toy"), name
            continue
        assert may_be_translated(case), name
        assert result["answered"] == stands, name
        assert plain("".join(result["strip"])) == plain(clean_text(stands)), name
        assert result["rows"] == result["labels"], name
        assert_nothing_executed(page, before)
    for view in ("effect", "lines", "numbers"):
        page.click(f"[data-view={view}]")
    assert_nothing_executed(page, before)


@pytest.mark.journey
def test_markup_is_displayed_as_text(visit: Visit, translate_widget: TranslateWidget) -> None:
    cases = {name: case for name, case in CASES.items() if re.search(r"[<>&${}`\\]", build_text(case))}
    assert len(cases) > 12
    assert_displayed_unchanged(visit(TOY), translate_widget, cases)


def test_hostile_texts_are_displayed_unchanged_or_rejected(visit: Visit, translate_widget: TranslateWidget) -> None:
    assert len(CASES) > 110
    assert_displayed_unchanged(visit(TOY), translate_widget, CASES)


MARKUP = "<b>fat</b> <a href=x>y</a> %{z}<br> &amp; 😀é"


def test_markup_in_own_translation_stays_text_in_exports(visit: Visit, folder: Path) -> None:
    page = visit(TOY)
    wait_for_translation(page, "ich mochte")
    before = record_execution(page)
    page.get_by_role("button", name="Options").click()
    page.fill("[data-field=target]", MARKUP)
    page.press("[data-field=target]", "Enter")
    wait_for_function(page, "(text) => !headlight.busy && headlight.translation.request.target === text", arg=MARKUP)
    assert plain(page.locator(".translate .out").inner_text()) == plain(clean_text(MARKUP))
    page.click('.wall-grid button[data-layer="1"][data-head="2"]')
    page.check("[data-field=words]")
    rows = {row.strip() for row in page.locator(".explorer .rows .written:not(.special)").all_text_contents()}
    assert {"<", "fat", "&", "%", "😀"} <= rows  # words end at punctuation, so no label is a complete tag
    picture = save(page, "SVG", folder).read_text(encoding="utf-8")
    names = [html.unescape(text) for text in re.findall(r">([^<>]+)</text>", picture)]
    labels = {
        word.strip() for name in names for word in name.split("→")
    }  # a row is named after its input word and its predicted word
    assert {row for row in rows if len(row) < 8} <= labels  # longer labels are truncated
    for tab in ("decoding", "why"):
        open_tab(page, tab)
        assert_nothing_executed(page, before)


@pytest.mark.journey
def test_saved_page_does_not_execute_hostile_sentence(visit: Visit, browser: Browser, folder: Path) -> None:
    text = "</script><script>alert(1)</script> <!--<script> ${alert(1)} \u2028 <img src=x onerror=alert(1)>"
    page = visit(TOY)
    wait_for_translation(page, "ich mochte")
    translate(page, text)
    path = save(page, "HTML", folder)
    script = "window.alert = () => { window.canary = true; };"
    with saved_page(browser, path, ".explorer .plot .main-svg", script=script) as saved:
        wait_until_idle(saved)
        strip = saved.locator(".explorer .strip[data-side=source] .token:not(.special)").all_text_contents()
        assert plain("".join(strip)) == plain(clean_text(text))
        assert_nothing_executed(saved, 0)

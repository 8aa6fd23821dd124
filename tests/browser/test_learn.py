"""Learn: loads when opened; steps work in both languages by mouse and keys; permalinks restore them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from headlight.viz.figure_phrases import phrases
from headlight.viz.lessons import LESSONS
from headlight.viz.service.examples import EXAMPLES
from tests.browser.acting import (
    choose_panel,
    hold_calls,
    open_tab,
    release_calls,
    resize,
    state,
    switch_language,
    translate,
    wait_until_idle,
)
from tests.browser.axe import barriers
from tests.browser.conftest import Visit
from tests.browser.polling import wait_for_function

WALK = LESSONS[0]


def wait_for_step(page: Page, step: str) -> None:
    """Wait until the step is drawn with all its numbers."""
    wait_for_function(page, "(step) => document.querySelector('.lesson')?.dataset.step === step", arg=step)
    wait_until_idle(page)


def visit_at(visit: Visit, hash_: str, **options: Any) -> Page:
    """Open the page at a step."""
    return visit(hash_, drawn=".lesson[data-step]", **options)


@pytest.mark.journey
def test_walkthrough_works_by_keyboard_and_permalink_restores_it(visit: Visit) -> None:
    page = visit()
    requested: list[str] = []
    page.on("request", lambda request: requested.append(f"{request.url} {request.post_data or ''}"))
    assert not page.evaluate("performance.getEntriesByType('resource').some(({ name }) => name.includes('/lessons.'))")
    open_tab(page, "learn")
    assert {"lessons.js", "lessons.css"} <= {each.split()[0].rpartition("/")[2] for each in requested}
    page.click(".lesson-row[data-lesson=walk]")
    for language in ("en", "zh"):
        switch_language(page, language)
        for step in WALK.steps:
            wait_for_step(page, step.name)
            table = phrases(language)
            show = page.locator(".lesson-ask:not([hidden]) .answer .link")
            if step.question is not None and language == "en" and show.count():
                show.click()  # the title may be incomplete until then
            expect(page.locator(".lesson h2")).to_have_text(table[f"lesson_walk_{step.name}_title"])
            assert page.locator(".lesson .figure > *").count() > 0, step.name
            assert page.locator(".lesson-source .lit").count() > 0
            formulas = page.locator(".lesson .formulas math").all_text_contents()
            assert formulas
            assert not [text for text in formulas if "?" in text or "NaN" in text], step.name
            for _ in step.parts[1:]:
                page.keyboard.press("ArrowRight")
            if step is not WALK.steps[-1]:
                page.keyboard.press("ArrowRight")
        for _ in range(sum(max(1, len(step.parts)) for step in WALK.steps) - 1):
            page.keyboard.press("ArrowLeft")

    # One softmax row by hand: selecting another word or head sends no request.
    page.locator(".lesson-drawing [data-part='e.softmax']").click()
    wait_for_step(page, "softmax")
    for part in page.locator(".lesson-drawing .part").all():  # visited steps, and available steps
        expect(part).to_be_visible()
    assert any("lesson_tensors" in each for each in requested)
    del requested[:]
    row = page.locator(".lesson-row-of-tokens [aria-pressed=true]").inner_text()
    page.keyboard.press("j")
    expect(page.locator(".lesson-row-of-tokens [aria-pressed=true]")).not_to_have_text(row)
    page.keyboard.press("]")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".lesson-table tfoot td").nth(2)).to_have_text("1.0000")
    weights = [float(text) for text in page.locator(".lesson-table tbody td:nth-child(4)").all_inner_texts()]
    assert abs(sum(weights) - 1) < 0.001
    wait_until_idle(page)
    assert not [each for each in requested if "lesson_tensors" in each]

    # The permalink restores step, part, word and head.
    look = state(page, "lesson")
    wait_for_function(page, "(look) => decodeURIComponent(location.hash).includes(look)", arg=look)
    link = page.evaluate("location.hash")
    table_text = page.locator(".lesson-table").inner_text()
    again = visit_at(visit, link)
    wait_for_step(again, "softmax")
    expect(again.locator(".lesson-table")).to_have_text(table_text, use_inner_text=True)
    again.keyboard.press("Escape")
    expect(again.locator(".lesson-list")).to_be_visible()
    wait_until_idle(again)


def test_lessons_show_loading_status(visit: Visit) -> None:
    page = visit()
    panel = page.locator("#panel-learn")
    hold_calls(page, "read_lessons")
    choose_panel(page, "learn")
    expect(panel).to_have_text("Loading the lessons…")
    release_calls(page)
    page.click(".lesson-row[data-lesson=heads]")
    wait_for_step(page, "shapes")
    expect(panel).not_to_contain_text("Loading")
    hold_calls(page, "run_experiment", "lesson_tensors")
    page.keyboard.press("ArrowRight")
    doing = panel.locator(".doing")
    expect(doing).to_have_text("Computing this step for your sentence…")
    release_calls(page)
    expect(doing).to_have_text("")
    wait_until_idle(page)


def test_first_guess_counts_and_is_stored(visit: Visit) -> None:
    page = visit_at(visit, "#tab=learn&lesson=walk.softmax.3", width=360, height=780, color_scheme="dark")
    wait_for_step(page, "softmax")
    expect(page.locator(".lesson-ask")).to_be_visible()
    page.locator(".lesson-ask .option").nth(0).click()
    expect(page.locator(".lesson-ask .option.wrong")).to_have_count(1)
    expect(page.locator(".lesson-ask .option.right")).to_have_text(phrases("en")["lesson_walk_softmax_option_nothing"])
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.click(".lesson .crumb .link")
    expect(page.locator(".lesson-list .top-line")).to_contain_text("0 of 1 guesses right")
    wait_for_function(page, "!location.hash.includes('walk')")
    wait_until_idle(page)
    page.reload()
    expect(page.locator(".lesson-row[data-lesson=walk] .mark.begun")).to_be_visible()
    wait_until_idle(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_teacher_link_restores_step_and_resets_questions(visit: Visit) -> None:
    page = visit_at(visit, "#tab=learn&lesson=walk.tokens.0", width=360, height=640)
    wait_for_step(page, "tokens")
    page.locator(".lesson-ask .answer .link").click()
    expect(page.locator(".lesson-ask .option.right")).to_be_visible()
    page.locator(".lesson-kit").scroll_into_view_if_needed()
    page.locator(".lesson .ways button").nth(1).click()  # from far below, the next step's title is scrolled into view
    wait_for_step(page, "embed")
    expect(page.locator(".lesson h2")).to_be_in_viewport()
    page.locator(".lesson-drawing [data-part='d.cross']").click()
    wait_for_step(page, "cross")
    page.locator(".lesson-row-of-tokens button").nth(1).click()
    page.locator(".lesson-ask .answer .link").click()
    lesson_name, breadcrumb = state(page, "lesson"), page.locator(".lesson .crumb").inner_text()
    with page.expect_download() as saving:
        page.get_by_role("button", name=phrases("en")["lesson_kit_notebook"]).click()
    notebook = json.loads(saving.value.path().read_text(encoding="utf-8"))
    assert saving.value.suggested_filename == "headlight-walk.ipynb"
    assert "written = " in "".join(notebook["cells"][1]["source"])
    page.get_by_role("button", name=phrases("en")["lesson_kit_asks"]).click()
    expect(page.locator(".lesson-kit .quiet")).to_have_text(phrases("en")["lesson_kit_asks_copied"])
    assert barriers(page, ".lesson-kit") == []
    link = str(page.evaluate("navigator.clipboard.readText()"))

    # The permalink hides the answer until a guess, also for visitors who have already answered.
    other = visit_at(visit, link.partition(page.url.split("#")[0])[2], width=360, height=640)
    page.evaluate("(link) => location.replace(link)", link)
    for each in (page, other):
        wait_for_step(each, "cross")
        expect(each.locator(".lesson-ask .answer")).to_have_text(phrases("en")["lesson_asks_says"])
        expect(each.locator(".lesson .figure > *")).to_have_count(0)
        expect(each.locator(".lesson .crumb")).to_have_text(breadcrumb, use_inner_text=True)
        assert state(each, "lesson") == f"{lesson_name}.asks"
    other.locator(".lesson-ask .option").nth(0).click()
    expect(other.locator(".lesson-ask .option.right")).to_be_visible()
    expect(other.locator(".lesson .figure > *")).not_to_have_count(0)
    page.locator(".lesson-drawing [data-part='e.tokens']").click()
    wait_for_step(page, "tokens")
    expect(page.locator(".lesson-ask .answer")).to_have_text(phrases("en")["lesson_asks_says"])
    for each in (page, other):
        wait_until_idle(each)


def test_failed_step_shows_error_and_can_be_retried(visit: Visit) -> None:
    page = visit_at(visit, "#tab=learn&lesson=walk.tokens.0")
    wait_for_step(page, "tokens")
    fault = {"what": "error", "field": "text", "word": "our_fault", "values": {}}
    asking = "**/headlight/call/*"
    page.route(asking, lambda route: route.fulfill(json=fault))
    page.locator(".lesson-drawing [data-part='e.memory']").click()
    error = page.locator(".lesson .error")
    expect(error).to_have_text(phrases("en")["error_our_fault"])
    page.unroute(asking)
    page.locator(".lesson .step > .link").click()
    wait_for_step(page, "memory")
    expect(error).to_be_empty()


def test_truncation_note_appears_only_for_truncated_figures(visit: Visit) -> None:
    page = visit_at(visit, "#tab=learn&lesson=walk.tokens.0")
    translate(page, f"{EXAMPLES[0].text} {EXAMPLES[0].text}")
    line, cut = page.locator(".lesson .left > .quiet"), []
    for step in WALK.steps:
        page.evaluate("(step) => { location.hash = `#tab=learn&lesson=walk.${step}.0`; }", step.name)
        wait_for_step(page, step.name)
        show = page.locator(".lesson-ask:not([hidden]) .answer .link")
        if show.count():
            show.click()
        sizes = page.locator(".lesson .figure canvas[aria-label]").evaluate_all(
            "(all) => all.map((it) => it.ariaLabel)"
        )
        leaves_out = any(" 12 rows" in size or " 12 columns" in size for size in sizes)
        assert line.is_visible() == leaves_out, (step.name, sizes)
        cut += [step.name] if leaves_out else []
    assert cut == [
        "embed",
        "positions",
        "norm",
        "qkv",
        "scores",
        "scale",
        "mix",
        "join",
        "add",
        "ff",
        "memory",
        "mask",
        "cross",
    ]
    page.evaluate("location.hash = '#tab=learn&lesson=masks.drawn.0'")  # its experiment shows every token
    wait_for_step(page, "drawn")
    expect(line).to_be_hidden()
    wait_until_idle(page)


def test_neuron_figure_stays_in_its_column(visit: Visit) -> None:
    """A thousand neurons need more than the available pixels."""
    page = visit_at(visit, "#tab=learn&lesson=walk.ff")
    page.locator(".lesson-ask .answer .link").click()
    boxes = """() => ['.figure canvas', '.figure', '.formulas'].map((part) =>
      [...document.querySelectorAll(`.lesson ${part}`)].map((it) => {
        const { left, top, right, bottom } = it.getBoundingClientRect();
        return [left, top, right, bottom];
      }))"""
    for width in (1440, 1280, 768, 390):
        resize(page, width)
        pictures, (figure,), (formulas,) = page.evaluate(boxes)
        for left, top, right, bottom in pictures:
            assert figure[0] <= left < right <= figure[2] + 1, width
            assert right <= formulas[0] or bottom <= formulas[1] or formulas[3] <= top, width
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width

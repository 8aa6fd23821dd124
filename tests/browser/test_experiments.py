"""Experiments of lessons: steps render in both languages and sizes; permalinks store control values."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from headlight.viz.figure_phrases import phrases
from headlight.viz.lessons import LESSONS
from headlight.viz.lessons.lesson import Lesson
from tests.browser.acting import state, wait_until_idle
from tests.browser.axe import barriers
from tests.browser.conftest import Visit
from tests.browser.polling import wait_for_function
from tests.browser.test_learn import visit_at, wait_for_step

WITH_EXPERIMENTS = [lesson for lesson in LESSONS if any(step.experiment for step in lesson.steps)]
LOOKS: dict[str, dict[str, Any]] = {
    "en": {},
    "zh": {"width": 360, "height": 780, "color_scheme": "dark", "locale": "zh-CN"},
}


def phrase_pattern(text: str) -> re.Pattern[str]:
    """Return a pattern for a phrase with any values."""
    return re.compile("^" + re.sub(r"\\\{\w+\\\}", ".+", re.escape(text)) + "$")


@pytest.mark.parametrize("language", LOOKS)
@pytest.mark.parametrize("lesson", WITH_EXPERIMENTS, ids=lambda lesson: lesson.name)
def test_every_lesson_step_renders(lesson: Lesson, language: str, visit: Visit) -> None:
    page = visit_at(visit, f"#tab=learn&lesson={lesson.name}..0", **LOOKS[language])
    for step in lesson.steps:
        wait_for_step(page, step.name)
        table, base = phrases(language), f"lesson_{lesson.name}_{step.name}"
        title = page.locator(".lesson h2")
        show = page.locator(".lesson-ask:not([hidden]) .answer .link")
        if show.count():
            if step.question is not None and step.question.hides_answer:  # the answer is not revealed
                expect(title).to_have_text(table.get(f"{base}_title_open", table[f"{base}_title"]))
                expect(page.locator(".lesson-controls")).to_be_hidden()
                expect(page.locator(".lesson .words")).to_have_text(phrase_pattern(table[f"{base}_words_open"]))
                for part in (".figure", ".formulas"):
                    expect(page.locator(f".lesson {part}")).to_be_empty()
                expect(page.locator(".train-shows")).to_be_hidden()
            show.click()
        expect(title).to_have_text(table[f"{base}_title"])
        assert page.locator(".lesson .figure > *").count() > 0, step.name
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), step.name
        for text in page.locator(".lesson .formulas math").all_text_contents():
            assert "?" not in text, step.name
        assert barriers(page, ".lesson") == [], step.name
        page.keyboard.press("ArrowRight")
    wait_until_idle(page)


@pytest.mark.journey
def test_control_values_are_restored_from_permalink(visit: Visit) -> None:
    page = visit_at(visit, "#tab=learn&lesson=heads.split.0")
    wait_for_step(page, "split")
    maps = page.locator(".lesson-beside .lesson-heat")
    expect(maps).to_have_count(8)
    seed = page.locator("[data-control=seed]")
    expect(seed).to_be_hidden()  # trained matrices have no button
    page.locator("[data-control='heads 2']").press("Enter")
    expect(maps).to_have_count(2)
    expect(page.locator("[data-control='heads 2']")).to_be_focused()
    page.locator("[data-control='matrices random']").click()
    seed.click()
    expect(seed).to_have_text("Draw again (seed 1)")
    wait_until_idle(page)
    assert state(page, "lesson") == "heads.split.0.set-heads-2.set-matrices-random.set-seed-1"
    wait_for_function(page, "decodeURIComponent(location.hash).includes('set-seed-1')")
    table_text = page.locator(".lesson-table").inner_text()
    again = visit_at(visit, page.evaluate("location.hash"))
    wait_for_step(again, "split")
    expect(again.locator(".lesson-table")).to_have_text(table_text, use_inner_text=True)
    wait_until_idle(again)

    # Moving a slider by keys sends no request for intermediate values, and known values are shown from the cache.
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.evaluate("location.hash = '#tab=learn&lesson=heads.saturate.0'")
    wait_for_step(page, "saturate")
    slider = page.locator("[data-control=width]")
    slider.focus()
    del requested[:]
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    wait_until_idle(page)
    expect(slider).to_be_focused()
    expect(slider).to_have_attribute("aria-valuetext", "64")
    expect(page.locator(".lesson .words")).to_contain_text("At dₖ = 64")
    runs = [each for each in requested if "run_experiment" in each]
    assert 1 <= len(runs) <= 3
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".lesson .words")).to_contain_text("At dₖ = 64")
    wait_until_idle(page)


def test_many_long_options_use_single_line_menu(visit: Visit) -> None:
    page = visit_at(visit, "#tab=learn&lesson=masks.drawn.0", width=360, height=780)
    wait_for_step(page, "drawn")
    page.get_by_role("button", name=phrases("en")["lesson_masks_drawn_see"]).press("Enter")  # a step of another lesson
    wait_for_step(page, "live")
    menu, others = page.locator("select[data-control=mistake]"), page.locator(".lesson-controls .adds button")
    chosen, more = (phrases("en")[f"lesson_mistakes_control_mistake_{name}"] for name in ("late_mask", "norm"))
    assert menu.input_value() == "late_mask"
    expect(others.filter(has_text=more)).to_have_count(1)
    expect(others.filter(has_text=chosen)).to_have_count(0)  # the selected option is not offered again
    others.filter(has_text=more).click()
    expect(page.locator(".lesson h2")).to_have_text(phrases("en")["lesson_mistakes_live_title_several"])
    expect(others.filter(has_text=more)).to_have_attribute("aria-pressed", "true")
    menu.select_option("norm")
    expect(page.locator(".lesson h2")).to_have_text(phrases("en")["lesson_mistakes_live_title"])
    expect(others.filter(has_text=more)).to_have_count(0)
    expect(others.filter(has_text=chosen)).to_have_count(1)
    page.evaluate("location.hash = '#tab=learn&lesson=mistakes.trained.0'")
    wait_for_step(page, "trained")
    menu = page.locator("select[data-control=mistake]")
    assert menu.evaluate("(menu) => menu.getBoundingClientRect().height") <= 48
    menu.select_option("softmax")
    wait_for_function(page, "location.hash.includes('set-mistake-softmax')")
    expect(page.locator(".lesson > .walk .words")).to_contain_text(
        phrases("en")["lesson_mistakes_trained_words_softmax"][:20]
    )
    assert menu.input_value() == "softmax"
    wait_until_idle(page)


def test_failed_experiment_shows_error_and_can_be_retried(visit: Visit) -> None:
    page = visit_at(visit, "#tab=learn&lesson=heads.split.0")
    wait_for_step(page, "split")
    fault = {"what": "error", "field": "text", "word": "too_long_to_show", "values": {}}
    asking = "**/headlight/call/*"
    page.route(asking, lambda route: route.fulfill(json=fault))
    page.locator("[data-control='heads 4']").click()
    error = page.locator(".lesson .error")
    expect(error).to_have_text(phrases("en")["error_too_long_to_show"])
    expect(page.locator("[data-control='heads 4']")).to_have_attribute("aria-pressed", "true")
    page.unroute(asking)
    page.locator(".lesson .step > .link").click()
    expect(page.locator(".lesson-beside .lesson-heat")).to_have_count(4)
    expect(error).to_be_empty()
    wait_until_idle(page)

    # While a step loads, its title is shown and the previous step is hidden and inactive.
    page.evaluate("location.hash = '#tab=learn&lesson=positions.similarity.0'")
    wait_for_step(page, "similarity")
    expect(page.locator(".lesson-ask .option").first).to_be_visible()
    wait_until_idle(page)  # the next step is prefetched; the one after it is not
    pending_routes: list[Route] = []
    page.route(asking, lambda route: pending_routes.append(route))
    page.evaluate("location.hash = '#tab=learn&lesson=positions.word.0'")
    expect(page.locator(".lesson h2")).to_have_text(phrases("en")["lesson_positions_word_title"])
    for part in (".words", ".lesson-ask .option >> nth=0", ".lesson-source"):
        expect(page.locator(f".lesson {part}")).to_be_hidden()
    wait_for_function(page, "document.querySelector('.lesson-ask').inert")
    page.wait_for_selector("[data-asks]")  # it is requested
    for route in pending_routes:
        route.continue_()
    page.unroute(asking)
    wait_for_step(page, "word")
    expect(page.locator(".lesson .words")).to_be_visible()
    expect(page.locator(".lesson-controls")).to_be_visible()
    wait_until_idle(page)

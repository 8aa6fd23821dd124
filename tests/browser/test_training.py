"""Learn: live training runs in both languages; snapshots can be revisited; leaving stops the run."""

from __future__ import annotations

import gradio as gr
from playwright.sync_api import Page, expect

from headlight.viz.figure_phrases import phrases
from headlight.viz.service.tickets import Visitor
from headlight.viz.service.training_runs import MAX_RUN_SECONDS
from headlight.viz.tabs.translate import TranslateWidget
from tests.browser.acting import state, wait_until_idle
from tests.browser.conftest import PATIENCE, Visit
from tests.browser.polling import wait_for_function

OVER = ".train-side[data-phase=over]"
# Milliseconds. A run has the lowest priority and waits for all other jobs.
OVER_BY = 1000 * MAX_RUN_SECONDS + PATIENCE
READ_IN_ORDER = (".train-line .go", ".train-shows", ".lesson-ask", ".formulas")


def visit_step(visit: Visit, step: str, **options: object) -> Page:
    page = visit(f"#tab=learn&lesson=train.{step}.0", drawn=".lesson[data-step]", **options)
    page.locator(".lesson-ask .answer .link").click()
    page.wait_for_selector(".lesson.trains[data-step] .run-map canvas")
    wait_until_idle(page)
    return page


def losses(page: Page) -> list[float]:
    """Return the displayed loss of each run."""
    return [float(text.split()[-1]) for text in page.locator(".loss-curve .said").all_text_contents()]


def test_a_run_stops_when_the_quiz_opens(visit: Visit) -> None:
    page = visit_step(visit, "watch")
    page.keyboard.press(" ")
    page.wait_for_selector(".train-side[data-phase=runs]")
    page.evaluate("location.hash = '#tab=learn&lesson=quiz'")
    expect(page.locator(".quiz-overview")).to_be_visible()
    expect(page.locator(".train-side")).not_to_have_attribute("data-phase", "runs")


def test_training_is_shown_live_and_snapshots_are_kept(visit: Visit) -> None:
    page = visit_step(visit, "watch")
    assert page.locator(".loss-curve .said").count() == 0  # before training, the untrained model is shown
    output = page.locator(".run:not([hidden]) .written bdi")
    assert output.inner_text() != "i want a beer ."
    page.keyboard.press(" ")
    page.wait_for_selector(OVER, timeout=OVER_BY)
    expect(output).to_have_text("i want a beer .")
    (last,) = losses(page)
    assert last < 0.2
    moments = int(page.locator(".train-line input").get_attribute("max") or 0)
    assert moments == 27
    # Return to the start with the slider's keys, and continue with a click on the curve.
    slider = page.locator(".train-line input")
    slider.focus()
    page.keyboard.press("Home")
    expect(page.locator(".train-line .count")).to_have_text(phrases("en")["lesson_train_step"].format(step=0))
    page.keyboard.press("ArrowRight")
    (first,) = losses(page)
    assert first > 5
    box = page.locator(".loss-curve").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    (middle,) = losses(page)
    assert last <= middle < first
    # Another sentence and another head; the numbers are the same in the other language.
    slider.blur()
    page.keyboard.press("j")
    expect(page.locator(".train-shows .lesson-row-of-tokens [aria-pressed=true]")).to_have_text("ich mochte ein cola")
    page.keyboard.press("]")
    expect(page.locator(".run:not([hidden]) .run-heads [aria-pressed=true]")).to_have_attribute(
        "aria-label", phrases("en")["lesson_train_map"].format(layer=1, head=1)
    )
    page.click(".top [lang=zh]")
    expect(page.locator(".train-line .go")).to_have_text(phrases("zh")["lesson_train_again"])
    assert losses(page) == [middle]
    # Settings are stored in the permalink and start another run.
    page.locator("[data-control='positions']").uncheck()
    wait_for_function(page, "location.hash.includes('set-positions-0')")
    expect(page.locator(".train-line .go")).to_have_text(phrases("zh")["lesson_train_start"])
    wait_until_idle(page)


def test_two_runs_fit_on_phone_and_stop_on_leaving(
    visit: Visit, translate_widget: TranslateWidget, served: gr.Blocks
) -> None:
    training = translate_widget.service.training
    page = visit_step(visit, "order", width=360, height=780, color_scheme="dark", reduced_motion="reduce")
    assert page.locator(".run:not([hidden])").count() == 2
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    # The models' output follows the button, before questions and formulas.
    tops = [page.locator(part).evaluate("(part) => part.getBoundingClientRect().top") for part in READ_IN_ORDER]
    assert tops == sorted(set(tops))
    page.click(".train-line .go")
    page.wait_for_selector(OVER, timeout=OVER_BY)
    names = page.locator(".run .run-name").all_inner_texts()
    assert names == [phrases("en")[f"lesson_train_{which}_positions"] for which in ("with", "without")]
    verdicts = page.locator(".run .verdict").all_inner_texts()
    other = page.locator(".train-shows .lesson-row-of-tokens button").nth(1)
    other.click()
    both = list(zip(verdicts, page.locator(".run .verdict").all_inner_texts(), strict=True))
    assert both[0] == (phrases("en")["lesson_train_right"],) * 2
    assert phrases("en")["lesson_train_wrong"] in both[1]  # it gives the same translation for both sentences
    with_, without = losses(page)
    assert without > 2 * with_
    # Another run is started, and abandoned.
    page.click(".train-line .go")
    page.wait_for_selector(".train-side[data-phase=runs]")
    page.click(".lesson .crumb .link")
    expect(page.locator(".lesson-list")).to_be_visible()
    assert training.wait_for(lambda: training.queue.running_count == 0 and not training._runs, PATIENCE / 1000)
    assert state(page, "lesson") == ""
    wait_until_idle(page)


def test_full_training_queue_is_retried_until_a_run_stops(visit: Visit, translate_widget: TranslateWidget) -> None:
    line = translate_widget.service.training.queue
    page = visit_step(visit, "watch")
    max_waiting, line.max_waiting = line.max_waiting, 0
    try:
        with line.enqueue(Visitor("another", "visitor")):  # another visitor trains, and the queue is full
            page.click(".train-line .go")
            status = page.locator(".train-side [role=status]")
            expect(status).to_have_text(phrases("en")["error_training_full"].format(before=0))
            expect(page.locator(".line-sign")).to_have_count(0)
            page.click(".train-line .go")  # Stop
            expect(status).not_to_contain_text(phrases("en")["error_training_full"][:12])
            page.click(".train-line .go")
            expect(status).to_contain_text(phrases("en")["error_training_full"][:12])
    finally:
        line.max_waiting = max_waiting
    page.wait_for_selector(OVER, timeout=OVER_BY)  # it starts automatically
    assert losses(page)[0] < 0.2
    wait_until_idle(page)


def test_any_accepted_target_counts_as_correct(visit: Visit) -> None:
    page = visit("#tab=learn&lesson=masks.trained.0", drawn=".lesson.trains[data-step] .run-map canvas")
    wait_until_idle(page)
    guessed, wrong = (phrases("en")[f"lesson_train_{name}_of"].format(count=8) for name in ("right", "wrong"))
    verdicts = page.locator(".run .verdict")
    expect(verdicts).to_have_text([wrong, wrong])  # before training
    page.click(".train-line .go")
    page.wait_for_selector(OVER, timeout=OVER_BY)
    expect(verdicts).to_have_text([wrong, guessed])  # without the mask, and with it
    wait_until_idle(page)

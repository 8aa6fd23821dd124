"""Cancellation by stop, by another sentence, or by closing the page. Partial output stays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from headlight import Translator
from headlight.model.records import KINDS, Progress, TranslationRequest
from headlight.viz.tabs import translate as translate_tab
from headlight.viz.tabs.translate import TranslateWidget
from tests.browser.acting import expose_state, page_weights, state, translation, wait_for_translation
from tests.browser.conftest import PATIENCE, Answered, Visit
from tests.browser.polling import wait_for_function
from tests.viz.local_translator import local_translator

LONG = (
    "Als wir gestern Abend nach einer langen Fahrt endlich nach Hause kamen, stand die Tür offen, und in der Küche saß "
    "mein Bruder, den ich lange nicht gesehen hatte, mit seiner Tochter am Tisch und aß eine Suppe. Draußen regnete es."
)
SHORT = "Das Haus ist alt."
NEAR = 1.01 / 20_000  # weights are sent with about four decimals


@dataclass
class Run:
    """A long translation on the server: it streams its first steps and then waits until it is released."""

    sent: int = 0
    paused_after: int = 5  # number of steps that are streamed
    steps: int = 0  # step numbers that the model computed
    text: str = ""  # last step that was sent
    ids: tuple[int, ...] = ()
    stop: Event | None = None  # the stop event of the server's job
    paused: Event = field(default_factory=Event)
    let: Event = field(default_factory=Event)
    over: Event = field(default_factory=Event)
    finished: bool = False


def happens(event: Event | None) -> bool:
    return event is not None and event.wait(PATIENCE / 1000)


@pytest.fixture
def run(translate_widget: TranslateWidget, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Control the next request for the long sentence, independent of the machine's speed."""
    run = Run()
    translator, tell = local_translator(translate_widget.service), translate_widget.service.stream
    step = translator.stream

    def stepping(request: TranslationRequest, **more: Any) -> Iterator[Progress]:
        if not is_long(request):
            yield from step(request, **more)
            return
        try:
            for progress in step(request, **more):
                run.steps += 1
                yield progress
            run.finished = True
        finally:
            run.over.set()

    def telling(request: TranslationRequest, stop: Event) -> Iterator[Progress]:
        if not is_long(request):
            yield from tell(request, stop)
            return
        run.stop = stop
        for progress in tell(request, stop):
            if run.sent == run.paused_after:
                run.paused.set()
                happens(run.let)
            run.sent += 1
            run.text, run.ids = progress.text, tuple(token.id for token in progress.tokens)
            yield progress

    monkeypatch.setattr(translator, "stream", stepping)
    monkeypatch.setattr(translate_widget.service, "stream", telling)
    monkeypatch.setattr(translate_tab, "MESSAGE_INTERVAL_SECONDS", 0)  # send every step
    yield run
    run.let.set()


def is_long(request: TranslationRequest) -> bool:
    return request.text == LONG and request.target is None


def submit(page: Page, text: str, beam: int) -> None:
    expose_state(page)
    if page.locator(".translate .options").is_hidden():
        page.get_by_role("button", name="Options").click()
    page.fill("[data-field=beam_size]", str(beam))
    page.fill("#sentence", text)
    page.press("#sentence", "Enter")


def wait_for_first_steps(page: Page, run: Run) -> None:
    """Wait until the page shows the first steps; the others are held."""
    assert happens(run.paused)
    wait_for_function(
        page,
        "(text) => document.querySelector('.translate .out').innerText.split(/\\s+/).join(' ').trim() === text",
        arg=run.text,
    )


def assert_ends_within_a_step(run: Run) -> None:
    """Check that the server stops within one step after the cancellation."""
    assert happens(run.stop)
    run.let.set()
    assert happens(run.over)
    assert not run.finished
    assert run.steps == run.paused_after + 1  # the last step was being computed when the request was cancelled


@pytest.mark.journey
def test_stop_cancels_translation_and_keeps_partial_output(page: Page, run: Run, translator: Translator) -> None:
    submit(page, LONG, beam=10)
    wait_for_first_steps(page, run)
    text, ids = run.text, run.ids
    button, verdict = page.locator(".translate .go"), page.locator(".translate .verdict")
    expect(button).to_have_text("Stop")
    expect(verdict).to_have_text("Checking…")
    button.click()
    assert_ends_within_a_step(run)
    wait_for_translation(page, LONG)
    expect(verdict).not_to_have_text("Checking…")
    expect(button).to_have_text("Translate")
    expect(page.locator(".translate .meta")).to_contain_text("stopped before the end")
    expect(page.get_by_text("Back to the model’s own translation")).to_be_visible()
    assert translation(page) == text
    assert tuple(token["id"] for token in state(page, "translation")["target"]) == ids
    truth = translator.translate(LONG, target=ids)
    for kind in KINDS:
        np.testing.assert_allclose(page_weights(page, kind), truth.attention.of(kind), atol=NEAR)


def test_stop_before_first_token_keeps_previous_translation(page: Page, run: Run) -> None:
    before = translation(page)
    run.paused_after = 0
    submit(page, LONG, beam=4)
    assert happens(run.paused)
    page.click(".translate .go")
    says = "Stopped. Below: the previous sentence."
    expect(page.locator(".translate .verdict")).to_contain_text(says)
    assert_ends_within_a_step(run)
    assert translation(page) == before
    assert state(page, "busy") is False


def test_new_sentence_cancels_running_translation(page: Page, run: Run, answered: Answered) -> None:
    submit(page, LONG, beam=4)
    wait_for_first_steps(page, run)
    submit(page, SHORT, beam=4)
    assert_ends_within_a_step(run)
    wait_for_translation(page, SHORT)
    assert translation(page) == answered(SHORT).text


def test_leaving_visitor_cancels_only_own_work(visit: Visit, run: Run, answered: Answered) -> None:
    stays, leaves = visit(), visit()
    submit(leaves, LONG, beam=10)
    wait_for_first_steps(leaves, run)
    submit(stays, SHORT, beam=4)
    wait_for_translation(stays, SHORT)
    assert run.stop is not None
    assert not run.stop.is_set()
    leaves.close()
    assert_ends_within_a_step(run)
    assert translation(stays) == answered(SHORT).text

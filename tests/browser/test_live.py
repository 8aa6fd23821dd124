"""Live translation: debounced requests in order, a stable layout, and backing off under load."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from headlight import Translator
from headlight.model.records import Progress, TranslationRequest
from headlight.viz.service.request_queue import Visitor
from headlight.viz.tabs import translate as translate_tab
from headlight.viz.tabs.translate import TranslateWidget
from tests.browser.acting import expose_state, state, translation, wait_for_translation
from tests.browser.conftest import PATIENCE, Answered, Visit
from tests.browser.polling import wait_for_function

SENTENCE = "Der alte Mann liest heute eine Zeitung."
LONGER = "Der Mann, der gestern im Garten war, liest heute eine Zeitung und trinkt mit seiner Frau einen Kaffee."
BEGINNING = "Ein Hund schläft"

# Records layout shifts without recent input, the moved elements, and the map's top after each answer.
WATCH_SHIFTS = """
window.shifts = [];
new PerformanceObserver((list) => {
  for (const { value, hadRecentInput, sources } of list.getEntries()) {
    if (!hadRecentInput) shifts.push([value, sources.map(({ node }) => node?.className ?? node?.nodeName)]);
  }
}).observe({ type: 'layout-shift', buffered: true });
"""
# By the page's clock, every answer is in time, whatever the load of the machine.
QUICK_CLOCK = "const clock = performance.now.bind(performance); performance.now = () => clock() / 100;"
PLACES = "() => ['.explorer .plane', '.explorer .wall-grid', '.explorer .topline'].map((name) => {"
PLACES += "const { x, y } = document.querySelector(name).getBoundingClientRect(); return [x, y]; })"


@dataclass
class LiveRequests:
    """The requests that reached the models; one of them can be held after its first step."""

    texts: list[tuple[str, int]] = field(default_factory=list)
    hold: str = ""
    stop: Event | None = None
    paused: Event = field(default_factory=Event)
    let: Event = field(default_factory=Event)
    over: Event = field(default_factory=Event)
    steps_after: int = 0


@pytest.fixture
def live_requests(translate_widget: TranslateWidget, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveRequests]:
    live_requests = LiveRequests()
    service = translate_widget.service
    service.translate(service.check({"text": "Ja."}))  # loads the model, because a slow request is retried
    tell = service.stream

    def telling(request: TranslationRequest, stop: Event) -> Iterator[Progress]:
        live_requests.texts.append((request.text, request.options.beam_size))
        if request.text != live_requests.hold:
            yield from tell(request, stop)
            return
        try:
            for progress in tell(request, stop):
                if not live_requests.paused.is_set():
                    live_requests.stop = stop
                    live_requests.paused.set()
                    live_requests.let.wait(PATIENCE / 1000)
                else:
                    live_requests.steps_after += 1
                yield progress
        finally:
            live_requests.over.set()

    monkeypatch.setattr(service, "stream", telling)
    yield live_requests
    live_requests.let.set()


def write(page: Page, text: str) -> None:
    """Change the sentence by one keystroke."""
    page.click("#sentence")
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)


def greedy(translator: Translator, text: str) -> str:
    return translator.translate(text, beam_size=1, no_repeat=4).text


@pytest.mark.journey
def test_live_translates_while_typing_and_enter_submits_full_request(
    visit: Visit, live_requests: LiveRequests, translator: Translator, answered: Answered
) -> None:
    page = visit(live=True)
    expose_state(page)
    write(page, SENTENCE)
    wait_for_translation(page, SENTENCE)
    assert translation(page) == greedy(translator, SENTENCE)
    assert live_requests.texts[0] == (SENTENCE, 1)
    assert page.locator(".explorer .columns .label").count() == len(state(page, "translation")["source"])
    page.press("#sentence", "Enter")
    wait_for_function(page, "headlight.translation.request.options.beam_size === 4 && !headlight.busy")
    assert translation(page) == answered(SENTENCE).text
    assert set(live_requests.texts[1:]) == {(SENTENCE, 4)}


def test_full_answer_follows_typing_pause_without_layout_shift(
    visit: Visit, live_requests: LiveRequests, answered: Answered
) -> None:
    page = visit(live=True, script=WATCH_SHIFTS)
    expose_state(page)
    write(page, SENTENCE)
    wait_for_translation(page, SENTENCE)
    page.evaluate("shifts.length = 0")
    wait_for_function(page, "headlight.translation.request.options.beam_size === 4")
    assert translation(page) == answered(SENTENCE).text
    assert live_requests.texts == [(SENTENCE, 1), (SENTENCE, 4)]
    wait_for_function(page, "!location.hash.includes('beam_size') && location.hash.includes('text=')")
    page.wait_for_timeout(2000)  # it is requested once
    assert len(live_requests.texts) == 2
    assert sum(value for value, _ in page.evaluate("shifts")) < 1e-5  # the arrow follows the verdict
    assert page.evaluate("document.activeElement.id") == "sentence"


def test_newer_live_request_cancels_older_one(
    visit: Visit, live_requests: LiveRequests, translator: Translator
) -> None:
    page = visit(live=True)
    live_requests.hold = BEGINNING
    page.evaluate("window.shown = []")
    expose_state(page)
    page.evaluate(
        """() => new MutationObserver(() => shown.push(headlight.translation.request.text)).observe(
            document.querySelector('.translate .out'), { childList: true, subtree: true })"""
    )
    write(page, BEGINNING)
    assert live_requests.paused.wait(PATIENCE / 1000)
    page.keyboard.insert_text(" heute")
    assert live_requests.stop is not None
    assert live_requests.stop.wait(PATIENCE / 1000)
    live_requests.let.set()
    assert live_requests.over.wait(PATIENCE / 1000)
    wait_for_translation(page, f"{BEGINNING} heute")
    assert live_requests.steps_after == 0
    assert set(page.evaluate("shown")) == {f"{BEGINNING} heute"}
    assert translation(page) == greedy(translator, f"{BEGINNING} heute")


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (360, 740)])
def test_live_layout_is_stable(visit: Visit, width: int, height: int) -> None:
    page = visit(live=True, width=width, height=height, script=WATCH_SHIFTS)
    expose_state(page)
    write(page, "Der Mann,")
    wait_for_translation(page, "Der Mann,")
    page.evaluate("shifts.length = 0")
    words = LONGER.split()
    for count in range(2, len(words), 3):
        text = " ".join(words[: count + 3])
        page.keyboard.type(" " + " ".join(words[count : count + 3]))
        places = page.evaluate(PLACES)  # a sentence that needs another line gets the space at once
        page.wait_for_timeout(600)  # a later shift would have no recent keystroke
        wait_for_translation(page, text)
        if width > 960:
            assert page.evaluate(PLACES) == places, text
    assert page.evaluate("shifts") == []


def test_caret_click_pins_word_until_next_keystroke(visit: Visit) -> None:
    page = visit(live=True)
    expose_state(page)
    pinned = state(page, "row"), state(page, "column")
    page.click("#sentence", position={"x": 150, "y": 30})
    assert state(page, "column") is not None
    page.keyboard.press("End")
    page.keyboard.press("Backspace")
    wait_for_function(page, "headlight.translation.request.text.endsWith('Tisch')")
    assert (state(page, "row"), state(page, "column")) == pinned


def test_button_is_primary_only_with_untranslated_text(visit: Visit) -> None:
    page = visit(live=False)
    expose_state(page)
    button = page.locator(".translate .go")
    expect(button).to_have_class("go answered")
    write(page, SENTENCE)
    expect(button).to_have_class("go")
    button.click()
    wait_for_translation(page, SENTENCE)
    expect(button).to_have_class("go answered")
    page.click(".translate .actions .link")
    page.fill("#options input[type=number] >> nth=0", "2")
    expect(button).to_have_class("go")


def test_pins_survive_live_updates(visit: Visit) -> None:
    page = visit(live=True)
    expose_state(page)
    write(page, "Der Hund schläft.")
    wait_for_translation(page, "Der Hund schläft.")
    page.locator("#sentence").blur()
    wait_for_function(page, "!headlight.still")  # else the map may move during a slow click
    page.locator(".explorer .columns .label", has_text="Hund").click()
    first = state(page, "column")
    assert "Hund" in state(page, "translation")["source"][first]["label"]
    write(page, "Der alte Hund schläft.")
    wait_for_translation(page, "Der alte Hund schläft.")
    pinned = state(page, "column")
    assert "Hund" in state(page, "translation")["source"][pinned]["label"]
    assert pinned > first
    write(page, "Die Katze schläft.")
    wait_for_translation(page, "Die Katze schläft.")
    assert state(page, "column") is None


def test_partial_sentence_shows_no_error(visit: Visit, live_requests: LiveRequests) -> None:
    page = visit(live=True)
    expose_state(page)
    for text in (" ", "x " * 248 + "xyz", ""):
        write(page, text)
        page.wait_for_timeout(400)
        assert page.locator("#sentence-error").inner_text() == ""
    write(page, "y " * 400)  # more text does not change this
    expect(page.locator("#sentence-error")).to_contain_text("800 characters; the limit is 500")
    write(page, SENTENCE)
    wait_for_translation(page, SENTENCE)
    assert (SENTENCE, 1) in live_requests.texts


def test_ime_composition_is_translated_after_commit(visit: Visit, live_requests: LiveRequests) -> None:
    page = visit("#model=zh-en", live=True)
    expose_state(page)
    wait_for_function(page, "() => headlight.translation.model.name === 'zh-en' && !headlight.busy")
    page.click("#sentence")
    page.keyboard.press("Control+A")
    network = page.context.new_cdp_session(page)
    before = len(live_requests.texts)
    for letters in ("w", "wo", "wo a", "wo ai", "wo ai n", "wo ai ni"):
        network.send("Input.imeSetComposition", {"text": letters, "selectionStart": 1, "selectionEnd": 1})
        page.wait_for_timeout(250)
    assert len(live_requests.texts) == before
    network.send("Input.insertText", {"text": "我爱你。"})
    wait_for_translation(page, "我爱你。")
    assert live_requests.texts[before] == ("我爱你。", 1)


def test_live_backs_off_under_load_and_recovers(
    visit: Visit, live_requests: LiveRequests, translate_widget: TranslateWidget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translate_tab, "LIVE_TIMEOUT_SECONDS", 0.05)
    page = visit(live=True, script=QUICK_CLOCK)
    expose_state(page)
    says = page.locator(".translate .live-says")
    with translate_widget.service.request_queue.enqueue(Visitor("198.51.100.7", "s")):
        write(page, SENTENCE)
        expect(says).to_have_text("The server is busy: Live updates more slowly.")
        assert state(page, "busy") is False
    monkeypatch.setattr(
        translate_tab, "LIVE_TIMEOUT_SECONDS", PATIENCE / 1000
    )  # the queue is empty, even on a slow machine
    wait_for_translation(page, SENTENCE)
    page.keyboard.press("End")
    more = " Und morgen liest er wieder."
    page.keyboard.type(more, delay=100)  # shorter than the pause after a busy server
    wait_for_translation(page, SENTENCE + more)
    between = [text for text, _ in live_requests.texts if SENTENCE < text < SENTENCE + more]
    assert between, "steady typing put each look off"
    for text in (
        "Das Haus",
        "Das Haus ist",
        "Das Haus ist alt",
        "Das Haus ist alt und",
    ):  # an answer in time shortens the pause
        write(page, text)
        wait_for_translation(page, text)
    expect(says).to_have_text("")


def test_live_setting_is_stored_and_off_sends_no_requests(visit: Visit, live_requests: LiveRequests) -> None:
    page = visit(live=None)
    switch = page.get_by_role("switch", name="Live")
    expect(switch).to_be_checked()
    switch.uncheck()
    page.reload()
    page.wait_for_selector(".explorer .plot .main-svg")
    expect(switch).not_to_be_checked()
    write(page, SENTENCE)
    page.wait_for_timeout(600)
    assert live_requests.texts == []
    assert state(page, "still") is False
    switch.check()  # the current text is requested at once
    wait_for_translation(page, SENTENCE)
    assert live_requests.texts[0] == (SENTENCE, 1)


def test_save_data_disables_live_by_default(visit: Visit) -> None:
    saves = "Object.defineProperty(navigator, 'connection', { value: { saveData: true } })"
    page = visit(live=None, script=saves)
    switch = page.get_by_role("switch", name="Live")
    expect(switch).not_to_be_checked()
    switch.check()
    page.reload()
    expect(switch).to_be_checked()


# Live's first pause ends when `rest()` is called.
FIRST_REST = 15_000
HELD_REST = "const later = setTimeout; setTimeout = (act, after, ...more) => "
HELD_REST += f"after === {FIRST_REST} ? (window.rest = act) && 0 : later(act, after, ...more)"


def slow_answers(monkeypatch: pytest.MonkeyPatch, slow: list[bool]) -> None:
    """Make answers report a long duration while the list contains `True`."""
    tell = translate_tab.answer_json

    def slowly(*arguments: Any, **more: Any) -> str:
        text, _, after = tell(*arguments, **{**more, "cached": False}).rpartition('"seconds":')
        message = f'{text}"seconds":{0.9 if slow == [True] else 0.01}'
        return f"{message},{after.partition(',')[2]}" if "," in after else f"{message}}}"

    monkeypatch.setattr(translate_tab, "answer_json", slowly)


RESTS = "Live is paused because answers are slow right now. It resumes automatically."


def test_live_pauses_after_slow_answers_and_resumes(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    slow_answers(monkeypatch, slow := [True])
    page = visit(live=None, script=HELD_REST)
    expose_state(page)
    switch, says = page.get_by_role("switch", name="Live"), page.locator(".translate .live-says")
    for text in (BEGINNING, SENTENCE, "Das Haus ist alt."):
        expect(switch).to_be_checked()  # one or two answers may be slow by chance
        write(page, text)
        wait_for_translation(page, text)
    expect(says).to_have_text(RESTS)
    slow[:] = [False]
    page.evaluate("rest()")
    expect(says).to_have_text("")  # no key was pressed
    expect(switch).to_be_checked()
    write(page, LONGER)
    wait_for_translation(page, LONGER)
    expect(switch).to_be_checked()


def test_slow_model_is_live_only_on_request(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    slow_answers(monkeypatch, [True])
    page = visit(live=None)
    expose_state(page)
    switch = page.get_by_role("switch", name="Live")
    for text in (BEGINNING, SENTENCE, "Das Haus ist alt."):
        write(page, text)
        wait_for_translation(page, text)
    expect(switch).not_to_be_checked()
    expect(page.locator(".translate .live-says")).to_have_text(RESTS)
    switch.check()
    write(page, LONGER)
    wait_for_translation(page, LONGER)
    expect(switch).to_be_checked()


def test_typing_adds_one_history_entry(visit: Visit) -> None:
    page = visit(live=True)
    expose_state(page)
    first = state(page, "translation")["request"]["text"]
    before = page.evaluate("history.length")
    for text in ("Das Haus", "Das Haus ist", "Das Haus ist alt."):
        write(page, text)
        wait_for_translation(page, text)
        wait_for_function(
            page, "(text) => location.hash.includes(new URLSearchParams({ text }).toString() + '&')", arg=text
        )
    assert page.evaluate("history.length") == before + 1
    page.go_back()
    wait_for_translation(page, first)

"""Edge cases: old permalinks, history navigation, an unreachable server, exports of every view."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import APIResponse, Browser, Page, Request, Route, expect

from headlight.model.records import Progress, TranslationRequest
from headlight.viz.page import Page as HeadlightPage
from headlight.viz.service.examples import EXAMPLES
from headlight.viz.service.service import Service
from headlight.viz.tabs.translate import TranslateWidget
from tests.browser.acting import (
    choose_panel,
    expose_state,
    open_tab,
    plotly_values,
    state,
    title,
    translate,
    translation,
    until,
    wait_for_translation,
)
from tests.browser.conftest import PATIENCE, Answered, Visit, find_translate_widget, newcomer, saved_page, visiting
from tests.browser.polling import wait_for_function
from tests.browser.test_exporting import save

FIRST = EXAMPLES[0].text
SENTENCE = "Die Katze schläft auf dem Sofa."
OTHER = "Guten Tag."
ASKING = "**/headlight/stream/stream_messages"
STREAM, JOIN = "**/queue/data*", "**/queue/join*"  # as on ZeroGPU
FIRST_LOOK = "the head to begin with"  # depends on the sentence
LAST = "Layer 3 · Head 8"


def initial_head_title(page: Page) -> str:
    """Return the title of the initial head of the current translation."""
    first = state(page, "translation")["opening"]
    return f"Layer {first['layer'] + 1} · Head {first['head'] + 1}"


def follow(page: Page, hash_: str) -> None:
    """Change the hash of the open page, as a click on a link does."""
    page.evaluate("(hash) => { location.hash = hash; }", hash_)


def wait_for_permalink(page: Page) -> None:
    """Wait until the first translation has a permalink and thus a history entry."""
    wait_for_function(page, "location.hash.startsWith('#text=')")


@pytest.fixture
def silent(translate_widget: TranslateWidget, monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """Delay the server's response to SENTENCE until the event is set; send none if it is cancelled before."""
    let = hold_stream(translate_widget.service, monkeypatch)
    yield let
    let.set()


def hold_stream(service: Service, monkeypatch: pytest.MonkeyPatch) -> Event:
    tell, let = service.stream, Event()

    def wait(request: TranslationRequest, stop: Event) -> Iterator[Progress]:
        if request.text == SENTENCE:
            let.wait(PATIENCE / 1000)
        yield from tell(request, stop)

    monkeypatch.setattr(service, "stream", wait)
    return let


# ---------------------------------------------------------------- addresses


ADDRESSES = {
    "#layer=max": FIRST_LOOK,
    "#layer=max&head=2": "Layer 1 · Head 3",
    "#pinned=max.0&layer=1&head=1": "Layer 2 · Head 2",
    "#layer=99&head=99": LAST,
    "#words=1&row=14&column=99&layer=1&head=1": "Layer 2 · Head 2",
    "#row=300&tab=nonsense": FIRST_LOOK,
    "#": FIRST_LOOK,
}


def assert_shows(page: Page, hash_: str) -> None:
    """Check that valid parts of the permalink are applied and other state has its defaults."""
    begins = ADDRESSES[hash_] == FIRST_LOOK
    expect(page.locator(".explorer .turn h2")).to_have_text(initial_head_title(page) if begins else ADDRESSES[hash_])
    expected = {"tab": "heads", "kind": "cross", "view": "matrix", "scale": "linear", "words": "words=1" in hash_}
    for field, value in (expected | dict.fromkeys(("column", "pinned"))).items():
        assert state(page, field) == value, (hash_, field)
    assert state(page, "row") == (state(page, "translation")["opening"]["row"] if begins else None), hash_
    assert np.isfinite(plotly_values(page)).all()


def test_permalink_on_open_page_restores_same_state_as_new_visit(visit: Visit) -> None:
    page = visit("#kind=encoder&layer=0&head=0&words=1&scale=log&row=1&pinned=0.1")
    page.click("[data-view=lines]")
    for hash_ in ADDRESSES:
        follow(page, hash_)
        page.wait_for_selector(".explorer .maps.matrix .main-svg")
        assert_shows(page, hash_)
        page.click("[data-kind=encoder]")


@pytest.mark.parametrize("hash_", [hash_ for hash_ in ADDRESSES if "max" in hash_ or "row" in hash_])
def test_broken_permalink_restores_valid_parts_for_new_visitor(visit: Visit, hash_: str) -> None:
    assert_shows(visit(hash_), hash_)


def test_missing_heads_are_never_compared(page: Page) -> None:
    expose_state(page)
    follow(page, "#pinned=88.88&layer=1&head=1")
    expect(page.locator(".explorer .frame h3").first).to_contain_text(LAST)
    assert np.isfinite(plotly_values(page)).all()
    wait_for_function(page, "location.hash.includes('pinned=2.7')")


def test_sentence_with_invalid_head_in_permalink_is_translated(page: Page, answered: Answered) -> None:
    follow(page, "#layer=max&pinned=max.1&row=300&tab=nonsense&text=Guten+Tag.")
    wait_for_translation(page, OTHER)
    assert translation(page) == answered(OTHER).text
    assert page.input_value("#sentence") == OTHER
    assert title(page) == initial_head_title(page)
    first = state(page, "translation")["opening"]
    best = f"#text=Guten+Tag.&layer={first['layer']}&head={first['head']}"
    wait_for_function(page, "(best) => location.hash.startsWith(best)", arg=best)


def test_back_returns_to_previous_tab(page: Page) -> None:
    expose_state(page)
    wait_for_permalink(page)
    open_tab(page, "whatif")
    wait_for_function(page, "location.hash.includes('tab=whatif')")
    open_tab(page, "models")
    wait_for_function(page, "location.hash.includes('tab=models')")
    page.go_back()
    wait_for_function(page, "headlight.tab === 'whatif'")
    page.go_back()
    wait_for_function(page, "headlight.tab === 'heads'")
    page.go_forward()
    wait_for_function(page, "headlight.tab === 'whatif'")


@pytest.mark.journey
def test_back_and_forward_navigate_between_translations(page: Page) -> None:
    expose_state(page)
    wait_for_permalink(page)
    first = translation(page)
    second = translate(page, SENTENCE)
    page.click('.wall-grid button[data-layer="1"][data-head="4"]')
    wait_for_function(page, "location.hash.includes('layer=1&head=4')")
    translate(page, OTHER)
    wait_for_function(page, "location.hash.includes('Guten')")
    page.go_back()
    wait_for_translation(page, SENTENCE)
    assert (translation(page), page.input_value("#sentence"), title(page)) == (second, SENTENCE, "Layer 2 · Head 5")
    page.go_back()
    wait_for_translation(page, FIRST)
    assert (translation(page), page.input_value("#sentence"), title(page)) == (first, FIRST, initial_head_title(page))
    page.go_forward()
    wait_for_translation(page, SENTENCE)
    wait_for_function(page, "location.hash.includes('Sofa') && location.hash.includes('layer=1&head=4')")
    page.go_forward()
    wait_for_translation(page, OTHER)


def test_selection_changes_add_no_history_entries(page: Page) -> None:
    expose_state(page)
    steps = page.evaluate("history.length")
    for head in (1, 2, 3):
        page.click(f'.wall-grid button[data-layer="1"][data-head="{head}"]')
        wait_for_function(page, f"location.hash.includes('layer=1&head={head}')")
    assert page.evaluate("history.length") == steps
    translate(page, OTHER)
    wait_for_function(page, "location.hash.includes('Guten')")
    assert page.evaluate("history.length") == steps + 1


def test_back_cancels_running_translation(page: Page, silent: Event) -> None:
    expose_state(page)
    wait_for_permalink(page)
    translate(page, OTHER)
    wait_for_function(page, "location.hash.includes('Guten')")
    page.fill("#sentence", SENTENCE)
    page.press("#sentence", "Enter")
    expect(page.locator(".translate .go")).to_have_text("Stop")
    page.go_back()
    silent.set()  # a visitor's next request waits until the previous one has ended
    wait_for_translation(page, FIRST)
    page.go_forward()
    wait_for_translation(page, OTHER)
    assert page.input_value("#sentence") == OTHER


def test_link_to_displayed_state_cancels_running_request(page: Page, silent: Event) -> None:
    expose_state(page)
    visible_text = translate(page, OTHER)
    page.fill("#sentence", SENTENCE)
    page.press("#sentence", "Enter")
    wait_for_function(page, "headlight.busy")
    follow(page, "#text=Guten+Tag.&layer=0&head=1")
    wait_for_translation(page, OTHER)
    expect(page.locator(".explorer .turn h2").first).to_have_text("Layer 1 · Head 2")
    silent.set()
    wait_for_function(page, "location.hash === '#text=Guten+Tag.&layer=0&head=1'")
    assert (translation(page), page.input_value("#sentence")) == (visible_text, OTHER)


@pytest.mark.parametrize("hash_", ["#model=nothing", "#model=nothing&text=Guten+Tag."])
def test_missing_model_is_reported(visit: Visit, answered: Answered, hash_: str) -> None:
    page = visit(hash_)
    text = OTHER if "text" in hash_ else FIRST
    expect(page.locator(".translate")).to_contain_text('no model "nothing" here')
    wait_for_translation(page, text)
    assert translation(page) == answered(text).text
    wait_for_function(page, "!location.hash.includes('nothing')")


def test_token_ids_of_other_model_are_rejected_and_rest_is_shown(page: Page, answered: Answered) -> None:
    follow(page, "#text=Guten+Tag.&target_ids=99999999&layer=0&head=1")
    expect(page.locator("#option-target-error")).to_contain_text("token ids of this model")
    wait_for_translation(page, OTHER)
    assert translation(page) == answered(OTHER).text
    assert title(page) == "Layer 1 · Head 2"
    wait_for_function(page, "location.hash.startsWith('#text=Guten+Tag.&layer=0&head=1')")


# ---------------------------------------------------------------- a server that says nothing


def test_cancelled_request_without_response_is_not_an_error(
    page: Page, translate_widget: TranslateWidget, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell = translate_widget.service.stream

    def mute(request: TranslationRequest, stop: Event) -> Iterator[Progress]:
        return iter(()) if request.text == SENTENCE else tell(request, stop)

    monkeypatch.setattr(translate_widget.service, "stream", mute)
    expose_state(page)
    for text in (*[SENTENCE] * 10, OTHER):  # an error on the console fails the test
        page.fill("#sentence", text)
        page.press("#sentence", "Enter")
    wait_for_translation(page, OTHER)
    assert state(page, "busy") is False


def test_response_before_job_id_is_not_an_error(
    browser: Browser, served_on_zero_gpu: HeadlightPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    with visiting(browser, str(served_on_zero_gpu.local_url)) as open_page:
        let = hold_stream(find_translate_widget(served_on_zero_gpu).service, monkeypatch)
        answer_overtakes(open_page(), let)
        let.set()


def answer_overtakes(page: Page, silent: Event) -> None:
    # The stream of an earlier job delivers all messages; the browser then opens a stream for a finished job.
    pending_routes: list[tuple[Route, APIResponse]] = []
    finished_requests: list[Request] = []

    def hold(route: Route) -> None:
        pending_routes.append((route, route.fetch()))
        silent.set()

    def hear(request: Request) -> None:
        finished_requests.append(request)

    expose_state(page)
    with page.expect_request(STREAM):
        page.fill("#sentence", SENTENCE)
        page.press("#sentence", "Enter")
    # All messages are delivered: Gradio closes the stream, unless the server did so before.
    ends: tuple[Any, ...] = ("requestfailed", "requestfinished")
    for event in ends:
        page.on(event, hear)
    page.route(JOIN, hold)
    page.fill("#sentence", OTHER)
    page.press("#sentence", "Enter")
    until(page, lambda: any("queue/data" in request.url for request in finished_requests))
    for event in ends:
        page.remove_listener(event, hear)
    ((route, response),) = pending_routes
    route.fulfill(response=response)
    wait_for_translation(page, OTHER)
    page.unroute(JOIN)
    translate(page, FIRST)  # an error on the console fails the test


@pytest.mark.journey
@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("locale", "says"),
    [("en-US", "The server cannot be reached. Try again in a moment."), ("zh-CN", "连接不上服务器：请稍后再试。")],
)
def test_unreachable_server_is_reported(
    browser: Browser, address: str, silent: Event, answered: Answered, locale: str, says: str
) -> None:
    with newcomer(browser, address, locale=locale) as page:  # no error recorder: the server is missing
        page.goto(f"{address}#{urlencode({'text': FIRST, 'model': 'de-en'})}")  # a Chinese page begins in Chinese
        page.wait_for_selector(".explorer .plot .main-svg")
        assert_server_error(page, silent, answered, says)


def assert_server_error(page: Page, silent: Event, answered: Answered, says: str) -> None:
    context = page.context
    expose_state(page)
    before = translation(page)
    page.route(ASKING, lambda route: route.abort())  # the connection breaks during the response
    for _ in range(2):  # a retry gets the same response
        page.fill("#sentence", SENTENCE)
        page.evaluate("addEventListener('keydown', () => { window.asked = headlight.busy; }, { once: true })")
        page.press("#sentence", "Enter")
        assert page.evaluate("window.asked")  # at once: later, the request may be abandoned
        context.set_offline(True)
        expect(page.locator("#sentence-error")).to_have_text(says)
        assert state(page, "busy") is False
        assert translation(page) == before
        expect(page.locator("#panel-heads .explorer .head")).to_have_css("opacity", "1")
        assert page.input_value("#sentence") == SENTENCE
    expect(page.locator("[data-testid=toast-body]")).to_be_hidden()
    choose_panel(page, "models")
    expect(page.locator("#panel-models .error")).to_have_text(says)
    wait_for_function(page, "location.hash.includes('Sofa')")
    silent.set()
    page.unroute(ASKING)
    context.set_offline(False)  # the page reconnects and sends the request again
    wait_for_translation(page, SENTENCE)
    assert translation(page) == answered(SENTENCE).text
    expect(page.locator("#sentence-error")).to_have_text("")


@pytest.mark.journey
def test_connection_loss_once_keeps_answer(browser: Browser, address: str, answered: Answered) -> None:
    broken: list[Route] = []

    def break_once(route: Route) -> None:
        values = json.loads(route.request.post_data or "{}")["values"]
        if values["text"] == OTHER and "live" not in values and not broken:
            broken.append(route)
            route.abort()
        else:
            route.continue_()

    with newcomer(browser, address) as page:  # errors are not recorded: the browser reports the broken connection
        page.goto(address)
        page.wait_for_selector(".explorer .plot .main-svg")
        expose_state(page)
        page.route(ASKING, break_once)
        page.fill("#sentence", OTHER)
        page.press("#sentence", "Enter")
        wait_for_translation(page, OTHER)
        assert broken
        assert translation(page) == answered(OTHER).text
        expect(page.locator("#sentence-error")).to_have_text("")


def test_field_cleared_during_translation_stays_empty(page: Page, silent: Event) -> None:
    expose_state(page)
    page.fill("#sentence", SENTENCE)
    page.press("#sentence", "Enter")
    page.fill("#sentence", "")
    silent.set()
    wait_for_translation(page, SENTENCE)
    assert not page.input_value("#sentence")


def test_stopped_translation_dims_previous_result(page: Page, silent: Event) -> None:
    expose_state(page)
    visible_parts = page.locator("#widget-explorer"), page.locator(".translate .out .text")
    for part in visible_parts:
        expect(part).to_have_css("opacity", "1")
    page.fill("#sentence", SENTENCE)
    page.press("#sentence", "Enter")
    button = page.locator(".translate .go")
    expect(button).to_have_text("Stop")
    button.click()
    expect(page.locator(".translate .verdict")).to_contain_text("Below: the previous sentence.")
    for part in visible_parts:
        expect(part).to_have_css("opacity", "0.5")
    assert page.input_value("#sentence") == SENTENCE  # typed text is not lost
    silent.set()
    translate(page, OTHER)
    for part in visible_parts:
        expect(part).to_have_css("opacity", "1")
    expect(page.locator(".translate .verdict")).not_to_contain_text("Stopped")


# ---------------------------------------------------------------- other tabs


def test_use_this_model_opens_heads(page: Page) -> None:
    open_tab(page, "models")
    page.locator("tr.model[data-model=en-de] .use").click()
    expect(page.locator("#panel-heads")).to_be_visible()
    wait_for_translation(page, next(example.text for example in EXAMPLES if example.model == "en-de"))
    assert state(page, "translation")["model"]["name"] == "en-de"


def test_empty_review_is_an_error_during_another_request(page: Page) -> None:
    pending_routes: list[Any] = []
    judging = "**/headlight/call/classify_review"
    page.route(judging, lambda route: pending_routes.append(route))
    choose_panel(page, "sentiment")  # the first example is classified at once
    page.fill("#review", "")
    page.press("#review", "Enter")
    error = page.locator("#review-error")
    expect(error).to_contain_text("There is no text yet")
    until(page, lambda: pending_routes)
    with page.expect_response(judging):
        for route in pending_routes:
            route.continue_()
    wait_for_function(page, "!document.querySelector('.headlight-sentiment').hasAttribute('aria-busy')")
    expect(error).to_contain_text("There is no text yet")
    assert page.locator(".headlight-sentiment .verdict b").count() == 0


def test_too_long_review_error_mentions_review(page: Page) -> None:
    open_tab(page, "sentiment")
    page.fill("#review", "good " * 900)
    page.press("#review", "Enter")
    expect(page.locator("#review-error")).to_contain_text("The review: 4500 characters; the limit is 4000")


# ---------------------------------------------------------------- to take away


def test_exports_contain_comparison_and_lines(page: Page, folder: Path, answered: Answered) -> None:
    page.click('.wall-grid button[data-layer="1"][data-head="2"]', modifiers=["Shift"])
    page.click('.wall-grid button[data-layer="2"][data-head="4"]')
    path = save(page, "CSV", folder)
    assert path.name == "headlight-cross-2-3-and-3-5.csv"
    table = pd.read_csv(path, index_col=[0, 1], encoding="utf-8-sig")
    cross = answered(FIRST).attention.cross
    np.testing.assert_allclose(table.loc["A"].to_numpy(), cross[1, 2], atol=1e-6)
    np.testing.assert_allclose(table.loc["B"].to_numpy(), cross[2, 4], atol=1e-6)
    np.testing.assert_allclose(table.loc["A − B"].to_numpy(), cross[1, 2] - cross[2, 4], atol=2e-6)
    page.click("[data-view=lines]")
    picture = save(page, "SVG", folder)
    assert picture.name == "headlight-cross-2-3-and-3-5-lines.svg"
    assert "scatterlayer" in picture.read_text(encoding="utf-8")


def test_saved_page_restores_state_and_supported_permalink(page: Page, folder: Path, browser: Browser) -> None:
    page.click('.wall-grid button[data-layer="2"][data-head="1"]')
    page.click(".explorer .rows .label >> nth=1")
    page.click("[data-view=lines]")
    path = save(page, "HTML", folder)
    with saved_page(browser, path, ".explorer .lines .label.chosen") as saved:
        assert title(saved) == "Layer 3 · Head 2"
        saved.keyboard.press("ArrowRight")
        wait_for_function(saved, "location.hash === '#view=lines&layer=2&head=2&row=1'")
        saved.reload()
        saved.wait_for_selector(".explorer .lines")
        assert title(saved) == "Layer 3 · Head 3"
        saved.goto(f"{path.as_uri()}#tab=why&layer=1&head=0")
        saved.reload()  # it has only the Heads tab
        wait_for_function(saved, "document.querySelector('.explorer .turn h2').textContent === 'Layer 2 · Head 1'")


def test_initial_head_is_described_as_aligning(page: Page) -> None:
    assert title(page) == initial_head_title(page)
    expect(page.locator(".explorer .says").first).to_contain_text("Mostly the aligned word")

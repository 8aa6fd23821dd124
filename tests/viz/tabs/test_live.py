"""Live requests: greedy answers after all other requests, or a busy message."""

from __future__ import annotations

import json
from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest

from headlight.model.records import Progress, TranslationRequest
from headlight.viz.server.event_stream import blocking_messages
from headlight.viz.server.visitors import VISITOR
from headlight.viz.service.model_json import make_default_request
from headlight.viz.service.request_queue import Visitor
from headlight.viz.service.service import Service
from headlight.viz.tabs import translate as translate_tab
from headlight.viz.tabs.translate import TranslateWidget

TYPED = "Der alte Mann liest seiner"
OTHER = Visitor("198.51.100.7", "s")


def stream(widget: TranslateWidget, **values: Any) -> Iterator[str]:
    return blocking_messages(
        widget.stream_messages(make_default_request(widget.service) | {"live": True} | values, Event())
    )


@pytest.fixture(autouse=True)
def _one_visitor() -> Iterator[None]:
    before = VISITOR.set(Visitor(session="one"))
    yield
    VISITOR.reset(before)


def messages(widget: TranslateWidget, **values: Any) -> list[dict[str, Any]]:
    return [json.loads(message) for message in stream(widget, **values)]


def test_live_answer_is_greedy_without_progress(
    translate_widget: TranslateWidget, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translate_tab, "MESSAGE_INTERVAL_SECONDS", 0)
    options = {"beam_size": 4, "temperature": 0.7, "target": "Something else.", "seed": 3}
    (answer,) = messages(translate_widget, text=TYPED, turn=5, **options)
    assert (answer["what"], answer["turn"]) == ("answer", 5)
    greedy = service.translate(service.check({"text": TYPED, "beam_size": 1, "no_repeat": 4, "seed": 3}))
    assert answer["text"] == greedy.text
    assert answer["request"]["options"]["beam_size"] == 1
    assert answer["request"]["target"] is None


@pytest.mark.parametrize(("full", "beam_size"), [(True, 4), (False, 1), ("yes", 1)])
def test_full_live_answer_uses_options(translate_widget: TranslateWidget, full: Any, beam_size: int) -> None:
    (answer,) = messages(translate_widget, text=TYPED, full=full)  # still without messages of progress
    assert answer["request"]["options"]["beam_size"] == beam_size


@pytest.mark.parametrize("live", [False, None, 1, "yes"])
def test_only_true_enables_live(translate_widget: TranslateWidget, live: Any) -> None:
    answer = messages(translate_widget, text=TYPED, live=live)[-1]
    assert answer["request"]["options"]["beam_size"] > 1


def test_live_yields_to_other_requests_and_reports_it(
    translate_widget: TranslateWidget, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translate_tab, "LIVE_TIMEOUT_SECONDS", 0.05)
    with service.request_queue.enqueue(OTHER):
        assert messages(translate_widget, text=TYPED, turn=6) == [{"turn": 6, "what": "busy"}]
    assert messages(translate_widget, text=TYPED)[0]["what"] == "answer"
    assert service.request_queue.is_idle()


def test_live_answer_yields_within_one_step(
    translate_widget: TranslateWidget, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    tell = service.stream

    def stepping(request: TranslationRequest, stop: Event) -> Iterator[Progress]:
        for progress in tell(request, stop):
            steps.append(progress.text)
            if len(steps) == 1:
                places.append(service.request_queue.enqueue(OTHER))
            yield progress

    places: list[Any] = []
    monkeypatch.setattr(service, "stream", stepping)
    received = messages(translate_widget, text="Eine Frau kauft am Morgen frisches Brot.")
    assert [each["what"] for each in received] == ["busy"]
    assert len(steps) == 1
    places[0].release()


def test_newer_sentence_cancels_older_one_within_one_step(
    translate_widget: TranslateWidget, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    newer: list[dict[str, Any]] = []
    tell = service.stream

    def stepping(request: TranslationRequest, stop: Event) -> Iterator[Progress]:
        for progress in tell(request, stop):
            seen.append(request.text)
            yield progress
            if len(seen) == 1:  # the visitor types on: the next request stops this one and waits for its end
                monkeypatch.setattr(translate_tab, "LIVE_TIMEOUT_SECONDS", 0)
                newer.extend(messages(translate_widget, text="Ein Kind spielt im Garten.", turn=2))

    monkeypatch.setattr(service, "stream", stepping)
    assert messages(translate_widget, text="Ein Kind spielt", turn=1) == []
    assert seen == ["Ein Kind spielt"]
    assert [each["turn"] for each in newer] == [2]


def test_untranslatable_text_returns_message(translate_widget: TranslateWidget) -> None:
    (message,) = messages(translate_widget, text="x" * 501)
    assert (message["what"], message["word"]) == ("error", "too_long")


def test_stopping_server_reports_busy(
    translate_widget: TranslateWidget, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service.request_queue, "closed", True)
    assert [each["what"] for each in messages(translate_widget, text=TYPED)] == ["busy"]


def test_out_of_order_requests_keep_the_later_one(translate_widget: TranslateWidget) -> None:
    later = stream(translate_widget, text="Ein Kind spielt im Garten.", turn=9)
    with translate_widget._replace_job("one", 9) as stop:
        assert messages(translate_widget, text="Ein Kind spielt", turn=8) == []
        assert not stop.is_set()
        received = [json.loads(message) for message in later]
        assert stop.is_set()  # as by every request that is not older
    assert [each["what"] for each in received] == ["answer"]


def test_late_older_request_does_not_replace_newer_one(translate_widget: TranslateWidget, service: Service) -> None:
    with translate_widget._replace_job("one", 9), service.request_queue.enqueue_live(VISITOR.get()) as newer:
        assert messages(translate_widget, text="Ein Kind spielt", turn=8) == []
        assert not newer.cancelled

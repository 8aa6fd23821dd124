"""Messages of a streaming translation, and the stored first answer."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import gradio as gr
import numpy as np
import pytest

from headlight.model.records import KINDS
from headlight.viz.errors import PageError
from headlight.viz.server.calls import call_json
from headlight.viz.server.deferred_answers import DeferredAnswers
from headlight.viz.server.event_stream import blocking_messages
from headlight.viz.server.visitors import VISITOR, with_request_number
from headlight.viz.service import first_answer
from headlight.viz.service.examples import EXAMPLES
from headlight.viz.service.first_answer import (
    FIRST_ANSWER_FILE,
    compute_first_answer_key,
    load_first_answer,
    make_first_answer,
)
from headlight.viz.service.model_json import make_default_request
from headlight.viz.service.request_queue import Visitor
from headlight.viz.service.service import Service
from headlight.viz.tabs import translate as translate_tab
from headlight.viz.tabs.translate import TranslateWidget
from tests.letters import NEAR, decoded

SENTENCE = "Der alte Mann liest seiner Frau am Abend aus der Zeitung vor."


def collect(messages: AsyncIterator[Any]) -> list[Any]:
    """All messages of a stream."""

    async def read() -> list[Any]:
        return [each async for each in messages]

    return asyncio.run(read())


def ask(translate_widget: TranslateWidget, visitor: str = "one", **values: Any) -> list[dict[str, Any]]:
    """All messages of one request, as the browser reads them."""
    values_sent = make_default_request(translate_widget.service) | values
    before = VISITOR.set(Visitor(session=visitor))
    try:
        return [
            json.loads(message) for message in blocking_messages(translate_widget.stream_messages(values_sent, Event()))
        ]
    finally:
        VISITOR.reset(before)


def ask_through_queue(translate_widget: TranslateWidget, **values: Any) -> list[dict[str, Any]]:
    """The same as Gradio's queue gets it."""
    event: Any = SimpleNamespace(request=json.dumps(make_default_request(translate_widget.service) | values))
    visitor: Any = SimpleNamespace(session_hash="one")

    async def collect_messages() -> list[Any]:
        return [message async for message in translate_widget.stream_through_gradio(event, visitor)]

    *messages, end = asyncio.run(collect_messages())
    assert end == gr.skip()
    return [json.loads(message) for message in messages]


def numbers(answer: dict[str, Any], kind: str) -> np.ndarray:
    return decoded(answer["attention"][kind], causal=kind == "decoder")


def test_last_message_is_the_answer(translate_widget: TranslateWidget, service: Service) -> None:
    messages = ask(translate_widget, text=SENTENCE, turn=7)
    assert [each["what"] for each in messages[:-1]] == ["progress"] * (len(messages) - 1)
    assert messages[-1]["what"] == "answer"
    assert {each["turn"] for each in messages} == {7}
    expected = service.translate(service.check(make_default_request(service) | {"text": SENTENCE}))
    assert messages[-1]["text"] == expected.text
    assert messages[-1]["model"]["source"] == "de"


def test_gradio_queue_streams_same_messages(translate_widget: TranslateWidget) -> None:
    straight, queued = (
        way(translate_widget, text=SENTENCE, turn=7)[-1] | {"seconds": 0, "cached": True}
        for way in (ask, ask_through_queue)
    )
    assert straight == queued


def test_large_queue_answer_is_fetched_by_name(
    translate_widget: TranslateWidget, monkeypatch: pytest.MonkeyPatch
) -> None:
    (*_, whole) = ask(translate_widget, text=SENTENCE, turn=1)
    monkeypatch.setattr(translate_tab, "DEFER_FROM_CHARACTERS", 1000)
    (*_, parcel) = ask_through_queue(translate_widget, text=SENTENCE, turn=2)
    assert {name: parcel[name] for name in ("turn", "what")} == {"turn": 2, "what": "parcel"}

    def collect(name: object) -> Any:
        return json.loads(call_json(translate_widget.fetch_deferred, {"name": name}))

    fetched = collect(parcel["name"])
    assert fetched["attention"] == whole["attention"]
    assert fetched["text"] == whole["text"]
    assert collect(parcel["name"]) == fetched  # the first time it may be lost
    for name in ("unknown", 7, None):
        assert collect(name)["word"] == "no_answer"


def test_oldest_unfetched_answers_are_dropped() -> None:
    parcels = DeferredAnswers(limit_bytes=10)
    names = [parcels.store(text * 4) for text in "abc"]
    with pytest.raises(PageError):
        parcels.get(names[0])
    assert [parcels.get(name) for name in names[1:]] == [b"bbbb", b"cccc"]
    assert parcels.get(names[2]) == b"cccc"  # again, after a lost connection
    stored = parcels.store("d" * 9)  # older ones leave their room
    assert parcels.get(stored) == b"d" * 9


@pytest.mark.parametrize(
    ("values", "field", "word"),
    [
        ({"text": " "}, "text", "blank_text"),
        ({"text": "x" * 501}, "text", "too_long"),
        ({"text": 7}, "text", "not_text"),
        ({"text": SENTENCE, "beam_size": 99}, "beam_size", "not_whole"),
        ({"text": SENTENCE, "temperature": float("nan")}, "temperature", "not_number"),
        ({"text": SENTENCE, "model": "none"}, "model", "unknown_model"),
        ({"text": SENTENCE, "colour": "red"}, "colour", "unknown_name"),
    ],
)
def test_error_messages_name_field(
    translate_widget: TranslateWidget, values: dict[str, Any], field: str, word: str
) -> None:
    (message,) = ask(translate_widget, **values)
    assert (message["what"], message["field"], message["word"]) == ("error", field, word)


def test_internal_errors_are_reported_without_details(
    translate_widget: TranslateWidget, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(values: Any, *, model_defaults: bool) -> None:
        raise RuntimeError("/secret/path")

    monkeypatch.setattr(translate_widget.service, "check", fail)
    (message,) = ask(translate_widget, text=SENTENCE)
    assert (message["what"], message["word"]) == ("error", "our_fault")
    assert "secret" not in json.dumps(message)
    assert "secret" in caplog.text


def test_new_request_cancels_only_same_visitors_request(translate_widget: TranslateWidget) -> None:
    with (
        translate_widget._replace_job("one") as first,
        translate_widget._replace_job("two") as other,
        translate_widget._replace_job("one") as second,
    ):
        assert first.is_set()
        assert not other.is_set()
        assert not second.is_set()
        translate_widget.stop(SimpleNamespace(session_hash="two"))  # type: ignore[arg-type]
        assert other.is_set()
        translate_widget.stop(SimpleNamespace(session_hash="one"))  # type: ignore[arg-type]
        assert second.is_set()
        assert "one" not in translate_widget._running


def test_idle_visitors_are_forgotten(translate_widget: TranslateWidget) -> None:
    for number in range(20):
        assert ask(translate_widget, f"visitor {number}", text=" ")[-1]["word"] == "blank_text"
        translate_widget.stop(SimpleNamespace(session_hash=f"other {number}"))  # type: ignore[arg-type]
    assert translate_widget._running == {}


@pytest.mark.parametrize(
    "request_", [None, 7, "", "null", "[1]", "[" * 100_000, '{"turn":' + "9" * 5000 + "}"], ids=str
)
def test_malformed_request_is_rejected(translate_widget: TranslateWidget, request_: Any) -> None:
    event: Any = SimpleNamespace(request=request_)
    visitor: Any = SimpleNamespace(session_hash="one")
    message, _ = collect(translate_widget.stream_through_gradio(event, visitor))
    assert json.loads(message)["word"] in ("not_json", "not_names")


@pytest.mark.parametrize("turn", [10**4000, -(10**4000), "7", [1], None, True, 2.5])
def test_invalid_turn_is_not_echoed(translate_widget: TranslateWidget, turn: Any) -> None:
    assert with_request_number('{"what":"progress"}', turn) == '{"what":"progress"}'


def test_cancelled_request_has_no_answer(translate_widget: TranslateWidget) -> None:
    stop = Event()
    stop.set()
    values = make_default_request(translate_widget.service) | {
        "text": "Dieser Satz wurde noch nie gefragt, und er ist lang."
    }
    assert list(translate_widget._messages(values, stop, lambda translation: None)) == []


def test_ended_request_does_not_overwrite_later_messages(
    translate_widget: TranslateWidget, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = ['{"what":"progress","text":"A"}', '{"what":"progress","text":"A dog"}', '{"what":"answer"}']
    visitor: Any = SimpleNamespace(session_hash="one")
    monkeypatch.setattr(translate_widget, "_messages", lambda values, stop, done: (each for each in messages))

    async def converse() -> tuple[list[Any], list[Any], list[Any]]:
        first = translate_widget.stream_through_gradio(SimpleNamespace(request='{"turn":3}'), visitor)  # type: ignore[arg-type]
        first_messages = [await anext(first), await anext(first)]
        later = translate_widget.stream_through_gradio(SimpleNamespace(request='{"turn":4}'), visitor)  # type: ignore[arg-type]
        started = await anext(later)
        last_messages = [each async for each in first]
        return first_messages, last_messages, [started, *[each async for each in later]]

    first_messages, last_messages, later = asyncio.run(converse())
    assert first_messages == [f'{{"turn":3,{each[1:]}' for each in messages[:2]]
    assert last_messages == [gr.skip()]  # not its answer, and no word of it once more
    assert later[-2:] == [f'{{"turn":4,{messages[-1][1:]}', gr.skip()]


def test_page_contains_models_examples_and_limits(translate_widget: TranslateWidget, service: Service) -> None:
    config = translate_widget.config()
    names = [each["name"] for each in config["models"]]
    assert names[0] == service.default
    assert names[-1] == "toy"
    assert "sentiment" not in names
    assert {each["model"] for each in config["examples"]} <= set(names)
    assert config["limits"] == {"characters": 500}
    assert {row["name"]: row["high"] for row in config["options"]}["beam_size"] == 10


def test_every_example_is_readable_by_its_model(service: Service) -> None:
    known = {card.name for card in service.models()}
    for example in EXAMPLES:
        if example.model in known:
            assert service.check({"text": example.text, "model": example.model})


def test_stored_first_answer_is_current(service: Service) -> None:
    stored = json.loads(FIRST_ANSWER_FILE.read_text(encoding="utf-8"))
    assert stored["key"] == compute_first_answer_key(service), "Weights, request or answers have changed: `make first`."
    assert load_first_answer(service) == stored["answer"]
    old, new = json.loads(stored["answer"]), json.loads(make_first_answer(service))
    for kind in KINDS:
        # Other processors round differently.
        assert np.abs(numbers(old, kind) - numbers(new, kind)).max() <= 6e-4 + 2 * NEAR
    measured = {
        "attention",
        "seconds",
        "device",
        "roles",
        "target",
        "tree",
        "hypotheses",
        "score",
        "log_probability",
    }
    assert {name: old[name] for name in old.keys() - measured} == {name: new[name] for name in new.keys() - measured}
    for name in measured:
        assert value_types(old[name]) == value_types(new[name]), name


@pytest.mark.parametrize(("change", "remains"), [({"seconds": -1.0}, True), ({"text": "Another."}, False)])
def test_first_answer_with_other_duration_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], remains: bool
) -> None:
    original, file = FIRST_ANSWER_FILE.read_bytes(), tmp_path / "first.json"
    changed = json.dumps(json.loads(json.loads(original)["answer"]) | change)
    monkeypatch.setattr(first_answer, "FIRST_ANSWER_FILE", file)
    monkeypatch.setattr(first_answer, "make_first_answer", lambda service: changed)
    first_answer.main([])
    assert json.loads(file.read_bytes())["answer"] == changed  # there was none
    file.write_bytes(original)
    first_answer.main([])
    assert (file.read_bytes() == original) is remains


def value_types(value: Any) -> Any:
    """Replace values by their types: numbers may differ in the last digit."""
    if isinstance(value, dict):
        return {name: value_types(each) for name, each in value.items()}
    return [value_types(each) for each in value] if isinstance(value, list) else type(value)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: add(m, "headlight.viz.service.payload.answer_dict", {"novelty": None}),
        lambda m: add(m, "headlight.viz.service.payload.encode_tensor", {"novelty": 1}),
        lambda m: add(m, "headlight.viz.service.model_json.encode_card", {"novelty": ""}),
        lambda m: add(m, "headlight.viz.service.first_answer.make_default_request", {"novelty": 0}),
        lambda m: add(m, "headlight.viz.service.first_answer.make_default_request", {"beam_size": 3}),
        lambda m: m.setattr("headlight.viz.service.payload.encode_weights", lambda weights, **_: "!" * weights.size),
        lambda m: m.setattr("headlight.viz.service.payload.make_role_values", lambda *arguments: {}),
        lambda m: m.setattr("headlight.viz.service.first_answer.EXAMPLES", EXAMPLES[1:]),
        lambda m: m.setattr(Service, "models", lambda service: ()),
    ],
    ids=["field", "weights", "model", "option", "other_option", "numbers", "roles", "sentence", "revision"],
)
def test_outdated_first_answer_is_not_used(
    service: Service, monkeypatch: pytest.MonkeyPatch, change: Callable[[pytest.MonkeyPatch], None]
) -> None:
    stored = json.loads(FIRST_ANSWER_FILE.read_text(encoding="utf-8"))
    assert compute_first_answer_key(service) == stored["key"]
    change(monkeypatch)
    assert compute_first_answer_key(service) != stored["key"]
    monkeypatch.setattr("headlight.viz.service.first_answer.make_first_answer", lambda service: "made now")
    assert load_first_answer(service) == "made now"


def add(monkeypatch: pytest.MonkeyPatch, place: str, more: dict[str, Any]) -> None:
    """Let a function give more than it does."""
    module, _, name = place.rpartition(".")
    plain = getattr(sys.modules[module], name)
    monkeypatch.setattr(place, lambda *arguments, **options: plain(*arguments, **options) | more)

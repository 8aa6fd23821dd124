"""What the browser hears while the model writes, and the answer that is there before anybody asks."""

from __future__ import annotations

import base64
import json
from threading import Event
from types import SimpleNamespace
from typing import Any

import gradio as gr
import numpy as np
import pytest

from model.records import KINDS
from viz.desk import Desk
from viz.examples import EXAMPLES
from viz.first import FIRST, first_answer, make_first
from viz.model_values import usual_request
from viz.service import Service
from viz.settings import Settings

SENTENCE = "Der alte Mann liest seiner Frau am Abend aus der Zeitung vor."


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings())


@pytest.fixture
def desk(service: Service) -> Desk:
    return Desk(service)


def ask(desk: Desk, visitor: str = "one", **values: Any) -> list[dict[str, Any]]:
    """All news of one request, as the browser reads them."""
    event = SimpleNamespace(request=json.dumps(usual_request(desk.service) | values))
    return [json.loads(news) for news in desk.translate(event, SimpleNamespace(session_hash=visitor))]  # type: ignore[arg-type]


def numbers(answer: dict[str, Any], kind: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(answer["attention"][kind]["weights"]), dtype="<u2").astype(np.int64)


def test_the_last_news_is_the_answer(desk: Desk, service: Service) -> None:
    news = ask(desk, text=SENTENCE, turn=7)
    assert [each["what"] for each in news[:-1]] == ["progress"] * (len(news) - 1)
    assert news[-1]["what"] == "answer"
    assert {each["turn"] for each in news} == {7}
    expected = service.translate(service.check(usual_request(service) | {"text": SENTENCE}))
    assert news[-1]["text"] == expected.text
    assert news[-1]["model"]["source"] == "de"


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
def test_faults_are_news_with_their_field(desk: Desk, values: dict[str, Any], field: str, word: str) -> None:
    (news,) = ask(desk, **values)
    assert (news["what"], news["field"], news["word"]) == ("error", field, word)


def test_our_own_faults_say_so_and_show_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(values: Any, *, usual: bool) -> None:
        raise RuntimeError("/secret/path")

    monkeypatch.setattr(desk.service, "check", fail)
    (news,) = ask(desk, text=SENTENCE)
    assert (news["what"], news["word"]) == ("error", "our_fault")
    assert "secret" not in json.dumps(news)
    assert "secret" in caplog.text


def test_a_new_request_stops_the_visitors_last_one_and_nobody_elses(desk: Desk) -> None:
    first, other = desk._begin("one"), desk._begin("two")
    second = desk._begin("one")
    assert first.is_set()
    assert not other.is_set()
    assert not second.is_set()
    desk.stop(SimpleNamespace(session_hash="two"))  # type: ignore[arg-type]
    assert other.is_set()
    desk.left(SimpleNamespace(session_hash="one"))  # type: ignore[arg-type]
    assert second.is_set()
    assert "one" not in desk._running


def test_a_stopped_request_has_no_answer(desk: Desk) -> None:
    stop = Event()
    stop.set()
    values = usual_request(desk.service) | {"text": "Dieser Satz wurde noch nie gefragt, und er ist lang."}
    assert list(desk._news(values, stop)) == []


def test_what_ends_says_nothing_over_the_news_of_a_later_request(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    news = ['{"what":"progress","text":"A"}', '{"what":"progress","text":"A dog"}', '{"what":"answer"}']
    visitor: Any = SimpleNamespace(session_hash="one")
    monkeypatch.setattr(desk, "_news", lambda values, stop: (each for each in news))
    told = desk.tell(SimpleNamespace(request='{"turn":3}'), visitor)  # type: ignore[arg-type]
    assert [next(told), next(told)] == [f'{{"turn":3,{each[1:]}' for each in news[:2]]
    later = desk.tell(SimpleNamespace(request='{"turn":4}'), visitor)  # type: ignore[arg-type]
    next(later)
    assert list(told) == [gr.skip()]  # not its answer, and no word of it once more
    assert list(later)[1:] == [f'{{"turn":4,{news[-1][1:]}', gr.skip()]


def test_the_browser_knows_models_examples_and_limits_beforehand(desk: Desk, service: Service) -> None:
    config = desk.config()
    names = [each["name"] for each in config["models"]]
    assert names[0] == service.default
    assert names[-1] == "toy"
    assert "sentiment" not in names
    assert {each["model"] for each in config["examples"]} <= set(names)
    assert config["limits"] == {"characters": 500, "beam": 10}


def test_every_example_is_one_that_its_model_can_read(service: Service) -> None:
    known = {card.name for card in service.models()}
    for example in EXAMPLES:
        if example.model in known:
            assert service.check({"text": example.text, "model": example.model})


def test_the_kept_first_answer_is_what_the_model_says_today(service: Service) -> None:
    kept = json.loads(FIRST.read_text(encoding="utf-8"))
    assert kept["revision"] == next(card.revision for card in service.models() if card.default)
    assert first_answer(service) == kept["answer"]
    old, new = json.loads(kept["answer"]), json.loads(make_first(service))
    for field in ("model", "request", "source_text", "text", "source"):
        assert old[field] == new[field], field
    for kind in KINDS:
        # Another processor rounds otherwise: a few steps of 1/65,535.
        assert np.abs(numbers(old, kind) - numbers(new, kind)).max() <= 40


def test_a_first_answer_of_other_weights_is_not_used(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viz.first._revision", lambda service: "other")
    monkeypatch.setattr("viz.first.make_first", lambda service: "made now")
    assert first_answer(service) == "made now"

"""Progress messages of model downloads."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from headlight.viz.errors import PageError
from headlight.viz.server.calls import call_json
from headlight.viz.server.event_stream import blocking_messages
from headlight.viz.server.visitors import VISITOR
from headlight.viz.service import reach
from headlight.viz.service.request_queue import Visitor
from headlight.viz.service.service import Service
from headlight.viz.settings import MODELS, Settings
from headlight.viz.tabs.download import Downloads
from headlight.viz.tabs.positions import encoding_json
from tests.hub_server import Hub, Repository, local_hub

TOY = "me/opus-mt-de-en"
WEIGHTS = "model.safetensors"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with local_hub(monkeypatch, tmp_path / "home") as running:
        running.repositories[TOY] = Repository()
        running.repositories[TOY].push({path.name: path.read_bytes() for path in (MODELS / "toy").iterdir()})
        yield running


@pytest.fixture
def fetching(hub: Hub, tmp_path: Path) -> Downloads:
    shutil.copytree(MODELS / "toy", tmp_path / "models" / "toy")
    return Downloads(Service(Settings(models_folder=tmp_path / "models", models=(TOY,))))


def download_messages(
    fetching: Downloads, visitor: str = "one", stop: Event | None = None, **values: Any
) -> Iterator[dict[str, Any]]:
    before = VISITOR.set(VISITOR.get()._replace(session=visitor))
    try:
        for each in blocking_messages(fetching.fetch_model(values, stop or Event())):
            yield json.loads(each)
    finally:
        VISITOR.reset(before)


def offer(fetching: Downloads, name: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(call_json(fetching.download_info, {"name": name}))
    return answer


def look(fetching: Downloads, **values: Any) -> str:
    away: str = json.loads(call_json(fetching.check_hub, values))["away"]
    return away


def test_hub_status_is_reported_and_recovers(fetching: Downloads, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr(reach.time, "monotonic", lambda: clock[0])
    assert look(fetching) == ""
    assert look(fetching) == ""
    assert hub.connection_checks == 1  # for all visitors of a minute
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert offer(fetching, TOY)["word"] == "hub_offline"
    assert look(fetching) == "127.0.0.1"  # the offer has found out
    monkeypatch.setenv("HF_ENDPOINT", hub.address)
    assert look(fetching) == "127.0.0.1"
    clock[0] += 1.1
    assert look(fetching, again=True) == ""  # a visitor presses "Try again"
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    clock[0] += 61
    assert look(fetching) == "127.0.0.1"
    monkeypatch.delenv("HF_HUB_OFFLINE")
    clock[0] += 11
    assert look(fetching) == ""  # automatically, on a later visit


def test_hub_is_not_contacted_if_disallowed(hub: Hub, tmp_path: Path) -> None:
    shutil.copytree(MODELS / "toy", tmp_path / "models" / "toy")
    assert look(Downloads(Service(Settings(models_folder=tmp_path / "models", models=())))) == ""
    assert hub.connection_checks == 0


def test_offer_describes_download_without_starting_it(fetching: Downloads, hub: Hub) -> None:
    size = sum(path.stat().st_size for path in (MODELS / "toy").iterdir())
    response = offer(fetching, TOY)
    commit = hub.repositories[TOY].references["main"]
    expected = {"bytes": size, "missing": size, "licence": "cc-by-4.0", "revision": commit, "here": False}
    assert response == expected | {"name": TOY, "source": "de", "target": "en"}
    assert not [each for each in hub.requests if "/resolve/" in each.path]
    list(download_messages(fetching, name=TOY))
    response = offer(fetching, TOY)
    assert (response["here"], [each["name"] for each in response["models"]]) == (True, ["toy", TOY])


@pytest.mark.parametrize(
    ("name", "word"), [("someone/else", "model_not_allowed"), ("../toy", "model_not_allowed"), (7, "hub_bad_id")]
)
def test_disallowed_model_is_rejected(fetching: Downloads, hub: Hub, name: Any, word: str) -> None:
    response = offer(fetching, name)
    assert (response["what"], response["field"], response["word"]) == ("error", "model", word)
    (message,) = download_messages(fetching, name=name)
    assert message["word"] == word
    assert hub.requests == []


def test_open_page_can_list_downloads_of_others(fetching: Downloads) -> None:
    def listed_downloads() -> list[tuple[str, bool]]:
        return [(each["name"], each["downloaded"]) for each in fetching.list_models({})]

    assert listed_downloads() == [("toy", True), (TOY, False)]
    list(download_messages(fetching, name=TOY))
    assert listed_downloads() == [("toy", True), (TOY, True)]


def test_tab_request_for_missing_model_is_rejected(fetching: Downloads, hub: Hub) -> None:
    values = {"model": TOY, "theme": "light", "language": "en", "length": 7}
    with pytest.raises(PageError) as error_info:
        encoding_json(fetching.service, values)
    assert error_info.value.word == "model_not_here"
    list(download_messages(fetching, name=TOY))
    assert encoding_json(fetching.service, values)["length"] == 7


def test_download_streams_progress_then_models(fetching: Downloads) -> None:
    messages = list(download_messages(fetching, name=TOY))
    *progress, last = messages
    assert {each["what"] for each in progress} == {"fetching"}
    done = [each["done"] for each in progress]
    assert done == sorted(done)
    assert done[-1] == progress[-1]["total"] > 0
    assert (last["what"], last["name"]) == ("fetched", TOY)
    assert [(each["name"], each["downloaded"]) for each in last["models"]] == [("toy", True), (TOY, True)]


def test_cancelled_download_keeps_partial_files(fetching: Downloads, hub: Hub) -> None:
    messages: list[dict[str, Any]] = []
    stop = Event()
    hub.resumed.clear()
    thread = Thread(target=lambda: messages.extend(download_messages(fetching, stop=stop, name=TOY)))
    thread.start()
    assert hub.paused.wait(60)
    stop.set()
    hub.resumed.set()
    thread.join(60)
    assert (messages[-1]["what"], messages[-1]["word"]) == ("error", "hub_stopped")
    assert fetching._running == {}
    assert 0 < offer(fetching, TOY)["missing"] < offer(fetching, TOY)["bytes"]
    assert list(download_messages(fetching, name=TOY))[-1]["what"] == "fetched"


def test_disconnect_cancels_download(fetching: Downloads, hub: Hub) -> None:
    hub.cut_after = [11]  # of the weights; messages arrive before the download ends
    listening = download_messages(fetching, name=TOY)
    next(listening)
    stop = fetching._running["one"][0]
    listening.close()  # type: ignore[attr-defined]
    del listening
    assert stop.is_set()


def test_two_visitors_share_one_download(fetching: Downloads, hub: Hub) -> None:
    received: dict[str, list[dict[str, Any]]] = {"one": [], "two": []}
    hub.resumed.clear()
    threads = [
        Thread(target=lambda visitor=visitor: received[visitor].extend(download_messages(fetching, visitor, name=TOY)))
        for visitor in received
    ]
    threads[0].start()
    assert hub.paused.wait(60)
    threads[1].start()
    while fetching.service.catalogue.waiter_count(TOY) < 1:
        assert threads[1].is_alive()
    hub.resumed.set()
    for thread in threads:
        thread.join(60)
    assert {messages[-1]["what"] for messages in received.values()} == {"fetched"}
    assert hub.body_ranges(WEIGHTS) == [None]


def test_internal_errors_are_reported_without_details(
    fetching: Downloads, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("/secret/path")

    monkeypatch.setattr(fetching.service, "fetch", fail)
    (message,) = download_messages(fetching, name=TOY)
    assert (message["what"], message["word"]) == ("error", "our_fault")
    assert "secret" not in json.dumps(message)
    assert "secret" in caplog.text


def test_one_download_per_address(fetching: Downloads) -> None:
    one, two = Visitor("203.0.113.5", "one"), Visitor("203.0.113.5", "two")
    other = Visitor("198.51.100.7", "one")
    with fetching._claim_download(one, TOY):
        for visitor, name in ((two, TOY), (other, "me/another"), (one, "me/another")):
            with fetching._claim_download(visitor, name):
                pass  # the same model, somewhere else, and instead of one's own
        with pytest.raises(PageError) as error_info, fetching._claim_download(two, "me/another"):
            pass
        assert error_info.value.word == "one_download"
        token = VISITOR.set(two)
        (message,) = download_messages(fetching, "two", name="me/another")
        VISITOR.reset(token)
        assert message["word"] == "one_download"
    with fetching._claim_download(two, "me/another"):
        pass
    assert fetching._downloads == []

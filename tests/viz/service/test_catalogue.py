"""Hub models on the page: allowlist, information before the download, and downloads."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from headlight.model.families.hub import DownloadProgress, fetch
from headlight.model.families.hub.cache import cache_folder, repository_folder
from headlight.model.translate.translator import Translator
from headlight.viz.errors import PageError
from headlight.viz.service.model_cards import read_card
from headlight.viz.service.service import Service
from headlight.viz.settings import ANY_MODEL, MODELS, Settings, SettingsError, load_hub_list
from headlight.viz.tabs.models import cards_json
from tests.hub_server import Hub, Repository, local_hub, pieces, safetensors
from tests.viz.local_translator import local_translator
from tests.waiting import until

BEER = "ich mochte ein bier"
TOY = "me/opus-mt-de-en"
LISTED = "Helsinki-NLP/opus-mt-fr-en"
OTHER = "somebody/else"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """Create a Hub with the smallest bundled model under two ids."""
    files = {path.name: path.read_bytes() for path in (MODELS / "toy").iterdir()}
    with local_hub(monkeypatch, tmp_path / "home") as running:
        for name in (TOY, OTHER):
            running.repositories[name] = Repository()
            running.repositories[name].push(files)
        yield running


@pytest.fixture
def settings(hub: Hub, tmp_path: Path) -> Settings:
    """Settings with one local model and two allowed Hub models."""
    shutil.copytree(MODELS / "toy", tmp_path / "models" / "toy")
    return Settings(models_folder=tmp_path / "models", models=(LISTED, TOY))


INVALID_FILES = {"config.json": b"<", "pytorch_model.bin": b"", "spiece.model": b""}


def allow_any_model(settings: Settings) -> Settings:
    return Settings(models_folder=settings.models_folder, models=(*settings.models, ANY_MODEL))


def page_error(ask: Callable[[], Any]) -> PageError:
    with pytest.raises(PageError) as error_info:
        ask()
    assert error_info.value.field == "model"
    for secret in ("/tmp", "http", "Error", "home"):  # noqa: S108 - what must not be said
        assert secret not in json.dumps(error_info.value.as_json())
    return error_info.value


# ---------------------------------------------------------------- list of models


def test_local_models_are_listed_before_requestable_ones(settings: Settings, hub: Hub) -> None:
    cards = Service(settings).models()
    assert [(card.name, card.location, card.downloaded) for card in cards] == [
        ("toy", "here", True),
        (LISTED, "hub", False),
        (TOY, "hub", False),
    ]
    assert [card.default for card in cards] == [True, False, False]
    known = next(each for each in load_hub_list() if each["id"] == LISTED)
    assert (cards[1].languages, cards[1].bytes) == (("fr", "en"), known["bytes"])
    assert (cards[2].languages, cards[2].bytes) == (("de", "en"), 0)
    assert hub.requests == []


def test_hub_models_are_not_listed_if_disallowed(settings: Settings) -> None:
    service = Service(Settings(models_folder=settings.models_folder))
    assert [card.name for card in service.models()] == ["toy"]
    assert page_error(lambda: service.fetch(TOY)).word == "unknown_model"


def test_parameters_of_int4_are_two_a_byte_and_those_of_a_mask_are_not(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"model_type": "m2m_100"}), encoding="utf-8")
    tensors = {
        "whole": torch.zeros(2, 16, dtype=torch.uint8),
        "whole.scale": torch.zeros(2, 1, dtype=torch.float16),
        "parts.rows.0": torch.zeros(1, 16, dtype=torch.uint8),
        "parts.rows.1": torch.zeros(1, 16, dtype=torch.uint8),
        "parts.scale.rows.0": torch.zeros(1, 1, dtype=torch.float16),
        "parts.scale.rows.1": torch.zeros(1, 1, dtype=torch.float16),
        "mask": torch.zeros(3, 3, dtype=torch.uint8),
        "norm.scale": torch.zeros(5),
    }
    save_file(tensors, folder / "model.safetensors")
    assert read_card(folder, "many").parameters == 64 + 64 + 9 + 5


def test_imported_folder_is_listed_by_name(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = {"opus-mt-en-jap": "marian", "many": "m2m_100", "strange": "gpt2"}
    for name, family in config.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps({"model_type": family}), encoding="utf-8")
        (tmp_path / name / "model.safetensors").write_bytes(safetensors(97))
    (tmp_path / "many" / "README.md").write_text(
        "---\nlanguage:\n- ace\n- acm\n- de\n---\n# x\n\nMany.", encoding="utf-8"
    )
    (tmp_path / "list").mkdir()
    (tmp_path / "list" / "config.json").write_text("[]", encoding="utf-8")
    cards = {card.name: card for card in Service(Settings(models_folder=tmp_path)).models()}
    assert set(cards) == {"opus-mt-en-jap", "many"}
    assert cards["opus-mt-en-jap"].languages == ("en", "ja")
    assert cards["many"].languages == ()  # no source or target language: the list is alphabetical
    assert (cards["many"].summary, cards["many"].parameters, cards["many"].kind) == ("Many.", 97, "transformer")
    assert cards["opus-mt-en-jap"].bytes == sum(path.stat().st_size for path in (tmp_path / "opus-mt-en-jap").iterdir())
    assert "strange is left out" in caplog.text
    assert "list is left out" in caplog.text


@pytest.mark.parametrize(
    "model_id", ["me/x\nroot: forged", "me/\x1b[31mred", "me/\u202eevil", "mé/ö", "me/" + "x" * 5000]
)
def test_visitor_supplied_ids_are_escaped_in_log(
    settings: Settings, hub: Hub, caplog: pytest.LogCaptureFixture, model_id: str
) -> None:
    service = Service(replace(settings, models=(ANY_MODEL,)))
    page_error(lambda: service.fetch(model_id))
    assert caplog.records
    for record in caplog.records:
        message = record.getMessage()
        assert message.isascii(), message
        assert message.isprintable(), message
        assert len(message) < 700


def test_third_party_folder_contents_are_escaped_in_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "config.json").write_text(json.dumps({"model_type": "bert\nroot: forged\x1b[31m"}))
    Service(Settings(models_folder=tmp_path))
    assert "odd is left out" in caplog.text
    assert all(record.getMessage().isprintable() for record in caplog.records)


# ---------------------------------------------------------------- before the download


def test_missing_model_is_reported_with_size_and_not_downloaded(settings: Settings, hub: Hub) -> None:
    error = page_error(lambda: Service(settings).check({"text": BEER, "model": LISTED}))
    assert error.word == "model_not_here"
    assert dict(error.values) == {"given": LISTED, "megabytes": 304}
    assert hub.requests == []


def test_size_of_unlisted_model_is_requested_from_hub(settings: Settings, hub: Hub) -> None:
    service = Service(settings)
    assert page_error(lambda: service.check({"text": BEER, "model": TOY})).values["megabytes"] == 1
    assert [each.path for each in hub.requests] == [f"/api/models/{TOY}/revision/main"]
    offer = service.download_info(TOY)
    assert (offer.bytes, offer.licence) == (
        sum(path.stat().st_size for path in (MODELS / "toy").iterdir()),
        "cc-by-4.0",
    )


@pytest.mark.parametrize("ask", ["check", "fetch", "download_info"])
def test_unlisted_id_is_rejected_with_allowed_ids(settings: Settings, hub: Hub, ask: str) -> None:
    service = Service(settings)
    calls = {
        "check": lambda: service.check({"text": BEER, "model": OTHER}),
        "fetch": lambda: service.fetch(OTHER),
        "download_info": lambda: service.download_info(OTHER),
    }
    error = page_error(calls[ask])
    assert error.word == "model_not_allowed"
    assert error.values["choices"] == f"toy, {LISTED}, {TOY}"
    assert hub.requests == []


def test_downloaded_model_joins_list_if_any_is_allowed(settings: Settings, hub: Hub) -> None:
    service = Service(allow_any_model(settings))
    assert page_error(lambda: service.check({"text": BEER, "model": OTHER})).word == "model_not_here"
    assert OTHER not in {card.name for card in service.models()}
    service.fetch(OTHER)
    assert OTHER in {card.name for card in service.models()}
    assert service.translate(service.check({"text": BEER, "model": OTHER})).text == "i want a beer ."
    assert OTHER in {card.name for card in Service(allow_any_model(settings)).models()}  # also after a restart
    assert OTHER not in {card.name for card in Service(settings).models()}


def test_other_files_in_hub_cache_are_ignored(settings: Settings, hub: Hub) -> None:
    hub.repositories["me/speech"] = Repository()
    hub.repositories["me/speech"].push(
        {"config.json": b'{"model_type": "whisper"}', "model.safetensors": safetensors(97), "tokenizer.json": b"{}"}
    )
    fetch("me/speech")
    assert "me/speech" not in {card.name for card in Service(allow_any_model(settings)).models()}


def test_one_commit_may_have_several_names(settings: Settings, hub: Hub) -> None:
    service = Service(allow_any_model(settings))
    commit = hub.repositories[OTHER].references["main"]
    for name in (f"{OTHER}@{commit}", OTHER, f"{OTHER}@main"):
        service.fetch(name)
        assert service.translate(service.check({"text": BEER, "model": name})).request.model == name


def test_partial_download_of_other_program_is_completed(settings: Settings, hub: Hub) -> None:
    folder = fetch(TOY)
    (folder / "target_tokenizer.json").unlink()
    service = Service(settings)
    assert {card.name: card.downloaded for card in service.models()} == {"toy": True, LISTED: False, TOY: False}
    service.fetch(TOY)
    assert service.translate(service.check({"text": BEER, "model": TOY})).text == "i want a beer ."


def test_malformed_folders_are_skipped(
    settings: Settings, hub: Hub, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hub.repositories["me/odd"] = Repository()
    hub.repositories["me/odd"].push(
        {"config.json": b'{"model_type": ["x"]}', "model.safetensors": safetensors(97), "spiece.model": pieces()}
    )
    fetch("me/odd")
    for name, text in {"deep": "[" * 100_000, "list": '{"model_type": ["x"]}', "number": "5"}.items():
        (tmp_path / "models" / name).mkdir()
        (tmp_path / "models" / name / "config.json").write_text(text)
    service = Service(allow_any_model(settings))
    assert [card.name for card in service.models()] == ["toy", LISTED, TOY]
    assert caplog.text.count("is left out") == 3


def test_card_in_other_encoding_is_read_and_symlinked_card_is_ignored(settings: Settings, tmp_path: Path) -> None:
    card = tmp_path / "models" / "toy" / "README.md"
    card.write_bytes("# toy\n\nMündlich.\n".encode("latin-1"))
    assert "ndlich." in Service(settings).models()[0].summary
    card.write_text("# toy\n\n" + "**a " * 1_000_000)
    listing = str(cards_json(Service(settings)))
    assert len(listing) < 1_000_000
    assert len(Service(settings).models()[0].summary) < 1000
    card.unlink()
    (tmp_path / "secret").write_text("# x\n\nA secret.\n")
    card.symlink_to(tmp_path / "secret")
    assert Service(settings).models()[0].summary == ""
    assert "secret" not in str(cards_json(Service(settings)))


def test_unknown_name_error_lists_available_models(settings: Settings, hub: Hub) -> None:
    service = Service(settings)
    assert page_error(lambda: service.check({"text": BEER, "model": "toi"})).values["choices"] == "toy"
    service.fetch(TOY)
    assert page_error(lambda: service.check({"text": BEER, "model": "toi"})).values["choices"] == f"toy, {TOY}"


@pytest.mark.parametrize("name", ["../toy", "me/../toy", "a/b/c", "/etc/passwd", "me/x\\y", "https://x/y"])
def test_model_name_is_never_used_as_path(settings: Settings, hub: Hub, name: str) -> None:
    with pytest.raises(PageError) as error_info:
        Service(allow_any_model(settings)).check({"text": BEER, "model": name})
    assert error_info.value.word == "hub_bad_id"
    with pytest.raises(PageError) as error_info:
        Service(settings).check({"text": BEER, "model": name})
    assert error_info.value.word == "model_not_allowed"
    assert hub.requests == []


# ---------------------------------------------------------------- downloads


def test_downloaded_model_translates_by_id(settings: Settings, hub: Hub) -> None:
    service, reports = Service(settings), []
    card = service.fetch(TOY, reports.append)
    assert (card.name, card.location, card.downloaded, card.kind) == (TOY, "hub", True, "transformer")
    assert card.bytes == sum(path.stat().st_size for path in (MODELS / "toy").iterdir())
    assert reports[-1].done == reports[-1].total == card.bytes
    assert isinstance(reports[0], DownloadProgress)
    request = service.check({"text": BEER, "model": TOY})
    assert request.model == TOY
    answer = service.translate(request)
    assert (answer.text, answer.request.model) == ("i want a beer .", TOY)
    here = service.translate(service.check({"text": BEER, "model": "toy"}))
    assert here is not answer
    hub.requests.clear()
    assert service.fetch(TOY) == card
    again = Service(settings)  # after a restart
    assert again.translate(again.check({"text": BEER, "model": TOY})).text == "i want a beer ."
    assert hub.requests == []


def test_downloaded_model_can_be_default(settings: Settings) -> None:
    hub_default = Settings(models_folder=settings.models_folder, models=(TOY,), model=TOY)
    with pytest.raises(SettingsError, match=r"the translators in .* are: toy"):
        Service(hub_default)
    Service(settings).fetch(TOY)
    assert Service(hub_default).default == TOY


def test_new_revision_is_a_different_model(settings: Settings, hub: Hub) -> None:
    service = Service(settings)
    first = service.fetch(TOY).revision
    service.translate(service.check({"text": BEER, "model": TOY}))
    files = {path.name: path.read_bytes() for path in (MODELS / "toy").iterdir()}
    hub.repositories[TOY].push(files | {"heads.json": b"[]"})
    from headlight.model.families.hub import fetch

    fetch(TOY)
    second = next(card for card in service.models() if card.name == TOY)
    assert second.revision != first
    assert service.translate(service.check({"text": BEER, "model": TOY})).text == "i want a beer ."
    assert len([key for key in service.loaded.cache.keys() if key[0] == TOY]) == 2  # type: ignore[index]  # noqa: SIM118


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (lambda hub: hub.repositories.clear(), "hub_not_found"),
        (lambda hub: setattr(hub.repositories[TOY], "gated", True), "hub_gated"),
        (lambda hub: setattr(hub.repositories[TOY], "error", (503, "")), "hub_busy"),
        (lambda hub: hub.repositories[TOY].push({"README.md": b""}), "hub_not_a_model"),
        (lambda hub: hub.repositories[TOY].push(INVALID_FILES), "hub_wrong_file"),
    ],
)
def test_hub_errors_become_phrases(settings: Settings, hub: Hub, spoil: Callable[[Hub], Any], word: str) -> None:
    spoil(hub)
    assert page_error(lambda: Service(settings).fetch(TOY)).word == word


def test_offline_error_names_files_and_folder(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    error = page_error(lambda: Service(settings).fetch(TOY))
    assert error.word == "hub_offline"
    assert "assets/models" in str(error)
    assert "config.json" in str(error)


def test_unsupported_model_is_rejected_before_download(settings: Settings, hub: Hub) -> None:
    hub.repositories[TOY].config = {"model_type": "gpt2"}
    error = page_error(lambda: Service(settings).download_info(TOY))
    assert error.word == "other_family"
    assert error.values["family"] == '"gpt2"'
    assert "marian" in str(error)
    hub.repositories[TOY].config = {"model_type": "marian"}
    info = Service(settings).download_info(TOY)
    assert (info.family, info.missing, info.licence) == ("marian", info.bytes, "cc-by-4.0")
    assert not [each for each in hub.requests if "/resolve/" in each.path]


def test_unreadable_download_is_rejected(settings: Settings, hub: Hub) -> None:
    """A Hub without model families allows the download; the model is then not offered again."""
    files = {"config.json": b'{"model_type": "gpt2"}', "model.safetensors": safetensors(97), "spiece.model": pieces()}
    hub.repositories[TOY].push(files)
    assert page_error(lambda: Service(settings).fetch(TOY)).word == "model_cannot_load"


# ---------------------------------------------------------------- concurrent downloads


def test_concurrent_downloads_are_shared(settings: Settings, hub: Hub) -> None:
    service, reports = Service(settings), []
    hub.resumed.clear()
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(service.fetch, TOY)
        assert hub.paused.wait(60)
        others = [pool.submit(service.fetch, TOY, reports.append) for _ in range(2)]
        until(lambda: service.catalogue.waiter_count(TOY) == 2)
        hub.resumed.set()
        assert {each.result(60).downloaded for each in (first, *others)} == {True}
    assert hub.body_ranges("model.safetensors") == [None]
    assert reports[-1].done == reports[-1].total


def test_waiting_download_resumes_after_first_stops(settings: Settings, hub: Hub) -> None:
    service, stop = Service(settings), Event()
    hub.resumed.clear()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(service.fetch, TOY, None, stop)
        assert hub.paused.wait(60)
        second = pool.submit(service.fetch, TOY)
        until(lambda: service.catalogue.waiter_count(TOY) == 1)
        stop.set()
        hub.resumed.set()
        assert second.result(60).downloaded
        assert page_error(lambda: first.result(60)).word == "hub_stopped"


def test_waiting_download_can_be_cancelled(settings: Settings, hub: Hub) -> None:
    service, stop = Service(settings), Event()
    hub.resumed.clear()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(service.fetch, TOY)
        assert hub.paused.wait(60)
        second = pool.submit(service.fetch, TOY, None, stop)
        until(lambda: service.catalogue.waiter_count(TOY) == 1)
        stop.set()
        assert page_error(lambda: second.result(60)).word == "hub_stopped"
        assert not first.done()
        hub.resumed.set()
        assert first.result(60).downloaded


def test_download_error_reaches_all_waiters(settings: Settings, hub: Hub) -> None:
    service = Service(settings)
    hub.repositories[TOY].false_listing["model.safetensors"] = {"size": 17}
    hub.resumed.clear()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(service.fetch, TOY)
        assert hub.paused.wait(60)
        second = pool.submit(service.fetch, TOY)
        until(lambda: service.catalogue.waiter_count(TOY) == 1)
        hub.resumed.set()
        for each in (first, second):
            with pytest.raises(PageError) as error_info:
                each.result(60)
            assert error_info.value.word == "hub_wrong_file"
    assert len([each for each in hub.requests if each.path.startswith("/api/")]) == 1


# ---------------------------------------------------------------- models in memory


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Service:
    """Create a service with five small models and memory for three."""
    for name in "abcde":
        shutil.copytree(MODELS / "toy", tmp_path / name)
    return Service(Settings(models_folder=tmp_path, models_mb=1))


def cached_names(service: Service) -> list[str]:
    return [key[0] for key in service.loaded.cache.keys()]  # type: ignore[index]  # noqa: SIM118


def test_excess_models_are_evicted_from_memory(toys: Service) -> None:
    assert 250_000 < local_translator(toys, "a").weight_bytes < 333_000
    for name in "abcad":
        toys.check({"text": BEER, "model": name})
    assert cached_names(toys) == ["c", "a", "d"]
    assert toys.translate(toys.check({"text": BEER, "model": "b"})).text == "i want a beer ."


def test_streaming_model_is_not_evicted(toys: Service) -> None:
    reports = toys.stream(toys.check({"text": BEER, "model": "a"}), Event())
    next(reports)
    for name in "bcde":
        toys.check({"text": BEER, "model": name})
    assert cached_names(toys) == ["a", "d", "e"]
    reports.close()  # type: ignore[attr-defined]
    toys.check({"text": BEER, "model": "b"})
    assert cached_names(toys) == ["d", "e", "b"]


def test_cached_answer_loads_no_model(toys: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    request = toys.check({"text": BEER, "model": "a"})
    answer = toys.translate(request)
    for name in "bcd":
        toys.check({"text": BEER, "model": name})
    assert "a" not in cached_names(toys)
    monkeypatch.setattr(Translator, "load", None)
    assert toys.translate(request) is answer
    assert [progress.translation for progress in toys.stream(request, Event())] == [answer]


def test_classifiers_count_towards_memory_limit(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    for name in ("toy", "sentiment"):
        shutil.copytree(MODELS / name, tmp_path / name)
    service = Service(Settings(models_folder=tmp_path, models_mb=5))
    service.classify("A quiet film with a warm heart.")
    assert service.loaded.cache.bytes > 10_000_000
    service.check({"text": BEER})
    assert cached_names(service) == ["toy"]


# ---------------------------------------------------------------- disk limit


@pytest.fixture
def third(hub: Hub) -> str:
    """Add a model of half a megabyte under a third id."""
    for name in (TOY, OTHER, "me/third"):
        hub.repositories[name] = Repository()
        files = {path.name: path.read_bytes() for path in (MODELS / "toy").iterdir()}
        hub.repositories[name].push(files | {"README.md": b"x" * (1_400_000 - sum(map(len, files.values())))})
    return "me/third"


def test_least_recently_used_model_is_deleted_first(settings: Settings, third: str, hub: Hub) -> None:
    service = Service(replace(allow_any_model(settings), hub_mb=3))  # two of 1.4 MB
    foreign = cache_folder() / "models--some--body" / "blobs"
    foreign.mkdir(parents=True)
    (foreign / "theirs").write_bytes(b"x" * 4_000_000)  # files of other programs do not count and are not deleted
    service.fetch(TOY)
    service.fetch(OTHER)
    with service.loaded.use(service.catalogue.card(TOY, "transformer")):  # makes OTHER the least recently used
        pass
    service.fetch(third)
    here = {card.name for card in service.models() if card.downloaded and card.location == "hub"}
    assert here == {TOY, third}
    assert not repository_folder(OTHER).exists()
    assert (foreign / "theirs").exists()
    service.fetch(OTHER)  # a deleted model can be downloaded again
    assert service.catalogue.card(OTHER, "transformer").downloaded
    assert service.catalogue.card(third, "transformer").downloaded


def test_model_larger_than_disk_limit_is_not_downloaded(settings: Settings, third: str, hub: Hub) -> None:
    service = Service(replace(allow_any_model(settings), hub_mb=1))
    error = page_error(lambda: service.fetch(third))
    assert (error.word, error.values["limit"]) == ("hub_full", 1)
    assert not [each for each in hub.requests if "model.safetensors" in each.path]


def test_files_of_other_programs_are_not_deleted(settings: Settings, third: str, hub: Hub) -> None:
    fetch(OTHER)  # by another program
    service = Service(replace(allow_any_model(settings), hub_mb=2))
    service.fetch(TOY)
    service.fetch(third)
    assert repository_folder(OTHER).exists()
    assert not repository_folder(TOY).exists()

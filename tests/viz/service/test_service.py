"""The service: models, request validation, and shared answers of identical requests."""

from __future__ import annotations

import json
import pickle
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Event
from types import ModuleType
from typing import Any

import gradio as gr
import numpy as np
import pytest

from headlight.model.records import KINDS, Progress, Translation, TranslationRequest
from headlight.model.text.tokenizer import Tokenizer
from headlight.model.translate.judge import Judge
from headlight.model.translate.translator import Translator
from headlight.viz.backends.choice import choose_backend
from headlight.viz.errors import PageError
from headlight.viz.service.service import Service
from headlight.viz.settings import MODELS, Settings, SettingsError
from tests.viz.local_translator import local_translator

BEER = "ich mochte ein bier"
COLA = "ich mochte ein cola"
TOY = Settings(model="toy", max_characters=499, max_tokens=61, max_beam=7)


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(TOY)


@pytest.fixture
def fresh() -> Service:
    return Service(TOY)


def count(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[Any]:
    """Record the arguments of all calls of a method."""
    calls: list[Any] = []
    method = getattr(owner, name)

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        return method(*args, **kwargs)

    monkeypatch.setattr(owner, name, counted)
    return calls


# ---------------------------------------------------------------- models


def test_bundled_models_are_distinguished(service: Service) -> None:
    cards = {card.name: card for card in service.models()}
    kinds = {name: cards[name].kind for name in ("de-en", "sentiment", "toy")}
    assert kinds == {"de-en": "transformer", "sentiment": "classifier", "toy": "transformer"}
    assert cards["de-en"].languages == ("de", "en")
    assert cards["sentiment"].languages == ("en",)
    assert [card.name for card in cards.values() if card.default] == ["toy"]
    ranked = json.loads((MODELS / "de-en" / "heads.json").read_text(encoding="utf-8"))["heads"]
    assert cards["de-en"].cross_heads.best == tuple(ranked[0][name] for name in ("layer", "head", "shift"))
    assert cards["toy"].cross_heads.best is None
    assert cards["toy"].summary.startswith("Two sentences, learnt by heart")


@pytest.mark.parametrize("name", ["toy", "de-en"])
def test_card_parameter_count_matches_model(service: Service, name: str) -> None:
    card = next(card for card in service.models() if card.name == name)
    assert card.parameters == sum(parameter.numel() for parameter in local_translator(service, name).model.parameters())
    assert card.bytes == sum(path.stat().st_size for path in (MODELS / name).iterdir())


def test_default_model_is_configured_or_selected(tmp_path: Path) -> None:
    assert Service(Settings()).default == "de-en"
    shutil.copytree(MODELS / "toy", tmp_path / "toy")
    assert (
        Service(Settings(models_folder=tmp_path)).default == "toy"
    )  # the toy is the default only if no other model is installed
    shutil.copytree(MODELS / "toy", tmp_path / "zz")
    assert (
        Service(Settings(models_folder=tmp_path)).default == "zz"
    )  # the default is the toy only if no other model is installed
    with pytest.raises(SettingsError, match="toy, zz"):
        Service(Settings(models_folder=tmp_path, model="de-en"))


def test_revision_depends_on_files_but_not_on_card(tmp_path: Path) -> None:
    def revision() -> str:
        return Service(Settings(models_folder=tmp_path)).models()[0].revision

    shutil.copytree(MODELS / "toy", tmp_path / "toy")
    first = revision()
    sums = tmp_path / "toy" / "SHA256SUMS"
    lines = sums.read_text(encoding="utf-8").splitlines()
    sums.write_text("\n".join("0" * 64 + line[64:] if "README" in line else line for line in lines), encoding="utf-8")
    assert revision() == first
    sums.write_text("\n".join("0" * 64 + line[64:] if "model" in line else line for line in lines), encoding="utf-8")
    assert revision() != first
    sums.unlink()
    assert len(revision()) == 16


def test_languages_come_from_card_or_name(tmp_path: Path) -> None:
    shutil.copytree(MODELS / "toy", tmp_path / "zh-en")
    assert Service(Settings(models_folder=tmp_path)).models()[0].languages == ("zh", "en")
    for head in ("language: [fr, de]", "language:\n- fr\n- de"):
        (tmp_path / "zh-en" / "README.md").write_text(f"---\n{head}\nlicense: mit\n---\n# x\n\nNew.", encoding="utf-8")
        card = Service(Settings(models_folder=tmp_path)).models()[0]
        assert (card.languages, card.summary) == (("fr", "de"), "New.")


def test_invalid_folder_is_skipped_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    shutil.copytree(MODELS / "toy", tmp_path / "toy")
    for name, config in (("broken", "{"), (".toy.1.part", "{}")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(config, encoding="utf-8")
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "config.json").write_text("{}", encoding="utf-8")
    (tmp_path / "cut" / "model.safetensors").write_bytes(b"\xff" * 8)
    assert [card.name for card in Service(Settings(models_folder=tmp_path)).models()] == ["toy"]
    assert "broken is left out" in caplog.text
    assert "cut is left out" in caplog.text


def test_missing_models_raise_helpful_error(tmp_path: Path) -> None:
    service = Service(Settings(models_folder=tmp_path / "none"))
    assert service.models() == ()
    with pytest.raises(PageError) as error_info:
        service.check({"text": "Ja."})
    assert error_info.value.word == "no_model"


def test_translator_is_loaded_once_for_concurrent_requests(fresh: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = count(monkeypatch, Translator, "load")
    start = Barrier(7)

    def ask(_: int) -> Translator:
        start.wait(60)
        return local_translator(fresh)

    with ThreadPoolExecutor(7) as pool:
        assert len({id(translator) for translator in pool.map(ask, range(7))}) == 1
    assert len(calls) == 1


def test_load_error_does_not_reveal_path(tmp_path: Path) -> None:
    shutil.copytree(MODELS / "toy", tmp_path / "toy")
    weights = tmp_path / "toy" / "model.safetensors"
    intact = weights.read_bytes()
    weights.write_bytes(intact[:-1])
    service = Service(Settings(models_folder=tmp_path))
    with pytest.raises(PageError) as error_info:
        service.check({"text": "Ja."})
    assert (error_info.value.field, error_info.value.word) == ("model", "model_cannot_load")
    assert str(tmp_path) not in str(error_info.value)
    weights.write_bytes(intact)  # as after a new download
    assert service.translate(service.check({"text": BEER})).text


# ---------------------------------------------------------------- request validation


def test_checked_request_is_independent_of_model_name_form(service: Service) -> None:
    assert service.check({"text": BEER}) == service.check({"text": BEER, "model": "toy", "seed": 0})


@pytest.mark.parametrize(
    ("values", "field", "word"),
    [
        ({"text": " \t\u200b\u3000"}, "text", "blank_text"),
        ({"text": "x" * 500}, "text", "too_long"),
        ({"text": "a b c " * 21}, "text", "too_many_tokens"),
        ({"text": "a", "target": "b c d " * 21}, "target", "too_many_tokens"),
        ({"text": "a", "prefix": "b c d " * 21}, "prefix", "too_many_tokens"),
        ({"text": "a", "target": "\u200b"}, "target", "blank_words"),
        ({"text": "a", "target": [999_999]}, "target", "wrong_ids"),
        ({"text": "a", "beam_size": 8}, "beam_size", "not_whole"),
        ({"text": "a", "model": "sentiment"}, "model", "unknown_model"),
        ({"text": "a", "model": "../toy"}, "model", "unknown_model"),
        ({"text": "a", "prefix": "b c d e f", "max_length": 3}, "prefix", "prefix_too_long"),
        ({"text": "a", "nonsense": 1}, "nonsense", "unknown_name"),
    ],
)
def test_invalid_request_is_rejected_before_model_runs(
    service: Service, monkeypatch: pytest.MonkeyPatch, values: dict[str, Any], field: str, word: str
) -> None:
    calls = [count(monkeypatch, Translator, name) for name in ("translate", "stream", "_translate_batch")]
    with pytest.raises(PageError) as error_info:
        service.check(values)
    assert (error_info.value.field, error_info.value.word) == (field, word)
    assert calls == [[], [], []]


@pytest.mark.parametrize("name", ["text", "target", "prefix"])
def test_length_is_checked_before_tokenization(service: Service, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    calls = [count(monkeypatch, Tokenizer, method) for method in ("encode", "source_tokens", "encode_batch")]
    with pytest.raises(PageError) as error_info:
        service.check({"text": "a"} | {name: "x" * 1_000_000})
    assert error_info.value.values == {"name": name, "given": 1_000_000, "limit": 499}
    assert calls == [[], [], []]


def test_output_is_limited_to_max_tokens(service: Service) -> None:
    short, long = service.check({"text": BEER}), service.check({"text": "a b " * 13})
    assert short.options.max_length is None
    assert long.options.max_length == 61
    assert len(service.translate(long).target_tokens) <= 61


# ---------------------------------------------------------------- answers


def test_only_identical_requests_share_an_answer(fresh: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = count(monkeypatch, Translator, "translate")
    beer, cola = fresh.check({"text": BEER}), fresh.check({"text": COLA})
    assert fresh.translate(beer) is fresh.translate(fresh.check({"text": BEER}))
    assert fresh.translate(cola).text == "i want a coke ."
    assert fresh.translate(beer).text == "i want a beer ."
    assert len(calls) == 2


def split_progress(stream: Iterator[Progress]) -> tuple[list[Progress], Translation]:
    *before, last = stream
    assert all(progress.translation is None for progress in before)
    assert last.translation is not None
    return before, last.translation


def test_stream_yields_words_and_caches_result(fresh: Service) -> None:
    request = fresh.check({"text": BEER})
    before, answer = split_progress(fresh.stream(request, Event()))
    assert len(before) == len(answer.target_tokens)
    assert fresh.translate(request) is answer
    again, same = split_progress(fresh.stream(request, Event()))
    assert (again, same is answer) == ([], True)


def test_cached_result_needs_no_stream(fresh: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    request = fresh.check({"text": BEER})
    answer = fresh.translate(request)
    calls = count(monkeypatch, Translator, "stream")
    (only,) = fresh.stream(request, Event())
    assert (only.translation, only.text, only.tokens) == (answer, answer.text, answer.target_tokens)
    assert calls == []


@pytest.mark.parametrize("stop_after", [0, 1, 3])
def test_stopped_stream_ends_within_one_step(fresh: Service, monkeypatch: pytest.MonkeyPatch, stop_after: int) -> None:
    from headlight.model.decoding.search import SingleHypothesisSearch

    request, stop, reports = fresh.check({"text": BEER}), Event(), []
    steps = count(monkeypatch, SingleHypothesisSearch, "advance")
    if stop_after == 0:
        stop.set()
    for progress in fresh.stream(request, stop):
        reports.append(progress)
        if len(reports) == stop_after:
            stop.set()
    assert [progress.translation for progress in reports] == [None] * stop_after
    assert len(steps) == stop_after
    assert len(fresh.answer_cache) == 0
    assert fresh.translate(request).text == "i want a beer ."  # a stopped computation blocks no later request


def start_waiting_stream(
    pool: ThreadPoolExecutor, service: Service, request: TranslationRequest
) -> Future[list[Progress]]:
    """Start a second stream of a running request, and return once it waits for the first."""
    second = pool.submit(lambda: list(service.stream(request, Event())))
    while service.answer_cache.waiter_count(service.cache_key(request)) == 0:
        assert not second.done()
    return second


def test_waiter_takes_over_abandoned_stream(fresh: Service) -> None:
    request = fresh.check({"text": BEER})
    first = fresh.stream(request, Event())
    next(first)
    with ThreadPoolExecutor(1) as pool:
        other = start_waiting_stream(pool, fresh, request)
        first.close()  # type: ignore[attr-defined]
        reports = other.result(60)
    assert reports[-1].text == "i want a beer ."
    assert len(reports) > 2


def test_concurrent_streams_of_one_request_are_computed_once(fresh: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    request = fresh.check({"text": BEER})
    calls = count(monkeypatch, Translator, "stream")
    first = fresh.stream(request, Event())
    next(first)
    with ThreadPoolExecutor(1) as pool:
        other = start_waiting_stream(pool, fresh, request)
        _, answer = split_progress(first)
        (only,) = other.result(60)
    assert only.translation is answer
    assert len(calls) == 1


def test_model_errors_become_phrases(fresh: Service) -> None:
    request = replace(fresh.check({"text": BEER}), capture=("nothing.*",))
    for ask in (fresh.translate, lambda request: list(fresh.stream(request, Event()))):
        with pytest.raises(PageError) as error_info:
            ask(request)
        assert error_info.value.word == "model_says"


# ---------------------------------------------------------------- classification


def test_review_is_classified(service: Service) -> None:
    judgement = service.classify("A quiet film with a warm heart.")
    assert judgement.verdict == "positive"
    assert service.classify("Boring.", "sentiment").verdict == "negative"


@pytest.mark.parametrize(
    ("text", "model", "word"),
    [
        ("", "", "blank_text"),
        ("x" * (8 * 499 + 1), "", "too_long"),
        (7, "", "not_text"),
        ("a\ud800", "", "half_character"),
        ("fine", "toy", "unknown_model"),
    ],
)
def test_invalid_review_is_rejected(
    service: Service, monkeypatch: pytest.MonkeyPatch, text: Any, model: str, word: str
) -> None:
    calls = count(monkeypatch, Judge, "judge")
    with pytest.raises(PageError) as error_info:
        service.classify(text, model)
    assert error_info.value.word == word
    assert calls == []


# ---------------------------------------------------------------- ZeroGPU


def fake_spaces(monkeypatch: pytest.MonkeyPatch, *, is_zerogpu: bool) -> list[int]:
    """Install a stub of `spaces` whose calls copy arguments and results, as another process does."""
    durations: list[int] = []

    def gpu(duration: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            durations.append(duration)

            def in_gpu_process(*args: Any) -> Any:
                return pickle.loads(pickle.dumps(function(*pickle.loads(pickle.dumps(args)))))  # noqa: S301

            return in_gpu_process if is_zerogpu else function

        return decorate

    module = ModuleType("spaces")
    module.GPU = gpu  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "spaces", module)
    return durations


def test_zerogpu_answers_match_local_answers(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    durations = fake_spaces(monkeypatch, is_zerogpu=True)
    zerogpu_service = Service(TOY, choose_backend)
    assert len(durations) == 1
    assert 0 < durations[0] <= 30
    request = service.check({"text": BEER, "beam_size": 3})
    local, remote = service.translate(request), zerogpu_service.translate(request)
    assert local.target_tokens == remote.target_tokens
    assert (local.text, local.tree, local.request) == (remote.text, remote.tree, remote.request)
    for kind in KINDS:
        array = remote.attention.of(kind)
        assert np.array_equal(local.attention.of(kind), array)
        assert not array.flags.writeable
    assert set(remote.positions) == {"encoder", "decoder"}
    assert not remote.positions["encoder"].flags.writeable
    with pytest.raises(TypeError):
        remote.positions["encoder"] = array  # type: ignore[index]


def test_only_zerogpu_process_loads_models(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_spaces(monkeypatch, is_zerogpu=True)
    calls: list[str] = []
    load = Translator.load

    def load_in_gpu_process(folder: Path) -> Translator:
        # Only the process of a GPU call may use CUDA.
        assert "in_gpu_process" in {frame.name for frame in traceback.extract_stack()}
        calls.append(folder.name)
        return load(folder)

    monkeypatch.setattr(Translator, "load", load_in_gpu_process)
    zerogpu_service = Service(TOY, choose_backend)
    for text in (BEER, COLA):
        assert zerogpu_service.translate(zerogpu_service.check({"text": text})).text
    assert calls == ["toy"]  # the second call uses the cached model


@pytest.mark.parametrize("title", ["ZeroGPU quota exceeded", "ZeroGPU worker error"])
def test_missing_gpu_quota_is_reported(monkeypatch: pytest.MonkeyPatch, title: str) -> None:
    fake_spaces(monkeypatch, is_zerogpu=True)
    zerogpu_service = Service(TOY, choose_backend)

    def refuse(*args: Any) -> None:
        raise gr.Error("Your quota is used up. <a href='x'>Subscribe</a>", title=title, print_exception=False)

    monkeypatch.setattr(zerogpu_service.backend, "_gpu", refuse)
    with pytest.raises(PageError if "quota" in title else gr.Error) as error_info:
        zerogpu_service.translate(zerogpu_service.check({"text": BEER}))
    if isinstance(error_info.value, PageError):
        assert error_info.value.word == "gpu_not_lent"
        assert str(error_info.value).endswith("Your quota is used up. Subscribe")


def test_zerogpu_sends_only_final_result_and_it_is_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_spaces(monkeypatch, is_zerogpu=True)
    zerogpu_service = Service(TOY, choose_backend)
    request = zerogpu_service.check({"text": BEER})
    (only,) = zerogpu_service.stream(request, Event())
    assert only.translation is zerogpu_service.translate(request)
    stopped = Event()
    stopped.set()
    assert list(zerogpu_service.stream(zerogpu_service.check({"text": COLA}), stopped)) == []


def test_zerogpu_error_is_propagated(monkeypatch: pytest.MonkeyPatch) -> None:
    error = pickle.loads(pickle.dumps(PageError("text", "too_long", {"name": "text", "given": 7, "limit": 5})))  # noqa: S301
    assert (error.field, error.word, dict(error.values)) == (
        "text",
        "too_long",
        {"name": "text", "given": 7, "limit": 5},
    )
    assert json.loads(json.dumps(error.as_json()))["error"] == str(error)


def test_spaces_package_has_no_effect_without_zerogpu(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_spaces(monkeypatch, is_zerogpu=False)
    service = Service(TOY, choose_backend)
    before, _ = split_progress(service.stream(service.check({"text": BEER}), Event()))
    assert len(before) > 2

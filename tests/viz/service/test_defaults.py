"""Options and languages of third-party models are used by page and API."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from headlight.model.records import DecodingOptions
from headlight.model.translate.translator import Translator
from headlight.viz.api.endpoints import ENDPOINTS, Endpoints
from headlight.viz.errors import PageError
from headlight.viz.service.model_defaults import REQUEST_OPTIONS
from headlight.viz.service.model_json import translators
from headlight.viz.service.service import Service
from headlight.viz.settings import MODELS, Settings
from headlight.viz.tabs.translate import TranslateWidget
from tests.model.families import folders

SENTENCE = "Der alte Müller fährt früh am Morgen."
MANY, NLLB = "opus-mt-en-mul", "nllb-tiny"
CODES = ("deu", "fra", "zho_Hant")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy model and two third-party models."""
    folder = tmp_path_factory.mktemp("models")
    shutil.copytree(MODELS / "toy", folder / "toy")
    folders.marian(folder / MANY, codes=CODES)
    folders.nllb(folder / NLLB)
    return folder


@pytest.fixture(scope="module")
def service(models: Path) -> Service:
    return Service(Settings(models_folder=models))


def ask(service: Service, **values: Any) -> dict[str, Any]:
    """The last message to a page that sends only these values."""
    return [json.loads(message) for message in TranslateWidget(service).stream_messages(values, Event())][-1]


def call(endpoints: Endpoints, name: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Call an endpoint with positional and named arguments, as a program does."""
    arguments = ENDPOINTS[name].bind(*args, **kwargs)
    arguments.apply_defaults()
    answer: dict[str, Any] = getattr(endpoints, name)(arguments.arguments)
    return answer


def fault(call: Callable[[], Any]) -> PageError:
    with pytest.raises(PageError) as error_info:
        call()
    return error_info.value


def test_third_party_folder_is_listed_and_translates(service: Service, models: Path) -> None:
    listed = {each["name"]: each for each in translators(service)}
    assert set(listed) == {"toy", MANY, NLLB}
    assert (listed[MANY]["where"], listed[MANY]["downloaded"]) == ("here", True)
    assert listed[MANY]["bytes"] == sum(path.stat().st_size for path in (models / MANY).iterdir())
    answer = ask(service, text=SENTENCE, model=MANY)
    assert answer["text"] == Translator.load(models / MANY, device="cpu").translate(SENTENCE).text


@pytest.mark.parametrize("name", [MANY, NLLB])
def test_generation_config_gives_defaults(service: Service, models: Path, name: str) -> None:
    alone = Translator.load(models / name, device="cpu")
    expected = alone.translate(SENTENCE)
    answer = ask(service, text=SENTENCE, model=name)
    assert answer["request"]["options"] | {"alternatives": 5} == vars(expected.request.options)
    assert [token["id"] for token in answer["target"]] == [token.id for token in expected.target_tokens]
    assert answer["score"] == pytest.approx(expected.score, abs=1e-5)
    defaults = alone.generation_defaults
    assert (defaults.length_penalty, defaults.no_repeat) == ((1.0, 0) if name == MANY else (0.7, 3))
    plain = {name: value for name, value in vars(DecodingOptions()).items() if name in REQUEST_OPTIONS}
    own = {"beam_size": 4, "length_penalty": defaults.length_penalty, "no_repeat": defaults.no_repeat}
    assert {"temperature", "seed", "back_weight"} <= plain.keys()
    assert answer["model"]["defaults"] == plain | own


def test_request_options_override_defaults(service: Service) -> None:
    options = ask(service, text=SENTENCE, model=NLLB, beam_size=2)["request"]["options"]
    assert (options["beam_size"], options["length_penalty"], options["no_repeat"]) == (2, 0.7, 3)
    sampled = ask(service, text=SENTENCE, model=NLLB, temperature=0.5, seed=3)["request"]["options"]
    assert (sampled["beam_size"], sampled["temperature"]) == (1, 0.5)


def test_bundled_models_use_page_defaults(service: Service) -> None:
    assert ask(service, text="ich mochte ein bier", model="toy")["request"]["options"]["no_repeat"] == 4
    assert service.model_defaults("toy").max_length is None
    defaults = {each["name"]: each["defaults"] for each in translators(service)}
    assert defaults["toy"]["beam_size"] == 4
    assert defaults[MANY] is None  # known only once the model is loaded


def test_model_defaults_are_clamped_to_page_limits(models: Path) -> None:
    service = Service(Settings(models_folder=models, max_beam=3, max_tokens=23))
    options = ask(service, text="Ja.", model=NLLB)["request"]["options"]
    assert (options["beam_size"], options["max_length"]) == (3, 23)
    wide = Service(Settings(models_folder=models))
    assert (
        ask(wide, text=SENTENCE, model=NLLB)["request"]["options"]["max_length"] == 32
    )  # from the folder's generation_config.json


def test_model_without_own_defaults_is_not_loaded(models: Path) -> None:
    service = Service(Settings(models_folder=models))
    assert service.model_defaults("toy").decoding.beam_size == 4
    assert list(service.loaded.cache.keys()) == []


def test_defaults_of_evicted_model_need_no_reload(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    known = service.model_defaults(MANY)
    monkeypatch.setattr(service, "backend", None)
    assert service.model_defaults(MANY) is known
    assert known.targets == CODES


@pytest.mark.parametrize("code", CODES)
def test_target_language_can_be_selected(service: Service, models: Path, code: str) -> None:
    answer = ask(service, text=SENTENCE, model=MANY, target_language=code)
    alone = Translator.load(models / MANY, device="cpu").translate(SENTENCE, target_language=code)
    assert [token["id"] for token in answer["source"]] == [token.id for token in alone.source_tokens]
    assert answer["text"] == alone.text
    assert (answer["model"]["target"], answer["request"]["target_language"]) == (code, code)
    assert answer["model"]["targets"] == list(CODES)


def test_default_target_language_comes_from_model(service: Service) -> None:
    model = ask(service, text=SENTENCE, model=MANY)["model"]
    assert (model["source"], model["target"], model["default_target"], model["sources"]) == (
        "en",
        "fra",
        "fra",
        [],
    )  # the default is a common language, not the first
    both = ask(service, text=SENTENCE, model=NLLB, source_language="fra_Latn")["model"]
    assert (both["source"], both["target"]) == ("fra_Latn", "deu_Latn")
    assert both["sources"] == both["targets"] == folders.CODES


@pytest.mark.parametrize(
    ("model", "values", "field", "word"),
    [
        (MANY, {"target_language": "xyz"}, "target_language", "not_choice"),
        (MANY, {"target_language": 7}, "target_language", "not_text"),
        (MANY, {"target_language": "d" * 41}, "target_language", "too_long"),
        (MANY, {"source_language": "deu"}, "source_language", "no_languages"),
        (NLLB, {"source_language": "deu"}, "source_language", "not_choice"),
        ("toy", {"target_language": "en"}, "target_language", "no_languages"),
    ],
)
def test_unsupported_language_error_names_field(
    service: Service, model: str, values: dict[str, Any], field: str, word: str
) -> None:
    error = fault(lambda: service.check({"text": "ich mochte ein bier", "model": model} | values))
    assert (error.field, error.word) == (field, word)
    if word == "not_choice":
        assert next(iter(CODES if model == MANY else folders.CODES)) in str(error)


def test_api_can_select_languages(service: Service, models: Path) -> None:
    endpoints = Endpoints(service)
    alone = Translator.load(models / MANY, device="cpu")
    for code in CODES:
        expected = alone.translate(SENTENCE, beam_size=1, target_language=code)
        response = call(endpoints, "translate", SENTENCE, MANY, target_language=code)
        assert (response["text"], response["source_language"], response["target_language"]) == (
            expected.text,
            "en",
            code,
        )
        attention = call(endpoints, "attention", SENTENCE, "encoder", 1, 3, MANY, target_language=code)
        assert attention["columns"][0] == f">>{code}<<"
        assert len(attention["weights"]) == len(expected.source_tokens)
    assert fault(lambda: call(endpoints, "translate", SENTENCE, MANY, target_language="xyz")).word == "not_choice"
    assert call(endpoints, "translate", SENTENCE, MANY)["target_language"] == "fra"  # the default


def test_unsupported_generation_rules_are_listed(service: Service, tmp_path: Path) -> None:
    folders.marian(tmp_path / "strict", codes=CODES)
    path = tmp_path / "strict" / "generation_config.json"
    rules = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(json.dumps(rules | {"do_sample": True}), encoding="utf-8")
    strict = Service(Settings(models_folder=tmp_path))
    assert ask(strict, text=SENTENCE, model="strict")["model"]["left_out"] == ["do_sample = true"]
    assert ask(service, text=SENTENCE, model=MANY)["model"]["left_out"] == []

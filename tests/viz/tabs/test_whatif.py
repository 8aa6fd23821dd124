"""What if: translations under interventions, and scores of the original words."""

from __future__ import annotations

import json
import math
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headlight.model.checkpoints.checksums import weights_digest
from headlight.model.experiments import importance
from headlight.model.experiments.importance import list_all_parts
from headlight.model.experiments.pruning import PRUNING_FILE, PruningCurve, PruningPoint
from headlight.model.records import KINDS
from headlight.model.training.card_section import refresh_checksums
from headlight.viz.server.calls import call_json
from headlight.viz.service.service import Service
from headlight.viz.settings import MODELS, Settings
from headlight.viz.tabs.whatif import (
    make_changed_answer_call,
    make_importance_call,
    make_interactions_call,
    make_pruning_curve_call,
    make_pruning_search_call,
)
from tests.viz.local_translator import local_translator
from tests.viz.tabs.test_compare import BEER, FIRST

OFF = {"action": "remove", "kind": "cross", "layer": 0}


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings(model="toy", max_characters=99))


def ask(service: Service, interventions: Any, request: Any = FIRST) -> dict[str, Any]:
    """The parsed response of the browser call."""
    sent = {"request": request, "interventions": interventions}
    values: dict[str, Any] = json.loads(call_json(make_changed_answer_call(service), sent))
    return values


def test_page_api_and_python_agree(service: Service) -> None:
    response = ask(service, [OFF])
    code = local_translator(service).translate(BEER, interventions=[OFF])
    requested = service.translate(service.check(FIRST | {"interventions": [OFF]}))
    assert response["answer"]["text"] == code.text == requested.text
    assert response["answer"]["log_probability"] == pytest.approx(code.log_probability, abs=1e-5)
    assert response["answer"]["request"]["interventions"] == [OFF]


def test_original_words_are_scored_with_and_without_interventions(service: Service) -> None:
    response = ask(service, [OFF])
    plain = local_translator(service).translate(BEER)
    ids = tuple(token.id for token in plain.target_tokens)
    expected = local_translator(service).translate(BEER, target=ids, interventions=[OFF])
    assert response["before"] == pytest.approx(plain.log_probability, abs=1e-5)
    assert response["after"] == pytest.approx(expected.log_probability, abs=1e-5)
    assert response["after"] < response["before"] - 0.01
    words = [word for word in response["words"] if word["before"] is not None]
    assert [word["before"] for word in words] == [*plain.text.split(), "</s>"]
    assert [place for word in words for place in word["places"]] == list(range(len(ids)))
    for word in words:
        for name, translation in (("log_before", plain), ("log_after", expected)):
            chances = [translation.target_tokens[place].probability or 0.0 for place in word["places"]]
            assert word[name] == pytest.approx(sum(map(math.log, chances)), abs=1e-5)
    assert sum(word["log_after"] for word in words) == pytest.approx(response["after"], abs=1e-4)
    held_ids = [token["id"] for token in response["held"]["target"]]
    assert held_ids == list(ids)


def test_swapped_source_word_changes_translation(service: Service) -> None:
    start = BEER.index("bier")
    response = ask(service, [{"action": "swap", "start": start, "end": start + 4, "text": "cola"}])
    assert response["answer"]["source_text"] == BEER.replace("bier", "cola")
    changed = [(word["before"], word["after"]) for word in response["words"] if word["before"] != word["after"]]
    assert ("beer", "coke") in changed
    assert 0 < response["chrf"] < 100


def test_neutral_intervention_has_no_effect(service: Service) -> None:
    response = ask(service, [{"action": "scale", "kind": "cross", "amount": 1}])
    assert response["after"] == pytest.approx(response["before"], abs=1e-5)
    assert response["chrf"] == 100
    assert all(word["before"] == word["after"] for word in response["words"])


@pytest.mark.parametrize(
    ("interventions", "word"),
    [
        ("off", "wrong_type"),
        ([{"action": "explode"}], "not_choice"),
        ([OFF | {"layer": 99}], "not_whole"),
        ([{"action": "swap", "start": 0, "end": 3, "text": "x" * 100}], "too_long"),
        ([{"action": "erase", "start": 0, "end": len(BEER)}], "nothing_left"),
    ],
)
def test_invalid_intervention_is_reported(service: Service, interventions: Any, word: str) -> None:
    assert ask(service, interventions)["word"] == word


def test_invalid_request_is_reported(service: Service) -> None:
    assert ask(service, [OFF], request=None)["word"] == "not_names"
    assert ask(service, [OFF], request={"model": "toy"})["word"] == "missing"


def measure_importance(service: Service, **values: Any) -> dict[str, Any]:
    """One answer about importance, as the browser reads it."""
    result: dict[str, Any] = json.loads(call_json(make_importance_call(service), {"request": FIRST} | values))
    return result


def test_importance_is_measured_in_batches(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importance, "MAX_ROWS_PER_BATCH", 5)
    config = local_translator(service).model.config
    losses: list[dict[str, Any]] = []
    response = {"next": 0, "all": 1}
    while response["next"] < response["all"]:
        response = measure_importance(service, first=response["next"])
        assert 0 < len(response["losses"]) <= 5
        losses += response["losses"]
    layers = config.encoder_layers + 2 * config.decoder_layers
    assert len(losses) == response["all"] == 3 + layers + layers * config.heads
    plain = local_translator(service).translate(BEER)
    ids = tuple(token.id for token in plain.target_tokens)
    for each in losses[::7]:
        off = {"action": "remove"} | {name: each[name] for name in ("kind", "layer", "head")}
        without = local_translator(service).translate(BEER, target=ids, interventions=[off])
        assert each["loss"] == pytest.approx(plain.log_probability - without.log_probability, abs=2e-4)


@pytest.mark.parametrize("first", [-1, 9999, "all", None])
def test_importance_start_is_validated(service: Service, first: Any) -> None:
    assert measure_importance(service, first=first)["word"] == "not_whole"


def call_function(function: Any, **values: Any) -> dict[str, Any]:
    """An answer as the browser reads it."""
    result: dict[str, Any] = json.loads(call_json(function, {"request": FIRST} | values))
    return result


def test_interactions_are_measured_in_batches(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importance, "MAX_ROWS_PER_BATCH", 7)
    part = {"kind": "cross", "layer": 0, "head": 1}
    losses: list[dict[str, Any]] = []
    response = {"next": 0, "all": 1}
    while response["next"] < response["all"]:
        response = call_function(make_interactions_call(service), part=part, first=response["next"])
        assert 0 < len(response["losses"]) <= 7
        losses += response["losses"]
    config = local_translator(service).model.config
    assert len(losses) == response["all"] == (config.encoder_layers + 2 * config.decoder_layers) * config.heads
    plain = local_translator(service).translate(BEER)
    ids = tuple(token.id for token in plain.target_tokens)
    for each in losses[::5]:
        off = [{"action": "remove"} | {name: part_[name] for name in part} for part_ in (part, each)]
        without = local_translator(service).translate(BEER, target=ids, interventions=off)
        assert each["loss"] == pytest.approx(plain.log_probability - without.log_probability, abs=2e-4)


@pytest.mark.parametrize(
    ("part", "word"),
    [
        (None, "not_choice"),
        ({"kind": "all", "layer": 0, "head": 0}, "not_choice"),
        ({"kind": "cross", "layer": 99, "head": 0}, "not_whole"),
        ({"kind": "cross", "layer": 0}, "not_whole"),
    ],
)
def test_interactions_without_head_are_rejected(service: Service, part: Any, word: str) -> None:
    assert call_function(make_interactions_call(service), part=part)["word"] == word


def test_first_change_is_first_differing_translation(service: Service) -> None:
    parts = [
        part for part in importance.list_all_parts(local_translator(service).model.config) if part.head is not None
    ]
    order = [{"kind": part.kind, "layer": part.layer, "head": part.head} for part in parts]
    response = {"found": None, "next": 1, "all": 1}
    while response["found"] is None and response["next"] <= response["all"]:
        response = call_function(make_pruning_search_call(service), order=order, first=response["next"])
    plain = local_translator(service).translate(BEER).text
    texts = []
    for count in range(1, len(order) + 1):
        off = [{"action": "remove"} | each for each in order[:count]]
        texts.append(local_translator(service).translate(BEER, interventions=off).text)
        if texts[-1] != plain:
            break
    assert response["found"] == (len(texts) if texts[-1] != plain else None)


@pytest.mark.parametrize("order", [None, [], [{"kind": "cross"}], "all"])
def test_invalid_head_order_is_rejected(service: Service, order: Any) -> None:
    assert call_function(make_pruning_search_call(service), order=order)["word"] == "wrong_type"


def test_pruning_curve_is_returned_and_cached(service: Service, tmp_path: Path) -> None:
    assert call_function(make_pruning_curve_call(service))["curve"] is None
    shutil.copytree(MODELS / "toy", tmp_path / "toy")
    refresh_checksums(tmp_path / "toy")
    order = tuple(part for part in list_all_parts(local_translator(service).model.config) if part.head is not None)[
        ::-1
    ]
    losses = (0.5,) * len(order)
    curve = PruningCurve(
        "a command", "mini.tsv", 200, 50, order, losses, (PruningPoint(0, 80.5, 1.0), PruningPoint(2, 11.25, 0.25))
    )
    curve = replace(curve, weights=weights_digest(tmp_path / "toy"))
    plain = Service(Settings(model="toy", models_folder=tmp_path)).models()
    (tmp_path / "toy" / PRUNING_FILE).write_text(curve.to_json(), encoding="utf-8")
    refresh_checksums(tmp_path / "toy")
    curved = Service(Settings(model="toy", models_folder=tmp_path))
    assert [card.revision for card in curved.models()] == [card.revision for card in plain]
    response = call_function(make_pruning_curve_call(curved))["curve"]
    assert response["order"] == [{"kind": part.kind, "layer": part.layer, "head": part.head} for part in order]
    assert response["points"] == [{"off": 0, "chrf": 80.5, "same": 1.0}, {"off": 2, "chrf": 11.25, "same": 0.25}]
    assert (response["corpus"], response["sentences"], response["ranked_on"]) == ("mini.tsv", 200, 50)


def test_interventions_do_not_affect_other_visitors(service: Service) -> None:
    """Two concurrent requests without cached answers get the same results as single ones."""
    everything = [{"action": "remove", "kind": kind} for kind in KINDS]
    requests = [FIRST | {"beam_size": width, "length_penalty": 0.25} for width in (1, 2, 3)]
    with ThreadPoolExecutor(2 * len(requests)) as threads:
        changed = [threads.submit(ask, service, everything, request) for request in requests]
        measured_ = [
            threads.submit(call_function, make_importance_call(service), request=request) for request in requests
        ]
        responses = [each.result() for each in changed]
        losses = [each.result()["losses"] for each in measured_]
    alone = Service(Settings(model="toy", max_characters=99))
    for request, with_all_off, losses_found in zip(requests, responses, losses, strict=True):
        assert with_all_off["before"] == pytest.approx(ask(alone, [], request)["before"], abs=1e-5)
        assert with_all_off["after"] == pytest.approx(ask(alone, everything, request)["after"], abs=1e-5)
        expected = call_function(make_importance_call(alone), request=request)["losses"]
        assert [each["loss"] for each in losses_found] == pytest.approx([each["loss"] for each in expected], abs=2e-4)

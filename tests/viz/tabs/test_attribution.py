"""The Word tab: methods, curves and parts in the browser's format, and validation."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch

from headlight.model.checkpoints.checksums import weights_digest
from headlight.model.core.probes import watch
from headlight.model.experiments.account import word_account
from headlight.model.experiments.attribution import (
    METHODS,
    attribute,
    attribution_query,
    list_removable_words,
    source_words,
)
from headlight.model.experiments.faithfulness import measure_erasure_curve, sample_random_orders
from headlight.model.experiments.gradients import integrated_gradients
from headlight.model.measures import attention_rollout
from headlight.model.phrases import phrases
from headlight.model.translate.translator import Translator
from headlight.viz.errors import PageError
from headlight.viz.server.calls import call_json
from headlight.viz.service import stored_reports
from headlight.viz.service.service import Service
from headlight.viz.service.stored_reports import ATLAS, FAITHFULNESS
from headlight.viz.settings import MODELS, Settings
from headlight.viz.tabs import attribution
from headlight.viz.tabs.attribution import (
    MAX_RIVALS,
    make_account_call,
    make_account_heads_call,
    make_account_keys_call,
    make_erasure_curve_call,
    make_faithfulness_call,
    make_logit_call,
    make_method_call,
)
from tests.viz.local_translator import local_translator
from tests.viz.tabs.test_compare import FIRST


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings(model="toy", max_characters=99))


def call_function(function: Callable[[Mapping[str, Any]], dict[str, Any]], **values: Any) -> dict[str, Any]:
    """The parsed response of the browser call."""
    response: dict[str, Any] = json.loads(call_json(function, {"request": FIRST, "places": [1]} | values))
    return response


@pytest.mark.parametrize("method", ["average", "rollout", "alti", "input_gradient", "erasure"])
def test_page_scores_match_python(service: Service, method: str) -> None:
    response = call_function(make_method_call(service), method=method)
    translation = service.translate(service.check(FIRST))
    expected = attribute(attribution_query(local_translator(service), translation, [1]), method).scores
    assert response["scores"] == [None if each is None else pytest.approx(each, abs=1e-4) for each in expected]
    assert sorted(response["order"]) == list_removable_words(translation)
    assert [each["special"] for each in response["words"]][-1]
    assert response["ms"] >= 0


def test_known_methods_are_compared(service: Service) -> None:
    first = call_function(make_method_call(service), method="average")
    second = call_function(make_method_call(service), method="maximum", known={"average": first["scores"]})
    tau, overlap = second["agrees"]["average"]
    assert tau is None or -1 <= tau <= 1
    assert 0 <= overlap <= 1
    again = call_function(make_method_call(service), method="average", known={"average": first["scores"]})
    assert again["agrees"]["average"][1] == 1


def test_head_method_uses_selected_head(service: Service) -> None:
    response = call_function(make_method_call(service), method="head", layer=0, head=1)
    translation = service.translate(service.check(FIRST))
    assert response["head"] == [0, 1]
    row = translation.attention.cross[0, 1, 1]
    assert sum(response["scores"]) == pytest.approx(float(row.sum()), abs=1e-4)


def test_curve_uses_ranking_or_random_order(service: Service) -> None:
    translation = service.translate(service.check(FIRST))
    question = attribution_query(local_translator(service), translation, [1])
    order = list(reversed(list_removable_words(translation)))
    assert call_function(make_erasure_curve_call(service), order=order)["curve"] == pytest.approx(
        measure_erasure_curve(question, order), abs=1e-4
    )
    chance = call_function(make_erasure_curve_call(service), chance=2)["curve"]
    assert chance == pytest.approx(measure_erasure_curve(question, sample_random_orders(question)[2]), abs=1e-4)


def test_logit_parts_sum_to_logit(service: Service) -> None:
    response = call_function(make_logit_call(service), token=1)
    translation = service.translate(service.check(FIRST))
    assert len(response["layers"][0]) == len(translation.target_tokens)
    for place in range(len(response["words"])):
        total = sum(term["effects"][place] for term in response["terms"])
        assert total == pytest.approx(response["logits"][place], abs=1e-3)


@pytest.mark.parametrize(
    "values",
    [
        {"places": []}, {"places": "1"}, {"places": [999]}, {"places": [1.5]}, {"places": [1] * 999},
        {"places": [1, 1]},
        {"method": "guess"}, {"method": "head", "layer": 0, "head": 99}, {"method": "head", "layer": "mean", "head": 0},
        {"known": {"guess": []}}, {"known": [1]}, {"known": {"average": ["1"]}}, {"known": {"average": [1]}},
    ],
)  # fmt: skip
def test_invalid_questions_are_rejected_with_message(service: Service, values: dict[str, Any]) -> None:
    response = call_function(make_method_call(service), **({"method": "average"} | values))
    assert response["what"] == "error"
    assert response["word"] != "our_fault"


@pytest.mark.parametrize(
    "values", [{"order": [0]}, {"order": "all"}, {"order": [0, 0]}, {"chance": 99}, {"chance": None}]
)
def test_invalid_orders_are_rejected_with_message(service: Service, values: dict[str, Any]) -> None:
    response = call_function(make_erasure_curve_call(service), **values)
    assert response["what"] == "error"
    assert response["word"] != "our_fault"


def test_flow_limit_counts_tokens_and_is_reported(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    translation = service.translate(service.check(FIRST))
    graph = (
        len(attention_rollout._build_graph(attention_rollout.mixing_from_attention(translation.attention), 1).ends) // 2
    )
    monkeypatch.setattr(attention_rollout, "MAX_FLOW_WORK", graph * len(source_words(translation)))
    assert "scores" in call_function(make_method_call(service), method="flow", places=[1])
    response = call_function(make_method_call(service), method="flow", places=[1, 2])
    assert (response["what"], response["word"], response["values"]["edges"]) == ("error", "flow_too_long", graph)


def test_slow_gradients_stop_before_time_limit() -> None:
    translator = Translator.load("toy", device="cpu")
    translation = translator.translate(FIRST["text"])
    hasty = integrated_gradients(translator, translation, [1], seconds=0.0)
    patient = integrated_gradients(translator, translation, [1])
    assert hasty.points < patient.points
    assert np.isfinite(hasty.scores).all()


def test_integrated_gradients_report_gap_and_total(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    translation = service.translate(service.check(FIRST))
    monkeypatch.setattr(attribution, "MAX_SECONDS", 0.0)  # one round, however fast the machine is
    response = call_function(make_method_call(service), method="integrated")
    expected = integrated_gradients(local_translator(service), translation, [1], seconds=0.0)
    assert response["gap"]["missing"] == pytest.approx(abs(expected.completeness_gap), abs=1e-3)
    assert response["gap"]["missing"] == pytest.approx(
        abs(sum(response["scores"]) - response["gap"]["expected"]), abs=1e-3
    )
    ids = [token.id for token in translation.target_tokens]
    sources = torch.tensor([[token.id for token in translation.source_tokens]])
    model = local_translator(service).model
    read = torch.tensor([[model.config.start_id, *ids[:1]]])
    with torch.no_grad():
        score = [float(model(sources, read)[0, 1].log_softmax(-1)[ids[1]])]
        with watch(model, "encoder.embedding.embedded", edit=lambda value, name: value * 0):
            score.append(float(model(sources, read)[0, 1].log_softmax(-1)[ids[1]]))
    assert response["gap"]["expected"] == pytest.approx(score[0] - score[1], abs=1e-3)
    assert call_function(make_method_call(service), method="erasure")["gap"] is None


def test_reports_of_other_weights_are_ignored(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = weights_digest(MODELS / "toy")
    monkeypatch.setattr(stored_reports, "_read_report", lambda kind, name: {"weights": weights, "name": name})
    assert call_function(make_faithfulness_call(service))["report"] == {"weights": weights, "name": "toy"}
    monkeypatch.setattr(stored_reports, "_read_report", lambda kind, name: {"weights": "others"})
    assert call_function(make_faithfulness_call(service))["report"] is None


@pytest.mark.parametrize("name", ["de-en", "en-de", "zh-en", "en-zh"])
def test_bundled_model_report_is_returned(name: str) -> None:
    report = stored_reports.load_stored_report(Service(Settings()), FAITHFULNESS, name)
    assert report is not None
    assert report["sentences"] >= 199


@pytest.mark.parametrize("name", ["de-en", "en-de", "zh-en", "en-zh"])
def test_bundled_model_atlas_is_returned(name: str) -> None:
    atlas = stored_reports.load_stored_report(Service(Settings()), ATLAS, name)
    assert atlas is not None
    answer = stored_reports.make_atlas_call(Service(Settings()))({"model": name})
    assert answer["atlas"] == atlas
    assert len(answer["aligning"]) == 8
    assert all(0 < each["low"] < each["error_rate"] < each["high"] < 1 for each in answer["aligning"])
    assert {kind: (len(layers), len(layers[0])) for kind, layers in atlas["heads"].items()} == {
        "encoder": (8, 8),
        "decoder": (3, 8),
        "cross": (3, 8),
    }
    for layers in atlas["heads"].values():
        for head in (head for layer in layers for head in layer):
            assert len(head["deciles"]) == 10
            assert set(map(str, head["deciles"])) <= set(atlas["texts"])


def test_every_method_has_phrases() -> None:

    for method in METHODS:
        assert f"method_{method}" in phrases("en")
        assert f"method_{method}_says" in phrases("zh")


def test_account_matches_model(service: Service) -> None:
    translation = service.translate(service.check(FIRST))
    token = translation.target_tokens[1]
    others = [other for other in token.alternatives if other.id != token.id]
    response = call_function(make_account_call(service), place=1)
    own = word_account(local_translator(service), translation, 1, others[0].id)
    assert response["rival"]["id"] == others[0].id
    assert [rival["id"] for rival in response["rivals"]] == [other.id for other in others[:MAX_RIVALS]]
    assert response["source"] == pytest.approx(own.source, abs=1e-5)
    assert response["prefix"] == pytest.approx(own.prefix, abs=1e-5)
    assert response["lead"] == pytest.approx(
        sum(response["source"]) + sum(response["prefix"]) + response["constants"], abs=1e-4
    )
    other = call_function(make_account_call(service), place=1, rival=others[1].id)
    assert other["rival"]["id"] == others[1].id
    assert other["lead"] != response["lead"]


def test_account_opens_into_heads_and_keys(service: Service) -> None:
    whole = call_function(make_account_call(service), place=1)
    heads = np.array(call_function(make_account_heads_call(service), place=1)["heads"])
    np.testing.assert_allclose(heads.sum(axis=(0, 1)), whole["source"], atol=1e-3)
    keys = np.array(call_function(make_account_keys_call(service), place=1, layer=0, head=1)["keys"])
    np.testing.assert_allclose(keys.sum(axis=0), heads[0, 1], atol=2e-4)
    for wrong in ({"place": 99, "layer": 0, "head": 0}, {"place": 1, "layer": 9, "head": 0}, {"place": 1, "layer": 0}):
        with pytest.raises(PageError):
            make_account_keys_call(service)({"request": FIRST, **wrong})


@pytest.mark.parametrize(
    "values", [{"place": None}, {"place": 99}, {"place": 1, "rival": -1}, {"place": 1, "rival": "x"}]
)
def test_invalid_accounts_are_rejected(service: Service, values: dict[str, Any]) -> None:
    with pytest.raises(PageError):
        make_account_call(service)({"request": FIRST, **values})

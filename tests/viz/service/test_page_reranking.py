"""Reranking on the page: enabled by default only if the reverse model exists."""

from __future__ import annotations

from dataclasses import replace
from threading import Event
from typing import Any

import pytest

from headlight.model.training.mistake_experiments import try_mistakes
from headlight.model.translate.reranking import REVERSE_WEIGHT
from headlight.viz.api.endpoints import Endpoints
from headlight.viz.errors import PageError
from headlight.viz.lessons.experiment import ExperimentInput
from headlight.viz.service.model_cards import ModelCard
from headlight.viz.service.model_json import make_default_request, translators
from headlight.viz.service.record_codec import decode_translation, encode_translation
from headlight.viz.service.service import Service
from headlight.viz.settings import MODELS, Settings
from headlight.viz.tabs.decoding import make_search_call
from headlight.viz.tabs.two_models import make_second_answer_call
from headlight.viz.tabs.whatif import (
    make_changed_answer_call,
    make_importance_call,
    make_interactions_call,
    make_pruning_search_call,
)
from tests.chosen import BROKEN, CHOSEN, OFF, SENTENCE

PAGE = {"text": SENTENCE, "model": "de-en", "beam_size": 4, "no_repeat": 4, "back_weight": REVERSE_WEIGHT}


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings())


def test_reranking_is_default_if_reverse_model_exists(service: Service) -> None:
    weights = {each["name"]: each["defaults"]["back_weight"] for each in translators(service)}
    assert {name: weights[name] for name in ("de-en", "en-de", "zh-en", "en-zh")} == dict.fromkeys(
        ("de-en", "en-de", "zh-en", "en-zh"), REVERSE_WEIGHT
    )
    assert weights["toy"] == 0.0
    assert make_default_request(service)["back_weight"] == REVERSE_WEIGHT


def test_greedy_search_does_not_rerank() -> None:
    alone = Service(Settings(max_beam=1))
    assert alone.translate(alone.check({"text": "Ja."}, model_defaults=True)).request.options.back_weight == 0.0


def test_answer_is_reranked_unless_disabled(service: Service) -> None:
    request_values = service.check({"text": SENTENCE, "model": "de-en"}, model_defaults=True)
    translation = service.translate(request_values)
    assert CHOSEN in translation.text
    assert translation.request == request_values
    assert CHOSEN not in service.translate(service.check({**PAGE, "back_weight": 0})).text


def test_stream_ends_with_reranked_translation(service: Service) -> None:
    fresh = Service(Settings())
    *_, last = fresh.stream(fresh.check(PAGE), Event())
    assert last.translation is not None
    assert CHOSEN in last.translation.text
    assert last.text == last.translation.text
    assert last.tokens == last.translation.target_tokens
    *_, again = fresh.stream(fresh.check(PAGE), Event())
    assert again.translation is last.translation  # the cache holds the reranked translation


@pytest.fixture(scope="module")
def one_way(tmp_path_factory: pytest.TempPathFactory) -> Service:
    """A service with one translator, so that none translates back."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "toy").symlink_to(MODELS / "toy")
    return Service(Settings(models_folder=folder))


def test_model_without_reverse_model_is_unaffected(one_way: Service) -> None:
    values = {"text": "ich mochte ein bier", "beam_size": 4}
    translation = one_way.translate(one_way.check({**values, "back_weight": REVERSE_WEIGHT}))
    assert translation.text == one_way.translate(one_way.check(values)).text
    assert all(each.reverse_score is None for each in translation.hypotheses)


def test_back_translation_is_cached_with_answer(service: Service) -> None:
    translation = service.translate(service.check(PAGE))
    again = decode_translation(encode_translation(translation), translation.rule)
    assert again.hypotheses == translation.hypotheses
    assert translation.hypotheses[0].reverse_score is not None


def test_decoding_reports_reranking(service: Service) -> None:
    translation = make_search_call(service)({"request": PAGE, "theme": "light", "language": "en"})
    nodes, ends, backs = translation["nodes"], translation["finished"], translation["backs"]
    assert translation["back_weight"] == REVERSE_WEIGHT
    sums = [nodes[node][7] + REVERSE_WEIGHT * back for node, back in zip(ends, backs, strict=True) if back is not None]
    assert len(sums) == 4
    assert sums == sorted(sums, reverse=True)
    scores = [nodes[node][7] for node in ends]
    assert scores != sorted(scores, reverse=True)  # without reranking another hypothesis is best
    plain = make_search_call(service)({"request": {**PAGE, "back_weight": 0.0}, "theme": "light", "language": "en"})
    assert set(plain["backs"]) == {None}


def test_api_can_request_reranking(service: Service) -> None:
    endpoints = Endpoints(service)
    request_values: dict[str, Any] = {"text": SENTENCE, "model": "de-en", "beam_size": 4}
    assert CHOSEN in endpoints.translate({**request_values, "back_weight": REVERSE_WEIGHT})["text"]
    assert CHOSEN not in endpoints.translate(request_values)["text"]


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"beam_size": 1}, "nothing_to_choose"),
        ({"beam_size": 4, "target": "Yes."}, "nothing_to_choose"),
    ],
)
def test_api_rejects_ineffective_reranking(service: Service, more: dict[str, Any], word: str) -> None:
    request_values = {"text": SENTENCE, "model": "de-en", "back_weight": REVERSE_WEIGHT, **more}
    for ask in (Endpoints(service).translate, Endpoints(service).attention):
        with pytest.raises(PageError) as error_info:
            ask(
                request_values
                if ask.__name__ == "translate"
                else {**request_values, "kind": "cross", "layer": 0, "head": 0}
            )
        assert (error_info.value.field, error_info.value.word) == ("back_weight", word)


def test_api_rejects_reranking_without_reverse_model(one_way: Service) -> None:
    with pytest.raises(PageError) as error_info:
        Endpoints(one_way).translate({"text": "ich mochte ein bier", "beam_size": 4, "back_weight": REVERSE_WEIGHT})
    assert (error_info.value.field, error_info.value.word) == ("back_weight", "no_way_back")


@pytest.mark.parametrize("weight", [-0.1, 10.5, "much", True, None])
def test_invalid_back_weight_is_rejected(service: Service, weight: Any) -> None:
    with pytest.raises(PageError) as error_info:
        service.check({**PAGE, "back_weight": weight})
    assert error_info.value.field == "back_weight"


def test_failing_reverse_model_falls_back_to_search(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = Service(Settings())
    load = fresh.loaded.load

    def load_or_fail(card: ModelCard) -> Any:
        if card.name == "en-de":
            raise PageError("model", "model_cannot_load", {"given": card.name})
        return load(card)

    monkeypatch.setattr(fresh.loaded, "load", load_or_fail)
    alone = service.translate(service.check({**PAGE, "back_weight": 0}))
    translation = fresh.translate(fresh.check(PAGE))
    assert (translation.text, [each.reverse_score for each in translation.hypotheses]) == (alone.text, [None] * 4)


def test_reranking_is_part_of_cache_key(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen, alone = (service.cache_key(service.check({**PAGE, **more})) for more in ({}, {"beam_size": 1}))
    monkeypatch.setattr(service.catalogue, "reverse_model", lambda name: "")
    assert service.cache_key(service.check(PAGE)).revision != chosen.revision
    assert service.cache_key(service.check({**PAGE, "beam_size": 1})) == alone


def test_pruning_is_compared_with_unreranked_translation(service: Service) -> None:
    config = service.model_info("de-en").model.config
    heads = [
        {"kind": kind, "layer": layer, "head": head}
        for kind, layers in (
            ("encoder", config.encoder_layers),
            ("decoder", config.decoder_layers),
            ("cross", config.decoder_layers),
        )
        for layer in range(layers)
        for head in range(config.heads)
    ]
    request_values: list[Any] = []

    def run(name: str, work: Any, request: Any, text: str, *more: Any) -> None:
        request_values.append((request, text))

    translated = service.translate(service.check({**PAGE, "back_weight": 0})).text
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(service, "run_on_translator", run)
        make_pruning_search_call(service)({"request": PAGE, "order": heads})
    ((request, text),) = request_values
    assert request.options.back_weight == 0
    assert text == translated


def test_ineffective_mistake_keeps_own_translation(service: Service) -> None:
    experiment = ExperimentInput({}, service.check(PAGE), service)
    result = experiment.run(try_mistakes, experiment.own_translation, ["softmax"])
    assert CHOSEN not in result.generated.text == experiment.own_translation.text


def test_live_requests_are_not_reranked(service: Service) -> None:
    from headlight.viz.tabs.translate import LIVE_OPTIONS

    request_values = service.check({**PAGE, **LIVE_OPTIONS}, model_defaults=True)
    assert replace(request_values.options, no_repeat=0) == replace(
        request_values.options, no_repeat=0, beam_size=1, back_weight=0.0
    )


# ---------------------------------------------------------------- comparisons of a changed and the unchanged model


def test_interventions_are_not_reranked(service: Service) -> None:
    request_values = {**PAGE, "text": BROKEN}
    alone = {**request_values, "back_weight": 0}
    plain, broken = (service.translate(service.check({**alone, "interventions": each})) for each in ([], [OFF]))
    repaired = service.translate(service.check({**request_values, "interventions": [OFF]}))
    assert len({plain.text, broken.text, repaired.text}) == 3  # otherwise reranking would repair nothing
    response = make_changed_answer_call(service)({"request": request_values, "interventions": [OFF]})
    assert response["answer"]["text"] == broken.text
    assert response["before"] == pytest.approx(plain.log_probability, abs=1e-5)
    assert {each.reverse_score for each in broken.hypotheses} == {None}


def test_unchanged_side_is_unreranked(service: Service) -> None:
    own = service.translate(service.check({**PAGE, "back_weight": 0}))
    for changes in ([], [OFF]):
        response = make_changed_answer_call(service)({"request": PAGE, "interventions": changes})
        assert response["own"]["text"] == own.text
        assert CHOSEN not in own.text
    response = make_changed_answer_call(service)({"request": PAGE, "interventions": [OFF]})
    words = [word["before"] for word in response["words"] if word["before"] is not None]
    assert "".join(words[:-1]) == own.text.replace(" ", "")
    for request in ({**PAGE, "back_weight": 0.0}, {**PAGE, "text": BROKEN}):  # the page already shows this translation
        assert make_changed_answer_call(service)({"request": request, "interventions": []})["own"] is None


def test_importance_uses_unreranked_translation(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    own = service.translate(service.check({**PAGE, "back_weight": 0})).text
    texts: list[str] = []

    def run(name: str, work: Any, answer: Any, sets: Any) -> list[float]:
        texts.append(answer.text)
        return [0.0] * len(sets)

    head = {"kind": "cross", "layer": 0, "head": 3}
    monkeypatch.setattr(service, "run_on_translator", run)
    make_importance_call(service)({"request": PAGE})
    make_interactions_call(service)({"request": PAGE, "part": head})
    assert set(texts) == {own}


def test_second_search_is_compared_with_unreranked_translation(service: Service) -> None:
    greedy = {"text": SENTENCE, "model": "de-en", "beam_size": 1}
    response = make_second_answer_call(service)({"request": PAGE, "other": greedy})
    own = service.translate(service.check({**PAGE, "back_weight": 0}))
    assert response["own"]["text"] == own.text
    words = [unit for unit in response["target"]["units"] if unit["first"]]
    assert sum(len(unit["first"]) for unit in words) == len(own.target_tokens)
    wider = make_second_answer_call(service)({"request": {**PAGE, "beam_size": 1}, "other": {**greedy, "beam_size": 4}})
    assert wider["answer"]["text"] == own.text
    other = make_second_answer_call(service)({"request": PAGE, "other": {"text": SENTENCE, "model": "toy"}})
    assert other["own"] is None  # two models: each with its own reranking

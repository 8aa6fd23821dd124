"""Why: every number of the explanation is the model's own, and they add up to the weight."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from headlight.model.records import KINDS, DecodingOptions, Kind, Translation, TranslationRequest
from headlight.model.translate.translator import Translator
from headlight.viz.answers.service import Service
from headlight.viz.errors import PageError
from headlight.viz.settings import Settings
from headlight.viz.tabs.why import PROBES, cell, evidence, pair_of, softmax_steps
from headlight.viz.wire.rpc import answering
from headlight.viz.words import LANGUAGES, words
from tests.tiny import HEAD_WIDTH, HEADS, SENTENCES, tiny_translator

BEER = "ich mochte ein bier"
PAIR = {"kind": "cross", "layer": 1, "head": 2, "row": 1, "column": 3}
LOOK = {"theme": "light", "language": "en"}


class OneModel:
    """A service in front of a single model; it counts what it computes."""

    def __init__(self, translator: Translator) -> None:
        self.settings = Settings()
        self.one = translator
        self.asked: list[TranslationRequest] = []

    def translator(self, name: str = "") -> Translator:
        return self.one

    def check(self, values: Mapping[str, Any]) -> TranslationRequest:
        return self.one.request(values["text"])

    def translate(self, request: TranslationRequest) -> Translation:
        self.asked.append(request)
        return self.one.translate(request)


@pytest.fixture(scope="module", params=["sinusoidal", "rotary", "alibi", "relative", "unscaled"])
def tiny(request: pytest.FixtureRequest) -> OneModel:
    fields = {"scale_scores": False} if request.param == "unscaled" else {"positions": request.param}
    return OneModel(tiny_translator(**fields))


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings(model="toy"))


def translation_of(service: Any, text: str = SENTENCES[0]) -> Translation:
    return service.translate(replace(service.check({"text": text}), options=DecodingOptions(max_length=7)))


# ---------------------------------------------------------------- the numbers


@pytest.mark.parametrize("kind", KINDS)
def test_products_over_the_divisor_plus_the_bias_are_the_score(tiny: OneModel, kind: Kind) -> None:
    translation = translation_of(tiny)
    for layer in range(translation.attention.of(kind).shape[0]):
        found = evidence(tiny, translation, kind, layer, 4)  # type: ignore[arg-type]
        sums = (found.queries[:, None] * found.keys[None]).sum(axis=-1, dtype=np.float64)  # [rows, columns]
        expected = sums / found.divisor + (0.0 if found.bias is None else found.bias)
        assert found.queries.shape[-1] == HEAD_WIDTH
        np.testing.assert_allclose(expected, found.scores, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_the_softmax_of_a_row_of_scores_is_its_weights(tiny: OneModel, kind: Kind) -> None:
    translation = translation_of(tiny)
    found = evidence(tiny, translation, kind, 1, 3)  # type: ignore[arg-type]
    for row in range(len(found.map.rows)):
        steps = softmax_steps(found, row)
        powers, total = np.array(steps["powers"]), steps["total"]
        np.testing.assert_allclose(powers / total, translation.attention.of(kind)[1, 3, row], atol=1e-4)
        np.testing.assert_allclose(steps["weights"], translation.attention.of(kind)[1, 3, row], atol=1e-6)
        assert steps["allowed"] == found.map.allowed[row].tolist()


def test_a_masked_key_has_a_score_but_no_power_and_no_weight(tiny: OneModel) -> None:
    found = evidence(tiny, translation_of(tiny), "decoder", 0, 0)  # type: ignore[arg-type]
    steps = softmax_steps(found, 1)
    assert steps["allowed"][:4] == [True, True, False, False]
    assert steps["powers"][2] == steps["weights"][2] == 0.0
    assert abs(steps["scores"][2]) > 0
    assert sum(steps["weights"]) == pytest.approx(1.0, abs=1e-5)


def test_a_bias_is_told_of_where_positions_add_one_and_nowhere_else() -> None:
    alibi = OneModel(tiny_translator(positions="alibi"))
    translation = translation_of(alibi)
    one_way = evidence(alibi, translation, "decoder", 1, 2)  # type: ignore[arg-type]
    assert one_way.bias is not None
    assert one_way.bias[5, 3] == pytest.approx(2 * one_way.bias[5, 4])
    assert evidence(alibi, translation, "cross", 1, 2).bias is None  # type: ignore[arg-type]
    plain = OneModel(tiny_translator())
    assert evidence(plain, translation_of(plain), "encoder", 1, 2).bias is None  # type: ignore[arg-type]


def test_only_the_probes_of_the_layer_that_is_asked_for_are_watched() -> None:
    tiny = OneModel(tiny_translator())
    translation = translation_of(tiny)
    evidence(tiny, translation, "cross", 2, 1)  # type: ignore[arg-type]
    assert tiny.asked[-1].capture == tuple(f"decoder.layers.2.cross_attention.{probe}" for probe in PROBES)
    assert tiny.asked[-1].target == tuple(token.id for token in translation.target_tokens)


def test_looking_closer_changes_no_weight(service: Service) -> None:
    translation = service.translate(service.check({"text": BEER, "beam_size": 3}))
    found = evidence(service, translation, "cross", 0, 1)
    again = service.translate(
        replace(translation.request, target=tuple(token.id for token in translation.target_tokens))
    )
    np.testing.assert_array_equal(found.map.weights, translation.attention.cross[0, 1])
    np.testing.assert_allclose(again.attention.cross, translation.attention.cross, atol=1e-6)


# ---------------------------------------------------------------- what the browser gets


def test_the_answer_is_plain_json_with_the_figure_and_all_numbers(service: Service) -> None:
    text = answering(pair_of(service))(json.dumps({"request": {"text": BEER}, **PAIR, **LOOK}))
    answer = json.loads(text)
    width = len(answer["query"])
    product = sum(q * k for q, k in zip(answer["query"], answer["key"], strict=True))
    assert product == pytest.approx(answer["sum"], abs=1e-3)
    assert answer["sum"] / width**0.5 == pytest.approx(answer["row"]["scores"][PAIR["column"]], abs=1e-4)
    weights = service.translate(service.check({"text": BEER})).attention.cross[1, 2, 1]
    np.testing.assert_allclose(answer["row"]["weights"], weights, atol=1e-6)
    assert answer["figure"]["layout"]["meta"]["weight"] == pytest.approx(float(weights[3]), abs=1e-6)
    assert answer["figure"]["layout"]["title"]["text"] == ""


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_figure_speaks_the_language_of_the_page(service: Service, language: str) -> None:
    figure = pair_of(service)({"request": {"text": BEER}, **PAIR, "theme": "dark", "language": language})["figure"]
    named = figure["layout"]["yaxis"]["ticktext"]
    assert named == [words(language)[f"figure_neurons_{part}"] for part in ("query", "key", "product")]


@pytest.mark.parametrize(
    ("changed", "field", "word"),
    [
        ({"layer": "mean"}, "layer", "not_whole"),
        ({"head": "max"}, "head", "not_whole"),
        ({"layer": 99}, "layer", "not_whole"),
        ({"head": 8}, "head", "not_whole"),
        ({"head": -1}, "head", "not_choice"),
        ({"row": None}, "row", "not_whole"),
        ({"row": 3000}, "row", "not_whole"),
        ({"row": True}, "row", "not_whole"),
        ({"column": 1.5}, "column", "not_whole"),
        ({"kind": "sideways"}, "kind", "not_choice"),
        ({"kind": None}, "kind", "not_choice"),
        ({"theme": "blue"}, "theme", "not_choice"),
        ({"language": ["en"]}, "language", "not_choice"),
        ({"request": None}, "text", "not_names"),
        ({"request": {"text": ""}}, "text", "blank_text"),
        ({"request": {"text": BEER, "capture": ["*"]}}, "capture", "unknown_name"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(
    service: Service, changed: dict[str, Any], field: str, word: str
) -> None:
    asked = {"request": {"text": BEER}, **PAIR, **LOOK} | changed
    with pytest.raises(PageError) as error:
        pair_of(service)(asked)
    assert (error.value.field, error.value.word) == (field, word)


def test_a_cell_is_looked_for_in_its_own_kind(service: Service) -> None:
    translation = service.translate(service.check({"text": BEER}))
    rows, columns = translation.attention.cross.shape[2:]
    last = {**PAIR, "row": rows - 1, "column": columns - 1}
    assert cell(last, translation, service.settings) == ("cross", 1, 2, rows - 1, columns - 1)
    with pytest.raises(PageError, match="column"):
        cell({**last, "column": columns}, translation, service.settings)
    assert HEADS == 5

"""The payload of a translation matches the model's output."""

from __future__ import annotations

import json

import numpy as np
import orjson
import pytest

from headlight import Translator
from headlight.model.measures.roles import head_roles
from headlight.model.measures.statistics import STATISTICS, Statistic, measure
from headlight.model.phrases import LANGUAGES, phrases
from headlight.model.records import KINDS, Kind, Translation
from headlight.viz.service.payload import (
    encode_error,
    encode_partial,
    make_measure_values,
    make_token_values,
    translation_json,
)
from headlight.viz.service.weight_encoding import alphabet, encode_weights
from headlight.viz.settings import MODELS
from tests.letters import NEAR, decoded

ABOUT = {"name": "toy", "source": "de", "target": "en"}


@pytest.fixture(scope="module")
def translation() -> Translation:
    return Translator.load(MODELS / "toy").translate("ich mochte ein bier", beam_size=3)


def test_weights_roundtrip_to_fourth_decimal() -> None:
    weights = np.random.default_rng(0).random((2, 3, 5, 7), dtype=np.float32) ** 3
    roundtrip = decoded({"letters": encode_weights(weights), "shape": weights.shape})
    assert np.abs(roundtrip - weights).max() <= NEAR
    assert (np.round(roundtrip, 4) == np.round(weights.astype(np.float64), 4)).all()


def test_out_of_range_weights_are_clamped() -> None:
    out_of_range, clamped = np.array([-0.1, -1e-9, 1.0000002], dtype=np.float32), np.array([0, 0, 1], dtype=np.float32)
    assert encode_weights(out_of_range) == encode_weights(clamped)


def test_encoding_needs_no_escapes_and_small_weights_take_one_byte() -> None:
    letters = "".join(map(chr, dict.fromkeys(alphabet().tolist())))
    assert len(set(letters)) == len(letters)
    assert json.dumps(letters, ensure_ascii=False) == f'"{letters}"'
    assert orjson.dumps(letters).decode() == f'"{letters}"'
    assert not set("<>&'") & set(letters)
    assert letters.splitlines() == [letters]  # a message of a stream is one line
    small_weights = np.full(100, 0.005, dtype=np.float32)
    assert len(encode_weights(small_weights).encode()) == small_weights.size


def test_payload_has_all_maps_and_tokens(translation: Translation) -> None:
    values = json.loads(translation_json(translation, ABOUT))
    assert values["model"] == ABOUT
    for kind in KINDS:
        weights = decoded(values["attention"][kind], causal=kind == "decoder")
        np.testing.assert_allclose(weights, translation.attention.of(kind), atol=NEAR)
    assert [token["text"] for token in values["source"]] == [token.text for token in translation.source_tokens]
    assert [token["id"] for token in values["target"]] == [token.id for token in translation.target_tokens]
    assert len(values["tree"]) == len(translation.tree.nodes)
    layers, heads = translation.attention.cross.shape[:2]
    assert len(values["roles"]["cross"]) >= layers
    assert len(values["roles"]["cross"][0]) >= heads


def test_payload_has_role_per_head(translation: Translation) -> None:
    values = json.loads(translation_json(translation, ABOUT))["roles"]
    for kind, layers in head_roles(translation).items():
        assert values[kind] == [
            [[each.name, round(each.share, 4), round(each.spread, 2)] for each in layer] for layer in layers
        ]


@pytest.mark.parametrize("kind", KINDS)
def test_measures_are_sent_with_displayed_precision(translation: Translation, kind: Kind) -> None:
    values = json.loads(translation_json(translation, ABOUT))["measures"][kind]
    assert list(values) == [name for name, each in STATISTICS.items() if kind in each.kinds]
    for name, (unit, scale, letters) in values.items():
        expected = measure(translation, kind, name).ravel()
        assert unit == STATISTICS[name].unit
        assert [letter == " " for letter in letters] == np.isnan(expected).tolist()
        numbers = scale * decoded({"letters": letters.replace(" ", "!"), "shape": expected.shape}).astype(np.float64)
        for number, exact in zip(numbers, expected, strict=True):
            assert np.isnan(exact) or (f"{number:.2f}", f"{number:.1f}") == (f"{exact:.2f}", f"{exact:.1f}"), name


def test_measure_scales_depend_on_range(translation: Translation, monkeypatch: pytest.MonkeyPatch) -> None:
    shape = translation.attention.cross.shape[:2]
    numbers = {"one": 1 - 2**-24, "two": 1, "three": 2.5, "four": 31.25, "five": np.nan}
    for name, number in numbers.items():
        values = np.full(shape, number, dtype=np.float32)
        monkeypatch.setitem(STATISTICS, name, Statistic(lambda *_, values=values: values, "tokens", "", ("cross",)))
    sent = make_measure_values(translation, "cross")
    assert sent["one"] == sent["two"]
    assert [sent[name][:2] for name in numbers] == [("tokens", scale) for scale in (1, 1, 10, 100, 1)]
    assert set(sent["five"][2]) == {" "}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_measure_has_phrases(language: str) -> None:
    table = phrases(language)
    for name, statistic in STATISTICS.items():
        assert {f"measure_{name}", f"measure_{name}_says"} <= table.keys()
        assert statistic.unit == "share" or f"unit_{statistic.unit}" in table


def test_payload_overhead_is_small(translation: Translation) -> None:
    weights = sum(translation.attention.of(kind).size for kind in KINDS)
    assert len(translation_json(translation, ABOUT).encode()) <= 2.8 * weights + 40_000


def test_target_tokens_have_probabilities_and_alternatives(translation: Translation) -> None:
    first = make_token_values(translation.target_tokens)[0]
    token = translation.target_tokens[0]
    assert first["probability"] == pytest.approx(token.probability, abs=1e-6)
    assert [each[1] for each in first["alternatives"]] == [each.id for each in token.alternatives]
    assert "probability" not in make_token_values(translation.source_tokens)[0]


def test_text_cannot_close_script_element(translation: Translation) -> None:
    hostile = "</script><script>alert(1)</script><!--"
    for text in (
        encode_partial(hostile, ()),
        encode_error("text", "missing", {"given": hostile}),
        translation_json(translation, ABOUT | {"name": hostile}),
    ):
        assert "<" not in text
        assert hostile in json.dumps(json.loads(text))


def test_text_cannot_imitate_encoded_map(translation: Translation) -> None:
    hostile = '"letters":"encoder"'
    values = json.loads(translation_json(translation, ABOUT | {"name": hostile}, hint=hostile))
    assert (values["model"]["name"], values["hint"]) == (hostile, hostile)
    for kind in KINDS:
        weights = decoded(values["attention"][kind], causal=kind == "decoder")
        np.testing.assert_allclose(weights, translation.attention.of(kind), atol=NEAR)


def test_hostile_text_is_escaped() -> None:
    message = json.loads(encode_partial("${alert(1)} {{this}} </script>", ()))
    assert message == {"what": "progress", "text": "${alert(1)} {{this}} </script>", "target": []}
    assert json.loads(encode_error("text", "missing", {"name": "text"}))["word"] == "missing"

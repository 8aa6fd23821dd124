"""What the browser gets holds what the model gave, to a 16-bit number a weight."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

from headlight import Translator
from headlight.model.measures.roles import roles
from headlight.model.records import KINDS, Translation
from headlight.viz.answers.payload import (
    FULL,
    error_json,
    progress_json,
    tokens_values,
    translation_json,
    weights_values,
)
from headlight.viz.settings import MODELS

ABOUT = {"name": "toy", "source": "de", "target": "en"}


@pytest.fixture(scope="module")
def translation() -> Translation:
    return Translator.load(MODELS / "toy").translate("ich mochte ein bier", beam_size=3)


def decoded(values: dict[str, object]) -> np.ndarray:
    numbers = np.frombuffer(base64.b64decode(str(values["weights"])), dtype="<u2")
    return numbers.reshape(values["shape"]).astype(np.float32) / FULL


def test_weights_come_back_to_half_a_step() -> None:
    weights = np.random.default_rng(0).random((2, 3, 5, 7), dtype=np.float32)
    assert np.abs(decoded(weights_values(weights)) - weights).max() <= 0.5 / FULL + 1e-7


def test_zero_and_one_stay_exact() -> None:
    weights = np.array([[0.0, 1.0]], dtype=np.float32)
    assert decoded(weights_values(weights)).tolist() == [[0.0, 1.0]]


def test_an_answer_holds_every_map_and_token(translation: Translation) -> None:
    values = json.loads(translation_json(translation, ABOUT))
    assert values["model"] == ABOUT
    for kind in KINDS:
        np.testing.assert_allclose(
            decoded(values["attention"][kind]), translation.attention.of(kind), atol=0.5 / FULL + 1e-7
        )
    assert [token["text"] for token in values["source"]] == [token.text for token in translation.source_tokens]
    assert [token["id"] for token in values["target"]] == [token.id for token in translation.target_tokens]
    assert len(values["tree"]) == len(translation.tree.nodes)
    layers, heads = translation.attention.cross.shape[:2]
    assert len(values["roles"]["cross"]) >= layers
    assert len(values["roles"]["cross"][0]) >= heads


def test_every_head_says_what_it_does(translation: Translation) -> None:
    values = json.loads(translation_json(translation, ABOUT))["roles"]
    for kind, layers in roles(translation).items():
        assert values[kind] == [
            [[each.name, round(each.share, 4), round(each.spread, 2)] for each in layer] for layer in layers
        ]


def test_an_answer_weighs_little_more_than_its_weights(translation: Translation) -> None:
    weights = sum(translation.attention.of(kind).size for kind in KINDS)
    assert len(translation_json(translation, ABOUT).encode()) <= 2.8 * weights + 40_000


def test_probabilities_and_alternatives_travel_with_written_tokens(translation: Translation) -> None:
    first = tokens_values(translation.target_tokens)[0]
    token = translation.target_tokens[0]
    assert first["probability"] == pytest.approx(token.probability, abs=1e-6)
    assert [each[1] for each in first["alternatives"]] == [each.id for each in token.alternatives]
    assert "probability" not in tokens_values(translation.source_tokens)[0]


def test_no_text_can_close_the_script_that_it_stands_in(translation: Translation) -> None:
    hostile = "</script><script>alert(1)</script><!--"
    for text in (
        progress_json(hostile, ()),
        error_json("text", "missing", {"given": hostile}),
        translation_json(translation, ABOUT | {"name": hostile}),
    ):
        assert "<" not in text
        assert hostile in json.dumps(json.loads(text))


def test_hostile_text_is_only_text() -> None:
    message = json.loads(progress_json("${alert(1)} {{this}} </script>", ()))
    assert message == {"what": "progress", "text": "${alert(1)} {{this}} </script>", "target": []}
    assert json.loads(error_json("text", "missing", {"name": "text"}))["word"] == "missing"

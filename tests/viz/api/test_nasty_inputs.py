"""140 inputs that break pages: each is translated with everything in order, or refused with a clean message.

`tests/data/nasty_inputs.json` has the expected result of each: `ok`, `reject`, or `either`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headlight.model.records import KINDS, Progress, Translation
from headlight.model.text.adaptation import remove_emoji
from headlight.model.text.cleaning import clean_text
from headlight.model.translate.translator import Translator
from headlight.viz.errors import PageError
from headlight.viz.figure_phrases import phrase
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from tests.viz.serving import GRADIO_WARNS, Answer, Server, assert_clean

pytestmark = [pytest.mark.filterwarnings(f"ignore:{message}") for message in GRADIO_WARNS]
INPUTS = json.loads((Path(__file__).parents[2] / "data" / "nasty_inputs.json").read_text(encoding="utf-8"))["inputs"]
SETTINGS = Settings()
MAX_BODY_BYTES = SETTINGS.max_request_kb * 1000


def payload(case: dict[str, Any]) -> str:
    """The input as JSON, as in a request."""
    if "json" in case:
        return str(case["json"])
    return json.dumps(build_text(case))


def build_text(case: dict[str, Any]) -> str:
    if "gen" in case:
        generator = case["gen"]
        return str(generator["prefix"] + generator["unit"] * generator["times"] + generator["suffix"])
    return str(case["text"])


def may_be_translated(case: dict[str, Any]) -> bool:
    return case["expect"] in ("ok", "either")


def may_be_refused(case: dict[str, Any], model: str) -> bool:
    """Two that are said to be fine are not: tag characters alone, of which nothing can be seen, as with any blank text;
    and 250 words for the toy, whose vocabulary has so few of them that they are 500 tokens."""
    return case["expect"] in ("reject", "either") or (case["id"], model) in (
        ("tag_chars", "toy"),
        ("tag_chars", "de-en"),
        ("limit_exact", "toy"),
    )


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(SETTINGS)


@pytest.fixture
def model_runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which texts the model was run on."""
    texts: list[str] = []
    translate, stream = Translator.translate, Translator.stream

    def counted(self: Translator, text: Any, **named: Any) -> Translation:
        texts.append(text.text)
        return translate(self, text, **named)

    def counted_stream(self: Translator, text: Any, **named: Any) -> Iterator[Progress]:
        texts.append(text.text)
        return stream(self, text, **named)

    monkeypatch.setattr(Translator, "translate", counted)
    monkeypatch.setattr(Translator, "stream", counted_stream)
    return texts


def assert_sound(answer: Translation, text: str, max_tokens: int) -> None:
    """Everything that holds of every translation."""
    assert answer.request.text == text
    assert answer.source_text in (clean_text(text), remove_emoji(clean_text(text)))
    rows_and_columns = {
        "encoder": (answer.source_tokens, answer.source_tokens),
        "decoder": (answer.target_tokens, answer.decoder_tokens),
        "cross": (answer.target_tokens, answer.source_tokens),
    }
    for kind in KINDS:
        rows, columns = rows_and_columns[kind]
        maps, allowed = answer.attention.of(kind), answer.attention.allowed(kind)
        assert maps.shape[-2:] == (len(rows), len(columns))
        assert np.isfinite(maps).all()
        assert (maps >= 0).all()
        assert np.allclose(maps.sum(axis=-1), 1, atol=1e-5)
        assert (maps[..., ~allowed] == 0).all()
    for tokens, full_text in ((answer.source_tokens, answer.source_text), (answer.target_tokens, answer.text)):
        assert 0 < len(tokens) <= max_tokens
        for token in tokens:
            assert 0 <= token.start <= token.end <= len(full_text)
        assert [token.start for token in tokens] == sorted(token.start for token in tokens)
    seen = {place for token in answer.source_tokens for place in range(token.start, token.end)}
    assert {place for place, letter in enumerate(answer.source_text) if letter != " "} <= seen
    assert all(0 <= (token.probability or 0) <= 1 for token in answer.target_tokens)
    assert np.isfinite(answer.score)


def test_list_of_nasty_inputs_is_complete() -> None:
    assert len(INPUTS) == len({case["id"] for case in INPUTS}) == 140
    assert {case["expect"] for case in INPUTS} == {"ok", "reject", "either"}


@pytest.mark.slow(after=8)
@pytest.mark.parametrize("model", ["toy", "de-en"])
@pytest.mark.parametrize("case", INPUTS, ids=lambda case: case["id"])
def test_nasty_inputs_in_python(service: Service, model_runs: list[str], case: dict[str, Any], model: str) -> None:
    value = json.loads(payload(case)) if "json" in case else build_text(case)
    try:
        request = service.check({"text": value, "model": model})
    except PageError as error:
        refused = error
    else:
        assert may_be_translated(case)
        assert_sound(service.translate(request), value, SETTINGS.max_tokens)
        return
    assert may_be_refused(case, model)
    assert model_runs == []
    assert refused.word not in {"model_says", "our_fault"}
    assert_clean(str(refused))
    assert str(refused).isprintable()
    assert str(refused).encode()


@pytest.mark.slow(after=8)
@pytest.mark.parametrize("model", ["toy", "de-en"])
@pytest.mark.parametrize("case", INPUTS, ids=lambda case: case["id"])
def test_nasty_inputs_through_api(
    service: Service, server: Server, model_runs: list[str], case: dict[str, Any], model: str
) -> None:
    body = f'{{"data": [{payload(case)}, "{model}"]}}'.encode()
    answer: Answer = server.post("call/translate", content=body)
    assert answer.status in (200, 400, 413, 422)
    assert (answer.status == 413) == (len(body) > MAX_BODY_BYTES)
    if answer.error:
        assert may_be_refused(case, model)
        assert model_runs == []
        assert answer.error != phrase("error_our_fault")
        assert_clean(answer.text)
        return
    assert may_be_translated(case)
    truth = service.translate(service.check({"text": build_text(case), "model": model}))
    assert answer.values["text"] == truth.text
    assert [token["text"] for token in answer.values["tokens"]] == [token.text for token in truth.target_tokens]


@pytest.mark.parametrize("kind", KINDS)
def test_longest_sentence_has_full_attention(server: Server, kind: str) -> None:
    case = next(case for case in INPUTS if case["id"] == "limit_exact")
    values = server.call("attention", build_text(case), kind, 0, "mean", "de-en").values
    assert np.array(values["weights"]).shape == (len(values["rows"]), len(values["columns"]))
    assert len(values["rows"]) > 200 or kind != "encoder"

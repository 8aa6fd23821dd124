"""Why: explanations match the model and add up to the weight."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from headlight.model.core.probes import watch
from headlight.model.experiments.logit_lens import decompose_logit
from headlight.model.experiments.score_parts import SIDES, Cell, score_parts, weight_without
from headlight.model.records import KINDS, DecodingOptions, Kind, Translation, TranslationRequest
from headlight.model.translate.translator import Translator
from headlight.viz.errors import PageError
from headlight.viz.server.calls import call_json
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from headlight.viz.tabs.why import (
    MAX_LINES,
    MAX_MEASURED_PARTS,
    MAX_READS,
    PROBES,
    RowSelection,
    compute_head,
    make_measure_call,
    make_row_call,
    make_score_call,
    make_stream_call,
    parse_row_selection,
    softmax_steps,
    visible_keys,
)
from headlight.viz.token_labels import make_visible
from tests.tiny import HEAD_WIDTH, HEADS, SENTENCES, tiny_translator

BEER = "ich mochte ein bier"
PAIR = {"kind": "cross", "layer": 1, "head": 2, "row": 1, "column": 3}


class OneModel:
    """A service with a single model that records its requests."""

    def __init__(self, translator: Translator) -> None:
        self.settings = Settings()
        self.one = translator
        self.asked: list[TranslationRequest] = []

    def model_info(self, name: str = "") -> Translator:
        return self.one

    def run_on_translator(self, name: str, work: Callable[..., Any], *arguments: Any) -> Any:
        return work(self.one, *arguments)

    def check(self, values: Mapping[str, Any]) -> TranslationRequest:
        return self.one.request(values["text"], target=values.get("target"))

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


def make_translation(service: Any, text: str = SENTENCES[0]) -> Translation:
    return service.translate(replace(service.check({"text": text}), options=DecodingOptions(max_length=7)))


# ---------------------------------------------------------------- the numbers


@pytest.mark.parametrize("kind", KINDS)
def test_scaled_products_plus_bias_equal_score(tiny: OneModel, kind: Kind) -> None:
    translation = make_translation(tiny)
    for layer in range(translation.attention.of(kind).shape[0]):
        computed = compute_head(tiny, translation, kind, layer, 4)  # type: ignore[arg-type]
        sums = (computed.queries[:, None] * computed.keys[None]).sum(axis=-1, dtype=np.float64)  # [rows, columns]
        expected = sums / computed.divisor + (0.0 if computed.bias is None else computed.bias)
        assert computed.queries.shape[-1] == HEAD_WIDTH
        np.testing.assert_allclose(expected, computed.scores, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_softmax_of_scores_equals_weights(tiny: OneModel, kind: Kind) -> None:
    translation = make_translation(tiny)
    computed = compute_head(tiny, translation, kind, 1, 3)  # type: ignore[arg-type]
    for row in range(len(computed.map.rows)):
        steps = softmax_steps(computed, row)
        powers, total = np.array(steps["powers"]), steps["total"]
        np.testing.assert_allclose(powers / total, translation.attention.of(kind)[1, 3, row], atol=1e-4)
        np.testing.assert_allclose(steps["weights"], translation.attention.of(kind)[1, 3, row], atol=1e-6)
        assert steps["allowed"] == computed.map.allowed[row].tolist()


def test_masked_key_has_score_but_zero_weight(tiny: OneModel) -> None:
    computed = compute_head(tiny, make_translation(tiny), "decoder", 0, 0)  # type: ignore[arg-type]
    steps = softmax_steps(computed, 1)
    assert steps["allowed"][:4] == [True, True, False, False]
    assert steps["powers"][2] == steps["weights"][2] == 0.0
    assert abs(steps["scores"][2]) > 0
    assert sum(steps["weights"]) == pytest.approx(1.0, abs=1e-5)


def test_bias_is_reported_only_for_biased_positions() -> None:
    alibi = OneModel(tiny_translator(positions="alibi"))
    translation = make_translation(alibi)
    one_way = compute_head(alibi, translation, "decoder", 1, 2)  # type: ignore[arg-type]
    assert one_way.bias is not None
    assert one_way.bias[5, 3] == pytest.approx(2 * one_way.bias[5, 4])
    assert compute_head(alibi, translation, "cross", 1, 2).bias is None  # type: ignore[arg-type]
    plain = OneModel(tiny_translator())
    assert compute_head(plain, make_translation(plain), "encoder", 1, 2).bias is None  # type: ignore[arg-type]


def test_only_probes_of_requested_layer_are_watched() -> None:
    tiny = OneModel(tiny_translator())
    translation = make_translation(tiny)
    compute_head(tiny, translation, "cross", 2, 1)  # type: ignore[arg-type]
    assert tiny.asked[-1].capture == tuple(f"decoder.layers.2.cross_attention.{probe}" for probe in PROBES)
    assert tiny.asked[-1].target == tuple(token.id for token in translation.target_tokens)


def test_explanation_does_not_change_weights(service: Service) -> None:
    translation = service.translate(service.check({"text": BEER, "beam_size": 3}))
    computed = compute_head(service, translation, "cross", 0, 1)
    again = service.translate(
        replace(translation.request, target=tuple(token.id for token in translation.target_tokens))
    )
    np.testing.assert_array_equal(computed.map.weights, translation.attention.cross[0, 1])
    np.testing.assert_allclose(again.attention.cross, translation.attention.cross, atol=1e-6)


def test_exponentials_are_shifted_by_maximum_if_extreme() -> None:
    tiny = OneModel(tiny_translator())
    computed = compute_head(tiny, make_translation(tiny), "cross", 1, 2)  # type: ignore[arg-type]
    plain = softmax_steps(computed, 1)
    for far in (-70.0, 70.0):
        steps = softmax_steps(replace(computed, scores=computed.scores + np.float32(far)), 1)
        assert steps["shift"] == pytest.approx(max(steps["scores"]), abs=1e-6)
        assert max(steps["powers"]) == pytest.approx(1.0, abs=1e-5)
        shares = [np.array(each["powers"]) / each["total"] for each in (steps, plain)]
        np.testing.assert_allclose(*shares, atol=1e-4)


# ---------------------------------------------------------------- which keys have a line


def test_all_keys_are_listed_if_few_or_requested() -> None:
    weights = np.linspace(0, 1, MAX_LINES + 3).astype(np.float32)
    assert visible_keys(weights[:MAX_LINES], None, all_keys=False) == list(range(MAX_LINES))
    assert visible_keys(weights, 1, all_keys=True) == list(range(MAX_LINES + 3))


def test_selected_and_strongest_of_many_keys_are_listed() -> None:
    weights = np.linspace(0, 1, MAX_LINES + 3).astype(np.float32)
    assert visible_keys(weights, None, all_keys=False) == list(range(3, MAX_LINES + 3))
    assert visible_keys(weights, 1, all_keys=False) == [1, *range(4, MAX_LINES + 3)]


# ---------------------------------------------------------------- responses


def unpacked(sent: Mapping[str, Any]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(sent["numbers"]), dtype="<f4").reshape(sent["shape"])


def test_products_sum_to_score_and_exponentials_to_row_total(service: Service) -> None:
    text = call_json(make_row_call(service), {"request": {"text": BEER}, **PAIR})
    answer = json.loads(text)
    query, keys = unpacked(answer["query"]), unpacked(answer["keys"])
    assert answer["own"] == list(range(len(keys)))
    np.testing.assert_allclose((query * keys).sum(axis=-1, dtype=np.float64), answer["sums"], atol=1e-5)
    np.testing.assert_allclose(np.array(answer["sums"]) / len(query) ** 0.5, answer["scores"], atol=1e-4)
    np.testing.assert_allclose(np.exp(np.array(answer["scores"]) - answer["shift"]), answer["powers"], rtol=1e-4)
    assert sum(answer["powers"]) == pytest.approx(answer["total"], rel=1e-5)
    weights = service.translate(service.check({"text": BEER})).attention.cross[1, 2, 1]
    np.testing.assert_allclose(answer["weights"], weights, atol=1e-6)
    np.testing.assert_allclose(np.array(answer["powers"]) / answer["total"], weights, atol=1e-4)


@pytest.mark.parametrize("kind", ["decoder", "cross"])
def test_key_contributions_sum_to_head_contribution(tiny: OneModel, kind: Kind) -> None:
    translation = make_translation(tiny)
    layer, head, row = 1, 3, 2
    target_ids = tuple(token.id for token in translation.target_tokens)
    request = {"text": SENTENCES[0], "target": target_ids}
    values = {"request": request, "kind": kind, "layer": layer, "head": head, "row": row, "column": None}
    answer = make_stream_call(tiny)(values)  # type: ignore[arg-type]
    place = f"decoder.layers.{layer}.{'self' if kind == 'decoder' else 'cross'}_attention"
    seen = tiny.one.translate(
        replace(translation.request, target=target_ids, capture=(f"{place}.mixed",))
    ).captured  # the contribution of the head, from the values of the model
    matrix = tiny.one.model.get_submodule(place).output.weight.detach().numpy()  # type: ignore[union-attr,operator]
    expected = matrix[:, head * HEAD_WIDTH : (head + 1) * HEAD_WIDTH] @ seen[f"{place}.mixed"][head, row]
    np.testing.assert_allclose(unpacked(answer["total"]), expected, atol=1e-5)
    np.testing.assert_allclose(unpacked(answer["written"]).sum(axis=0), expected, atol=1e-5)
    terms = decompose_logit(tiny.one, translation, row).terms
    (own,) = (term for term in terms if (term.kind, term.layer, term.head) == (kind, layer, head))
    assert sum(answer["moved"]) == pytest.approx(own.effects[0], abs=1e-5)
    assert answer["moved_by_all"] == pytest.approx(own.effects[0], abs=1e-5)


def test_lifted_tokens_match_ablation() -> None:
    """In a model whose last norm is the only one after the head, at the scale of the whole run."""
    tiny = OneModel(tiny_translator(norm_first=True, final_norm=True))
    translation, layer, head, row = tiny.one.translate(SENTENCES[0], target="The dog is here."), 2, 1, 3
    model = tiny.one.model
    ids = [token.id for token in translation.target_tokens]
    request = {"text": SENTENCES[0], "target": tuple(ids)}
    answer = make_stream_call(tiny)({"request": request, **PAIR, "layer": layer, "head": head, "row": row})  # type: ignore[arg-type]
    stream = f"decoder.layers.{layer}.around_feed_forward.stream"
    sources = torch.tensor([[token.id for token in translation.source_tokens]])
    with torch.no_grad(), watch(model, stream) as seen:
        model(sources, torch.tensor([[model.config.start_id, *ids[:-1]]]))
    spread = seen[stream][0, row].var(unbiased=False).add(model.config.norm_epsilon).sqrt()
    total = torch.from_numpy(unpacked(answer["total"]).copy())
    decoder: Any = model.decoder
    raised = decoder.output.words.weight @ ((total - total.mean()) / spread * decoder.final_norm.weight)
    best = raised.topk(4)
    assert [by for _, by in answer["lifted"]] == pytest.approx(best.values.tolist(), abs=1e-3)
    labels = [make_visible(tiny.one.target_tokenizer.label(place)) for place in best.indices.tolist()]
    assert [label for label, _ in answer["lifted"]] == labels


def test_encoder_heads_have_no_logit_contribution(service: Service) -> None:
    answer = make_stream_call(service)({"request": {"text": BEER}, **PAIR, "kind": "encoder"})
    assert answer["moved"] is None
    assert unpacked(answer["total"]).any()


def test_weakest_keys_are_collapsed_and_sums_are_preserved(service: Service) -> None:
    text = " ".join([BEER] * 14)
    values = {"request": {"text": text}, **PAIR, "column": None}
    folded, whole = make_stream_call(service)(values), make_stream_call(service)(values | {"every": True})
    keys = len(service.translate(service.check({"text": text})).source_tokens)
    assert (len(folded["own"]), len(whole["own"])) == (MAX_LINES, keys)
    assert whole["rest"] is None
    together = unpacked(folded["written"]).sum(axis=0) + unpacked(folded["rest"])
    np.testing.assert_allclose(together, unpacked(folded["total"]), atol=1e-4)
    np.testing.assert_allclose(unpacked(whole["written"]).sum(axis=0), unpacked(whole["total"]), atol=1e-4)
    assert len(unpacked(make_row_call(service)(values)["keys"])) == MAX_LINES


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
        ({"every": 1}, "every", "not_switch"),
        ({"request": None}, "text", "not_names"),
        ({"request": {"text": ""}}, "text", "blank_text"),
        ({"request": {"text": BEER, "capture": ["*"]}}, "capture", "unknown_name"),
    ],
)
def test_invalid_values_are_rejected_by_name(service: Service, changed: dict[str, Any], field: str, word: str) -> None:
    values = {"request": {"text": BEER}, **PAIR} | changed
    for function in (make_row_call(service), make_stream_call(service)):
        with pytest.raises(PageError) as error:
            function(values)
        assert (error.value.field, error.value.word) == (field, word)


def test_cell_is_validated_against_its_kind(service: Service) -> None:
    translation = service.translate(service.check({"text": BEER}))
    rows, columns = translation.attention.cross.shape[2:]
    last = {**PAIR, "row": rows - 1, "column": columns - 1}
    assert parse_row_selection(last, translation, service.settings) == RowSelection(
        "cross", 1, 2, rows - 1, columns - 1
    )
    with pytest.raises(PageError, match="column"):
        parse_row_selection({**last, "column": columns}, translation, service.settings)
    assert HEADS == 5


# ---------------------------------------------------------------- parts of the score


@pytest.mark.slow(after=8)
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("kind", KINDS)
def test_score_parts_match_model_and_expand(tiny: OneModel, kind: Kind, side: str) -> None:
    values = {"request": {"text": SENTENCES[0]}} | PAIR | {"kind": kind, "row": 3, "column": 1, "side": side}
    answer = tiny.one.translate(SENTENCES[0])
    own = score_parts(tiny.one, answer, Cell(kind, 1, 2, 3, 1), side)  # type: ignore[arg-type]
    sent = make_score_call(tiny)(values)  # type: ignore[arg-type]
    assert sent["score"] == pytest.approx(own.score, abs=1e-5)
    assert [part["value"] for part in sent["parts"]] == pytest.approx([part.value for part in own.parts], abs=1e-5)
    for part, each in zip(sent["parts"], own.parts, strict=True):
        assert (part["writer"], part["kind"], part["layer"], part["head"]) == each.place
        assert len(part["reads"]) == min(MAX_READS, len(each.reads))
        assert all(value == pytest.approx(each.reads[place], abs=1e-5) for place, value in part["reads"])
    json.dumps(sent)
    measured = make_measure_call(tiny)(values)  # type: ignore[arg-type]
    first = [part for part in own.parts if part.writer != "biases"][:MAX_MEASURED_PARTS]
    weight, *without = weight_without(tiny.one, answer, Cell(kind, 1, 2, 3, 1), side, first)  # type: ignore[arg-type]
    assert measured["weight"] == pytest.approx(weight, abs=1e-6)
    assert [part["without"] for part in measured["parts"]] == pytest.approx(without, abs=1e-6)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"kind": "decoder", "row": 1, "column": 3}, "masked_cell"),
        ({"side": "values"}, "not_choice"),
        ({"column": None}, "wrong_field"),
        ({"column": 99}, "not_whole"),
    ],
)
def test_score_parts_without_cell_are_rejected(tiny: OneModel, changes: dict[str, Any], word: str) -> None:
    values = {"request": {"text": SENTENCES[0]}, "side": "key"} | PAIR | changes
    for function in (make_score_call, make_measure_call):
        with pytest.raises(PageError) as refused:
            function(tiny)(values)  # type: ignore[arg-type]
        assert refused.value.word == word

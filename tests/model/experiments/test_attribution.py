"""Attribution methods against independent computations."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headlight.model.core.probes import watch
from headlight.model.errors import RequestError
from headlight.model.experiments import gradients, trace
from headlight.model.experiments.attribution import (
    METHODS,
    attribute,
    attribution_query,
    attributions,
    list_removable_words,
    source_words,
)
from headlight.model.experiments.erasure import list_cumulative_sets, measure_erasure_losses
from headlight.model.experiments.gradients import attention_gradient, input_gradient, integrated_gradients
from headlight.model.experiments.trace import run_trace
from headlight.model.intervention_records import InputChange
from headlight.model.measures.alignment_head import most_informative_head
from headlight.model.measures.attention_rollout import mixing_from_contributions, rollout
from headlight.model.measures.norms import weighted_value_norms
from headlight.model.records import Intervention, Translation
from headlight.model.translate.translator import Translator
from tests.model.experiments.forced import RMS_RELATIVE, TARGET, TEXT
from tests.model.families import folders
from tests.tiny import HEADS, count_hooks, tiny_translator

PLACES = (2, 3)
VARIANTS: dict[str, dict[str, Any]] = {
    "post-norm, packed": {"step_weights": "float16"},
    "rms, relative": RMS_RELATIVE,
    "rotary": {"positions": "rotary", "norm_first": True, "final_norm": True, "activation": "swiglu"},
    "alibi": {"positions": "alibi"},
}  # fmt: skip


def rescore(translator: Translator, answer: Translation, **more: Any) -> Translation:
    """Score the same translation again, with more fields in the request."""
    ids = tuple(token.id for token in answer.target_tokens)
    return translator.translate(replace(answer.request, target=ids, prefix=None, **more))


def log_probability(answer: Translation, places: tuple[int, ...] = PLACES) -> float:
    return sum(math.log(answer.target_tokens[place].probability or 0) for place in places)


def test_every_method_scores_every_word(translator: Translator, answer: Translation) -> None:
    methods = [name for name in METHODS if name != "integrated"]  # tested below
    results = list(attributions(translator, answer, PLACES, methods))
    assert [result.name for result in results] == methods
    words = source_words(answer)
    for result in results:
        assert len(result.scores) == len(words), result.name
        assert all(score is None or math.isfinite(score) for score in result.scores), result.name
        assert result.seconds > 0
    assert not count_hooks(translator.model)
    assert not any(parameter.requires_grad for parameter in translator.model.parameters())


# ---------------------------------------------------------------- erasure


def test_erasure_matches_loss_of_masked_sentence(translator: Translator, answer: Translation) -> None:
    question = attribution_query(translator, answer, PLACES)
    scores = attribute(question, "erasure").scores
    for place, word in enumerate(question.words):
        tokens = [answer.source_tokens[each] for each in word.positions]
        if tokens[0].special:
            assert scores[place] is None
            continue
        mask = InputChange(action="mask", start=tokens[0].start, end=tokens[-1].end)
        masked = rescore(translator, answer, interventions=(mask,))
        assert scores[place] == pytest.approx(log_probability(answer) - log_probability(masked), abs=1e-3)


def test_hidden_word_is_not_erased_again() -> None:
    translator = tiny_translator()
    hidden = InputChange(action="mask", start=4, end=8)
    answer = translator.translate(TEXT, target=TARGET, interventions=(hidden,))
    places = list_removable_words(answer)
    assert len(places) == len(source_words(answer)) - 2  # without the hidden word and the end token
    losses = measure_erasure_losses(translator, answer, [1], [()])
    assert losses == [pytest.approx(0, abs=1e-5)]


def test_losses_do_not_depend_on_batch_size(monkeypatch: pytest.MonkeyPatch) -> None:
    translator = tiny_translator()
    answer = translator.translate(TEXT, target=TARGET)
    sets = list_cumulative_sets([(0,), (1, 2), (3,)], [2, 0, 1])
    assert sets == [(3,), (3, 0), (3, 0, 1, 2)]
    large = measure_erasure_losses(translator, answer, PLACES, sets)
    monkeypatch.setattr("headlight.model.experiments.erasure.MAX_ROWS_PER_BATCH", 1)
    assert measure_erasure_losses(translator, answer, PLACES, sets) == pytest.approx(large, abs=1e-4)


# ---------------------------------------------------------------- gradients


def test_input_gradients_match_finite_differences(translator: Translator, answer: Translation) -> None:
    result = input_gradient(translator, answer, PLACES)
    for token in (1, 4):
        high, low = (_score_with_scaled_embedding(translator, answer, token, factor) for factor in (1.003, 0.997))
        assert result[token] == pytest.approx((high - low) / 0.006, abs=3e-2 * max(1.0, abs(result[token])))


def _score_with_scaled_embedding(translator: Translator, answer: Translation, token: int, factor: float) -> float:
    """The log probability of the words if one source embedding is multiplied by a factor."""

    def stretch(embedded: torch.Tensor, name: str) -> torch.Tensor:
        longer = embedded.clone()
        longer[:, token] *= factor
        return longer

    with watch(translator.model, "encoder.embedding.embedded", edit=stretch):
        return log_probability(rescore(translator, answer))


@pytest.mark.parametrize("variant", ["post-norm, packed", "rotary"])
def test_integrated_gradients_are_complete(variant: str) -> None:
    translator = tiny_translator(**VARIANTS[variant])
    answer = translator.translate(TEXT, target=TARGET)
    result = integrated_gradients(translator, answer, PLACES)
    assert abs(result.completeness_gap) < 1e-2
    assert result.scores.sum() == pytest.approx(result.difference, abs=1e-2)

    with watch(translator.model, "encoder.embedding.embedded", edit=lambda value, name: value * 0):
        nothing = log_probability(rescore(translator, answer))
    assert result.difference == pytest.approx(log_probability(answer) - nothing, abs=1e-3)


def test_integrated_gradients_stop_at_time_limit() -> None:
    translator = tiny_translator()
    answer = translator.translate(TEXT, target=TARGET)
    result = integrated_gradients(translator, answer, PLACES, seconds=0)
    assert result.points == gradients.POINTS_PER_INTERVAL * (len(gradients.INITIAL_INTERVALS) - 1)


def test_attention_gradients_match_finite_differences_and_autograd(translator: Translator, answer: Translation) -> None:
    """Compare with finite differences of one weight: the positive part of slope times weight."""
    place, layer, head, source = 3, 1, 2, 4
    name = f"decoder.layers.{layer}.cross_attention.weights"

    def score_with(difference: float) -> float:
        def shift(weights: torch.Tensor, name: str) -> torch.Tensor:
            other = weights.clone()
            other[0, head, place, source] += difference
            return other

        with watch(translator.model, name, edit=shift):
            return log_probability(rescore(translator, answer), (place,))

    slope = (score_with(1e-2) - score_with(-1e-2)) / 2e-2
    weight = float(answer.attention.cross[layer, head, place, source])
    head_gradient = _single_head_gradient(translator, answer, place, layer, head)[source]
    assert head_gradient == pytest.approx(max(0.0, slope * weight), abs=5e-3 * max(1.0, abs(slope)))
    count = len(answer.attention.cross) * HEADS
    total = sum(
        _single_head_gradient(translator, answer, place, each, other)
        for each in range(len(answer.attention.cross))
        for other in range(HEADS)
    )
    assert attention_gradient(translator, answer, (place,)) == pytest.approx(total / count, abs=1e-5)


def _single_head_gradient(translator: Translator, answer: Translation, place: int, layer: int, head: int) -> np.ndarray:
    """Attention gradient of one head, by autograd through the unmodified model."""
    config = translator.model.config
    ids = [token.id for token in answer.target_tokens]
    sources = torch.tensor([[token.id for token in answer.source_tokens]])
    inputs = torch.tensor([[config.start_id, *ids[:-1]]])
    leaves: list[torch.Tensor] = []

    def add_leaf(weights: torch.Tensor, name: str) -> torch.Tensor:
        leaves.append(torch.zeros_like(weights).requires_grad_())
        return weights + leaves[0]

    with torch.enable_grad(), watch(translator.model, f"decoder.layers.{layer}.cross_attention.weights", edit=add_leaf):
        logits = translator.model(sources, inputs)
        score = logits[0, place].log_softmax(dim=-1)[ids[place]]
        (slope,) = torch.autograd.grad(score, leaves[0])
    weights = answer.attention.cross[layer, head, place]
    return np.maximum(0, weights * slope[0, head, place].numpy())


# ---------------------------------------------------------------- norms and contributions


def test_weighted_value_norms_match_plain_loop(translator: Translator, answer: Translation) -> None:
    layer = run_trace(translator, answer).decoder[1].cross_attention
    result = weighted_value_norms(layer)
    module: Any = translator.model.decoder.layers[1]
    matrix = module.cross_attention.output.weight.detach().double().numpy()
    width = layer.values.shape[-1]
    for query, key in ((0, 0), (2, 5), (3, 1)):
        output = np.zeros(matrix.shape[0])
        for head in range(HEADS):
            part = matrix[:, head * width : (head + 1) * width]
            output += layer.weights[head, query, key] * (part @ layer.values[head, key])
        assert result[query, key] == pytest.approx(math.sqrt(float((output**2).sum())), abs=1e-6)


def test_contributions_sum_to_one(translator: Translator, answer: Translation) -> None:
    mixing = mixing_from_contributions(run_trace(translator, answer))
    for shares in (*mixing.encoder, *mixing.decoder):
        assert shares.sum(axis=1) == pytest.approx(1)
        assert shares.min() >= 0
    for cross, residual in zip(mixing.cross, mixing.cross_residual, strict=True):
        assert cross.sum(axis=1) + residual == pytest.approx(1)
    source, prefix = rollout(mixing)
    assert source.sum(axis=1) + prefix.sum(axis=1) == pytest.approx(1)
    assert not np.triu(prefix, 1).any()


def test_attention_parts_sum_to_residual_stream(translator: Translator, answer: Translation) -> None:
    """Residual, heads and bias, normalised with the scale of the run, equal the residual stream of the model."""
    traced = run_trace(translator, answer)
    probe = "decoder.layers.0.around_cross_attention.stream"
    stream = rescore(translator, answer, capture=(probe,)).captured[probe]
    layer = traced.decoder[0].cross_attention
    for row in range(len(answer.target_tokens)):
        total = layer.residual_input[row] + layer.head_outputs(row).sum(axis=0) + layer.bias
        if layer.norm is not None:
            total = layer.norm.apply(total, row)
        assert total == pytest.approx(stream[row], abs=1e-4)


def test_zero_value_has_zero_norm() -> None:
    """A head attends only to one token, whose value is zero: the weight is one, the norm zero."""
    translator = tiny_translator()
    answer = translator.translate(TEXT, target=TARGET)
    layer = run_trace(translator, answer).decoder[0].cross_attention
    weights = np.zeros_like(layer.weights)
    weights[:, :, 3] = 1.0
    values = layer.values.copy()
    values[:, 3] = 0.0
    result = weighted_value_norms(replace(layer, weights=weights, values=values))
    assert not result.any()


# ---------------------------------------------------------------- third-party models, limits, requests


@pytest.mark.parametrize("family", ["marian", "m2m", "t5"])
def test_every_method_works_for_third_party_models(family: str, tmp_path: Path) -> None:
    translator = folders.translator(getattr(folders, family)(tmp_path / family))
    answer = translator.translate("the house", max_length=7)
    place = len(answer.target_tokens) - 1
    question = attribution_query(translator, answer, (place,), points=1)
    for name in METHODS:
        assert all(score is None or math.isfinite(score) for score in attribute(question, name).scores), name
    masked = measure_erasure_losses(translator, answer, (place,), [(0,)])
    assert math.isfinite(masked[0])


def test_interventions_of_the_request_apply() -> None:
    translator = tiny_translator()
    changed = Intervention(kind="cross", layer=None, head=None, action="uniform")
    answer = translator.translate(TEXT, target=TARGET, interventions=(changed,))
    question = attribution_query(translator, answer, PLACES)
    average = attribute(question, "average").scores
    expected = [len(word.positions) / len(answer.source_tokens) for word in question.words]
    assert average == pytest.approx(expected, abs=1e-5)
    weights = run_trace(translator, answer).decoder[2].cross_attention.weights
    assert weights == pytest.approx(np.full_like(weights, 1 / len(answer.source_tokens)), abs=1e-6)


def test_too_large_trace_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    translator = tiny_translator()
    answer = translator.translate(TEXT, target=TARGET)
    monkeypatch.setattr(trace, "MAX_NUMBERS", 1000)
    with pytest.raises(RequestError, match="too large to look inside"):
        run_trace(translator, answer)


@pytest.mark.parametrize("arguments", [{"positions": ()}, {"positions": (99,)}, {"positions": (1,), "head": (0, 99)}])
def test_missing_word_or_head_raises(arguments: dict[str, Any]) -> None:
    translator = tiny_translator()
    answer = translator.translate(TEXT, target=TARGET)
    with pytest.raises(RequestError):
        attribution_query(translator, answer, **arguments)


def test_unknown_method_raises() -> None:
    translator = tiny_translator()
    answer = translator.translate(TEXT, target=TARGET)
    with pytest.raises(RequestError, match="rollout"):
        attribute(attribution_query(translator, answer, (1,)), "guess")


def test_most_informative_head_is_found() -> None:
    translator = tiny_translator()
    answer = translator.translate(TEXT, target=TARGET)
    cross = np.full_like(answer.attention.cross, 1 / len(answer.source_tokens))
    cross[1, 3] = 0.0
    for row in range(cross.shape[2]):
        cross[1, 3, row, min(row, cross.shape[3] - 1)] = 1.0
    planted = replace(answer, attention=replace(answer.attention, cross=cross))
    assert most_informative_head(planted)[:2] == (1, 3)

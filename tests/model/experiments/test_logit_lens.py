"""Inside a word: logit parts sum to the logit, and the logit lens."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headlight.model.core.probes import watch
from headlight.model.errors import RequestError
from headlight.model.experiments.logit_lens import decompose_logit, key_contributions, logit_lens
from headlight.model.experiments.trace import run_trace
from headlight.model.intervention_records import ZeroPart
from headlight.model.records import Intervention, Translation
from headlight.model.translate.translator import Translator
from tests.model.experiments.forced import RMS_RELATIVE, TARGET, TEXT
from tests.model.families import folders
from tests.tiny import DECODER_LAYERS, HEADS, tiny_translator

VARIANTS: dict[str, dict[str, Any]] = {
    "post-norm": {},
    "pre-norm, packed": {"norm_first": True, "final_norm": True, "step_weights": "float16"},
    "rms, tied, relative": RMS_RELATIVE | {"tie_output": True, "scale_output": True, "final_logits_bias": False},
    "embedding norm, learned positions": {"embedding_norm": True, "positions": "learned", "position_offset": 2},
    "concatenated": {"position_width": 4, "activation": "swiglu"},
}  # fmt: skip
CHANGES: dict[str, Any] = {
    "none": (),
    "head removed": (Intervention(kind="cross", layer=1, head=2, action="remove"),),
    "residual removed": (ZeroPart(side="decoder", layer=1, part="residual"),),
    "feed-forward removed": (ZeroPart(side="decoder", layer=0, part="feed_forward"),),
}


def model_logits(translator: Translator, answer: Translation) -> np.ndarray:
    """Logits of an ordinary forward pass, `[target, vocabulary]`."""
    ids = [token.id for token in answer.target_tokens]
    sources = torch.tensor([[token.id for token in answer.source_tokens]])
    with torch.no_grad(), translator.intervention_context(answer.request)():
        logits = translator.model(sources, torch.tensor([[translator.model.config.start_id, *ids[:-1]]]))
    array: np.ndarray = logits[0].double().numpy()
    return array


@pytest.mark.slow(after=8)
@pytest.mark.parametrize("change", CHANGES)
def test_contributions_sum_to_the_logit(translator: Translator, change: str) -> None:
    answer = translator.translate(TEXT, target=TARGET, interventions=CHANGES[change])
    logits = model_logits(translator, answer)
    for place in range(len(answer.target_tokens)):
        inside = decompose_logit(translator, answer, place)
        assert inside.ids[0] == answer.target_tokens[place].id
        assert len(set(inside.ids)) == 4
        summed = np.sum([term.effects for term in inside.terms], axis=0)
        assert summed == pytest.approx(logits[place, list(inside.ids)], abs=1e-4)
    heads = [term for term in inside.terms if term.part == "head"]
    assert len(heads) == 2 * DECODER_LAYERS * HEADS
    assert sum(term.part == "feed_forward" for term in inside.terms) == DECODER_LAYERS


def test_removed_head_contributes_nothing(translator: Translator) -> None:
    answer = translator.translate(TEXT, target=TARGET, interventions=CHANGES["head removed"])
    (off,) = (
        term
        for term in decompose_logit(translator, answer, 2).terms
        if (term.kind, term.layer, term.head) == ("cross", 1, 2)
    )
    assert off.effects == pytest.approx(0)


def test_head_contribution_matches_manual_computation() -> None:
    """Head output, divided by the scale of the final norm, times the output embedding of the word."""
    translator = tiny_translator(norm_first=True, final_norm=True)
    answer = translator.translate(TEXT, target=TARGET)
    trace, place, layer, head = run_trace(translator, answer), 3, 2, 1
    model: Any = translator.model
    head_term = next(
        term
        for term in decompose_logit(translator, answer, place, trace).terms
        if (term.kind, term.layer, term.head) == ("cross", layer, head)
    )
    stream = f"decoder.layers.{DECODER_LAYERS - 1}.around_feed_forward.stream"
    with watch(model, stream) as states:
        model_logits(translator, answer)
    last_state = states[stream][0, place].double().numpy()
    attention = trace.decoder[layer].cross_attention
    head_output = sum(
        attention.weights[head, place, key] * (attention.values[head, key] @ attention.output_weight[head])
        for key in range(len(answer.source_tokens))
    )
    gain = model.decoder.final_norm.weight.detach().double().numpy()
    row = model.decoder.output.words.weight[answer.target_tokens[place].id].detach().double().numpy()
    normed = (head_output - np.mean(head_output)) / math.sqrt(float(last_state.var()) + 1e-5) * gain
    assert head_term.effects[0] == pytest.approx(float(normed @ row), abs=1e-5)


@pytest.mark.parametrize("kind", ["decoder", "cross"])
def test_key_contributions_sum_to_head_contribution(translator: Translator, answer: Translation, kind: Any) -> None:
    trace, place, layer, head = run_trace(translator, answer), 4, 1, 3
    outputs, effects = key_contributions(translator, answer, kind, layer, head, place, trace)
    terms = decompose_logit(translator, answer, place, trace).terms
    (head_term,) = (term for term in terms if (term.kind, term.layer, term.head) == (kind, layer, head))
    assert effects is not None
    assert effects.sum() == pytest.approx(head_term.effects[0], abs=1e-6)
    assert len(outputs) == (place + len(outputs) - place if kind == "cross" else len(answer.target_tokens))


def test_encoder_heads_have_outputs_but_no_logit_effects(translator: Translator, answer: Translation) -> None:
    outputs, effects = key_contributions(translator, answer, "encoder", 1, 2, 3, run_trace(translator, answer))
    assert effects is None
    assert outputs.shape[0] == len(answer.source_tokens)
    assert outputs.any()


def test_logit_lens_of_last_layer_matches_model(translator: Translator, answer: Translation) -> None:
    layers = logit_lens(translator, answer)
    assert len(layers) == DECODER_LAYERS + 1
    logits = model_logits(translator, answer)
    probabilities = np.exp(logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True))
    for place, token in enumerate(answer.target_tokens):
        assert layers[-1].best_ids[place] == logits[place].argmax()
        assert layers[-1].probabilities[place] == pytest.approx(probabilities[place, token.id], abs=1e-5)
        assert layers[-1].ranks[place] == (logits[place] > logits[place, token.id]).sum()


def test_logit_lens_applies_final_norm_to_earlier_layer() -> None:
    translator = tiny_translator(norm_first=True, final_norm=True)
    answer = translator.translate(TEXT, target=TARGET)
    model: Any = translator.model
    probe = "decoder.layers.0.around_feed_forward.stream"
    with watch(model, probe) as states:
        model_logits(translator, answer)
    with torch.no_grad():
        expected = model.decoder.output(model.decoder.final_norm(states[probe]))[0].softmax(dim=-1)
    layer = logit_lens(translator, answer)[1]
    assert layer.best_ids == tuple(expected.argmax(dim=-1).tolist())
    assert layer.best_probabilities == pytest.approx(expected.max(dim=-1).values.tolist(), abs=1e-5)


@pytest.mark.parametrize("family", ["marian", "m2m", "t5"])
def test_contributions_sum_to_the_logit_for_third_party_models(family: str, tmp_path: Path) -> None:
    translator = folders.translator(getattr(folders, family)(tmp_path / family))
    answer = translator.translate("the house", max_length=7)
    logits = model_logits(translator, answer)
    inside = decompose_logit(translator, answer, len(answer.target_tokens) - 1)
    summed = np.sum([term.effects for term in inside.terms], axis=0)
    assert summed == pytest.approx(logits[-1, list(inside.ids)], abs=1e-4)
    assert len(logit_lens(translator, answer)) == translator.model.config.decoder_layers + 1


def test_missing_position_raises(translator: Translator, answer: Translation) -> None:
    with pytest.raises(RequestError):
        decompose_logit(translator, answer, 99)

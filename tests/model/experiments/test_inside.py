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
    "normed embedding, learnt": {"embedding_norm": True, "positions": "learned", "position_offset": 2},
    "concatenated": {"position_width": 4, "activation": "swiglu"},
}  # fmt: skip
CHANGES: dict[str, Any] = {
    "nothing": (),
    "a head off": (Intervention(kind="cross", layer=1, head=2, action="remove"),),
    "a residual cut": (ZeroPart(side="decoder", layer=1, part="residual"),),
    "a network off": (ZeroPart(side="decoder", layer=0, part="feed_forward"),),
}


def logits_of(translator: Translator, answer: Translation) -> np.ndarray:
    """The model's own logits, from its plain forward pass, `[target, vocabulary]`."""
    ids = [token.id for token in answer.target_tokens]
    sources = torch.tensor([[token.id for token in answer.source_tokens]])
    with torch.no_grad(), translator.intervention_context(answer.request)():
        logits = translator.model(sources, torch.tensor([[translator.model.config.start_id, *ids[:-1]]]))
    found: np.ndarray = logits[0].double().numpy()
    return found


@pytest.mark.slow(after=8)
@pytest.mark.parametrize("change", CHANGES)
def test_contributions_sum_to_the_logit(translator: Translator, change: str) -> None:
    answer = translator.translate(TEXT, target=TARGET, interventions=CHANGES[change])
    logits = logits_of(translator, answer)
    for place in range(len(answer.target_tokens)):
        inside = decompose_logit(translator, answer, place)
        assert inside.ids[0] == answer.target_tokens[place].id
        assert len(set(inside.ids)) == 4
        summed = np.sum([term.effects for term in inside.terms], axis=0)
        assert summed == pytest.approx(logits[place, list(inside.ids)], abs=1e-4)
    heads = [term for term in inside.terms if term.part == "head"]
    assert len(heads) == 2 * DECODER_LAYERS * HEADS
    assert sum(term.part == "feed_forward" for term in inside.terms) == DECODER_LAYERS


def test_what_is_off_adds_nothing(translator: Translator) -> None:
    answer = translator.translate(TEXT, target=TARGET, interventions=CHANGES["a head off"])
    (off,) = (
        term
        for term in decompose_logit(translator, answer, 2).terms
        if (term.kind, term.layer, term.head) == ("cross", 1, 2)
    )
    assert off.effects == pytest.approx(0)


def test_in_pre_norm_a_heads_term_is_what_its_column_gives() -> None:
    """By hand: what the head writes, over the final norm's scale, times the word's row of the output."""
    translator = tiny_translator(norm_first=True, final_norm=True)
    answer = translator.translate(TEXT, target=TARGET)
    trace, place, layer, head = run_trace(translator, answer), 3, 2, 1
    model: Any = translator.model
    found = next(
        term
        for term in decompose_logit(translator, answer, place, trace).terms
        if (term.kind, term.layer, term.head) == ("cross", layer, head)
    )
    stream = f"decoder.layers.{DECODER_LAYERS - 1}.around_feed_forward.stream"
    with watch(model, stream) as seen:
        logits_of(translator, answer)
    last = seen[stream][0, place].double().numpy()
    attention = trace.decoder[layer].cross_attention
    written = sum(
        attention.weights[head, place, key] * (attention.values[head, key] @ attention.output_weight[head])
        for key in range(len(answer.source_tokens))
    )
    gain = model.decoder.final_norm.weight.detach().double().numpy()
    row = model.decoder.output.words.weight[answer.target_tokens[place].id].detach().double().numpy()
    normed = (written - np.mean(written)) / math.sqrt(float(last.var()) + 1e-5) * gain
    assert found.effects[0] == pytest.approx(float(normed @ row), abs=1e-5)


@pytest.mark.parametrize("kind", ["decoder", "cross"])
def test_what_keys_move_sums_to_what_their_head_adds(translator: Translator, answer: Translation, kind: Any) -> None:
    trace, place, layer, head = run_trace(translator, answer), 4, 1, 3
    written, moved = key_contributions(translator, answer, kind, layer, head, place, trace)
    terms = decompose_logit(translator, answer, place, trace).terms
    (own,) = (term for term in terms if (term.kind, term.layer, term.head) == (kind, layer, head))
    assert moved is not None
    assert moved.sum() == pytest.approx(own.effects[0], abs=1e-6)
    assert len(written) == (place + len(written) - place if kind == "cross" else len(answer.target_tokens))


def test_heads_of_the_encoder_write_and_move_no_logit_directly(translator: Translator, answer: Translation) -> None:
    written, moved = key_contributions(translator, answer, "encoder", 1, 2, 3, run_trace(translator, answer))
    assert moved is None
    assert written.shape[0] == len(answer.source_tokens)
    assert written.any()


def test_the_last_layer_says_what_the_model_says(translator: Translator, answer: Translation) -> None:
    layers = logit_lens(translator, answer)
    assert len(layers) == DECODER_LAYERS + 1
    logits = logits_of(translator, answer)
    chances = np.exp(logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True))
    for place, token in enumerate(answer.target_tokens):
        assert layers[-1].best_ids[place] == logits[place].argmax()
        assert layers[-1].probabilities[place] == pytest.approx(chances[place, token.id], abs=1e-5)
        assert layers[-1].ranks[place] == (logits[place] > logits[place, token.id]).sum()


def test_an_earlier_layer_is_read_with_the_final_norm() -> None:
    translator = tiny_translator(norm_first=True, final_norm=True)
    answer = translator.translate(TEXT, target=TARGET)
    model: Any = translator.model
    place = "decoder.layers.0.around_feed_forward.stream"
    with watch(model, place) as seen:
        logits_of(translator, answer)
    with torch.no_grad():
        expected = model.decoder.output(model.decoder.final_norm(seen[place]))[0].softmax(dim=-1)
    found = logit_lens(translator, answer)[1]
    assert found.best_ids == tuple(expected.argmax(dim=-1).tolist())
    assert found.best_probabilities == pytest.approx(expected.max(dim=-1).values.tolist(), abs=1e-5)


@pytest.mark.parametrize("family", ["marian", "m2m", "t5"])
def test_models_of_other_makers_sum_up_too(family: str, tmp_path: Path) -> None:
    translator = folders.translator(getattr(folders, family)(tmp_path / family))
    answer = translator.translate("the house", max_length=7)
    logits = logits_of(translator, answer)
    inside = decompose_logit(translator, answer, len(answer.target_tokens) - 1)
    summed = np.sum([term.effects for term in inside.terms], axis=0)
    assert summed == pytest.approx(logits[-1, list(inside.ids)], abs=1e-4)
    assert len(logit_lens(translator, answer)) == translator.model.config.decoder_layers + 1


def test_a_place_that_is_not_there_is_refused(translator: Translator, answer: Translation) -> None:
    with pytest.raises(RequestError):
        decompose_logit(translator, answer, 99)

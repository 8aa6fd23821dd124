"""Accounts: the parts of an affine function, whose constants are the model's biases."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headlight.model.core.blocks import ACTIVATIONS, RMSNorm
from headlight.model.core.probes import watch
from headlight.model.core.transformer import attention_path
from headlight.model.errors import RequestError
from headlight.model.experiments.account import SOURCE, TARGET, account_by_head, account_by_key, fixed_run, word_account
from headlight.model.experiments.fixed_nonlinearities import FixedNonlinearities
from headlight.model.experiments.scoring import compute_forced_logits
from headlight.model.records import KINDS, Intervention, Translation
from headlight.model.translate.translator import Translator
from tests.tiny import SENTENCES, tiny_translator

TEXT = SENTENCES[0]
PLACE, RIVAL = 4, 7


def bias_attribution(translator: Translator, answer: Translation, place: int, rival: int) -> float:
    """Sum of bias times gradient over all biases, by autograd through the frozen run."""
    model = translator.model
    config = model.config
    weights = [f"{attention_path(kind, layer)}.weights" for kind in KINDS for layer in range(config.layer_count(kind))]
    biases = [value for name, value in model.named_parameters() if name.endswith("bias")]
    with torch.inference_mode(mode=False), torch.enable_grad():
        for value in biases:
            value.requires_grad_(True)
        with (
            watch(model, *weights, edit=lambda value, name: value.detach()),
            watch(model, SOURCE, TARGET, edit=lambda value, name: value.detach()),
            FixedNonlinearities(gated=ACTIVATIONS[config.activation].gated),
        ):
            logits = compute_forced_logits(translator, answer, place + 1, 1)[0, place]
        lead = logits[answer.target_tokens[place].id] - logits[rival]
        gradients = torch.autograd.grad(lead, biases, allow_unused=True, materialize_grads=True)
        for value in biases:
            value.requires_grad_(False)
    return float(sum((value.detach() * gradient).sum() for value, gradient in zip(biases, gradients, strict=True)))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"norm_first": True, "final_norm": True},
        {"norm": "rms", "activation": "silu"},
        {"activation": "gelu", "positions": "rotary"},
        {"activation": "swiglu", "norm": "rms", "positions": "alibi"},
        {"activation": "reglu", "embedding_norm": True},
    ],
    ids=str,
)
def test_parts_and_constants_sum_to_the_lead(options: dict[str, object]) -> None:
    translator = tiny_translator(**options)
    for name, value in translator.model.named_parameters():  # biases of a new model are zero
        if name.endswith("bias"):
            with torch.no_grad():
                value.copy_(torch.linspace(-0.5, 0.7, value.numel()))
    answer = translator.translate(TEXT, max_length=9)
    account = word_account(translator, answer, PLACE, RIVAL)
    batch = translator.checker.prepare([answer.request])
    assert batch.source_ids.shape[1] == len(account.source)
    assert len(account.prefix) == PLACE + 1
    with torch.inference_mode():
        logits = compute_forced_logits(translator, answer, PLACE + 1, 1)[0, PLACE]
    own = answer.target_tokens[PLACE].id
    assert account.lead == pytest.approx(float(logits[own] - logits[RIVAL]), abs=1e-4)  # freezing changes no value
    assert account.constants == pytest.approx(bias_attribution(translator, answer, PLACE, RIVAL), abs=1e-4)
    assert abs(account.constants) > 1e-3
    assert account.lead == pytest.approx(sum(account.source) + sum(account.prefix) + account.constants, abs=1e-9)


def test_a_model_without_biases_has_no_constants() -> None:
    translator = tiny_translator(
        norm="rms", activation="relu", feed_forward_bias=False, attention_bias=False, final_logits_bias=False
    )
    answer = translator.translate(TEXT, max_length=9)
    account = word_account(translator, answer, PLACE, RIVAL)
    assert account.constants == pytest.approx(0, abs=1e-4)
    assert max(map(abs, account.source)) > 1e-3


def test_fixed_nonlinearities_by_hand() -> None:
    """relu is affine, gelu is multiplication by a constant, and a norm divides by the constant length of this run."""
    x = torch.tensor([2.0, -1.0], requires_grad=True)
    with FixedNonlinearities(gated=False):
        (slope,) = torch.autograd.grad((torch.nn.functional.relu(x) * 3).sum(), x)
        np.testing.assert_allclose(slope, [3.0, 0.0])
        value = torch.nn.functional.gelu(x)
        (slope,) = torch.autograd.grad(value.sum(), x)
        np.testing.assert_allclose(slope * x.detach(), value.detach(), rtol=1e-6)
        norm = RMSNorm(2, 0.0)
        value = norm(x)[0]
        (slope,) = torch.autograd.grad(value, x)
    length = np.sqrt((4 + 1) / 2)
    np.testing.assert_allclose(value.detach(), 2 / length, rtol=1e-6)
    np.testing.assert_allclose(slope, [1 / length, 0.0], rtol=1e-6)


def test_account_changes_if_a_head_is_removed() -> None:
    translator = tiny_translator()
    answer = translator.translate(TEXT, max_length=9)
    ids = [token.id for token in answer.target_tokens]
    changed = translator.translate(
        TEXT, target=ids, interventions=[Intervention(kind="cross", layer=0, head=0, action="remove")]
    )
    first, second = (word_account(translator, each, PLACE, RIVAL) for each in (answer, changed))
    assert first.lead != second.lead
    assert sum(second.source) + sum(second.prefix) + second.constants == pytest.approx(second.lead, abs=1e-9)


@pytest.mark.parametrize(
    "options", [{}, {"norm_first": True, "final_norm": True}, {"norm": "rms", "activation": "silu"}]
)
def test_parts_of_heads_and_keys_sum_to_those_of_source_words(options: dict[str, object]) -> None:
    translator = tiny_translator(**options)
    answer = translator.translate(TEXT, target=tuple(range(5, 11)))
    account = word_account(translator, answer, PLACE, RIVAL)
    heads = account_by_head(translator, answer, PLACE, RIVAL)
    layers, count, _, keys = answer.attention.cross.shape
    assert heads.shape == (layers, count, keys)
    np.testing.assert_allclose(heads.sum(axis=(0, 1)), account.source, atol=1e-5)
    assert np.abs(heads).max() > 1e-3
    for layer, head in np.ndindex(layers, count):
        looks = account_by_key(translator, answer, PLACE, RIVAL, layer, head)
        assert looks.shape == (keys, keys)
        np.testing.assert_allclose(looks.sum(axis=0), heads[layer, head], atol=1e-5)


def test_parts_of_keys_match_the_chain_rule_element_by_element() -> None:
    translator = tiny_translator(norm="rms", activation="silu")
    answer = translator.translate(TEXT, max_length=9)
    layer, head = 1, 2
    with fixed_run(translator, answer, PLACE, RIVAL) as run:
        values = run.values[layer]
        (slope,) = torch.autograd.grad(run.lead, [values], retain_graph=True)
        expected = np.zeros((values.shape[2], values.shape[2]))
        for key, column in np.ndindex(values.shape[2], values.shape[3]):
            element = values[0, head, key, column]
            (gradient,) = torch.autograd.grad(element, [run.source], retain_graph=True)
            of_words = (gradient * run.source.detach())[0].sum(dim=-1).numpy()  # what each word adds to this element
            expected[key] += float(slope[0, head, key, column]) * of_words
    parts = account_by_key(translator, answer, PLACE, RIVAL, layer, head)
    np.testing.assert_allclose(parts, expected, atol=1e-5)
    assert np.abs(parts).max() > 1e-3


def test_removed_head_adds_nothing() -> None:
    translator = tiny_translator()
    ids = [token.id for token in translator.translate(TEXT, max_length=9).target_tokens]
    off = Intervention(kind="cross", layer=0, head=1, action="remove")
    answer = translator.translate(TEXT, target=ids, interventions=[off])
    heads = account_by_head(translator, answer, PLACE, RIVAL)
    assert not heads[0, 1].any()
    assert heads[0, 0].any()
    np.testing.assert_allclose(heads.sum(axis=(0, 1)), word_account(translator, answer, PLACE, RIVAL).source, atol=1e-5)


@pytest.mark.parametrize(("layer", "head"), [(9, 0), (0, 9), (-1, 0)])
def test_parts_of_a_missing_head_raise(layer: int, head: int) -> None:
    translator = tiny_translator()
    answer = translator.translate(TEXT, max_length=9)
    with pytest.raises(RequestError):
        account_by_key(translator, answer, PLACE, RIVAL, layer, head)


@pytest.mark.parametrize(("place", "rival"), [(-1, 0), (99, 0), (0, -1), (0, 10**6)])
def test_missing_word_or_rival_raises(place: int, rival: int) -> None:
    translator = tiny_translator()
    answer = translator.translate(TEXT, max_length=9)
    with pytest.raises(RequestError):
        word_account(translator, answer, place, rival)

"""Importance: losses measured in batches match single measurements."""

from __future__ import annotations

import pytest
import torch

from headlight.model.errors import RequestError
from headlight.model.experiments import importance
from headlight.model.experiments.importance import (
    Ablation,
    AttentionPart,
    interactions,
    list_all_parts,
    measure_ablation_losses,
    measure_all_ablation_losses,
)
from headlight.model.records import Intervention, Translation
from headlight.model.translate.translator import Translator
from tests.tiny import DECODER_LAYERS, ENCODER_LAYERS, HEADS, SENTENCES, count_hooks, tiny_translator

TEXT = SENTENCES[0]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator()


@pytest.fixture(scope="module")
def answer(translator: Translator) -> Translation:
    return translator.translate(TEXT, beam_size=2, max_length=13)


def single_loss(translator: Translator, answer: Translation, parts: Ablation, *others: Intervention) -> float:
    """The loss, measured by a separate request with interventions."""
    ids = tuple(token.id for token in answer.target_tokens)
    off = tuple(Intervention(kind=part.kind, layer=part.layer, head=part.head, action="remove") for part in parts)
    without = translator.translate(answer.request.text, target=ids, interventions=(*others, *off))
    return answer.log_probability - without.log_probability


def test_every_kind_layer_and_head_is_measured_once(translator: Translator) -> None:
    parts = list_all_parts(translator.model.config)
    assert len(parts) == len(set(parts)) == 3 + (ENCODER_LAYERS + 2 * DECODER_LAYERS) * (1 + HEADS)


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "alibi"])
def test_batched_losses_match_single_losses(positions: str) -> None:
    translator = tiny_translator(positions=positions)
    answer = translator.translate(TEXT, max_length=11)
    parts = list_all_parts(translator.model.config)
    losses = measure_all_ablation_losses(translator, answer, [(part,) for part in parts])
    for part, loss in zip(parts, losses, strict=True):
        assert loss == pytest.approx(single_loss(translator, answer, (part,)), abs=1e-4), part
    assert max(losses) - min(losses) > 0.1


def test_loss_is_zero_without_ablation(translator: Translator, answer: Translation) -> None:
    assert measure_all_ablation_losses(translator, answer, [()]) == [pytest.approx(0, abs=1e-4)]


def test_joint_loss_is_measured_and_not_summed(translator: Translator, answer: Translation) -> None:
    pair = (AttentionPart("cross", 0, 1), AttentionPart("encoder", 1, 3))
    (both,) = measure_all_ablation_losses(translator, answer, [pair])
    assert both == pytest.approx(single_loss(translator, answer, pair), abs=1e-4)
    assert both != pytest.approx(
        sum(measure_all_ablation_losses(translator, answer, [(part,) for part in pair])), abs=1e-3
    )


def test_interaction_is_joint_loss_minus_single_losses(translator: Translator, answer: Translation) -> None:
    first, others = (
        AttentionPart("cross", 1, 2),
        [AttentionPart("cross", 0, 1), AttentionPart("decoder", 2, 4), AttentionPart("cross", 1, 2)],
    )
    results = interactions(translator, answer, first, others)
    first_loss = single_loss(translator, answer, (first,))
    for other, interaction in zip(others[:2], results, strict=False):
        expected = (
            single_loss(translator, answer, (first, other)) - first_loss - single_loss(translator, answer, (other,))
        )
        assert interaction == pytest.approx(expected, abs=2e-4)
    assert results[2] == pytest.approx(-first_loss, abs=2e-4)


def test_interventions_of_the_request_apply(translator: Translator) -> None:
    changed = Intervention(kind="cross", layer=0, head=None, action="uniform")
    answer = translator.translate(TEXT, max_length=11, interventions=(changed,))
    part = (AttentionPart("decoder", 1, 2),)
    (losses,) = measure_all_ablation_losses(translator, answer, [part])
    assert losses == pytest.approx(single_loss(translator, answer, part, changed), abs=1e-4)


def test_losses_do_not_depend_on_batch_size(
    translator: Translator, answer: Translation, monkeypatch: pytest.MonkeyPatch
) -> None:
    sets: list[Ablation] = [(part,) for part in list_all_parts(translator.model.config)]
    large = measure_all_ablation_losses(translator, answer, sets)
    monkeypatch.setattr(importance, "MAX_ROWS_PER_BATCH", 7)
    batches = list(measure_ablation_losses(translator, answer, sets))
    assert {len(batch) for batch in batches[:-1]} == {7}
    assert [loss for batch in batches for loss in batch] == pytest.approx(large, abs=1e-4)


def test_suspended_generator_keeps_no_hooks_and_can_be_closed(
    translator: Translator, answer: Translation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importance, "MAX_ROWS_PER_BATCH", 3)
    before = torch.is_inference_mode_enabled()
    running = measure_ablation_losses(translator, answer, [(part,) for part in list_all_parts(translator.model.config)])
    next(running)
    assert count_hooks(translator.model) == 0  # no hooks between batches
    assert torch.is_inference_mode_enabled() is before
    running.close()


@pytest.mark.parametrize(
    "part", [AttentionPart("cross", DECODER_LAYERS), AttentionPart("encoder", 0, HEADS), AttentionPart("encoder", -1)]
)
def test_missing_head_raises(translator: Translator, answer: Translation, part: AttentionPart) -> None:
    with pytest.raises(RequestError) as error_info:
        measure_all_ablation_losses(translator, answer, [(part,)])
    assert error_info.value.word == "not_whole"

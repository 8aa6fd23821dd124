"""Importance: losses measured in batches match single measurements."""

from __future__ import annotations

import pytest
import torch

from headlight.model.errors import RequestError
from headlight.model.experiments import importance
from headlight.model.experiments.importance import (
    AttentionPart,
    SwitchedOff,
    ablation_losses,
    all_ablation_losses,
    all_parts,
    interactions,
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


def one_by_one(translator: Translator, answer: Translation, parts: SwitchedOff, *others: Intervention) -> float:
    """The loss by the interventions of a request of its own."""
    ids = tuple(token.id for token in answer.target_tokens)
    off = tuple(Intervention(kind=part.kind, layer=part.layer, head=part.head, action="remove") for part in parts)
    without = translator.translate(answer.request.text, target=ids, interventions=(*others, *off))
    return answer.log_probability - without.log_probability


def test_every_kind_layer_and_head_is_measured_once(translator: Translator) -> None:
    parts = all_parts(translator.model.config)
    assert len(parts) == len(set(parts)) == 3 + (ENCODER_LAYERS + 2 * DECODER_LAYERS) * (1 + HEADS)


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "alibi"])
def test_a_batch_of_parts_costs_what_each_costs_alone(positions: str) -> None:
    translator = tiny_translator(positions=positions)
    answer = translator.translate(TEXT, max_length=11)
    parts = all_parts(translator.model.config)
    given = all_ablation_losses(translator, answer, [(part,) for part in parts])
    for part, loss in zip(parts, given, strict=True):
        assert loss == pytest.approx(one_by_one(translator, answer, (part,)), abs=1e-4), part
    assert max(given) - min(given) > 0.1


def test_nothing_off_costs_nothing(translator: Translator, answer: Translation) -> None:
    assert all_ablation_losses(translator, answer, [()]) == [pytest.approx(0, abs=1e-4)]


def test_several_off_are_measured_together_and_not_added_up(translator: Translator, answer: Translation) -> None:
    pair = (AttentionPart("cross", 0, 1), AttentionPart("encoder", 1, 3))
    (both,) = all_ablation_losses(translator, answer, [pair])
    assert both == pytest.approx(one_by_one(translator, answer, pair), abs=1e-4)
    assert both != pytest.approx(sum(all_ablation_losses(translator, answer, [(part,) for part in pair])), abs=1e-3)


def test_an_interaction_is_the_loss_of_both_minus_those_of_each(translator: Translator, answer: Translation) -> None:
    first, others = (
        AttentionPart("cross", 1, 2),
        [AttentionPart("cross", 0, 1), AttentionPart("decoder", 2, 4), AttentionPart("cross", 1, 2)],
    )
    given = interactions(translator, answer, first, others)
    own = one_by_one(translator, answer, (first,))
    for other, found in zip(others[:2], given, strict=False):
        expected = one_by_one(translator, answer, (first, other)) - own - one_by_one(translator, answer, (other,))
        assert found == pytest.approx(expected, abs=2e-4)
    assert given[2] == pytest.approx(-own, abs=2e-4)


def test_the_requests_own_changes_act_too(translator: Translator) -> None:
    changed = Intervention(kind="cross", layer=0, head=None, action="uniform")
    answer = translator.translate(TEXT, max_length=11, interventions=(changed,))
    part = (AttentionPart("decoder", 1, 2),)
    (given,) = all_ablation_losses(translator, answer, [part])
    assert given == pytest.approx(one_by_one(translator, answer, part, changed), abs=1e-4)


def test_small_batches_give_what_a_large_one_gives(
    translator: Translator, answer: Translation, monkeypatch: pytest.MonkeyPatch
) -> None:
    sets: list[SwitchedOff] = [(part,) for part in all_parts(translator.model.config)]
    large = all_ablation_losses(translator, answer, sets)
    monkeypatch.setattr(importance, "MAX_ROWS_PER_BATCH", 7)
    batches = list(ablation_losses(translator, answer, sets))
    assert {len(batch) for batch in batches[:-1]} == {7}
    assert [loss for batch in batches for loss in batch] == pytest.approx(large, abs=1e-4)


def test_who_leaves_the_loop_ends_the_work(
    translator: Translator, answer: Translation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importance, "MAX_ROWS_PER_BATCH", 3)
    before = torch.is_inference_mode_enabled()
    running = ablation_losses(translator, answer, [(part,) for part in all_parts(translator.model.config)])
    next(running)
    assert count_hooks(translator.model) == 0  # nothing is watched while it waits
    assert torch.is_inference_mode_enabled() is before
    running.close()


@pytest.mark.parametrize(
    "part", [AttentionPart("cross", DECODER_LAYERS), AttentionPart("encoder", 0, HEADS), AttentionPart("encoder", -1)]
)
def test_missing_head_raises(translator: Translator, answer: Translation, part: AttentionPart) -> None:
    with pytest.raises(RequestError) as caught:
        all_ablation_losses(translator, answer, [(part,)])
    assert caught.value.word == "not_whole"

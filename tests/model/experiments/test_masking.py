"""Removed masks match a model without masks, only for the caller's run."""

from __future__ import annotations

from threading import Thread

import numpy as np
import pytest
import torch

from headlight.model.experiments.mask_removal import (
    ALL_LATER_TOKENS,
    PaddedBatch,
    encode_batches,
    force_with_relaxed_mask,
    make_attention_masks,
    relax_causal_mask,
    translate_in_all_modes,
    translate_padded,
)
from headlight.model.records import Translation
from headlight.model.training.mistakes import with_mistakes
from headlight.model.translate.translator import Translator

TEXT = "ich mochte ein bier"


@pytest.fixture(scope="module")
def toy() -> Translator:
    return Translator.load("toy", device="cpu")


@pytest.fixture(scope="module")
def translation(toy: Translator) -> Translation:
    return toy.translate(TEXT)


@pytest.fixture(scope="module")
def ids(translation: Translation) -> tuple[list[int], list[int]]:
    return [token.id for token in translation.source_tokens], [token.id for token in translation.target_tokens]


@pytest.mark.parametrize(("ahead", "mistake"), [(0, None), (1, "ahead"), (ALL_LATER_TOKENS, "unmasked")])
def test_relaxed_mask_matches_model_with_mask_mistake(
    toy: Translator, ids: tuple[list[int], list[int]], ahead: int, mistake: str | None
) -> None:
    source, target = ids
    (reading,) = force_with_relaxed_mask(toy, source, target, [ahead])
    wrong = with_mistakes(toy.model, [mistake] if mistake else [])
    with torch.no_grad():
        logits = wrong(torch.tensor([source]), torch.tensor([[toy.model.config.start_id, *target[:-1]]]))[0]
    expected = logits.log_softmax(dim=-1)[range(len(target)), target]
    np.testing.assert_allclose(reading.log_probabilities, expected.numpy(), atol=1e-5)
    assert reading.loss == pytest.approx(-float(expected.mean()), abs=1e-5)
    np.testing.assert_allclose(reading.weights.sum(axis=-1), 1.0, atol=1e-5)
    assert (reading.attention_ahead.max() > 0) == bool(ahead)


def test_relaxed_mask_does_not_affect_other_threads(toy: Translator, translation: Translation) -> None:
    translations: list[Translation] = []
    with relax_causal_mask(toy.model, ALL_LATER_TOKENS):
        thread = Thread(target=lambda: translations.append(toy.translate(TEXT)))
        thread.start()
        thread.join()
    assert translations[0].log_probability == translation.log_probability


def test_decoding_with_mask_matches_translation(toy: Translator, ids: tuple[list[int], list[int]]) -> None:
    outputs = translate_in_all_modes(toy, toy.request(TEXT), 40)
    assert list(outputs["masked"].ids) == list(outputs["kept"].ids) == ids[1]
    np.testing.assert_allclose(outputs["masked"].log_probabilities, outputs["kept"].log_probabilities, atol=1e-6)
    truncated = translate_in_all_modes(toy, toy.request(TEXT), 2)
    assert {len(output.ids) for output in truncated.values()} == {2}


@pytest.mark.parametrize("padding", [0, 1, 7])
def test_masked_padding_does_not_change_results(
    toy: Translator, translation: Translation, ids: tuple[list[int], list[int]], padding: int
) -> None:
    source, target = ids
    rows = [source, [5] * (len(source) + padding)]
    single, batched, unmasked = encode_batches(
        toy, [PaddedBatch([source]), PaddedBatch(rows), PaddedBatch(rows, encoder=False)]
    )
    np.testing.assert_allclose(batched, single, atol=1e-5)
    assert (np.abs(unmasked - single).max() > 0.01) == bool(padding)
    request = toy.request(TEXT)
    masked, no_cross = translate_padded(toy, request, target, [PaddedBatch(rows), PaddedBatch(rows, cross=False)], 40)
    assert masked.log_probabilities.sum() == pytest.approx(translation.log_probability, abs=1e-4)
    assert list(masked.output.ids) == target
    assert not masked.attention_to_padding.any()
    assert not masked.cross_attention_to_padding.any()
    assert not no_cross.attention_to_padding.any()
    assert bool(no_cross.cross_attention_to_padding.any()) == bool(padding)


def test_attention_masks_hide_padding_and_later_tokens(toy: Translator, ids: tuple[list[int], list[int]]) -> None:
    source, target = ids
    masks = make_attention_masks(toy, [source, [5] * (len(source) + 3)], target)
    assert masks["encoder"].shape == (len(source) + 3, len(source) + 3)
    assert masks["cross"].shape == (len(target), len(source) + 3)
    for kind in ("encoder", "cross"):
        assert masks[kind][:, : len(source)].all()
        assert not masks[kind][:, len(source) :].any()
    np.testing.assert_array_equal(masks["decoder"], np.tril(np.ones((len(target), len(target)), dtype=bool)))

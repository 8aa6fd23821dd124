"""Effects: estimates match derivatives, and measured values match runs without the heads."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headlight.model.core.probes import watch
from headlight.model.core.transformer import attention_path
from headlight.model.errors import RequestError
from headlight.model.experiments import scoring
from headlight.model.experiments.effects import (
    LIKELIEST,
    WordEffects,
    compute_sentence_effects,
    compute_sentence_head_effects,
    make_effect_maps,
    measured_effects,
    summarise_effects,
    word_effects,
)
from headlight.model.experiments.importance import AttentionPart, all_heads
from headlight.model.experiments.scoring import compute_forced_logits, decoder_inputs
from headlight.model.intervention_records import CopyHead
from headlight.model.records import KINDS, Intervention, Kind, Translation
from headlight.model.translate.translator import Translator
from tests.tiny import SENTENCES, tiny_translator

TEXT = SENTENCES[0]
PLACE = 4
STEP = 1e-3  # a larger step crosses kinks of the ReLU


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator()


@pytest.fixture(scope="module")
def answer(translator: Translator) -> Translation:
    return translator.translate(TEXT, max_length=9)


def log_probability_with_weight(
    translator: Translator, answer: Translation, kind: Kind, cell: tuple[int, int, int, int], factor: float
) -> float:
    """log p of the word at `PLACE` with one attention weight multiplied, without normalising its row again."""
    layer, head, query, key = cell
    batch = translator.checker.prepare([answer.request])

    def edit(weights: torch.Tensor, name: str) -> torch.Tensor:
        changed = weights.clone()
        changed[0, head, query, key] *= factor
        return changed

    with torch.inference_mode(), watch(translator.model, f"{attention_path(kind, layer)}.weights", edit=edit):
        memory = translator.model.encode(batch.source_ids, batch.source_mask, padded=batch.padded)
        inputs = decoder_inputs(translator, answer, PLACE + 1, 1)
        logits = translator.model.decoder(inputs, translator.model.decoder.new_state(memory, cached=False))
    return float(logits[0, PLACE].double().log_softmax(-1)[answer.target_tokens[PLACE].id])


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "alibi"])
def test_cell_effect_is_weight_times_gradient(positions: str) -> None:
    translator = tiny_translator(positions=positions)
    answer = translator.translate(TEXT, max_length=9)
    (effects,) = word_effects(translator, answer, [PLACE])
    for kind in KINDS:
        cells = np.abs(effects.cells[kind])
        cell = tuple(int(place) for place in np.unravel_index(cells.argmax(), cells.shape))
        high, low = (
            log_probability_with_weight(translator, answer, kind, cell, factor) for factor in (1 + STEP, 1 - STEP)
        )
        assert effects.cells[kind][cell] == pytest.approx((high - low) / (2 * STEP), rel=0.02, abs=2e-4), kind
        assert cells.max() > 1e-3


def test_cells_of_a_head_sum_to_output_times_gradient(translator: Translator, answer: Translation) -> None:
    (effects,) = word_effects(translator, answer, [PLACE])
    batch = translator.checker.prepare([answer.request])
    names = [f"{attention_path(kind, layer)}.mixed" for kind in KINDS for layer in range(len(effects.cells[kind]))]
    outputs: dict[str, torch.Tensor] = {}

    def track(mixed: torch.Tensor, name: str) -> torch.Tensor:
        outputs[name] = mixed if mixed.requires_grad else mixed.detach().requires_grad_()
        return outputs[name]

    with torch.inference_mode(mode=False), torch.enable_grad():
        with watch(translator.model, *names, edit=track):
            memory = translator.model.encode(batch.source_ids, batch.source_mask, padded=batch.padded)
            inputs = decoder_inputs(translator, answer, PLACE + 1, 1)
            logits = translator.model.decoder(inputs, translator.model.decoder.new_state(memory, cached=False))
        y = logits[0, PLACE].log_softmax(-1)[answer.target_tokens[PLACE].id]
        slopes = torch.autograd.grad(y, list(outputs.values()))
    for (name, mixed), slope in zip(outputs.items(), slopes, strict=True):
        kind: Kind = "cross" if "cross" in name else "encoder" if name.startswith("encoder") else "decoder"
        layer = int(name.split(".")[2])
        expected = (mixed * slope).sum(dim=(0, 2, 3)).detach().numpy()  # [heads]
        np.testing.assert_allclose(effects.heads(kind)[layer], expected, atol=2e-5)


def test_batched_words_match_single_words(
    translator: Translator, answer: Translation, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = range(len(answer.target_tokens))
    batched = word_effects(translator, answer, places)
    monkeypatch.setattr(scoring, "MAX_TOKENS", 1)  # one word per batch
    for place, (effects, single) in enumerate(zip(batched, word_effects(translator, answer, places), strict=True)):
        assert effects.position == single.position == place
        assert effects.score == pytest.approx(single.score, abs=1e-5)
        for kind in KINDS:
            np.testing.assert_allclose(effects.cells[kind], single.cells[kind], atol=1e-5)
            if kind == "encoder":
                continue
            assert effects.cells[kind].shape == answer.attention.of(kind).shape
            assert not effects.cells[kind][:, :, place + 1 :].any()  # later rows cannot affect this word


def test_score_is_log_probability_or_lead_over_rival(translator: Translator, answer: Translation) -> None:
    total = sum(effects.score for effects in word_effects(translator, answer, range(len(answer.target_tokens))))
    assert total == pytest.approx(answer.log_probability, abs=1e-4)
    rival = answer.target_tokens[PLACE].id - 1
    (lead,) = word_effects(translator, answer, [PLACE], rival)
    ids = [token.id for token in answer.target_tokens]
    pair = (log_probability_of_last(translator, answer, [*ids[:PLACE], each]) for each in (ids[PLACE], rival))
    assert lead.score == pytest.approx(next(pair) - next(pair), abs=1e-4)


def log_probability_of_last(
    translator: Translator, answer: Translation, ids: list[int], *changes: Intervention
) -> float:
    """log p of the last of these tokens, by a separate forced translation."""
    translation = translator.translate(answer.request.text, target=tuple(ids), interventions=changes)
    probability = translation.target_tokens[len(ids) - 1].probability
    assert probability is not None
    return float(np.log(probability))


@pytest.mark.parametrize("kind", KINDS)
def test_measured_effect_matches_run_without_head(translator: Translator, answer: Translation, kind: Kind) -> None:
    part = AttentionPart(kind, 1, 2)
    off = Intervention(kind=kind, layer=1, head=2, action="remove")
    ids = [token.id for token in answer.target_tokens][: PLACE + 1]
    expected = log_probability_of_last(translator, answer, ids) - log_probability_of_last(translator, answer, ids, off)
    (loss,) = measured_effects(translator, answer, PLACE, [(part,)])
    assert loss == pytest.approx(expected, abs=1e-4)


def test_interventions_of_the_request_apply(translator: Translator) -> None:
    off = Intervention(kind="cross", layer=0, head=1, action="remove")
    answer = translator.translate(TEXT, max_length=9, interventions=(off,))
    (effects,) = word_effects(translator, answer, [PLACE])
    assert not effects.cells["cross"][0, 1].any()
    assert effects.cells["cross"][0, 0].any()


def test_effect_of_a_copied_head_leaves_its_copy_out(translator: Translator) -> None:
    copy = CopyHead(kind="cross", layer=2, head=0, from_layer=1, from_head=3)
    answer = translator.translate(TEXT, max_length=9, interventions=(copy,))
    (effects,) = word_effects(translator, answer, [PLACE])
    cells = np.abs(effects.cells["cross"][1, 3])
    query, key = (int(place) for place in np.unravel_index(cells.argmax(), cells.shape))
    with translator.intervention_context(answer.request)():
        high, low = (
            log_probability_with_weight(translator, answer, "cross", (1, 3, query, key), factor)
            for factor in (1 + STEP, 1 - STEP)
        )
    assert effects.cells["cross"][1, 3, query, key] == pytest.approx((high - low) / (2 * STEP), rel=0.02, abs=2e-4)


def test_estimates_rank_heads_like_measured_effects() -> None:
    translator = Translator.load("de-en", device="cpu")
    answer = translator.translate("Der Hund, den ich gestern gesehen habe, schläft unter dem Tisch.", beam_size=4)
    place = [token.text.strip() for token in answer.target_tokens].index("sleeping")
    (effects,) = word_effects(translator, answer, [place])
    heads = all_heads(translator.model.config)
    predicted = [effects.heads(part.kind)[part.layer, part.head] for part in heads]
    measured = measured_effects(translator, answer, place, [(part,) for part in heads])
    ranks = [np.argsort(np.argsort(each)) for each in (predicted, measured)]
    assert np.corrcoef(*ranks)[0, 1] > 0.9


def test_summary_lists_heads_by_size_of_the_prediction_with_their_largest_cell(
    translator: Translator, answer: Translation
) -> None:
    heads = all_heads(translator.model.config)
    (effects,) = word_effects(translator, answer, [PLACE])
    summary = summarise_effects(translator, answer, PLACE, len(heads))
    sizes = [abs(head.predicted) for head in summary.strongest]
    assert sizes == sorted(sizes, reverse=True)
    assert len({head.predicted > 0 for head in summary.strongest[: len(heads) // 2]}) == 2  # for the word, and against
    negative = 0
    for head in summary.strongest:
        cells = effects.cells[head.kind][head.layer, head.head]
        largest = max(cells.min(), cells.max(), key=abs)
        assert head.cell == pytest.approx(largest, abs=1e-6)
        assert cells[head.row, head.column] == largest
        negative += largest < 0
    assert 0 < negative < len(heads)


def test_missing_word_rival_or_layer_raises(translator: Translator, answer: Translation) -> None:
    count = len(answer.target_tokens)
    with pytest.raises(RequestError, match="word"):
        word_effects(translator, answer, [count])
    with pytest.raises(RequestError, match="rival"):
        word_effects(translator, answer, [0], rival=10**6)
    with pytest.raises(RequestError, match="layer"):
        measured_effects(translator, answer, 0, [(AttentionPart("cross", 9, 0),)])
    assert word_effects(translator, answer, []) == []


def test_head_effects_are_sums_of_cells() -> None:
    cells = np.arange(2 * 3 * 4 * 5, dtype=np.float64).reshape(2, 3, 4, 5)
    np.testing.assert_array_equal(WordEffects(0, 0.0, {"cross": cells}).heads("cross"), cells.sum(axis=(2, 3)))


def test_sentence_effects_are_sums_over_words(translator: Translator, answer: Translation) -> None:
    words = word_effects(translator, answer, range(len(answer.target_tokens)))
    sentence = compute_sentence_effects(translator, answer)
    for kind in KINDS:
        np.testing.assert_allclose(sentence[kind], sum(each.cells[kind] for each in words), atol=1e-5)
        heads = compute_sentence_head_effects(translator, answer)[kind]
        np.testing.assert_allclose(heads, sum(each.heads(kind) for each in words), atol=1e-5)
    np.testing.assert_array_equal(make_effect_maps(translator, answer, "encoder"), sentence["encoder"])


@pytest.mark.parametrize("kind", KINDS)
def test_effect_map_of_one_word_is_weight_times_gradient(
    translator: Translator, answer: Translation, kind: Kind
) -> None:
    maps = make_effect_maps(translator, answer, kind, position=PLACE)
    assert maps.shape == answer.attention.of(kind).shape
    cell = tuple(int(place) for place in np.unravel_index(np.abs(maps).argmax(), maps.shape))
    high, low = (log_probability_with_weight(translator, answer, kind, cell, factor) for factor in (1 + STEP, 1 - STEP))
    assert maps[cell] == pytest.approx((high - low) / (2 * STEP), rel=0.02, abs=2e-4)
    words = range(len(answer.target_tokens))
    total = sum(make_effect_maps(translator, answer, kind, position=place) for place in words)
    np.testing.assert_allclose(total, compute_sentence_effects(translator, answer)[kind], atol=1e-5)


@pytest.mark.parametrize("kind", ["decoder", "cross"])
def test_effect_map_row_matches_effects_on_its_word(
    translator: Translator, answer: Translation, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headlight.model.experiments.effects.choose_gradient_batch_size", lambda *_: 3)
    maps = make_effect_maps(translator, answer, kind)
    assert maps.shape == answer.attention.of(kind).shape
    for place in range(len(answer.target_tokens)):
        (word,) = word_effects(translator, answer, [place])
        np.testing.assert_allclose(maps[:, :, place], word.cells[kind][:, :, place], atol=1e-5)


def test_effects_on_leads_take_the_likeliest_other_token_of_each_word(
    translator: Translator, answer: Translation
) -> None:
    places = range(len(answer.target_tokens))
    ids = [token.id for token in answer.target_tokens]
    for place, effects in zip(places, word_effects(translator, answer, places, LIKELIEST), strict=True):
        logits = compute_forced_logits(translator, answer, place + 1, 1)[0, place]
        rival = next(each for each in logits.argsort(descending=True).tolist() if each != ids[place])
        (named,) = word_effects(translator, answer, [place], rival)
        assert effects.score == pytest.approx(named.score, abs=1e-5)
        for kind in KINDS:
            np.testing.assert_allclose(effects.cells[kind], named.cells[kind], atol=1e-5)
            if kind != "encoder":
                row = make_effect_maps(translator, answer, kind, LIKELIEST)[:, :, place]
                np.testing.assert_allclose(row, named.cells[kind][:, :, place], atol=1e-5)


def test_sentence_effects_on_leads_are_sums_over_words(translator: Translator, answer: Translation) -> None:
    words = word_effects(translator, answer, range(len(answer.target_tokens)), LIKELIEST)
    expected = sum(each.cells["encoder"] for each in words)
    np.testing.assert_allclose(make_effect_maps(translator, answer, "encoder", LIKELIEST), expected, atol=2e-5)

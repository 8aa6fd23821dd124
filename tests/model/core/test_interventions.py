"""Interventions change exactly their head, during decoding and capture."""

from __future__ import annotations

import copy
import itertools
import threading
from typing import Any

import numpy as np
import pytest
import torch

from headlight.model.core.interventions import apply_interventions
from headlight.model.core.probes import watch
from headlight.model.core.transformer import attention_path
from headlight.model.errors import RequestError
from headlight.model.intervention_records import BorrowMap, CopyHead, InputChange, PositionChange, SetWeight, ZeroPart
from headlight.model.records import ACTIONS, KINDS, FloatArray, Intervention, Kind, Translation
from headlight.model.translate.translator import Translator
from tests.tiny import (
    DECODER_LAYERS,
    ENCODER_LAYERS,
    HEAD_WIDTH,
    HEADS,
    SENTENCES,
    count_hooks,
    tiny_translator,
    tokenizers,
)

TARGET = "The dog is sleeping in the garden."
TEXT = SENTENCES[0]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator()


def change(kind: Kind, action: Any, *, layer: int = 1, head: int | None = 2, amount: float = 1.0) -> Intervention:
    return Intervention(kind=kind, layer=layer, head=head, action=action, amount=amount)


def changed_by(translator: Translator, *interventions: Intervention, text: str = TEXT) -> Translation:
    return translator.translate(text, target=TARGET, interventions=interventions)


def token_ids(translation: Translation) -> list[int]:
    return [token.id for token in translation.target_tokens]


def uniform_rows(translation: Translation, kind: Kind) -> FloatArray:
    """Return rows with equal weights for all allowed keys."""
    allowed = translation.attention.allowed(kind).astype(np.float32)
    rows: FloatArray = allowed / allowed.sum(axis=-1, keepdims=True)
    return rows


# ---------------------------------------------------------------- actions


@pytest.mark.parametrize("kind", KINDS)
def test_removed_head_has_zero_weights(translator: Translator, kind: Kind) -> None:
    removed = changed_by(translator, change(kind, "remove"))
    assert (removed.attention.of(kind)[1, 2] == 0.0).all()
    others = np.delete(removed.attention.of(kind)[1], 2, axis=0)
    np.testing.assert_allclose(others.sum(axis=-1), 1, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "alibi"])
def test_uniform_head_has_equal_allowed_weights(positions: str, kind: Kind) -> None:
    uniform = changed_by(tiny_translator(positions=positions), change(kind, "uniform"))
    actual = uniform.attention.of(kind)[1, 2]
    np.testing.assert_allclose(actual, uniform_rows(uniform, kind), atol=1e-6)
    assert (actual[~uniform.attention.allowed(kind)] == 0.0).all()


def test_uniform_decoder_rows_cover_past_tokens() -> None:
    actual = changed_by(tiny_translator(), change("decoder", "uniform")).attention.decoder[1, 2]
    expected = np.array([[1, 0, 0], [1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]])
    np.testing.assert_allclose(actual[:3, :3], expected, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("amount", [0.0, 0.25, 1.0, 3.0])
def test_scaled_head_multiplies_weights(translator: Translator, kind: Kind, amount: float) -> None:
    plain = changed_by(translator).attention.of(kind)[1, 2]
    scaled = changed_by(translator, change(kind, "scale", amount=amount)).attention.of(kind)[1, 2]
    np.testing.assert_allclose(scaled, amount * plain, atol=1e-6)


def test_interventions_in_padded_batch_match_single_sentences(translator: Translator) -> None:
    for kind, action in itertools.product(KINDS, ACTIONS):
        intervention = change(kind, action, amount=0.5)
        together = translator.translate_batch(SENTENCES, target=TARGET, interventions=(intervention,))
        for text, one in zip(SENTENCES, together, strict=True):
            single = changed_by(translator, intervention, text=text)
            for looked in KINDS:
                np.testing.assert_allclose(one.attention.of(looked), single.attention.of(looked), atol=1e-5)
            if action == "uniform":
                np.testing.assert_allclose(one.attention.of(kind)[1, 2], uniform_rows(one, kind), atol=1e-6)


# ---------------------------------------------------------------- and nothing else


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_intervention_affects_only_its_head_and_later_layers(translator: Translator, kind: Kind, action: str) -> None:
    plain = changed_by(translator).attention
    changed = changed_by(translator, change(kind, action, amount=0.3)).attention
    layers = [("encoder", layer) for layer in range(ENCODER_LAYERS)]
    layers += [(side, layer) for layer in range(DECODER_LAYERS) for side in ("decoder", "cross")]
    here = layers.index((kind, 1))
    for place, (looked, layer) in enumerate(layers):
        before, after = plain.of(looked)[layer], changed.of(looked)[layer]  # type: ignore[arg-type]
        if place == here:
            before, after = np.delete(before, 2, axis=0), np.delete(after, 2, axis=0)
        if place <= here or (looked, layer) == ("decoder", 0):  # which does not depend on the source
            np.testing.assert_allclose(after, before, atol=1e-6)
        else:
            assert np.abs(after - before).max() > 1e-4, (looked, layer)


def test_intervention_without_head_changes_whole_layer(translator: Translator) -> None:
    plain = changed_by(translator)
    for kind in KINDS:
        removed = changed_by(translator, change(kind, "remove", layer=0, head=None))
        assert (removed.attention.of(kind)[0] == 0.0).all()
        one_by_one = changed_by(translator, *(change(kind, "remove", layer=0, head=head) for head in range(HEADS)))
        assert removed.log_probability == pytest.approx(one_by_one.log_probability, abs=1e-5)
        assert removed.log_probability != pytest.approx(plain.log_probability, abs=1e-3)


@pytest.mark.parametrize(("action", "amount"), [("remove", 1.0), ("scale", 0.4), ("uniform", 1.0)])
@pytest.mark.parametrize("kind", KINDS)
def test_intervention_matches_manually_edited_weights(
    translator: Translator, kind: Kind, action: str, amount: float
) -> None:
    model = copy.deepcopy(translator.model)
    attention: Any = model.get_submodule(attention_path(kind, 1))
    head = slice(2 * HEAD_WIDTH, 3 * HEAD_WIDTH)
    with torch.no_grad():
        if action == "uniform":  # a zero query gives equal scores
            attention.query.weight[head] = 0.0
            attention.query.bias[head] = 0.0
        else:
            attention.output.weight[:, head] *= 0.0 if action == "remove" else amount
    by_hand = Translator(model, *tokenizers(), step_weights="plain")
    different = 0
    for text in SENTENCES[:4]:
        intervention = change(kind, action, amount=amount)
        changed = translator.translate(text, interventions=(intervention,), beam_size=2, max_length=19)
        expected = by_hand.translate(text, beam_size=2, max_length=19)
        assert token_ids(changed) == token_ids(expected)
        assert changed.log_probability == pytest.approx(expected.log_probability, abs=1e-4)
        different += token_ids(changed) != token_ids(translator.translate(text, beam_size=2, max_length=19))
    assert different > 0


# ---------------------------------------------------------------- several


def test_interventions_combine_in_any_order(translator: Translator) -> None:
    interventions = (
        change("decoder", "uniform"),
        change("decoder", "scale", amount=0.5),
        change("encoder", "remove", layer=0, head=4),
        change("cross", "scale", layer=2, head=0, amount=2.0),
    )
    expected = changed_by(translator, *interventions)
    actual = expected.attention.decoder[1, 2]
    np.testing.assert_allclose(actual, 0.5 * uniform_rows(expected, "decoder"), atol=1e-6)
    assert (expected.attention.encoder[0, 4] == 0.0).all()
    np.testing.assert_allclose(expected.attention.cross[2, 0].sum(axis=-1), 2, atol=1e-5)
    for order in itertools.permutations(interventions):
        repeated = changed_by(translator, *order)
        for kind in KINDS:
            np.testing.assert_allclose(repeated.attention.of(kind), expected.attention.of(kind), atol=1e-6)


def test_patterns_and_a_set_weight_have_one_order(translator: Translator) -> None:
    """On one head: `previous` replaces the equal weights, and a weight is set last, whatever the request's order."""
    drag = SetWeight(kind="cross", layer=1, head=2, row=4, column=3, amount=0.25)
    for order in itertools.permutations([change("cross", "uniform"), change("cross", "previous"), drag]):
        changed = changed_by(translator, *order)
        actual, expected = attention_rows(changed, "cross"), pointed_rows(changed, "cross", -1)
        np.testing.assert_allclose(np.delete(actual, 4, axis=0), np.delete(expected, 4, axis=0), atol=1e-6)
        assert actual[4, 3] == pytest.approx(0.25, abs=1e-6)


def test_repeated_factor_applies_twice(translator: Translator) -> None:
    half = change("cross", "scale", amount=0.5)
    actual = changed_by(translator, half, half).attention.cross[1, 2]
    np.testing.assert_allclose(actual, 0.25 * changed_by(translator).attention.cross[1, 2], atol=1e-6)


# ---------------------------------------------------------------- errors, and nothing left behind


@pytest.mark.parametrize(
    ("intervention", "words", "field"),
    [
        (
            change("encoder", "remove", layer=ENCODER_LAYERS),
            "layer must be a whole number from 0 to 1, but 2 was given. Choose one.",
            "layer",
        ),
        (
            change("decoder", "remove", layer=DECODER_LAYERS),
            "layer must be a whole number from 0 to 2, but 3 was given. Choose one.",
            "layer",
        ),
        (
            change("cross", "scale", layer=99),
            "layer must be a whole number from 0 to 2, but 99 was given. Choose one.",
            "layer",
        ),
        (
            change("cross", "uniform", head=HEADS),
            "head must be a whole number from 0 to 4, but 5 was given. Choose one.",
            "head",
        ),
    ],
)
def test_missing_head_raises(translator: Translator, intervention: Intervention, words: str, field: str) -> None:
    for run in (
        lambda: translator.translate(TEXT, interventions=(intervention,)),
        lambda: translator.translate_batch([TEXT, TEXT], interventions=(intervention,)),
        lambda: list(translator.stream(TEXT, interventions=(intervention,))),
        lambda: apply_interventions(translator.model, [intervention]).__enter__(),
    ):
        with pytest.raises(RequestError) as error_info:
            run()
        assert str(error_info.value) == words
        assert error_info.value.field == field
    assert count_hooks(translator.model) == 0


def test_exception_removes_interventions(translator: Translator) -> None:
    def fail() -> bool:
        assert count_hooks(translator.model) == 2
        raise KeyboardInterrupt

    before = changed_by(translator)
    interventions = (change("decoder", "remove"), change("cross", "uniform"))
    with pytest.raises(KeyboardInterrupt):
        translator.translate(TEXT, interventions=interventions, cancelled=fail)
    assert count_hooks(translator.model) == 0
    after = changed_by(translator)
    for kind in KINDS:
        assert np.array_equal(after.attention.of(kind), before.attention.of(kind))


def test_inner_watch_sees_changed_values(translator: Translator) -> None:
    path = f"{attention_path('encoder', 1)}.weights"
    ids = torch.tensor([[5, 6, 7]])
    model = translator.model
    with torch.inference_mode(), apply_interventions(model, [change("encoder", "remove")]), watch(model, path) as seen:
        model.encode(ids)
    assert (seen[path][:, 2] == 0).all()
    assert (seen[path][:, 1] != 0).all()


def test_outer_watch_sees_original_values(translator: Translator) -> None:
    path = f"{attention_path('encoder', 1)}.weights"
    ids = torch.tensor([[5, 6, 7]])
    model = translator.model
    with torch.inference_mode(), watch(model, path) as seen, apply_interventions(model, [change("encoder", "remove")]):
        model.encode(ids)
    assert (seen[path] != 0).all()


# ---------------------------------------------------------------- where rows look instead


TO_PLACES = ("previous", "next", "same")


def attention_rows(translation: Translation, kind: Kind, layer: int = 1, head: int = 2) -> FloatArray:
    maps: FloatArray = translation.attention.of(kind)[layer, head]
    return maps


def pointed_rows(translation: Translation, kind: Kind, step: int) -> FloatArray:
    """Return one-hot rows at `step` tokens from the row, else at the row itself, else uniform rows."""
    allowed = translation.attention.allowed(kind)
    rows = np.zeros(allowed.shape, dtype=np.float32)
    for row, may in enumerate(allowed):
        for column in (row + step, row):
            if 0 <= column < len(may) and may[column]:
                rows[row, column] = 1.0
                break
        else:
            rows[row] = may / may.sum()
    return rows


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("action", "step"), [("previous", -1), ("next", 1), ("same", 0)])
def test_previous_next_and_same_patterns(translator: Translator, kind: Kind, action: str, step: int) -> None:
    long = "The dog is sleeping in the garden, and so are the cats."  # more rows than the source has tokens
    changed = translator.translate(TEXT, target=long, interventions=(change(kind, action),))
    actual = attention_rows(changed, kind)
    np.testing.assert_allclose(actual, pointed_rows(changed, kind, step), atol=1e-6)
    np.testing.assert_allclose(actual.sum(axis=-1), 1, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_temperature_divides_scores(translator: Translator, kind: Kind) -> None:
    path = f"{attention_path(kind, 1)}.scores"
    plain = translator.translate(TEXT, target=TARGET, capture=(path,))
    scores = plain.captured[path][2].astype(np.float64)
    scores[~plain.attention.allowed(kind)] = -np.inf
    for temperature in (0.25, 4.0):
        powers = np.exp(scores / temperature - (scores / temperature).max(axis=-1, keepdims=True))
        expected = powers / powers.sum(axis=-1, keepdims=True)
        actual = attention_rows(changed_by(translator, change(kind, "temperature", amount=temperature)), kind)
        np.testing.assert_allclose(actual, expected, atol=1e-5)


def test_changed_rows_sum_to_one(translator: Translator) -> None:
    for kind in KINDS:
        changes: list[Any] = [change(kind, action, amount=3.0) for action in (*TO_PLACES, "uniform", "temperature")]
        changes += [
            SetWeight(kind=kind, layer=1, head=2, row=3, column=2, amount=0.7),
            CopyHead(kind=kind, layer=1, head=2, from_layer=0, from_head=4),
            BorrowMap(kind=kind, layer=1, head=2, text=SENTENCES[2]),
            BorrowMap(kind=kind, layer=1, head=None, text=SENTENCES[1]),
        ]
        for each in changes:
            changed = changed_by(translator, each)
            for looked in KINDS:
                np.testing.assert_allclose(changed.attention.of(looked).sum(axis=-1), 1, atol=1e-5, err_msg=str(each))


def test_intervention_without_layer_changes_all_layers(translator: Translator) -> None:
    for kind, layers in (("encoder", ENCODER_LAYERS), ("decoder", DECODER_LAYERS), ("cross", DECODER_LAYERS)):
        every = Intervention(kind=kind, layer=None, head=3, action="remove")  # type: ignore[arg-type]
        single = [change(kind, "remove", layer=layer, head=3) for layer in range(layers)]  # type: ignore[arg-type]
        together, one_by_one = changed_by(translator, every), changed_by(translator, *single)
        assert together.log_probability == one_by_one.log_probability
        assert (together.attention.of(kind)[:, 3] == 0).all()  # type: ignore[arg-type]
        assert (together.attention.of(kind)[:, 2] != 0).any()  # type: ignore[arg-type]


# ---------------------------------------------------------------- one weight, and the maps of others


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("amount", [0.0, 0.3, 1.0])
def test_set_weight_keeps_proportions_of_others(translator: Translator, kind: Kind, amount: float) -> None:
    plain = attention_rows(changed_by(translator), kind)
    drag = SetWeight(kind=kind, layer=1, head=2, row=4, column=3, amount=amount)
    changed = changed_by(translator, drag)
    actual = attention_rows(changed, kind)
    expected = plain[4] * (1 - amount) / (1 - plain[4, 3])
    expected[3] = amount
    np.testing.assert_allclose(actual[4], expected, atol=1e-6)
    np.testing.assert_allclose(np.delete(actual, 4, axis=0), np.delete(plain, 4, axis=0), atol=1e-6)
    assert (actual[~changed.attention.allowed(kind)] == 0.0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_weight_removed_from_one_hot_row_is_shared_evenly(translator: Translator, kind: Kind) -> None:
    drag = SetWeight(kind=kind, layer=1, head=2, row=4, column=4, amount=0.4)
    changed = changed_by(translator, change(kind, "same"), drag)
    may = changed.attention.allowed(kind)[4]
    expected = np.where(may, 0.6 / (may.sum() - 1), 0.0)
    expected[4] = 0.4
    np.testing.assert_allclose(attention_rows(changed, kind)[4], expected, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("head", [2, None])
def test_weight_can_be_set_where_all_heads_are_zero(translator: Translator, kind: Kind, head: int | None) -> None:
    """A decoding step has no other row with a weight there."""
    drag = SetWeight(kind=kind, layer=1, head=2, row=2, column=0, amount=0.7)
    changes = (change(kind, "same", head=head), drag)
    translation = translator.translate(TEXT, interventions=changes, max_length=9)
    actual = attention_rows(translation, kind)[2]
    assert actual[0] == pytest.approx(0.7, abs=1e-6)
    assert actual.sum() == pytest.approx(1, abs=1e-5)
    for token in translation.target_tokens:  # the weight also applied during decoding
        assert token.alternatives[0].id == token.id


@pytest.mark.parametrize(("kind", "row", "column"), [("cross", 1, 50), ("encoder", 50, 1), ("encoder", 1, 50)])
def test_set_weight_beyond_sentence_raises(translator: Translator, kind: Kind, row: int, column: int) -> None:
    with pytest.raises(RequestError, match="50"):
        changed_by(translator, SetWeight(kind=kind, layer=1, head=2, row=row, column=column, amount=0.5))


def test_set_weight_of_masked_word_has_no_effect(translator: Translator) -> None:
    mask = InputChange(action="mask", start=0, end=3)
    plain = translator.translate(TEXT, target=TARGET, interventions=(mask,))
    hidden = [place for place, may in enumerate(plain.attention.allowed("cross")[0]) if not may]
    assert hidden
    drag = SetWeight(kind="cross", layer=1, head=2, row=3, column=hidden[0], amount=0.7)
    actual = translator.translate(TEXT, target=TARGET, interventions=(mask, drag))
    np.testing.assert_array_equal(attention_rows(actual, "cross"), attention_rows(plain, "cross"))


def test_single_head_ablations_share_one_product_per_attention(translator: Translator) -> None:
    single = tuple(
        change("cross", "remove", layer=layer, head=head) for layer in range(DECODER_LAYERS) for head in range(HEADS)
    )
    whole = Intervention(kind="cross", layer=None, head=None, action="remove")
    assert changed_by(translator, *single * 20).log_probability == changed_by(translator, whole).log_probability
    with apply_interventions(translator.model, single * 20):
        assert count_hooks(translator.model) == DECODER_LAYERS


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("from_layer", [0, 1])
def test_copy_uses_map_of_other_head(translator: Translator, kind: Kind, from_layer: int) -> None:
    copied = changed_by(translator, CopyHead(kind=kind, layer=1, head=2, from_layer=from_layer, from_head=4))
    actual = copied.attention.of(kind)
    np.testing.assert_allclose(actual[1, 2], actual[from_layer, 4], atol=1e-6)
    assert np.abs(actual[1, 2] - attention_rows(changed_by(translator), kind)).max() > 1e-3


def test_copy_follows_other_interventions(translator: Translator) -> None:
    copy = CopyHead(kind="cross", layer=1, head=2, from_layer=0, from_head=4)
    for order in itertools.permutations([copy, change("cross", "previous", layer=0, head=4)]):
        changed = changed_by(translator, *order)
        np.testing.assert_allclose(attention_rows(changed, "cross"), pointed_rows(changed, "cross", -1), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", [SENTENCES[1], SENTENCES[2]], ids=["shorter", "longer"])
def test_borrowed_map_matches_other_sentence(translator: Translator, kind: Kind, other: str) -> None:
    theirs = attention_rows(translator.translate(other), kind)
    plain = attention_rows(changed_by(translator), kind)
    changed = changed_by(translator, BorrowMap(kind=kind, layer=1, head=2, text=other))
    actual = attention_rows(changed, kind)
    rows, columns = min(len(theirs), len(actual)), min(theirs.shape[1], actual.shape[1])
    for row in range(len(actual)):
        if row >= rows or not theirs[row, :columns].any():
            np.testing.assert_allclose(actual[row], plain[row], atol=1e-5)
            continue
        expected = np.zeros(actual.shape[1])
        expected[:columns] = theirs[row, :columns] / theirs[row, :columns].sum()
        np.testing.assert_allclose(actual[row], expected, atol=1e-5)


SEVERAL = (
    SetWeight(kind="cross", layer=1, head=2, row=3, column=2, amount=0.9),
    SetWeight(kind="decoder", layer=0, head=1, row=2, column=1, amount=0.8),
    CopyHead(kind="cross", layer=2, head=0, from_layer=1, from_head=3),
    BorrowMap(kind="cross", layer=0, head=4, text=SENTENCES[2]),
    BorrowMap(kind="decoder", layer=1, head=1, text=SENTENCES[2]),
    Intervention(kind="cross", layer=0, head=1, action="previous"),
    Intervention(kind="decoder", layer=2, head=3, action="previous"),
    ZeroPart(side="decoder", layer=0, part="feed_forward"),
    ZeroPart(side="encoder", layer=1, part="residual"),
    PositionChange(side="encoder", action="shuffle", amount=5),
    PositionChange(side="decoder", action="shift", amount=2),
    InputChange(action="mask", start=4, end=8),
)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", "alibi", "relative", "none"])
def test_cached_steps_match_full_pass_under_interventions(positions: str) -> None:
    """Greedy tokens are chosen row by row; a full pass must give each the highest probability."""
    translator = tiny_translator(positions=positions)
    for text in (TEXT, SENTENCES[2]):
        translation = translator.translate(text, interventions=SEVERAL, max_length=15)
        plain = translator.translate(text, max_length=15)
        assert token_ids(translation) != token_ids(plain)
        for token in translation.target_tokens:
            assert token.alternatives[0].id == token.id
        repeated = translator.translate(text, target=tuple(token_ids(translation)), interventions=SEVERAL)
        assert repeated.log_probability == pytest.approx(translation.log_probability, abs=1e-5)


def test_multiple_interventions_in_padded_batch_match_single_ones(translator: Translator) -> None:
    texts = [SENTENCES[0], SENTENCES[2], SENTENCES[3]]
    changes = SEVERAL[:-1]  # the first word of another sentence has other characters
    for text, one in zip(texts, translator.translate_batch(texts, interventions=changes, max_length=15), strict=True):
        single = translator.translate(text, interventions=changes, max_length=15)
        assert token_ids(one) == token_ids(single)
        for kind in KINDS:
            np.testing.assert_allclose(one.attention.of(kind), single.attention.of(kind), atol=1e-5)


# ---------------------------------------------------------------- layers and positions


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_removed_feed_forward_matches_zero_matrix(translator: Translator, side: Any) -> None:
    model = copy.deepcopy(translator.model)
    with torch.no_grad():
        narrow: Any = model.get_submodule(f"{side}.layers.1.feed_forward.narrow")
        narrow.weight.zero_()
        narrow.bias.zero_()
    expected = Translator(model, *tokenizers(), step_weights="plain").translate(TEXT, target=TARGET)
    actual = changed_by(translator, ZeroPart(side=side, layer=1, part="feed_forward"))
    assert actual.log_probability == pytest.approx(expected.log_probability, abs=1e-5)
    assert actual.log_probability != pytest.approx(changed_by(translator).log_probability, abs=1e-3)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize(("side", "parts"), [("encoder", 2), ("decoder", 3)])
def test_removed_residual_passes_only_sublayer_output(side: Any, parts: int, norm_first: bool) -> None:
    translator = tiny_translator(norm_first=norm_first)
    model = copy.deepcopy(translator.model)
    layer: Any = model.get_submodule(f"{side}.layers.1")
    sums = [module for name, module in layer.named_children() if name.startswith("around_")]
    assert len(sums) == parts
    for residual in sums:
        if norm_first:
            residual.forward = lambda x, sublayer, norm=residual.norm: sublayer(norm(x))
        else:
            residual.forward = lambda x, sublayer, norm=residual.norm: norm(sublayer(x))
    expected = Translator(model, *tokenizers(), step_weights="plain").model
    ids = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[1, 9, 4]])
    with torch.inference_mode():
        plain, by_hand = translator.model(*ids), expected(*ids)
        with apply_interventions(translator.model, [ZeroPart(side=side, layer=1, part="residual")]):
            actual = translator.model(*ids)
    torch.testing.assert_close(actual, by_hand, atol=1e-5, rtol=1e-5)
    assert (plain - actual).abs().max() > 1e-3


ENCODINGS = ["sinusoidal", "sinusoidal_halves", "learned", "rotary", "alibi", "relative"]


@pytest.mark.parametrize("positions", ENCODINGS)
def test_encoder_without_positions_is_permutation_equivariant(positions: str) -> None:
    model = tiny_translator(positions=positions).model
    ids, mixed = torch.tensor([[5, 6, 7, 8, 9]]), [3, 0, 4, 1, 2]
    with torch.inference_mode():
        plain, plain_mixed = model.encode(ids).vectors, model.encode(ids[:, mixed]).vectors
        with apply_interventions(model, [PositionChange(side="encoder", action="no_positions")]):
            bag, bag_mixed = model.encode(ids).vectors, model.encode(ids[:, mixed]).vectors
    torch.testing.assert_close(bag[:, mixed], bag_mixed, atol=1e-5, rtol=1e-5)
    assert (plain[:, mixed] - plain_mixed).abs().max() > 1e-3


@pytest.mark.parametrize("positions", ["sinusoidal", "sinusoidal_halves", "learned"])
def test_without_added_positions_input_is_embedding(positions: str) -> None:
    model = tiny_translator(positions=positions).model
    off = [PositionChange(side="encoder", action="no_positions")]
    with torch.inference_mode(), apply_interventions(model, off), watch(model, "encoder.embedding.*") as seen:
        model.encode(torch.tensor([[5, 6, 7]]))
    torch.testing.assert_close(seen["encoder.embedding.positioned"], seen["encoder.embedding.embedded"])


@pytest.mark.parametrize("positions", ENCODINGS)
def test_shifted_positions_match_longer_sentence(positions: str) -> None:
    """A shift has no effect on relative positions; with a table, later rows are added."""
    model = tiny_translator(positions=positions).model
    ids = torch.tensor([[5, 6, 7]])
    with torch.inference_mode():
        plain = model.encode(ids).vectors
        with apply_interventions(model, [PositionChange(side="encoder", action="shift", amount=4)]):
            with watch(model, "encoder.embedding.*") as seen:
                shifted = model.encode(ids).vectors
            if positions in ("rotary", "alibi", "relative"):
                torch.testing.assert_close(shifted, plain, atol=1e-4, rtol=1e-4)
                return
    added = seen["encoder.embedding.positioned"] - seen["encoder.embedding.embedded"]
    encoding: Any = model.encoder.embedding.positions
    torch.testing.assert_close(added[0], encoding.as_array(7)[4:], atol=1e-5, rtol=1e-5)
    assert (shifted - plain).abs().max() > 1e-3


@pytest.mark.parametrize("positions", ENCODINGS)
def test_shuffled_positions_match_reordered_sentence(positions: str) -> None:
    """A shuffled sentence matches the sentence with reordered words, except for the order in memory."""
    model = tiny_translator(positions=positions).model
    ids = torch.tensor([[5, 6, 7, 8, 9, 10, 11, 12]])  # one block
    shuffle = PositionChange(side="encoder", action="shuffle", amount=3)
    with torch.inference_mode():
        with apply_interventions(model, [shuffle]), watch(model, "encoder.embedding.positions.places") as seen:
            shuffled = model.encode(ids).vectors
        places = seen["encoder.embedding.positions.places"]
        assert sorted(places.tolist()) == list(range(8))
        assert places.tolist() != list(range(8))
        ordered = model.encode(ids[:, places.argsort()]).vectors
    torch.testing.assert_close(shuffled[:, places.argsort()], ordered, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("action", ["shift", "shuffle"])
@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_without_positions_there_is_nothing_to_move(translator: Translator, side: Any, action: Any) -> None:
    none = PositionChange(side=side, action="no_positions")
    expected = changed_by(translator, none).attention
    for order in itertools.permutations([none, PositionChange(side=side, action=action, amount=2)]):
        actual = changed_by(translator, *order).attention
        for kind in KINDS:
            np.testing.assert_allclose(actual.of(kind), expected.of(kind), atol=1e-6)


def test_shift_is_limited_by_learned_table() -> None:
    model = tiny_translator(positions="learned").model
    far = [PositionChange(side="encoder", action="shift", amount=9999)]
    with torch.inference_mode(), apply_interventions(model, far), watch(model, "encoder.embedding.*") as seen:
        model.encode(torch.tensor([[5, 6, 7]]))
    added = seen["encoder.embedding.positioned"] - seen["encoder.embedding.embedded"]
    encoding: Any = model.encoder.embedding.positions
    torch.testing.assert_close(added[0], encoding.table[-1:].expand(3, -1), atol=1e-5, rtol=1e-5)


# ---------------------------------------------------------------- isolation


def test_interventions_do_not_leak_to_other_threads() -> None:
    """Two threads, one with all heads off and one without interventions, get the same results as alone."""
    translator = tiny_translator()
    off = tuple(Intervention(kind=kind, layer=None, head=None, action="remove") for kind in KINDS)
    off += (PositionChange(side="encoder", action="no_positions"), ZeroPart(side="decoder", layer=0, part="residual"))
    single = {changes: translator.translate(TEXT, interventions=changes, max_length=9) for changes in ((), off)}
    assert token_ids(single[()]) != token_ids(single[off])
    wrong: list[str] = []

    def visit(changes: tuple[Any, ...]) -> None:
        for _ in range(12):
            answer = translator.translate(TEXT, interventions=changes, max_length=9)
            if (
                token_ids(answer) != token_ids(single[changes])
                or answer.log_probability != single[changes].log_probability
            ):
                wrong.append(answer.text)

    visitors = [threading.Thread(target=visit, args=(changes,)) for changes in ((), off)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()
    assert not wrong
    assert count_hooks(translator.model) == 0


@pytest.mark.parametrize("kind", KINDS)
def test_head_ablation_matches_zero_output_columns(translator: Translator, kind: Kind) -> None:
    layers = ENCODER_LAYERS if kind == "encoder" else DECODER_LAYERS
    for layer, head in itertools.product(range(layers), range(HEADS)):
        model = copy.deepcopy(translator.model)
        attention: Any = model.get_submodule(attention_path(kind, layer))
        with torch.no_grad():
            attention.output.weight[:, head * HEAD_WIDTH : (head + 1) * HEAD_WIDTH] = 0.0
        by_hand = Translator(model, *tokenizers(), step_weights="plain").translate(TEXT, target=TARGET)
        actual = changed_by(translator, change(kind, "remove", layer=layer, head=head))
        chances = [[token.probability for token in each.target_tokens] for each in (actual, by_hand)]
        np.testing.assert_allclose(chances[0], chances[1], atol=1e-6)

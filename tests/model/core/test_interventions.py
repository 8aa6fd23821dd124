"""An intervention changes the one head that it names, exactly as it says, while decoding and while looking."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np
import pytest
import torch

from headlight.model.core.interventions import intervening
from headlight.model.core.probes import watch
from headlight.model.core.transformer import attention_path
from headlight.model.errors import RequestError
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


def ids_of(translation: Translation) -> list[int]:
    return [token.id for token in translation.target_tokens]


def uniform_rows(translation: Translation, kind: Kind) -> FloatArray:
    """Each row shares one among the keys that it may look at."""
    allowed = translation.attention.allowed(kind).astype(np.float32)
    rows: FloatArray = allowed / allowed.sum(axis=-1, keepdims=True)
    return rows


# ---------------------------------------------------------------- what the actions do


@pytest.mark.parametrize("kind", KINDS)
def test_a_removed_head_looks_nowhere(translator: Translator, kind: Kind) -> None:
    removed = changed_by(translator, change(kind, "remove"))
    assert (removed.attention.of(kind)[1, 2] == 0.0).all()
    others = np.delete(removed.attention.of(kind)[1], 2, axis=0)
    np.testing.assert_allclose(others.sum(axis=-1), 1, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "alibi"])
def test_a_uniform_head_looks_at_all_it_may_alike(positions: str, kind: Kind) -> None:
    uniform = changed_by(tiny_translator(positions=positions), change(kind, "uniform"))
    given = uniform.attention.of(kind)[1, 2]
    np.testing.assert_allclose(given, uniform_rows(uniform, kind), atol=1e-6)
    assert (given[~uniform.attention.allowed(kind)] == 0.0).all()


def test_uniform_rows_of_the_decoder_share_among_what_is_written() -> None:
    given = changed_by(tiny_translator(), change("decoder", "uniform")).attention.decoder[1, 2]
    expected = np.array([[1, 0, 0], [1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]])
    np.testing.assert_allclose(given[:3, :3], expected, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("amount", [0.0, 0.25, 1.0, 3.0])
def test_a_scaled_head_has_its_weights_times_the_amount(translator: Translator, kind: Kind, amount: float) -> None:
    plain = changed_by(translator).attention.of(kind)[1, 2]
    scaled = changed_by(translator, change(kind, "scale", amount=amount)).attention.of(kind)[1, 2]
    np.testing.assert_allclose(scaled, amount * plain, atol=1e-6)


def test_in_a_padded_batch_each_sentence_is_changed_as_alone(translator: Translator) -> None:
    for kind, action in itertools.product(KINDS, ACTIONS):
        intervention = change(kind, action, amount=0.5)
        together = translator.translate_batch(SENTENCES, target=TARGET, interventions=(intervention,))
        for text, one in zip(SENTENCES, together, strict=True):
            alone = changed_by(translator, intervention, text=text)
            for looked in KINDS:
                np.testing.assert_allclose(one.attention.of(looked), alone.attention.of(looked), atol=1e-5)
            if action == "uniform":
                np.testing.assert_allclose(one.attention.of(kind)[1, 2], uniform_rows(one, kind), atol=1e-6)


# ---------------------------------------------------------------- and nothing else


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_other_head_and_no_earlier_layer_changes_but_later_ones_do(
    translator: Translator, kind: Kind, action: str
) -> None:
    plain = changed_by(translator).attention
    changed = changed_by(translator, change(kind, action, amount=0.3)).attention
    layers = [("encoder", layer) for layer in range(ENCODER_LAYERS)]
    layers += [(side, layer) for layer in range(DECODER_LAYERS) for side in ("decoder", "cross")]
    here = layers.index((kind, 1))
    for place, (looked, layer) in enumerate(layers):
        before, after = plain.of(looked)[layer], changed.of(looked)[layer]  # type: ignore[arg-type]
        if place == here:
            before, after = np.delete(before, 2, axis=0), np.delete(after, 2, axis=0)
        if place <= here or (looked, layer) == ("decoder", 0):  # which nothing of the source has reached yet
            np.testing.assert_allclose(after, before, atol=1e-6)
        else:
            assert np.abs(after - before).max() > 1e-4, (looked, layer)


def test_without_a_head_all_heads_of_the_layer_are_changed(translator: Translator) -> None:
    plain = changed_by(translator)
    for kind in KINDS:
        removed = changed_by(translator, change(kind, "remove", layer=0, head=None))
        assert (removed.attention.of(kind)[0] == 0.0).all()
        one_by_one = changed_by(translator, *(change(kind, "remove", layer=0, head=head) for head in range(HEADS)))
        assert removed.log_probability == pytest.approx(one_by_one.log_probability, abs=1e-5)
        assert removed.log_probability != pytest.approx(plain.log_probability, abs=1e-3)


@pytest.mark.parametrize(("action", "amount"), [("remove", 1.0), ("scale", 0.4), ("uniform", 1.0)])
@pytest.mark.parametrize("kind", KINDS)
def test_words_are_chosen_as_by_a_model_whose_weights_were_changed_by_hand(
    translator: Translator, kind: Kind, action: str, amount: float
) -> None:
    model = copy.deepcopy(translator.model)
    attention: Any = model.get_submodule(attention_path(kind, 1))
    head = slice(2 * HEAD_WIDTH, 3 * HEAD_WIDTH)
    with torch.no_grad():
        if action == "uniform":  # a query of zeros fits every key alike
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
        assert ids_of(changed) == ids_of(expected)
        assert changed.log_probability == pytest.approx(expected.log_probability, abs=1e-4)
        different += ids_of(changed) != ids_of(translator.translate(text, beam_size=2, max_length=19))
    assert different > 0


# ---------------------------------------------------------------- several


def test_several_interventions_act_together_and_their_order_makes_no_difference(translator: Translator) -> None:
    interventions = (
        change("decoder", "uniform"),
        change("decoder", "scale", amount=0.5),
        change("encoder", "remove", layer=0, head=4),
        change("cross", "scale", layer=2, head=0, amount=2.0),
    )
    expected = changed_by(translator, *interventions)
    given = expected.attention.decoder[1, 2]
    np.testing.assert_allclose(given, 0.5 * uniform_rows(expected, "decoder"), atol=1e-6)
    assert (expected.attention.encoder[0, 4] == 0.0).all()
    np.testing.assert_allclose(expected.attention.cross[2, 0].sum(axis=-1), 2, atol=1e-5)
    for order in itertools.permutations(interventions):
        again = changed_by(translator, *order)
        for kind in KINDS:
            np.testing.assert_allclose(again.attention.of(kind), expected.attention.of(kind), atol=1e-6)


def test_the_same_factor_twice_acts_twice(translator: Translator) -> None:
    half = change("cross", "scale", amount=0.5)
    given = changed_by(translator, half, half).attention.cross[1, 2]
    np.testing.assert_allclose(given, 0.25 * changed_by(translator).attention.cross[1, 2], atol=1e-6)


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
def test_a_head_that_the_model_lacks_is_an_error(
    translator: Translator, intervention: Intervention, words: str, field: str
) -> None:
    for run in (
        lambda: translator.translate(TEXT, interventions=(intervention,)),
        lambda: translator.translate_batch([TEXT, TEXT], interventions=(intervention,)),
        lambda: list(translator.stream(TEXT, interventions=(intervention,))),
        lambda: intervening(translator.model, [intervention]).__enter__(),
    ):
        with pytest.raises(RequestError) as caught:
            run()
        assert str(caught.value) == words
        assert caught.value.field == field
    assert count_hooks(translator.model) == 0


def test_an_exception_in_the_middle_leaves_no_change_behind(translator: Translator) -> None:
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


def test_whoever_watches_inside_sees_what_the_intervention_left(translator: Translator) -> None:
    path = f"{attention_path('encoder', 1)}.weights"
    ids = torch.tensor([[5, 6, 7]])
    model = translator.model
    with torch.inference_mode(), intervening(model, [change("encoder", "remove")]), watch(model, path) as seen:
        model.encode(ids)
    assert (seen[path][:, 2] == 0).all()
    assert (seen[path][:, 1] != 0).all()


def test_whoever_watches_outside_keeps_what_was_before_the_intervention(translator: Translator) -> None:
    path = f"{attention_path('encoder', 1)}.weights"
    ids = torch.tensor([[5, 6, 7]])
    model = translator.model
    with torch.inference_mode(), watch(model, path) as seen, intervening(model, [change("encoder", "remove")]):
        model.encode(ids)
    assert (seen[path] != 0).all()

"""Activation patching: shares agree with single runs, and a patch of every token restores the whole lead."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import headlight
from headlight.model.core.probes import watch
from headlight.model.core.transformer import attention_path
from headlight.model.errors import RequestError
from headlight.model.experiments import importance
from headlight.model.experiments import patching as patching_module
from headlight.model.experiments.patching import Patching, patching
from headlight.model.experiments.scoring import compute_forced_logits
from headlight.model.records import KINDS, Kind, Translation
from headlight.model.translate.translator import Translator

SENTENCES = ("Die Katze schläft im Garten.", "Der Hund schläft im Garten.")


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("de-en", "cpu")


@pytest.fixture(scope="module")
def pair(translator: Translator) -> tuple[Translation, Translation]:
    first, second = (translator.translate(text) for text in SENTENCES)
    return first, second


@pytest.fixture(scope="module")
def result(translator: Translator, pair: tuple[Translation, Translation]) -> Patching:
    return patching(translator, *pair)


def lead(logits: torch.Tensor, pair: tuple[Translation, Translation], place: int) -> float:
    own, other = (each.target_tokens[place].id for each in pair)
    return float(logits[0, place, own] - logits[0, place, other])


def single_run_share(
    translator: Translator,
    pair: tuple[Translation, Translation],
    result: Patching,
    probe: str,
    position: int | slice,
) -> float:
    """The restored share, by a separate run with one activation replaced."""
    length = result.position + 1
    with torch.inference_mode():
        with watch(translator.model, probe) as seen:
            compute_forced_logits(translator, pair[0], length, 1)
        source = seen[probe]

        def replace(value: torch.Tensor, name: str) -> torch.Tensor:
            changed = value.clone()
            changed[:, position] = source[:, position]
            return changed

        with watch(translator.model, probe, edit=replace):
            patched = lead(compute_forced_logits(translator, pair[1], length, 1), pair, result.position)
    return (patched - result.other_lead) / (result.lead - result.other_lead)


def test_leads_match_the_two_translations(
    translator: Translator, pair: tuple[Translation, Translation], result: Patching
) -> None:
    assert (result.word, result.other_word) == ("cat", "dog")
    for own, expected in zip(pair, (result.lead, result.other_lead), strict=True):
        with torch.inference_mode():
            logits = compute_forced_logits(translator, own, result.position + 1, 1)
        assert expected == pytest.approx(lead(logits, pair, result.position), abs=1e-4)
    assert result.lead > 0 > result.other_lead


@pytest.mark.parametrize(("layer", "token"), [(0, 1), (3, 0), (8, 1), (8, 5)])
def test_state_shares_match_single_runs(
    translator: Translator, pair: tuple[Translation, Translation], result: Patching, layer: int, token: int
) -> None:
    name = f"encoder.layers.{layer - 1}.around_feed_forward.stream" if layer else "encoder.embedding.stream"
    assert result.states[layer, token] == pytest.approx(
        single_run_share(translator, pair, result, name, token), abs=1e-3
    )


@pytest.mark.parametrize(("kind", "layer", "head"), [("encoder", 0, 1), ("decoder", 2, 5), ("cross", 2, 5)])
def test_head_shares_match_single_runs(
    translator: Translator, pair: tuple[Translation, Translation], result: Patching, kind: Kind, layer: int, head: int
) -> None:
    probe = f"{attention_path(kind, layer)}.mixed"
    assert result.heads[kind][layer, head] == pytest.approx(
        single_run_share(translator, pair, result, probe, head), abs=1e-3
    )


def test_patching_every_token_restores_the_whole_lead(
    translator: Translator, pair: tuple[Translation, Translation], result: Patching
) -> None:
    for probe in ("encoder.embedding.stream", "encoder.layers.7.around_feed_forward.stream"):
        assert single_run_share(translator, pair, result, probe, slice(None)) == pytest.approx(1, abs=1e-3)
    assert result.states[0, 1] > 0.9  # only the noun matters
    assert np.abs(result.states[:, 2:]).max() < 0.1  # equal words do not matter


def test_shares_do_not_depend_on_the_batch_size(
    translator: Translator,
    pair: tuple[Translation, Translation],
    result: Patching,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importance, "MAX_ROWS_PER_BATCH", 7)
    small_batches = patching_module.patching(translator, *pair)
    np.testing.assert_allclose(small_batches.states, result.states, atol=1e-3)
    for kind in KINDS:
        np.testing.assert_allclose(small_batches.heads[kind], result.heads[kind], atol=1e-3)


def test_pairs_without_a_comparison_raise_errors(translator: Translator, pair: tuple[Translation, Translation]) -> None:
    with pytest.raises(RequestError, match="same translation"):
        headlight.patching(translator, pair[0], pair[0])
    with pytest.raises(RequestError, match="tokens"):
        headlight.patching(translator, pair[0], translator.translate("Ja."))

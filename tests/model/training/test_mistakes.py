"""Mistakes are detected by their checks on any model, and leave the original model unchanged."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from threading import Thread

import pytest
import torch

from headlight.model.core.config import TransformerConfig
from headlight.model.core.transformer import Transformer
from headlight.model.training.mistake_tests import TEST_BY_MISTAKE, run_mistake_test
from headlight.model.training.mistakes import (
    MISTAKES,
    apply_mistakes,
    compute_loss_of_probabilities,
    cross_entropy,
    with_mistakes,
)

SMALL = TransformerConfig(
    source_vocabulary=29, target_vocabulary=31, d_model=26, heads=2, d_ff=37, encoder_layers=2, decoder_layers=2
)
KINDS = {"post": SMALL, "pre": replace(SMALL, norm_first=True, final_norm=True)}


@pytest.fixture(params=KINDS)
def model(request: pytest.FixtureRequest) -> Transformer:
    torch.manual_seed(3)
    model = Transformer(KINDS[request.param]).eval()
    for module in model.modules():
        if isinstance(module, torch.nn.LayerNorm):  # random scales, as after training
            torch.nn.init.uniform_(module.weight, 0.5, 1.5)
    return model


def checked_object(model: Transformer, name: str, *, wrong: bool) -> object:
    """The object that the check of a mistake tests: a model or a loss."""
    if MISTAKES[name].in_training:
        return compute_loss_of_probabilities if wrong else cross_entropy
    return with_mistakes(model, [name] if wrong else [])


def test_every_mistake_has_a_check() -> None:
    assert list(TEST_BY_MISTAKE) == list(MISTAKES)


@pytest.mark.parametrize("name", MISTAKES)
def test_check_passes_correct_and_fails_wrong_model(model: Transformer, name: str) -> None:
    run_mistake_test(name, checked_object(model, name, wrong=False))
    with pytest.raises(AssertionError):
        run_mistake_test(name, checked_object(model, name, wrong=True))


# Some checks fail for related mistakes too: a late mask leaks hidden tokens, each wrong mask fails the other's check,
# and without word embeddings no scale of them can be checked.
RELATED_MISTAKES = {
    "late_mask": {"ahead", "unmasked"}, "ahead": {"unmasked"}, "unmasked": {"ahead"}, "replaced": {"unscaled"},
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in MISTAKES if name not in ("softmax", "swapped")])
def test_unrelated_checks_pass(name: str, model: Transformer) -> None:
    wrong = with_mistakes(model, [name])
    for other in set(TEST_BY_MISTAKE) - {"softmax", name} - RELATED_MISTAKES.get(name, set()):
        run_mistake_test(other, wrong)


@pytest.mark.parametrize("name", [name for name, mistake in MISTAKES.items() if not mistake.in_training])
def test_wrong_copy_shares_weights_and_keeps_original(name: str, model: Transformer) -> None:
    source, target = torch.tensor([[5, 6, 7, 8, 9]]), torch.tensor([[1, 5, 6, 7, 8]])
    before = model(source, target)
    wrong = with_mistakes(model, [name])
    assert {parameter.data_ptr() for parameter in wrong.parameters()} == {
        parameter.data_ptr() for parameter in model.parameters()
    }
    assert not torch.allclose(
        wrong(source, target), before, atol=1e-3
    )  # equal lengths, so that swapped arguments run too
    torch.testing.assert_close(model(source, target), before, rtol=0, atol=0)


def test_combined_mistakes_all_fail_their_checks(model: Transformer) -> None:
    names = [name for name in MISTAKES if name not in ("softmax", "swapped", "replaced", "residual")]
    wrong = with_mistakes(model, names)
    for name in names:
        with pytest.raises(AssertionError):
            run_mistake_test(name, wrong)


def test_any_two_mistakes_can_be_combined(model: Transformer) -> None:
    source, target = torch.tensor([[5, 6, 7]]), torch.tensor([[1, 5, 6]])
    for pair in combinations([name for name, mistake in MISTAKES.items() if not mistake.in_training], 2):
        both = with_mistakes(model, pair)(source, target)
        assert both.shape == (1, 3, model.config.target_vocabulary), pair


def test_inapplicable_mistakes_are_excluded() -> None:
    learned = replace(SMALL, positions="learned")
    rms = replace(SMALL, norm="rms", positions="none", scale_embedding=False)
    applicable = {name for name, mistake in MISTAKES.items() if mistake.applies(learned)}
    assert applicable == set(MISTAKES) - {"exponent"}
    applicable = {name for name, mistake in MISTAKES.items() if mistake.applies(rms)}
    assert applicable == set(MISTAKES) - {"exponent", "replaced", "unscaled", "norm"}


def test_wrong_copy_does_not_affect_concurrent_runs(model: Transformer) -> None:
    source, target = torch.tensor([[5, 6, 7]]), torch.tensor([[1, 5, 6]])
    before, outputs = model(source, target), []

    def run_wrong_copy() -> None:
        outputs.append(with_mistakes(model, ["residual"])(source, target))

    threads = [Thread(target=run_wrong_copy) for _ in range(4)]
    for thread in threads:
        thread.start()
        torch.testing.assert_close(model(source, target), before, rtol=0, atol=0)
    for thread in threads:
        thread.join()
    assert len(outputs) == 4


def test_apply_mistakes_keeps_weight_names(model: Transformer) -> None:
    names = list(model.state_dict())
    apply_mistakes(model, ["late_mask", "norm"])
    assert list(model.state_dict()) == names

"""Label-smoothed cross entropy against arithmetic and PyTorch, ignoring padding."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from headlight.model.training.batches import make_batch, target_tokens
from headlight.model.training.loss import LossSums, compute_smoothed_cross_entropy, compute_translation_losses
from tests.compare import assert_close
from tests.model.training.examples import MODEL, SPECIAL, make_recipe, make_trainer, random_sentences


def loss_from_logits(logits: Tensor, words: Tensor, smoothing: float) -> LossSums:
    """The loss of logits: an identity matrix as the output table leaves them unchanged."""
    return compute_smoothed_cross_entropy(logits, torch.eye(logits.shape[-1], dtype=logits.dtype), words, smoothing)


def test_smoothed_loss_matches_hand_computed_value() -> None:
    """Probabilities 3/4 and 1/4; the right word is the first; ε = 0.2 gives it 0.9 and the other 0.1."""
    losses = loss_from_logits(torch.tensor([[math.log(3.0), 0.0]]), torch.tensor([0]), 0.2)
    assert float(losses.smoothed) == pytest.approx(-0.9 * math.log(3 / 4) - 0.1 * math.log(1 / 4))
    assert float(losses.plain) == pytest.approx(-math.log(3 / 4))


def test_gradient_matches_hand_computed_value() -> None:
    logits = torch.tensor([[math.log(3.0), 0.0]], requires_grad=True)
    loss_from_logits(logits, torch.tensor([0]), 0.2).smoothed.backward()
    assert logits.grad is not None
    assert_close(logits.grad, torch.tensor([[3 / 4 - 0.9, 1 / 4 - 0.1]]))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.43])
def test_loss_and_gradients_match_pytorch(smoothing: float) -> None:
    count, width, vocabulary = 523, 7, 37  # more words than one slice
    vectors = (2 * torch.randn(count, width)).requires_grad_()
    table = torch.randn(vocabulary, width, requires_grad=True)
    words = torch.randint(vocabulary, (count,))
    loss = 0.7 * compute_smoothed_cross_entropy(vectors, table, words, smoothing).smoothed
    expected = 0.7 * F.cross_entropy(vectors @ table.T, words, label_smoothing=smoothing, reduction="sum")
    assert_close(loss, expected)
    for name, gradient, expected_gradient in zip(
        ("vectors", "table"),
        torch.autograd.grad(loss, (vectors, table)),
        torch.autograd.grad(expected, (vectors, table)),
        strict=True,
    ):
        assert_close(gradient, expected_gradient, tolerance=1e-5, of=name)


def test_bfloat16_loss_is_summed_in_float32() -> None:
    logits, words = torch.randn(997, 31).bfloat16(), torch.randint(31, (997,))
    losses = loss_from_logits(logits, words, 0.1)
    assert losses.smoothed.dtype == torch.float32
    exact = F.cross_entropy(logits.double(), words, label_smoothing=0.1, reduction="sum")
    assert float(losses.smoothed) == pytest.approx(float(exact), rel=1e-6)


@pytest.mark.parametrize(
    "fields", [{}, {"final_logits_bias": True}, {"scale_output": True, "final_logits_bias": True, "tie_output": False}]
)
def test_batch_loss_matches_full_logits(fields: dict[str, bool]) -> None:
    model = make_trainer(make_recipe(model=MODEL | fields)).model
    if model.decoder.output.words.bias is not None:
        torch.nn.init.normal_(model.decoder.output.words.bias)
    sentences = random_sentences(3)
    batch = make_batch(sentences, np.arange(3), SPECIAL)
    logits = model(batch.source, batch.target)  # [batch, target, vocabulary]
    plain = F.cross_entropy(logits.flatten(0, 1)[batch.word_indices], batch.words, reduction="sum")
    assert_close(compute_translation_losses(model, batch, 0.1).plain, plain)
    assert len(batch.words) == target_tokens(sentences, np.arange(3))


def test_padding_does_not_change_loss() -> None:
    model = make_trainer(make_recipe()).model
    sentences = random_sentences(5)
    together = compute_translation_losses(model, make_batch(sentences, np.arange(5), SPECIAL), 0.1)
    alone = [
        compute_translation_losses(model, make_batch(sentences, np.array([row]), SPECIAL), 0.1) for row in range(5)
    ]
    for kind in range(2):
        assert_close(together[kind], sum(each[kind] for each in alone))  # type: ignore[arg-type]

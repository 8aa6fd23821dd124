"""Tests that detect the mistakes of `mistakes.py`. A test returns the number that it checks.

Tests check the purpose of a part, not its code, so a correct model of any size and with any weights passes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from headlight.model.core.probes import watch

SOURCE, TARGET = torch.tensor([[5, 6, 7]]), torch.tensor([[1, 5, 6, 7]])


def test_dimensions_turn_at_different_speeds(model: Any) -> float:
    table = model.encoder.embedding.positions.rows(0, 64, torch.zeros(1))  # [positions, width]
    difference = float((table[:, 0] - table[:, 2]).abs().max())
    assert difference > 0.1, f"{difference:.4f} > 0.1"
    return difference


def test_other_words_give_other_vectors(model: Any) -> float:
    first, second = (model.encoder.embedding(torch.tensor([[5, word]])) for word in (6, 7))
    difference = float((first - second).abs().max())
    assert difference > 0.001, f"{difference:.4f} > 0.001"
    return difference


def test_words_are_louder_than_positions(model: Any) -> float:
    with watch(model, "encoder.embedding.embedded") as activations:
        positioned = model.encoder.embedding(torch.arange(5, 25)[None])
    words = activations["encoder.embedding.embedded"]
    word, position = (float(part.norm(dim=-1).mean()) for part in (words, positioned - words))
    assert word > position, f"{word:.4f} > {position:.4f}"
    return word


def test_cross_attention_keeps_the_length_of_its_queries(model: Any) -> float:
    layer = model.decoder.layers[0].cross_attention
    x, memory = torch.zeros(1, 9, model.config.d_model), torch.zeros(1, 7, model.config.d_model)
    y = layer(x, layer.project_memory(memory))
    assert y.shape == x.shape, f"{list(y.shape)} == {list(x.shape)}"
    return float(y.shape[1])


def test_every_row_sums_to_one(model: Any) -> float:
    with watch(model, "decoder.layers.0.self_attention.weights") as activations:
        model(SOURCE, TARGET)
    smallest = float(activations["decoder.layers.0.self_attention.weights"].sum(dim=-1).min())
    assert abs(smallest - 1) < 1e-5, f"{smallest:.4f} == 1"
    return smallest


def test_a_silent_part_changes_nothing(model: Any) -> float:
    around = model.encoder.layers[0].around_feed_forward
    x = torch.linspace(-1, 1, 3 * model.config.d_model).view(1, 3, -1)
    y = around(x, torch.zeros_like)
    change = float((y - (x if around.norm_first else around.norm(x))).abs().max())
    assert change < 1e-5, f"{change:.4f} == 0"
    return change


def test_every_number_of_the_norm_is_trained(model: Any) -> float:
    norm = model.encoder.layers[0].around_feed_forward.norm
    x = torch.linspace(-1, 1, 2 * model.config.d_model).view(1, 2, -1)
    with torch.enable_grad():
        (gradient,) = torch.autograd.grad(norm(x).square().sum(), norm.weight, allow_unused=True)
    assert gradient is not None, "no gradient reaches norm.weight"
    return float(gradient.abs().max())


def test_no_word_sees_the_next(model: Any) -> float:
    first, second = (model(SOURCE, torch.tensor([[1, 5, word]])) for word in (6, 7))
    change = float((first - second)[:, :2].abs().max())  # logits before the word that differs
    assert change < 1e-4, f"{change:.4f} == 0"
    return change


def test_a_perfect_answer_costs_nothing(cross_entropy: Callable[[Tensor, Tensor], Tensor]) -> float:
    words = torch.tensor([5, 6, 7])
    cost = float(cross_entropy(50.0 * F.one_hot(words, 10_000).float(), words)) / len(words)
    assert cost < 0.01, f"{cost:.4f} < 0.01"
    return cost


TEST_BY_MISTAKE: dict[str, Callable[[Any], float]] = {
    "exponent": test_dimensions_turn_at_different_speeds,
    "replaced": test_other_words_give_other_vectors,
    "unscaled": test_words_are_louder_than_positions,
    "swapped": test_cross_attention_keeps_the_length_of_its_queries,
    "late_mask": test_every_row_sums_to_one,
    "residual": test_a_silent_part_changes_nothing,
    "norm": test_every_number_of_the_norm_is_trained,
    "ahead": test_no_word_sees_the_next,
    "unmasked": test_no_word_sees_the_next,
    "softmax": test_a_perfect_answer_costs_nothing,
}


@torch.no_grad()
def run_mistake_test(name: str, subject: Any) -> float:
    """Run the test of a mistake on a model or a loss function, and return its number.

    Raises:
        AssertionError: the test fails.
    """
    return TEST_BY_MISTAKE[name](subject)

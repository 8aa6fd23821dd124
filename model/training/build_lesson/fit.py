"""Trains the tiny translators of several seeds side by side, measures and rounds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from headlight.model.training.build_lesson.model import Weights, forward, initial_weights
from headlight.model.training.build_lesson.parts import Parts
from headlight.model.training.build_lesson.sentences import (
    END,
    IGNORED,
    START,
    TARGET_WORDS,
    TRAINING_PAIRS,
    Batch,
    SentencePair,
    make_batch,
)

MAX_WEIGHT = 3  # weights are clamped to −3…3
WARMUP_STEPS, CONSTANT_SHARE, FINAL_RATE = 50, 0.6, 0.05
MAX_WORDS = 8  # of a translation: the longest right one has six words and the end
Rounding = Callable[[Tensor], Tensor]


def grid(weight: Tensor) -> Tensor:
    """Round to one decimal."""
    return (weight * 10).round() / 10


def rate_share(step: int, steps: int) -> float:
    """Return the learning rate as a share of its maximum: warm-up, constant, then linear."""
    remaining = (steps - step) / (steps * (1 - CONSTANT_SHARE))
    decay = 1 if step < steps * CONSTANT_SHARE else FINAL_RATE + (1 - FINAL_RATE) * remaining
    return min(1, (step + 1) / WARMUP_STEPS) * decay


def losses(parts: Parts, weights: Weights, batch: Batch) -> Tensor:
    """Return the cross-entropy per word of each model: [models]."""
    logits = forward(parts, weights, batch)["logits"]
    words = batch.predicted.expand(logits.shape[0], -1, -1)
    each = F.cross_entropy(logits.flatten(0, 2), words.flatten(), reduction="none", ignore_index=IGNORED)
    return each.view(logits.shape[0], -1).sum(1) / (batch.predicted != IGNORED).sum()


def train(
    parts: Parts, count: int, seed: int, *, steps: int, rate: float, decay: float
) -> tuple[dict[str, Tensor], list[list[float]]]:
    """Train `count` models from random weights. Return the weights and each step's losses."""
    weights = {name: weight.requires_grad_() for name, weight in initial_weights(parts, count, seed).items()}
    return weights, train_further(parts, weights, steps=steps, rate=rate, decay=decay)


def train_further(
    parts: Parts,
    weights: dict[str, Tensor],
    *,
    steps: int,
    rate: float,
    decay: float,
    rounding: Rounding | None = None,
) -> list[list[float]]:
    """Train in place with Adam. With `rounding`, the models run with rounded weights (straight-through gradients)."""
    batch = make_batch(TRAINING_PAIRS)
    optimiser = torch.optim.Adam(list(weights.values()), lr=rate)
    curve = []
    for step in range(steps):
        optimiser.param_groups[0]["lr"] = rate * rate_share(step, steps)
        loss = losses(parts, _rounded(weights, rounding), batch)
        squares = sum((weight**2).flatten(1).sum(1) for weight in weights.values())
        optimiser.zero_grad()
        (loss + decay * squares).sum().backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        with torch.no_grad():
            for weight in weights.values():
                weight.clamp_(-MAX_WEIGHT, MAX_WEIGHT)
        curve.append(loss.tolist())
    return curve


def _rounded(weights: dict[str, Tensor], rounding: Rounding | None) -> dict[str, Tensor]:
    if rounding is None:
        return weights
    return {name: weight + (rounding(weight) - weight).detach() for name, weight in weights.items()}


def one_model(weights: Weights, index: int) -> dict[str, Tensor]:
    """Return the weights of one of the models, still with the axis of models."""
    return {name: weight[index : index + 1].detach() for name, weight in weights.items()}


@torch.no_grad()
def translate(parts: Parts, weights: Weights, pairs: Sequence[SentencePair]) -> list[tuple[str, ...]]:
    """Translate greedily with one model, for `MAX_WORDS` words at most. A translation that ends has `END` last."""
    batch = make_batch(pairs)
    read = torch.full((len(pairs), 1), TARGET_WORDS.index(START))
    for _ in range(MAX_WORDS):
        logits = forward(parts, weights, batch, read)["logits"][0, :, -1]
        read = torch.cat([read, logits.argmax(-1)[:, None]], dim=1)
    return [_until_end([TARGET_WORDS[index] for index in row]) for row in read[:, 1:].tolist()]


def _until_end(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(words[: words.index(END) + 1] if END in words else words)


def right_share(parts: Parts, weights: Weights, pairs: Sequence[SentencePair]) -> float:
    """Return the share of pairs that one model translates correctly."""
    outputs = translate(parts, weights, pairs)
    return sum(words == (*pair.target, END) for words, pair in zip(outputs, pairs, strict=True)) / len(pairs)

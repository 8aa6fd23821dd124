"""Training of several tiny translators side by side, with rounding, translation and accuracy."""

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
MAX_WORDS = 8  # maximum length of a translation; the longest right one has six words and the end
RoundWeights = Callable[[Tensor], Tensor]


def round_to_decimal(weight: Tensor) -> Tensor:
    """Round to one decimal."""
    return (weight * 10).round() / 10


def rate_factor(step: int, steps: int) -> float:
    """Return the learning rate as a share of its maximum: linear warm-up, constant, then linear decay."""
    remaining = (steps - step) / (steps * (1 - CONSTANT_SHARE))
    decay = 1 if step < steps * CONSTANT_SHARE else FINAL_RATE + (1 - FINAL_RATE) * remaining
    return min(1, (step + 1) / WARMUP_STEPS) * decay


def losses(parts: Parts, weights: Weights, batch: Batch) -> Tensor:
    """Return the cross-entropy per word of each model: [models]."""
    logits = forward(parts, weights, batch)["logits"]
    labels = batch.labels.expand(logits.shape[0], -1, -1)
    word_losses = F.cross_entropy(logits.flatten(0, 2), labels.flatten(), reduction="none", ignore_index=IGNORED)
    return word_losses.view(logits.shape[0], -1).sum(1) / (batch.labels != IGNORED).sum()


def train(
    parts: Parts, count: int, seed: int, *, steps: int, rate: float, decay: float
) -> tuple[dict[str, Tensor], list[list[float]]]:
    """Train `count` models from random weights. Return the weights, and the losses as `[step][model]`.

    `rate` is the maximum learning rate, `decay` the factor of the L2 penalty.
    """
    weights = {name: weight.requires_grad_() for name, weight in initial_weights(parts, count, seed).items()}
    return weights, continue_training(parts, weights, steps=steps, rate=rate, decay=decay)


def continue_training(
    parts: Parts,
    weights: dict[str, Tensor],
    *,
    steps: int,
    rate: float,
    decay: float,
    round_weights: RoundWeights | None = None,
) -> list[list[float]]:
    """Train in place with Adam, and return the losses. With `round_weights`, the forward pass rounds weights."""
    batch = make_batch(TRAINING_PAIRS)
    optimiser = torch.optim.Adam(list(weights.values()), lr=rate)
    curve = []
    for step in range(steps):
        optimiser.param_groups[0]["lr"] = rate * rate_factor(step, steps)
        loss = losses(parts, _straight_through(weights, round_weights), batch)
        squares = sum((weight**2).flatten(1).sum(1) for weight in weights.values())
        optimiser.zero_grad()
        (loss + decay * squares).sum().backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        with torch.no_grad():
            for weight in weights.values():
                weight.clamp_(-MAX_WEIGHT, MAX_WEIGHT)
        curve.append(loss.tolist())
    return curve


def _straight_through(weights: dict[str, Tensor], round_weights: RoundWeights | None) -> dict[str, Tensor]:
    if round_weights is None:
        return weights
    return {name: weight + (round_weights(weight) - weight).detach() for name, weight in weights.items()}


def select_model(weights: Weights, index: int) -> dict[str, Tensor]:
    """Return the weights of one model, with an axis of length 1 for models."""
    return {name: weight[index : index + 1].detach() for name, weight in weights.items()}


@torch.no_grad()
def translate(parts: Parts, weights: Weights, pairs: Sequence[SentencePair]) -> list[tuple[str, ...]]:
    """Translate greedily with one model, at most `MAX_WORDS` words. A finished translation ends with `END`."""
    batch = make_batch(pairs)
    ids = torch.full((len(pairs), 1), TARGET_WORDS.index(START))
    for _ in range(MAX_WORDS):
        logits = forward(parts, weights, batch, ids)["logits"][0, :, -1]
        ids = torch.cat([ids, logits.argmax(-1)[:, None]], dim=1)
    return [_truncate_after_end([TARGET_WORDS[index] for index in row]) for row in ids[:, 1:].tolist()]


def _truncate_after_end(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(words[: words.index(END) + 1] if END in words else words)


def right_share(parts: Parts, weights: Weights, pairs: Sequence[SentencePair]) -> float:
    """Return the share of pairs that one model translates correctly."""
    outputs = translate(parts, weights, pairs)
    return sum(words == (*pair.target, END) for words, pair in zip(outputs, pairs, strict=True)) / len(pairs)

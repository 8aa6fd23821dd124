"""Training of the lesson's finished model and of its variants, each from several random initialisations ("starts")."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from headlight.model.training.build_lesson.fit import (
    continue_training,
    losses,
    right_share,
    round_to_decimal,
    select_model,
    train,
)
from headlight.model.training.build_lesson.model import Weights, forward
from headlight.model.training.build_lesson.parts import ALL_PARTS, Parts
from headlight.model.training.build_lesson.sentences import (
    PAIRS,
    TRAINING_PAIRS,
    SentencePair,
    make_batch,
)

FINAL_STARTS, FINAL_SEED, FINAL_STEPS, ROUNDED_STEPS, FINAL_DECAY = 12, 7, 800, 400, 1e-4
STARTS, SEED, STEPS, DECAY = 8, 1, 1000, 1e-3
RATE, ROUNDED_RATE = 0.02, 0.01
CURVE_POINTS = 30
ALIGNED = {"我": "I", "喜欢": "like", "书": "book", "读": "read", "你": "you", "他们": "they", "诗": "poem"}


@dataclass(frozen=True)
class TrainedVariant:
    """A variant trained from several starts (random initialisations). The page shows the start with the median loss."""

    losses: tuple[float, ...]  # one per start, on the training pairs
    right_shares: tuple[float, ...]  # one per start: the share of all pairs that it translates correctly
    median_start: int
    weights: Weights  # of the start with the median loss
    failing_start: int | None  # a start with wrong translations, if the median start has none
    failing_weights: Weights | None  # weights of the failing start
    curve: tuple[tuple[int, float], ...]  # step and loss of the start with the median loss


def train_variant(parts: Parts) -> TrainedVariant:
    """Train a variant from `STARTS` starts."""
    weights, curve = train(parts, STARTS, SEED, steps=STEPS, rate=RATE, decay=DECAY)
    with torch.no_grad():
        loss = losses(parts, weights, make_batch(TRAINING_PAIRS)).tolist()
    right_shares = [right_share(parts, select_model(weights, index), PAIRS) for index in range(STARTS)]
    median = sorted(range(STARTS), key=loss.__getitem__)[(STARTS - 1) // 2]
    worst = min(range(STARTS), key=right_shares.__getitem__)
    failing_start = worst if right_shares[median] == 1 and right_shares[worst] < 1 else None
    steps = range(0, STEPS, STEPS // CURVE_POINTS)
    return TrainedVariant(
        losses=tuple(loss),
        right_shares=tuple(right_shares),
        median_start=median,
        weights=select_model(weights, median),
        failing_start=failing_start,
        failing_weights=None if failing_start is None else select_model(weights, failing_start),
        curve=tuple((step, curve[step][median]) for step in steps),
    )


def train_final() -> tuple[Weights, list[float]]:
    """Train the model whose numbers the lesson shows, with weights of one decimal.

    Return its weights, and the share of right translations per start. Among the starts with the highest share, the one
    with the best aligned cross-attention is chosen.
    """
    weights, _ = train(ALL_PARTS, FINAL_STARTS, FINAL_SEED, steps=FINAL_STEPS, rate=RATE, decay=FINAL_DECAY)
    continue_training(
        ALL_PARTS, weights, steps=ROUNDED_STEPS, rate=ROUNDED_RATE, decay=FINAL_DECAY, round_weights=round_to_decimal
    )
    starts = [
        {name: round_to_decimal(weight) for name, weight in select_model(weights, index).items()}
        for index in range(FINAL_STARTS)
    ]
    right_shares = [right_share(ALL_PARTS, start, PAIRS) for start in starts]
    best = max(range(FINAL_STARTS), key=lambda index: (right_shares[index], alignment(starts[index])))
    return starts[best], right_shares


@torch.no_grad()
def alignment(weights: Weights) -> float:
    """Return the mean cross-attention weight on the aligned Chinese word; each row counts with its better head."""
    shares = [_aligned_shares(weights, pair) for pair in PAIRS]
    values = [value for row in shares for value in row]
    return sum(values) / len(values)


def _aligned_shares(weights: Weights, pair: SentencePair) -> list[float]:
    weights_by_head = forward(ALL_PARTS, weights, make_batch([pair]))["cross.shares"][0, 0]  # [heads, written, Chinese]
    values = []
    for row, word in enumerate(pair.target):
        keys = [key for key, source in enumerate(pair.source) if ALIGNED.get(source) == word]
        if keys:
            values.append(float(weights_by_head[:, row, keys].sum(-1).max()))
    return values

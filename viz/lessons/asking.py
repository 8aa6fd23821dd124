"""Builds the question of a step: options and the correct one.

The page computes the same in `widgets/lessons/question.js`. Where the numbers are unclear, nothing is asked.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headlight.model.records import FloatArray
from headlight.viz.lessons.lesson import Step
from headlight.viz.lessons.practice import Practice
from headlight.viz.lessons.shown import Shown

CLEAR = 0.1  # by which the best must be ahead of the next
SAME = 1e-6  # weights that differ less are the same
MOST, SOME = 0.5, 0.1  # of the neurons
CANDIDATES = 4


@dataclass(frozen=True)
class Question:
    """Options as texts, the place of the right one, and what its answer names."""

    options: tuple[str, ...]
    right: int
    values: Mapping[str, str]


@dataclass(frozen=True)
class Seen:
    """A step and the selection in it: a row, and a layer and a head of its kind."""

    practice: Practice
    step: Step
    row: int
    layer: int
    head: int
    model: Mapping[str, Any]
    words: Mapping[str, str]

    def attention(self, name: str) -> FloatArray:
        """A tensor of the chosen head."""
        side, part = {"cross": ("decoder", "cross_attention")}.get(self.step.kind, (self.step.kind, "self_attention"))
        found: FloatArray = self.practice.tensor(f"{side}.layers.{self.layer}.{part}.{name}")[self.head]
        return found

    def worded(self, right: str, values: Mapping[str, str] | None = None) -> Question:
        """Options in words."""
        assert self.step.ask is not None  # noqa: S101
        base = f"lesson_{self.practice.lesson.name}_{self.step.name}_option"
        names = self.step.ask.options
        return Question(tuple(self.words[f"{base}_{each}"] for each in names), names.index(right), values or {})


def question_of(seen: Seen, found: Shown | None) -> Question | None:
    """The question, or None if the numbers are inconclusive. `found`: the experiment's result."""
    ask = seen.step.ask
    if ask is None:
        return None
    if ask.right == "found":
        right = found.answer["right"] if found else ""
        return seen.worded(right, found.numbers if found else {}) if right else None
    return RIGHT[ask.right](seen)


def _count(seen: Seen) -> Question:
    """How many tokens the model reads: also fewer, as many as there are words, and one less."""
    count = len(seen.practice.tokens)
    return Question(tuple(map(str, (count - 2, count - 1, count))), 2, {"count": str(count)})


def _unscaled(seen: Seen) -> Question | None:
    """The largest weight of the row without the division."""
    raw = seen.attention("queries")[seen.row] @ seen.attention("keys").T
    divisor = math.sqrt(seen.model["head_width"]) if seen.model["scale_scores"] else 1.0
    without, scaled = (float(_softmax(each).max()) for each in (raw, raw / divisor))
    if divisor == 1 or abs(without - scaled) < CLEAR / 10:
        return None
    return seen.worded(
        "larger" if without > scaled else "smaller", {"without": f"{without:.4f}", "scaled": f"{scaled:.4f}"}
    )


def _shifted(seen: Seen) -> Question:
    """The same amount added to every score."""
    scores = seen.attention("scores")[seen.row].astype(float)
    before, after = _softmax(scores), _softmax(scores + 5)
    if np.abs(before - after).max() < 10 * SAME:
        return seen.worded("nothing")
    return seen.worded("grow" if after.max() > before.max() else "even")


def _awake(seen: Seen) -> Question | None:
    """How many neurons of the feed-forward network are above zero."""
    hidden = seen.practice.tensor(f"encoder.layers.{seen.layer}.feed_forward.hidden")[seen.row]
    awake = int((hidden > 0).sum())
    share = awake / len(hidden)
    if any(abs(share - edge) < 0.02 for edge in (MOST, SOME)):
        return None
    return seen.worded("most" if share > MOST else "some" if share > SOME else "few", {"awake": str(awake)})


def _later(seen: Seen) -> Question:
    """Which half of the decoder's map is empty."""
    weights = seen.attention("weights")
    sums = {
        "upper": np.triu(weights, 1).sum(),
        "lower": np.tril(weights, -1).sum(),
        "diagonal": np.trace(weights),
    }
    return seen.worded("upper" if len(weights) < 2 else min(sums, key=lambda name: float(sums[name])))


def _strongest(seen: Seen) -> Question | None:
    """The key that the row attends to most."""
    weights = seen.attention("weights")[seen.row]
    first, *others = sorted(map(float, weights), reverse=True)
    if not others or first - others[0] < CLEAR:
        return None
    best = int(weights.argmax())
    tokens = seen.practice.tokens
    return Question(tuple(tokens), best, {"key": tokens[best], "weight": f"{first:.4f}"})


def _next(seen: Seen) -> Question | None:
    """The token that comes next."""
    candidates = seen.practice.logits()[seen.row]
    chances = [math.exp(logit - candidates["log_sum"]) for _, _, logit in candidates["best"]]
    if chances[0] - chances[1] < CLEAR:
        return None
    shown: Sequence[Any] = candidates["best"][:CANDIDATES]
    order = sorted(range(len(shown)), key=lambda place: shown[place][1])  # by id, which tells nothing
    values = {"first": shown[0][0], "first_chance": f"{chances[0]:.4f}"}
    values |= {"second": shown[1][0], "second_chance": f"{chances[1]:.4f}"}
    return Question(tuple(shown[place][0] for place in order), order.index(0), values)


RIGHT: dict[str, Callable[[Seen], Question | None]] = {
    "count": _count,
    "unscaled": _unscaled,
    "shifted": _shifted,
    "awake": _awake,
    "later": _later,
    "strongest": _strongest,
    "next": _next,
}


def _softmax(scores: FloatArray) -> FloatArray:
    powers = np.exp(scores - scores.max())
    shares: FloatArray = powers / powers.sum()
    return shares

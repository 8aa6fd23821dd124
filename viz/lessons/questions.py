"""The question of a step: its options and the correct one.

`widgets/lessons/question.js` has the same functions for the page. Inconclusive numbers give no question.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headlight.model.records import FloatArray
from headlight.viz.lessons.lesson import Step
from headlight.viz.lessons.lesson_session import LessonSession
from headlight.viz.lessons.result_tables import ResultTables

MIN_MARGIN = 0.1  # smallest difference between the best option and the second
EQUAL_TOLERANCE = 1e-6  # smaller differences between weights count as equal
HIGH_SHARE, LOW_SHARE = 0.5, 0.1  # limits of the options, as shares of the neurons
MAX_OPTIONS = 4  # options of a question


@dataclass(frozen=True)
class QuestionOptions:
    """Options as texts, the index of the correct one, and the values that the answer's phrase names."""

    options: tuple[str, ...]
    correct: int
    values: Mapping[str, str]


@dataclass(frozen=True)
class StepView:
    """A step with its selection: a row, and a layer and head of the step's kind of attention."""

    session: LessonSession
    step: Step
    row: int
    layer: int
    head: int
    model: Mapping[str, Any]
    words: Mapping[str, str]

    def attention(self, name: str) -> FloatArray:
        """Return a tensor of the selected head."""
        side, part = {"cross": ("decoder", "cross_attention")}.get(self.step.kind, (self.step.kind, "self_attention"))
        result: FloatArray = self.session.tensor(f"{side}.layers.{self.layer}.{part}.{name}")[self.head]
        return result

    def make_phrase_options(self, right: str, values: Mapping[str, str] | None = None) -> QuestionOptions:
        """Return the step's options as phrases. `right` is the name of the correct one."""
        assert self.step.question is not None  # noqa: S101
        base = f"lesson_{self.session.lesson.name}_{self.step.name}_option"
        names = self.step.question.options
        return QuestionOptions(
            tuple(self.words[f"{base}_{option}"] for option in names), names.index(right), values or {}
        )


def make_question(view: StepView, tables: ResultTables | None) -> QuestionOptions | None:
    """Return the question, or None if the numbers are inconclusive. `tables` is the experiment's result."""
    question = view.step.question
    if question is None:
        return None
    if question.answer_function == "experiment":
        correct = tables.answer["right"] if tables else ""
        return view.make_phrase_options(correct, tables.numbers if tables else {}) if correct else None
    return ANSWER_FUNCTIONS[question.answer_function](view)


def _ask_token_count(view: StepView) -> QuestionOptions:
    """Ask for the number of tokens that the model reads. The wrong options are one and two less."""
    count = len(view.session.tokens)
    return QuestionOptions(tuple(map(str, (count - 2, count - 1, count))), 2, {"count": str(count)})


def _ask_unscaled(view: StepView) -> QuestionOptions | None:
    """Ask how the row's largest weight changes without the division by √d_k."""
    raw = view.attention("queries")[view.row] @ view.attention("keys").T
    divisor = math.sqrt(view.model["head_width"]) if view.model["scale_scores"] else 1.0
    without, scaled = (float(_softmax(scores).max()) for scores in (raw, raw / divisor))
    if divisor == 1 or abs(without - scaled) < MIN_MARGIN / 10:
        return None
    return view.make_phrase_options(
        "larger" if without > scaled else "smaller", {"without": f"{without:.4f}", "scaled": f"{scaled:.4f}"}
    )


def _ask_shift(view: StepView) -> QuestionOptions:
    """Ask what changes if the same amount is added to every score."""
    scores = view.attention("scores")[view.row].astype(float)
    before, after = _softmax(scores), _softmax(scores + 5)
    if np.abs(before - after).max() < 10 * EQUAL_TOLERANCE:
        return view.make_phrase_options("nothing")
    return view.make_phrase_options("grow" if after.max() > before.max() else "even")


def _ask_active_neurons(view: StepView) -> QuestionOptions | None:
    """Ask how many neurons of the feed-forward network are above zero."""
    hidden = view.session.tensor(f"encoder.layers.{view.layer}.feed_forward.hidden")[view.row]
    active = int((hidden > 0).sum())
    share = active / len(hidden)
    if any(abs(share - edge) < 0.02 for edge in (HIGH_SHARE, LOW_SHARE)):
        return None
    return view.make_phrase_options(
        "most" if share > HIGH_SHARE else "some" if share > LOW_SHARE else "few", {"awake": str(active)}
    )


def _ask_causal_half(view: StepView) -> QuestionOptions:
    """Ask which part of the decoder's attention map is empty."""
    weights = view.attention("weights")
    sums = {
        "upper": np.triu(weights, 1).sum(),
        "lower": np.tril(weights, -1).sum(),
        "diagonal": np.trace(weights),
    }
    return view.make_phrase_options("upper" if len(weights) < 2 else min(sums, key=lambda name: float(sums[name])))


def _ask_strongest_key(view: StepView) -> QuestionOptions | None:
    """Ask for the key that the row attends to most."""
    weights = view.attention("weights")[view.row]
    first, *other_weights = sorted(map(float, weights), reverse=True)
    if not other_weights or first - other_weights[0] < MIN_MARGIN:
        return None
    best = int(weights.argmax())
    tokens = view.session.tokens
    return QuestionOptions(tuple(tokens), best, {"key": tokens[best], "weight": f"{first:.4f}"})


def _ask_next_token(view: StepView) -> QuestionOptions | None:
    """Ask for the most probable next token."""
    candidates = view.session.logits()[view.row]
    probabilities = [math.exp(logit - candidates["log_sum"]) for _, _, logit in candidates["best"]]
    if probabilities[0] - probabilities[1] < MIN_MARGIN:
        return None
    options: Sequence[Any] = candidates["best"][:MAX_OPTIONS]
    # Sorted by id, which does not reveal the answer.
    order = sorted(range(len(options)), key=lambda index: options[index][1])
    values = {"first": options[0][0], "first_chance": f"{probabilities[0]:.4f}"}
    values |= {"second": options[1][0], "second_chance": f"{probabilities[1]:.4f}"}
    return QuestionOptions(tuple(options[index][0] for index in order), order.index(0), values)


ANSWER_FUNCTIONS: dict[str, Callable[[StepView], QuestionOptions | None]] = {
    "count": _ask_token_count,
    "unscaled": _ask_unscaled,
    "shifted": _ask_shift,
    "awake": _ask_active_neurons,
    "later": _ask_causal_half,
    "strongest": _ask_strongest_key,
    "next": _ask_next_token,
}


def _softmax(scores: FloatArray) -> FloatArray:
    powers = np.exp(scores - scores.max())
    shares: FloatArray = powers / powers.sum()
    return shares

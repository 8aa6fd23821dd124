"""Items about one attention: scores, scaling, softmax, padding, and what weights can show."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from headlight.model.records import FloatArray
from headlight.model.training.build_lesson.model import HEAD_WIDTH
from headlight.model.training.build_lesson.sentence_numbers import padded_trace, probabilities_without, run_on_scores
from headlight.viz.lessons.quiz.case import Case, Item
from headlight.viz.lessons.quiz.question import MIN_GAP, RIGHT, SHOWN_DECIMALS, Question, outcomes, table

SHORT, LONG = 3, 6  # words of a sentence
LINES = {  # lines that make no weights of scores
    "columns": "s.softmax(-2)",
    "linear": "s / s.sum(-1, keepdim=True)",
    "whole": "s.exp() / s.exp().sum()",
    "powers": "s.exp() / s.sum(-1, keepdim=True)",
}
RATIO_RANGE = (1.3, 4.0)
LETTERS = ("a", "b", "c", "d", "e", "f")
MIN_SCORE = 0.3  # below, a score that is divided too early cannot be told from the right one
MIN_DROP = 0.15  # of the probability, between the word that matters most and the next one


def dot(case: Case) -> Question | None:
    """Return a score to calculate from a query and a key."""
    asking, other = case.two(len(case.pair.source))
    query, key = case.head_values("encoder.query"), case.head_values("encoder.key")
    words = case.pair.source[asking], case.pair.source[other]
    vectors = [[*query[word], *key[word]] for word in (asking, other)]
    score = query[asking] @ key[other]
    if abs(score) < MIN_SCORE:
        return None
    return Question(
        "numbers",
        outcomes(
            right=score,
            turned=query[other] @ key[asking],
            own=query[asking] @ key[asking],
            one=query[asking, 0] * key[other, 0],
            early=score / math.sqrt(HEAD_WIDTH),
        ),
        values={"asking": words[0], "other": words[1]},
        tables=(table(words, ("q₁", "q₂", "k₁", "k₂"), vectors),),
        labels=("q · k",),
    )


def swapped(case: Case) -> Question:
    """Return the effect of `k @ q.T` in place of `q @ k.T`."""
    row, column = case.two(SHORT)
    scores = case.head_values("encoder.query") @ case.head_values("encoder.key").T
    words = case.pair.source
    return Question(
        "numbers",
        outcomes(
            right=(case.head_values("encoder.key") @ case.head_values("encoder.query").T)[row, column],
            same=scores[row, column],
            diagonal=scores[row, row],
            negative=-scores[row, column],
        ),
        values={"row": words[row], "column": words[column]},
        tables=(table(words, words, scores),),
        labels=(f"{words[row]}, {words[column]}",),
    )


def scale(case: Case) -> Question | None:
    """Return the ratio of two weights, to choose from their scores before the division."""
    row = case.random.randrange(len(case.pair.source))
    first, second = case.two(len(case.pair.source))
    # The ratio of the numbers that the question shows is the one that a reader calculates.
    scores = np.round(case.head_values("encoder.query")[row] @ case.head_values("encoder.key").T, SHOWN_DECIMALS)
    gap = scores[first] - scores[second]
    ratios = {
        RIGHT: math.exp(gap / math.sqrt(HEAD_WIDTH)),
        "unscaled": math.exp(gap),
        "width": math.exp(gap / HEAD_WIDTH),
        "difference": gap / math.sqrt(HEAD_WIDTH),
    }
    if not RATIO_RANGE[0] <= ratios[RIGHT] <= RATIO_RANGE[1] or not _apart(list(ratios.values())):
        return None
    answers = {name: f"{ratio:.2f}" for name, ratio in ratios.items()}
    words = case.pair.source
    return Question(
        "choice",
        outcomes(**answers),
        values={"asking": words[row], "first": words[first], "second": words[second], "width": HEAD_WIDTH},
        tables=(table((words[row],), (words[first], words[second]), [[scores[first], scores[second]]]),),
        options=tuple(sorted(answers.values(), key=float)),
    )


def _apart(numbers: list[float]) -> bool:
    ordered = sorted(numbers)
    return all(second - first >= 2 * MIN_GAP for first, second in pairwise(ordered))


def softmax(case: Case) -> Question:
    """Return a row of weights to calculate from its scores."""
    row = case.random.randrange(SHORT)
    scores = case.head_values("encoder.scores")[row]
    total = scores.sum()
    return Question(
        "numbers",
        outcomes(
            right=case.head_values("encoder.shares")[row],
            linear=scores / total if abs(total) > MIN_GAP else None,
            powers=np.exp(scores),
            base=2**scores / (2**scores).sum(),
            average=np.full(SHORT, 1 / SHORT),
        ),
        values={"asking": case.pair.source[row]},
        tables=(table((case.pair.source[row],), case.pair.source, [scores]),),
        labels=case.pair.source,
    )


def padding(case: Case) -> Question:
    """Return a weight of a sentence that is padded to the length of a longer one."""
    row, column = case.two(SHORT)
    trace = padded_trace(case.pair)
    scores = trace["encoder.scores"][case.head, row]
    words = case.pair.source
    visible = [*scores[: row + 1], *[-math.inf] * (LONG - row - 1)]  # of a decoder
    return Question(
        "numbers",
        outcomes(
            right=trace["encoder.shares"][case.head, row, column],
            counted=shares(scores)[column],
            causal=shares(np.array(visible))[column] if row < SHORT - 1 else None,
            power=math.exp(scores[column]),
            average=1 / SHORT,
        ),
        values={"asking": words[row], "other": words[column], "count": SHORT, "length": LONG},
        tables=(table((words[row],), (*words, *["@pad"] * (LONG - SHORT)), [scores]),),
        labels=(words[column],),
    )


def shares(scores: FloatArray) -> FloatArray:
    """Return the softmax of a row."""
    powers = np.exp(scores)
    result: FloatArray = powers / powers.sum()
    return result


def bug(case: Case) -> Question | None:
    """Return the measurements of a test, and lines of which one has made it fail."""
    scores = case.head_values("encoder.scores")
    if np.abs(scores.sum(1)).min() < MIN_SCORE:  # dividing by almost nothing gives numbers that no reader expects
        return None
    measured = {name: _sums(run_on_scores(line, scores)) for name, line in LINES.items()}
    wrong = case.random.choice(list(LINES))
    if any(np.abs(measured[wrong] - sums).max() < 2 * MIN_GAP for name, sums in measured.items() if name != wrong):
        return None
    smallest = float(run_on_scores(LINES[wrong], scores).min())
    if smallest >= 0 and np.allclose(measured[wrong][:, 0], 1, atol=MIN_GAP):  # its test would pass
        return None
    others = {f"not_{name}": line for name, line in LINES.items() if name != wrong}
    return Question(
        "choice",
        outcomes(right=LINES[wrong], **others),
        values={"smallest": smallest},
        tables=(table(case.pair.source, ("@row_sum", "@column_sum"), measured[wrong]),),
        options=case.shuffle(tuple(LINES.values())),
    )


def _sums(weights: FloatArray) -> FloatArray:
    """Return the sum of each row and of each column: [words, 2]."""
    return np.stack([weights.sum(1), weights.sum(0)], axis=1)


def explains(case: Case) -> Question | None:
    """Return weights of a row and the probability without each word: the largest weight is not what matters most.

    Letters stand for the words, because the translation would give the answer away.
    """
    row = case.random.randrange(len(case.pair.target))
    weights = case.trace["cross.shares"][:, row].mean(0)  # [Chinese words], over both heads
    *without, whole = probabilities_without(case.pair)[:, row]
    first, second, *_, least = np.argsort(without)
    looked, next_looked = np.argsort(-weights)[:2]
    is_clear = without[second] - without[first] >= MIN_DROP and weights[looked] - weights[next_looked] >= MIN_GAP
    if first == looked or not is_clear:
        return None
    letters = LETTERS[: len(without)]
    return Question(
        "choice",
        outcomes(right=letters[first], weight=letters[looked], kept=letters[least], second=letters[second]),
        values={"probability": float(whole)},
        tables=(table(letters, ("@weight", "@without"), np.stack([weights, without], axis=1)),),
        options=letters,
    )


ATTENTION_ITEMS = (
    Item("dot", "direction", dot),
    Item("swapped", "direction", swapped, words=SHORT),
    Item("softmax", "softmax", softmax, words=SHORT),
    Item("bug", "softmax", bug, words=SHORT),
    Item("scale", "scale", scale),
    Item("padding", "padding", padding, words=SHORT),
    Item("explains", "explanation", explains, words=LONG),
)

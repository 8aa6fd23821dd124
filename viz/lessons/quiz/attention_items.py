"""Items about one attention: scores, scaling, softmax, padding, and what weights can show."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from headlight.model.records import FloatArray
from headlight.model.training.build_lesson.model import HEAD_WIDTH
from headlight.model.training.build_lesson.sentence_numbers import (
    padded_trace,
    probabilities_without,
    run_on_scores,
)
from headlight.viz.lessons.quiz.case import Case, Item
from headlight.viz.lessons.quiz.question import MIN_GAP, RIGHT, SHOWN_DECIMALS, Question, make_outcomes, make_table

SHORT_LENGTH, LONG_LENGTH = 3, 6  # sentence lengths in words
WRONG_SOFTMAX_LINES = {  # wrong implementations of the softmax over keys
    "columns": "s.softmax(-2)",
    "linear": "s / s.sum(-1, keepdim=True)",
    "whole": "s.exp() / s.exp().sum()",
    "powers": "s.exp() / s.sum(-1, keepdim=True)",
}
RATIO_RANGE = (1.3, 4.0)
LETTERS = ("a", "b", "c", "d", "e", "f")
MIN_SCORE = 0.3  # smallest score that differs clearly from the same score divided by √d_k
MIN_DROP = 0.15  # smallest difference between the probabilities without the first and without the second word


def make_dot_question(case: Case) -> Question | None:
    """Ask for a score, given the query and key vectors of two words."""
    query_position, key_position = case.sample_two(len(case.pair.source))
    query, key = case.head_values("encoder.query"), case.head_values("encoder.key")
    words = case.pair.source[query_position], case.pair.source[key_position]
    vectors = [[*query[position], *key[position]] for position in (query_position, key_position)]
    score = query[query_position] @ key[key_position]
    if abs(score) < MIN_SCORE:
        return None
    return Question(
        "numbers",
        make_outcomes(
            right=score,
            turned=query[key_position] @ key[query_position],
            own=query[query_position] @ key[query_position],
            one=query[query_position, 0] * key[key_position, 0],
            early=score / math.sqrt(HEAD_WIDTH),
        ),
        values={"asking": words[0], "other": words[1]},
        tables=(make_table(words, ("q₁", "q₂", "k₁", "k₂"), vectors),),
        labels=("q · k",),
    )


def make_swapped_question(case: Case) -> Question:
    """Ask for an entry of the score matrix if the code computes `k @ q.T` instead of `q @ k.T`."""
    row, column = case.sample_two(SHORT_LENGTH)
    scores = case.head_values("encoder.query") @ case.head_values("encoder.key").T
    words = case.pair.source
    return Question(
        "numbers",
        make_outcomes(
            right=(case.head_values("encoder.key") @ case.head_values("encoder.query").T)[row, column],
            same=scores[row, column],
            diagonal=scores[row, row],
            negative=-scores[row, column],
        ),
        values={"row": words[row], "column": words[column]},
        tables=(make_table(words, words, scores),),
        labels=(f"{words[row]}, {words[column]}",),
    )


def make_scale_question(case: Case) -> Question | None:
    """Ask for the ratio of two weights, given their scores before the division by √d_k."""
    row = case.random.randrange(len(case.pair.source))
    first, second = case.sample_two(len(case.pair.source))
    # Rounded as the question shows them, because the reader calculates with the rounded scores.
    scores = np.round(case.head_values("encoder.query")[row] @ case.head_values("encoder.key").T, SHOWN_DECIMALS)
    gap = scores[first] - scores[second]
    ratios = {
        RIGHT: math.exp(gap / math.sqrt(HEAD_WIDTH)),
        "unscaled": math.exp(gap),
        "width": math.exp(gap / HEAD_WIDTH),
        "difference": gap / math.sqrt(HEAD_WIDTH),
    }
    if not RATIO_RANGE[0] <= ratios[RIGHT] <= RATIO_RANGE[1] or not _are_apart(list(ratios.values())):
        return None
    answers = {name: f"{ratio:.2f}" for name, ratio in ratios.items()}
    words = case.pair.source
    return Question(
        "choice",
        make_outcomes(**answers),
        values={"asking": words[row], "first": words[first], "second": words[second], "width": HEAD_WIDTH},
        tables=(make_table((words[row],), (words[first], words[second]), [[scores[first], scores[second]]]),),
        options=tuple(sorted(answers.values(), key=float)),
    )


def _are_apart(numbers: list[float]) -> bool:
    sorted_numbers = sorted(numbers)
    return all(second - first >= 2 * MIN_GAP for first, second in pairwise(sorted_numbers))


def make_softmax_question(case: Case) -> Question:
    """Ask for a row of weights, given its scores."""
    row = case.random.randrange(SHORT_LENGTH)
    scores = case.head_values("encoder.scores")[row]
    total = scores.sum()
    return Question(
        "numbers",
        make_outcomes(
            right=case.head_values("encoder.shares")[row],
            linear=scores / total if abs(total) > MIN_GAP else None,
            powers=np.exp(scores),
            base=2**scores / (2**scores).sum(),
            average=np.full(SHORT_LENGTH, 1 / SHORT_LENGTH),
        ),
        values={"asking": case.pair.source[row]},
        tables=(make_table((case.pair.source[row],), case.pair.source, [scores]),),
        labels=case.pair.source,
    )


def make_padding_question(case: Case) -> Question:
    """Ask for a weight in a sentence that is padded to the length of a longer one."""
    row, column = case.sample_two(SHORT_LENGTH)
    trace = padded_trace(case.pair)
    scores = trace["encoder.scores"][case.head, row]
    words = case.pair.source
    causal_scores = [*scores[: row + 1], *[-math.inf] * (LONG_LENGTH - row - 1)]  # as in a decoder
    return Question(
        "numbers",
        make_outcomes(
            right=trace["encoder.shares"][case.head, row, column],
            counted=softmax(scores)[column],
            causal=softmax(np.array(causal_scores))[column] if row < SHORT_LENGTH - 1 else None,
            power=math.exp(scores[column]),
            average=1 / SHORT_LENGTH,
        ),
        values={"asking": words[row], "other": words[column], "count": SHORT_LENGTH, "length": LONG_LENGTH},
        tables=(make_table((words[row],), (*words, *["@pad"] * (LONG_LENGTH - SHORT_LENGTH)), [scores]),),
        labels=(words[column],),
    )


def softmax(scores: FloatArray) -> FloatArray:
    """Return the softmax of a row of scores, without a mask."""
    powers = np.exp(scores)
    result: FloatArray = powers / powers.sum()
    return result


def make_bug_question(case: Case) -> Question | None:
    """Ask which line of code made a test fail, given the sums of the rows and columns of its weights."""
    scores = case.head_values("encoder.scores")
    if np.abs(scores.sum(1)).min() < MIN_SCORE:  # a division by almost zero gives extreme weights
        return None
    measured_sums = {
        name: _sum_rows_and_columns(run_on_scores(line, scores)) for name, line in WRONG_SOFTMAX_LINES.items()
    }
    wrong_name = case.random.choice(list(WRONG_SOFTMAX_LINES))
    if any(
        np.abs(measured_sums[wrong_name] - sums).max() < 2 * MIN_GAP
        for name, sums in measured_sums.items()
        if name != wrong_name
    ):
        return None
    smallest = float(run_on_scores(WRONG_SOFTMAX_LINES[wrong_name], scores).min())
    if smallest >= 0 and np.allclose(measured_sums[wrong_name][:, 0], 1, atol=MIN_GAP):  # the test would pass
        return None
    other_lines = {f"not_{name}": line for name, line in WRONG_SOFTMAX_LINES.items() if name != wrong_name}
    return Question(
        "choice",
        make_outcomes(right=WRONG_SOFTMAX_LINES[wrong_name], **other_lines),
        values={"smallest": smallest},
        tables=(make_table(case.pair.source, ("@row_sum", "@column_sum"), measured_sums[wrong_name]),),
        options=case.shuffle(tuple(WRONG_SOFTMAX_LINES.values())),
    )


def _sum_rows_and_columns(weights: FloatArray) -> FloatArray:
    """Return the sum of each row and of each column: [words, 2]."""
    return np.stack([weights.sum(1), weights.sum(0)], axis=1)


def make_explanation_question(case: Case) -> Question | None:
    """Ask which word matters most, given a row of weights and the probability without each word.

    The word with the largest weight must be another one. Letters stand for the words, because the translation would
    reveal the answer.
    """
    row = case.random.randrange(len(case.pair.target))
    weights = case.trace["cross.shares"][:, row].mean(0)  # [Chinese words], over both heads
    *without, whole = probabilities_without(case.pair)[:, row]
    first, second, *_, least = np.argsort(without)
    most_attended, second_attended = np.argsort(-weights)[:2]
    weight_gap = weights[most_attended] - weights[second_attended]
    is_clear = without[second] - without[first] >= MIN_DROP and weight_gap >= MIN_GAP
    if first == most_attended or not is_clear:
        return None
    letters = LETTERS[: len(without)]
    return Question(
        "choice",
        make_outcomes(right=letters[first], weight=letters[most_attended], kept=letters[least], second=letters[second]),
        values={"probability": float(whole)},
        tables=(make_table(letters, ("@weight", "@without"), np.stack([weights, without], axis=1)),),
        options=letters,
    )


ATTENTION_ITEMS = (
    Item("dot", "direction", make_dot_question),
    Item("swapped", "direction", make_swapped_question, words=SHORT_LENGTH),
    Item("softmax", "softmax", make_softmax_question, words=SHORT_LENGTH),
    Item("bug", "softmax", make_bug_question, words=SHORT_LENGTH),
    Item("scale", "scale", make_scale_question),
    Item("padding", "padding", make_padding_question, words=SHORT_LENGTH),
    Item("explains", "explanation", make_explanation_question, words=LONG_LENGTH),
)

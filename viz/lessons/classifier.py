"""Lesson beyond translation: the classifier's verdict, word by word, and the effect of "not" on "good" and "bad"."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np

from headlight.model.core.classifier import SelfAttentionClassifier
from headlight.model.experiments.queries import (
    NEGATED_SENTENCE,
    PLAIN_SENTENCE,
    NegationResult,
    judge_with_erasure,
    measure_negation,
)
from headlight.model.records import Judgement
from headlight.model.text.cleaning import is_blank
from headlight.model.translate.judge import Judge
from headlight.viz.errors import PageError
from headlight.viz.lessons.classifier_mean import mean_step, probability
from headlight.viz.lessons.controls import Choice, PositionPicker
from headlight.viz.lessons.experiment import Experiment, ExperimentInput
from headlight.viz.lessons.lesson import Code, Lesson, QuestionSpec, Step, TensorView
from headlight.viz.lessons.result_figures import (
    BarChart,
    ExperimentResult,
    Heatmap,
    Phrase,
    SideBySide,
    Table,
    TextPhraseOrNumber,
)
from headlight.viz.lessons.review import OWN, REVIEW, get_review_text
from headlight.viz.token_labels import make_visible, truncate

OPPOSITES = ("good", "bad")
MIN_LOG_ODDS = 1.0  # smallest change of the log-odds that counts


@dataclass(frozen=True)
class WordContribution:
    """One word of a review, and its importance by two methods."""

    number: int
    label: str
    contribution: float  # log-odds, summed over the tokens of the word
    erasure_effect: float  # decrease of the log-odds without the word


def judge_review(inputs: ExperimentInput) -> tuple[Judgement, list[WordContribution]]:
    """Return the verdict on the selected review, and its words. Raise a `PageError` for a blank review."""
    text = get_review_text(inputs)
    if is_blank(text):
        raise PageError("text", "blank_text")
    judgement, erasure = inputs.run_judge(judge_with_erasure, text, sys.maxsize, math.inf)
    effects = erasure.changes[-1]  # of the last class
    words = []
    for number in dict.fromkeys(token.word for token in judgement.tokens if token.word is not None):
        indices = [index for index, token in enumerate(judgement.tokens) if token.word == number]
        word = "".join(judgement.tokens[index].text for index in indices)
        contribution = sum(judgement.shares[index] for index in indices)
        words.append(WordContribution(number, truncate(make_visible(word)), contribution, effects[indices[0]]))
    return judgement, words


def run_erasure_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Erase words from a review and classify the remaining words."""
    judgement, words = judge_review(inputs)
    erased = [words[index] for index in inputs.values["erased"] if index < len(words)]
    remaining_log_odds: float = inputs.run_judge(Judge.without_words, judgement, [word.number for word in erased])
    effects = [word.erasure_effect for word in words]
    strongest = words[int(np.argmax(np.abs(effects)))]
    bars = BarChart(
        Phrase("effects"),
        [word.label for word in words],
        effects,
        digits=2,
        highlighted=[words.index(word) for word in erased],
    )
    verdicts = BarChart(
        Phrase("verdict"), [Phrase("whole"), Phrase("rest")], [judgement.log_odds, remaining_log_odds], digits=2
    )
    numbers: dict[str, TextPhraseOrNumber] = {
        "probability": probability(judgement.log_odds), "rest": probability(remaining_log_odds), "count": len(erased),
        "word": strongest.label, "effect": _format_signed(strongest.erasure_effect),
        "log_odds": judgement.log_odds, "log_odds_rest": remaining_log_odds,
    }  # fmt: skip
    flips = (judgement.log_odds > 0) != (remaining_log_odds > 0)
    fact = "none" if not erased else "flips" if flips else "stays"
    labels = {"erased": [word.label for word in words]}
    return ExperimentResult((verdicts, bars), numbers, (fact,), position_labels=labels)


def _format_signed(number: float) -> str:
    return f"{number:+.2f}".replace("-", "−")


def run_contributions_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Compare the contribution of each word to the verdict with the effect of erasing the word."""
    judgement, words = judge_review(inputs)
    names = [word.label for word in words]
    contributions = np.array([word.contribution for word in words])
    erasure_effects = np.array([word.erasure_effect for word in words])
    max_abs = float(np.abs(np.concatenate([contributions, erasure_effects])).max())
    # Special tokens belong to no word. They contribute, but cannot be erased.
    token_shares = zip(judgement.tokens, judgement.shares or (), strict=True)
    special_shares = [(make_visible(token.text), share) for token, share in token_shares if token.word is None]
    all_names = [*names, *(name for name, _ in special_shares)]
    all_shares = [*contributions.tolist(), *(share for _, share in special_shares)]
    charts = [
        BarChart(Phrase(name), labels, values, most=max_abs, digits=2)
        for name, labels, values in (
            ("erased", names, erasure_effects.tolist()),
            ("shares", all_names, all_shares),
        )
    ]
    deviations = BarChart(
        Phrase("about_mean"), names, [float(number) for number in contributions - contributions.mean()], digits=3
    )
    numbers: dict[str, TextPhraseOrNumber] = {
        "shares_spread": float(contributions.std()), "erased_spread": float(erasure_effects.std()),
        "sum": judgement.log_odds - judgement.bias, "bias": judgement.bias, "log_odds": judgement.log_odds,
        "word": names[int(np.abs(erasure_effects).argmax())],
    }  # fmt: skip
    return ExperimentResult((SideBySide(charts), deviations), numbers)


def run_negation_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Measure the effect of "not" on a positive and on a negative word."""
    good, bad = (inputs.run_judge(measure_negation, word) for word in OPPOSITES)
    rows: list[list[TextPhraseOrNumber]] = [
        [template.format(result.word), _format_signed(log_odds), f"{probability(log_odds):.3f}"]
        for result in (good, bad)
        for template, log_odds in ((PLAIN_SENTENCE, result.plain), (NEGATED_SENTENCE, result.denied))
    ]
    table = Table(Phrase("verdicts"), (Phrase("review"), Phrase("log_odds"), Phrase("chance")), rows)
    changes = [result.denied - result.plain for result in (good, bad)]
    bars = BarChart(Phrase("moved"), list(OPPOSITES), changes, digits=2)
    numbers: dict[str, TextPhraseOrNumber] = {"good": _format_signed(changes[0]), "bad": _format_signed(changes[1])}
    correct = "opposite" if changes[0] < -MIN_LOG_ODDS and changes[1] > MIN_LOG_ODDS else ""
    return ExperimentResult((table, bars), numbers, correct_option=correct)


def run_heads_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Show the word's attention in the layer that attends most to "not", and the effect of ablating each head."""
    result: NegationResult = inputs.run_judge(measure_negation, inputs.values["word"])
    layers, count = result.log_odds_without_head.shape
    names = [str(head + 1) for head in range(count)]
    layer_of_not = int(result.attention_to_not.mean(axis=1).argmax())
    weights = [float(weight) for weight in result.attention_to_not[layer_of_not]]
    bars = BarChart(
        Phrase("looks", {"word": result.word, "where": str(layer_of_not + 1)}), names, weights, most=1.0, digits=2
    )
    rows = [Phrase("layer", {"layer": str(layer + 1)}) for layer in range(layers)]
    heatmap = Heatmap(
        Phrase("without"),
        result.log_odds_without_head,
        rows,
        names,
        digits=1,
        max_abs=float(np.abs(result.log_odds_without_head).max()),
    )
    # Negative if the verdict changes toward its opposite without the head.
    toward_opposite = np.sign(result.denied) * result.log_odds_without_head
    layer, head = np.unravel_index(int(toward_opposite.argmin()), toward_opposite.shape)
    numbers: dict[str, TextPhraseOrNumber] = {
        "word": result.word, "where": layer_of_not + 1,
        "looking": sum(weight > 0.5 for weight in weights), "count": count,
        "layer": int(layer) + 1, "head": int(head) + 1, "before": result.denied,
        "after": result.denied + float(result.log_odds_without_head[layer, head]),
    }  # fmt: skip
    return ExperimentResult((bars, heatmap), numbers)


VERDICT = Lesson(
    "verdict",
    minutes=6,
    picture=(TensorView("memory", "encoder.memory"),),
    steps=(
        mean_step((REVIEW, OWN)),
        Step(
            "erase",
            code=Code(Judge.without_words, "token.word not in words"),
            formula=r"p = \frac{1}{1 + e^{-z}}",
            numbers=(r"z = @log_odds, \quad p = @probability", r"z' = @log_odds_rest, \quad p' = @rest"),
            experiment=Experiment(run_erasure_experiment, (REVIEW, OWN, PositionPicker("erased"))),
            tab="sentiment",
            claims=("erasing_is_asking_again",),
        ),
        Step(
            "shares",
            code=Code(SelfAttentionClassifier.token_contributions, "x @ self.verdict.weight[0]"),
            formula=r"z = b + \sum_t s_t",
            numbers=(r"@bias + @sum = @log_odds",),
            experiment=Experiment(run_contributions_experiment, (REVIEW, OWN)),
            tab="sentiment",
            claims=("shares_add_up_to_the_verdict", "shares_hardly_tell_words_apart"),
        ),
        Step(
            "denial",
            code=Code(Judge.judge, "log_odds = sum(shares) + bias"),
            formula=r"\Delta z = z(\text{not } w) - z(w)",
            numbers=(r"\Delta z(\text{good}) = @good", r"\Delta z(\text{bad}) = @bad"),
            experiment=Experiment(run_negation_experiment),
            question=QuestionSpec("experiment", options=("down", "up", "opposite")),
            claims=("not_turns_both_ways",),
        ),
        Step(
            "heads",
            code=Code(Judge.without_head, "scale_heads(head, 0.0)"),
            formula=r"w_{h} = 0",
            numbers=(r"z = @before \to @after",),
            experiment=Experiment(run_heads_experiment, (Choice("word", OPPOSITES, "bad"),)),
            claims=("a_layer_looks_for_not", "one_head_matters_most"),
        ),
    ),
)

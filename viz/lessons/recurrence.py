"""Step of the lesson on masks: compares a recurrent network with attention on the visitor's sentence."""

from __future__ import annotations

import numpy as np

from headlight.model.experiments.recurrence import RecurrenceResult, compare_recurrence, run_recurrence
from headlight.viz.lessons.controls import Button, Slider
from headlight.viz.lessons.experiment import Experiment, ExperimentInput
from headlight.viz.lessons.lesson import Code, QuestionSpec, Step
from headlight.viz.lessons.result_figures import (
    CurveSeries,
    ExperimentResult,
    Heatmap,
    LinePlot,
    Phrase,
    SideBySide,
    Table,
    TextOrPhrase,
    TextPhraseOrNumber,
)

STREAM = "encoder.embedding.stream"
MAX_LENGTH = 48
OPTION_LIMITS = {"most": 0.5, "tenth": 0.01}  # smallest share for each option; below all limits: "nothing"
MARGIN = 1.5  # factor around a limit within which the step asks no question


def run_recurrence_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Run a recurrent network and one attention layer on the sentence, repeated up to a length."""
    length = inputs.values["length"]
    vectors, tokens = inputs.tensors(STREAM)[STREAM], inputs.tokens
    token_indices = [step % len(tokens) for step in range(length)]
    result = compare_recurrence(vectors[token_indices], inputs.values["weights_seed"])
    labels: list[TextOrPhrase] = [tokens[index] for index in token_indices]
    recurrent, attention = list_first_shares(result)
    heatmaps = [
        Heatmap(Phrase("states"), result.states, labels, max_abs=1.0, row=length - 1),
        Heatmap(Phrase("weights_at_once"), result.weights, labels, labels, "share", row=length - 1),
    ]
    curves = [
        CurveSeries(Phrase("recurrent"), [float(value) for value in result.recurrent_gradients]),
        CurveSeries(Phrase("attention"), [float(value) for value in result.attention_gradients]),
    ]
    plot = LinePlot(Phrase("left_of_word"), list(range(1, length + 1)), curves, Phrase("place_of_word"), powers=("y",))
    rows: list[list[TextPhraseOrNumber]] = [
        [Phrase("waits"), length, 1],
        [Phrase("path"), length, 1],
        [Phrase("left_of_first"), recurrent, attention],
        [Phrase("products"), length, length**2],
    ]
    table = Table(
        Phrase("compared", {"length": length}), (Phrase("what"), Phrase("recurrent"), Phrase("attention")), rows
    )
    numbers: dict[str, TextPhraseOrNumber] = {
        "length": length, "token": tokens[0], "scores": length**2,
        "recurrent": recurrent, "attention": attention, "state_width": result.states.shape[1],
    }  # fmt: skip
    return ExperimentResult((table, plot, SideBySide(heatmaps)), numbers, correct_option=find_share_option(recurrent))


def list_first_shares(result: RecurrenceResult) -> tuple[float, float]:
    """Return the gradient at the first word divided by that at the last word, for recurrence and for attention."""
    shares = (values[0] / values[-1] for values in (result.recurrent_gradients, result.attention_gradients))
    recurrent, attention = (float(share) for share in shares)
    return recurrent, attention


def find_share_option(share: float) -> str:
    """Return the name of the option that contains a share; "" if the share is too close to a limit."""
    if any(abs(np.log(share / limit)) < np.log(MARGIN) for limit in OPTION_LIMITS.values()):
        return ""
    return next((name for name, limit in OPTION_LIMITS.items() if share > limit), "nothing")


RECURRENCE_STEP = Step(
    "recurrence",
    code=Code(run_recurrence, "state = torch.tanh("),
    formula=r"h_t = \text{tanh}(W h_{t-1} + U x_t) \\ Z = \text{softmax}\left(\frac{Q K^T}{\sqrt{d_k}}\right) V",
    numbers=(r"x_1 \to h_1 \to \ldots \to h_{@length}", r"n^2 = @length^2 = @scores"),
    experiment=Experiment(run_recurrence_experiment, (Slider("length", 2, MAX_LENGTH, 16), Button("weights_seed"))),
    question=QuestionSpec("experiment", options=("most", "tenth", "nothing")),
    claims=("a_state_waits_and_forgets", "attention_pays_with_n_squared"),
)

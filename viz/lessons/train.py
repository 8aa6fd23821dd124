"""Lesson on training: small models learn a few sentences live, outside the server process."""

from __future__ import annotations

import math
from typing import Any

from headlight.model.core.transformer import Encoder
from headlight.model.training.live_run import RunHeader, Snapshot, compute_uniform_loss
from headlight.model.training.live_run_settings import CORPUS_BY_NAME, GERMAN_CORPORA, SMOOTHING
from headlight.model.training.loop import Trainer
from headlight.model.training.schedule import constant
from headlight.model.training.validation import greedy_decode
from headlight.viz.lessons.controls import Choice
from headlight.viz.lessons.experiment import Experiment, ExperimentInput
from headlight.viz.lessons.lesson import Code, Lesson, QuestionSpec, Step, TensorView
from headlight.viz.lessons.result_figures import ExperimentResult
from headlight.viz.lessons.training_steps import (
    LEARNING_CONTROLS,
    SIZE_CONTROLS,
    choose_corpus,
    make_training_figure,
    run_from_controls,
)

MIN_EXCESS_LOSS = 0.1  # margin by which the untrained model must be worse than a guess
EQUAL_TOLERANCE = 1e-4  # smaller differences between probabilities count as none
HIGH_RATE = 0.02  # ten times the default learning rate
LONG_WARM_UP = 60  # warm-up steps of the high rate


def run_watch_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Prepare one run on the corpus "toy", which has two sentences."""
    figure, models = make_training_figure(run_from_controls(inputs.values, corpus=choose_corpus(inputs, "toy")))
    return ExperimentResult(
        (figure,), make_untrained_numbers(*models[0]), correct_option=_find_initial_loss_option(*models[0])
    )


def run_order_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Prepare runs on two sentences of the same words, with positions and without."""
    corpus = choose_corpus(inputs, "order")
    runs = [run_from_controls(inputs.values, corpus=corpus, positions=positions) for positions in (True, False)]
    figure, models = make_training_figure(*runs)
    (_, without_positions) = models[1]
    first_probabilities = [sentence.probabilities[0] for sentence in without_positions.sentences]
    # Without positions, the model cannot distinguish the sentences: both first words share one distribution.
    return ExperimentResult(
        (figure,),
        make_untrained_numbers(*models[0]),
        correct_option="half" if sum(first_probabilities) <= 1 + EQUAL_TOLERANCE else "",
    )


def run_warm_up_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Prepare runs with a high learning rate, with warm-up and without."""
    corpus = choose_corpus(inputs, "mini")
    figure, models = make_training_figure(
        *(run_from_controls(inputs.values, corpus=corpus, rate=HIGH_RATE, warmup=steps) for steps in (LONG_WARM_UP, 0))
    )
    return ExperimentResult(
        (figure,), make_untrained_numbers(*models[0]) | {"peak": f"{HIGH_RATE:g}", "gentle": str(LONG_WARM_UP)}
    )


def run_unseen_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Prepare a run that is tested on a sentence outside its corpus."""
    name = choose_corpus(inputs, "mini")
    corpus = CORPUS_BY_NAME[name]
    figure, models = make_training_figure(run_from_controls(inputs.values, corpus=name), sentence=len(corpus.sentences))
    pair = corpus.unseen[0]
    return ExperimentResult(
        (figure,), make_untrained_numbers(*models[0]) | {"sentence": pair.source, "right": pair.target}
    )


def run_own_settings_experiment(inputs: ExperimentInput) -> ExperimentResult:
    """Prepare a run with the selected settings, alone or next to a run without one component."""
    settings = {name: value for name, value in inputs.values.items() if name != "beside"}
    settings["corpus"] = choose_corpus(inputs, settings["corpus"])
    changes_by_comparison: dict[str, dict[str, Any]] = {
        "alone": {},
        "positions": {"positions": False},
        "warmup": {"warmup": 0},
    }
    comparison = settings | changes_by_comparison[inputs.values["beside"]]
    main_settings = settings | ({"positions": True} if inputs.values["beside"] == "positions" else {})
    main_settings |= {"warmup": "20"} if inputs.values["beside"] == "warmup" and main_settings["warmup"] == "0" else {}
    runs = (
        [run_from_controls(main_settings)]
        if inputs.values["beside"] == "alone"
        else [run_from_controls(main_settings), run_from_controls(comparison)]
    )
    figure, models = make_training_figure(*runs)
    return ExperimentResult((figure,), make_untrained_numbers(*models[0]))


def make_untrained_numbers(header: RunHeader, snapshot: Snapshot) -> dict[str, str]:
    """Return the values of an untrained run for the phrases."""
    start = initial_loss(snapshot)
    return {
        "parameters": f"{header.parameters:,}",
        "vocabulary": str(header.vocabulary),
        "guess": f"{compute_uniform_loss(header.vocabulary):.2f}",
        "start": f"{start:.2f}",
        "steps": str(header.run.steps),
        "pairs": str(CORPUS_BY_NAME[header.run.corpus].pairs),
        "most": f"{1 - SMOOTHING:.2f}",
    }


def initial_loss(snapshot: Snapshot) -> float:
    """Return the mean loss per token of the displayed sentences."""
    probabilities = [probability for sentence in snapshot.sentences for probability in sentence.probabilities]
    return -sum(map(math.log, probabilities)) / len(probabilities)


def _find_initial_loss_option(header: RunHeader, snapshot: Snapshot) -> str:
    return "logarithm" if initial_loss(snapshot) > compute_uniform_loss(header.vocabulary) + MIN_EXCESS_LOSS else ""


STEPS = (
    Step(
        "watch",
        code=Code(Trainer.step, "self.optimiser.step()"),
        formula=r"\text{loss} = -\frac{1}{n} \sum_i \ln p_i",
        numbers=(r"\ln @vocabulary = @guess",),
        experiment=Experiment(run_watch_experiment, (*SIZE_CONTROLS, *LEARNING_CONTROLS)),
        question=QuestionSpec("experiment", options=("one", "logarithm", "all")),
        claims=("it_learns_by_heart", "smoothing_asks_for_no_more", "it_begins_worse_than_a_guess"),
    ),
    Step(
        "order",
        code=Code(Encoder.forward, "self.embedding(ids)"),
        formula=r"p(\text{anna} | s_1) = p(\text{anna} | s_2)",
        numbers=(r"p(\text{anna} | s_1) + p(\text{ben} | s_2) \le 1",),
        experiment=Experiment(run_order_experiment, SIZE_CONTROLS),
        question=QuestionSpec("experiment", options=("sure", "half", "never")),
        claims=("without_positions_both_are_one", "with_positions_both_are_right"),
    ),
    Step(
        "warmup",
        code=Code(constant, "step / max(1, warmup)"),
        formula=r"r_t = r \cdot \min(1, \frac{t}{w})",
        numbers=(r"r = @peak, \quad w = @gentle",),
        experiment=Experiment(run_warm_up_experiment, SIZE_CONTROLS),
        claims=("a_high_rate_needs_a_warm_up",),
    ),
    Step(
        "unseen",
        code=Code(greedy_decode, "argmax(dim=-1)"),
        formula=r"w_{t+1} = \text{argmax}\, p(w | w_1, \ldots, w_t)",
        experiment=Experiment(run_unseen_experiment, SIZE_CONTROLS),
        claims=("what_was_never_seen_is_not_learnt",),
    ),
    Step(
        "own",
        code=Code(Trainer.accumulate_gradients, "(losses.smoothed * weight).backward()"),
        formula=r"\theta \leftarrow \theta - r \cdot g(\theta)",
        experiment=Experiment(
            run_own_settings_experiment,
            (
                Choice("corpus", GERMAN_CORPORA, "mini"),
                Choice("beside", ("alone", "positions", "warmup"), "alone"),
                *SIZE_CONTROLS,
                *LEARNING_CONTROLS,
            ),
        ),
        claims=("runs_are_small",),
    ),
)

TRAIN = Lesson(
    "train", minutes=6, picture=(TensorView("weights", "decoder.layers.0.cross_attention.scores"),), steps=STEPS
)

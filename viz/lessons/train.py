"""Live training: small models learn a few sentences, each run in a separate process."""

from __future__ import annotations

import math
from typing import Any

from headlight.model.core.transformer import Encoder
from headlight.model.training.loop import Trainer
from headlight.model.training.schedule import constant
from headlight.model.training.validation import greedy
from headlight.model.training.watched import Beginning, Moment, guessing_loss
from headlight.model.training.watched_settings import CORPUS, SMOOTHING
from headlight.viz.lessons.controls import Choice
from headlight.viz.lessons.drawn import Found
from headlight.viz.lessons.experiment import Experiment, Given
from headlight.viz.lessons.lesson import Ask, Code, Lesson, Show, Step
from headlight.viz.lessons.training import LEARNING, SIZES, run_of, trains

CLEAR = 0.1  # margin by which the untrained model must be worse than a guess
SAME = 1e-4  # vectors that differ less are the same
HIGH = 0.02  # a rate that is ten times the default
GENTLE = 60  # steps of its warm-up


def watch(given: Given) -> Found:
    """The two-sentence toy."""
    picture, models = trains(run_of(given.values, corpus="toy"))
    return Found((picture,), numbers_of(*models[0]), right=_guess(*models[0]))


def order(given: Given) -> Found:
    """Two sentences of the same words, with positions and without."""
    runs = [run_of(given.values, corpus="order", positions=positions) for positions in (True, False)]
    picture, models = trains(*runs)
    (_, without) = models[1]
    firsts = [shown.chances[0] for shown in without.shown]
    # Without positions both sentences are one to the model: the chances of both first words are of one row.
    return Found((picture,), numbers_of(*models[0]), right="half" if sum(firsts) <= 1 + SAME else "")


def warm_up(given: Given) -> Found:
    """A high rate, with its warm-up and without."""
    picture, models = trains(*(run_of(given.values, corpus="mini", rate=HIGH, warmup=steps) for steps in (GENTLE, 0)))
    return Found((picture,), numbers_of(*models[0]) | {"peak": f"{HIGH:g}", "gentle": str(GENTLE)})


def unseen(given: Given) -> Found:
    """A corpus, and a sentence that it lacks."""
    corpus = CORPUS["mini"]
    picture, models = trains(run_of(given.values, corpus="mini"), sentence=len(corpus.shown))
    pair = corpus.unseen[0]
    return Found((picture,), numbers_of(*models[0]) | {"sentence": pair.source, "right": pair.target})


def own(given: Given) -> Found:
    """A run with the chosen settings, alone or next to a run without one component."""
    first = {name: value for name, value in given.values.items() if name != "beside"}
    lacking: dict[str, dict[str, Any]] = {"alone": {}, "positions": {"positions": False}, "warmup": {"warmup": 0}}
    other = first | lacking[given.values["beside"]]
    has = first | ({"positions": True} if given.values["beside"] == "positions" else {})
    has |= {"warmup": "20"} if given.values["beside"] == "warmup" and has["warmup"] == "0" else {}
    runs = [run_of(has)] if given.values["beside"] == "alone" else [run_of(has), run_of(other)]
    picture, models = trains(*runs)
    return Found((picture,), numbers_of(*models[0]))


def numbers_of(beginning: Beginning, moment: Moment) -> dict[str, str]:
    """Values of an untrained run for the words."""
    start = starting_loss(moment)
    return {
        "parameters": f"{beginning.parameters:,}",
        "vocabulary": str(beginning.vocabulary),
        "guess": f"{guessing_loss(beginning.vocabulary):.2f}",
        "start": f"{start:.2f}",
        "steps": str(beginning.run.steps),
        "pairs": str(CORPUS[beginning.run.corpus].pairs),
        "most": f"{1 - SMOOTHING:.2f}",
    }


def starting_loss(moment: Moment) -> float:
    """Per token of the sentences that are shown."""
    chances = [chance for shown in moment.shown for chance in shown.chances]
    return -sum(map(math.log, chances)) / len(chances)


def _guess(beginning: Beginning, moment: Moment) -> str:
    return "logarithm" if starting_loss(moment) > guessing_loss(beginning.vocabulary) + CLEAR else ""


STEPS = (
    Step(
        "watch",
        code=Code(Trainer.step, "self.optimiser.step()"),
        formula=r"\text{loss} = -\frac{1}{n} \sum_i \ln p_i",
        numbers=(r"\ln @vocabulary = @guess",),
        experiment=Experiment(watch, (*SIZES, *LEARNING)),
        ask=Ask("found", options=("one", "logarithm", "all")),
        claims=("it_learns_by_heart", "smoothing_asks_for_no_more", "it_begins_worse_than_a_guess"),
    ),
    Step(
        "order",
        code=Code(Encoder.forward, "self.embedding(ids)"),
        formula=r"p(\text{anna} | s_1) = p(\text{anna} | s_2)",
        numbers=(r"p(\text{anna} | s_1) + p(\text{ben} | s_2) \le 1",),
        experiment=Experiment(order, SIZES),
        ask=Ask("found", options=("sure", "half", "never")),
        claims=("without_positions_both_are_one", "with_positions_both_are_right"),
    ),
    Step(
        "warmup",
        code=Code(constant, "step / max(1, warmup)"),
        formula=r"r_t = r \cdot \min(1, \frac{t}{w})",
        numbers=(r"r = @peak, \quad w = @gentle",),
        experiment=Experiment(warm_up, SIZES),
        claims=("a_high_rate_needs_a_warm_up",),
    ),
    Step(
        "unseen",
        code=Code(greedy, "argmax(dim=-1)"),
        formula=r"w_{t+1} = \text{argmax}\, p(w | w_1, \ldots, w_t)",
        experiment=Experiment(unseen, SIZES),
        claims=("what_was_never_seen_is_not_learnt",),
    ),
    Step(
        "own",
        code=Code(Trainer.gradients, "(losses.smoothed * weight).backward()"),
        formula=r"\theta \leftarrow \theta - r \cdot g(\theta)",
        experiment=Experiment(
            own,
            (
                Choice("corpus", tuple(CORPUS), "mini"),
                Choice("beside", ("alone", "positions", "warmup"), "alone"),
                *SIZES,
                *LEARNING,
            ),
        ),
        claims=("runs_are_small",),
    ),
)

TRAIN = Lesson("train", minutes=6, picture=(Show("weights", "decoder.layers.0.cross_attention.scores"),), steps=STEPS)

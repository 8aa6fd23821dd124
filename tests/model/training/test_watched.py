"""Live training runs: deterministic training on a few sentences, with snapshots."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import torch

from headlight.model.errors import TrainingError
from headlight.model.training.live_run import (
    LiveRun,
    RunFailure,
    Snapshot,
    interleave,
    snapshot_message,
    snapshot_steps,
    uniform_loss,
    untrained_snapshot,
)
from headlight.model.training.live_run_process import train
from headlight.model.training.live_run_settings import CHOICES, CORPUS_BY_NAME, LiveRunSettings
from headlight.model.training.mistakes import MISTAKES

SMALL = LiveRunSettings(layers=1, heads=2, d_model=16)


@cache
def moments(run: LiveRunSettings) -> tuple[Snapshot, ...]:
    return tuple(moment for _, moment in interleave([LiveRun(run)]) if isinstance(moment, Snapshot))


def losses(run: LiveRunSettings) -> list[float]:
    return [loss for moment in moments(run) for loss in moment.losses]


@pytest.fixture(scope="module")
def default() -> tuple[Snapshot, ...]:
    return moments(LiveRunSettings())


def test_it_learns_both_sentences(default: tuple[Snapshot, ...]) -> None:
    assert [sentence.translation for sentence in default[-1].sentences] == ["i want a beer .", "i want a coke ."]
    for sentence in default[-1].sentences:
        assert all(0.85 < chance < 0.95 for chance in sentence.probabilities)  # label smoothing asks for no more


def test_all_translations_of_a_sentence_are_right() -> None:
    toy, guess = (LiveRun(LiveRunSettings(corpus=corpus)).beginning.accepted_targets for corpus in ("toy", "guess"))
    assert toy == (("i want a beer .",), ("i want a coke .",))
    (each,) = guess
    assert each[0] == "The dog is sleeping in the garden."
    assert len(set(each)) == len(each) == CORPUS_BY_NAME["guess"].pairs


def test_every_step_has_its_loss_and_every_moment_its_maps(default: tuple[Snapshot, ...]) -> None:
    run = LiveRunSettings()
    assert [moment.step for moment in default] == list(snapshot_steps(run.steps))
    assert len(losses(run)) == run.steps
    assert all(len(moment.losses) == moment.step - last.step for last, moment in pairwise(default))
    for moment in default:
        for sentence in moment.sentences:
            assert sentence.cross.shape == (run.layers, run.heads, 6, 5)  # [layer, head, query, key]
            np.testing.assert_allclose(sentence.cross.sum(axis=-1), 1.0, atol=1e-5)


def test_the_loss_is_the_shown_models_own(default: tuple[Snapshot, ...]) -> None:
    """The first step's loss is that of the untrained model: −log of the chances that its moment shows."""
    chances = np.concatenate([sentence.probabilities for sentence in default[0].sentences])
    assert losses(LiveRunSettings())[0] == pytest.approx(float(-np.log(chances).mean()), abs=1e-4)


@pytest.mark.slow
def test_a_run_is_the_same_each_time_and_beside_another() -> None:
    other = replace(SMALL, corpus="order", positions=False)
    alone = losses(SMALL)
    beside: dict[int, list[float]] = {0: [], 1: []}
    for number, moment in interleave([LiveRun(SMALL), LiveRun(other)]):
        assert isinstance(moment, Snapshot)
        beside[number] += moment.losses
    assert beside[0] == alone
    assert beside[1] == losses(other)


def test_moments_are_close_at_first() -> None:
    for corpus in CORPUS_BY_NAME.values():
        steps = snapshot_steps(corpus.steps)
        assert steps[0] == 0
        assert steps[-1] == corpus.steps
        assert len(steps) >= 24
        assert steps[1] - steps[0] < steps[-1] - steps[-2]


def test_what_cannot_be_chosen_is_refused() -> None:
    for name, value in (("layers", 9), ("heads", True), ("rate", math.inf), ("corpus", "../x"), ("positions", 1)):
        with pytest.raises(TrainingError, match=name):
            LiveRunSettings(**{name: value})  # type: ignore[arg-type]


def test_the_largest_choice_is_small() -> None:
    largest = {name: max(values) for name, values in CHOICES.items() if name in ("layers", "d_model")}
    run = LiveRun(LiveRunSettings(corpus="mini", heads=8, **largest))
    assert run.model.parameter_count() < 310_000


def test_a_guess_costs_the_logarithm_of_the_vocabulary() -> None:
    beginning = LiveRun(LiveRunSettings()).beginning
    chances = torch.full((beginning.vocabulary,), 1 / beginning.vocabulary)
    assert uniform_loss(beginning.vocabulary) == pytest.approx(float(-chances[0].log()))


def test_a_run_that_breaks_ends_alone() -> None:
    swapped = replace(SMALL, mistake="swapped")
    found = list(interleave([LiveRun(SMALL), LiveRun(swapped)]))
    ends = [moment for number, moment in found if number == 1 and isinstance(moment, RunFailure)]
    assert [end.reason for end in ends] == ["broken"]
    assert "size of tensor" in ends[0].message
    assert [moment.step for number, moment in found if number == 0][-1] == SMALL.steps  # type: ignore[union-attr]


def test_a_loss_that_is_no_number_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = LiveRun(SMALL)
    monkeypatch.setattr(watched.trainer, "pop_mean_losses", lambda: (_ for _ in ()).throw(TrainingError("diverged")))
    assert list(interleave([watched]))[-1] == (0, RunFailure("diverged"))


def test_the_process_says_moments_as_plain_values() -> None:
    said: list[dict[str, object]] = []
    train([{"layers": 1, "heads": 2, "d_model": 16}], said.append)
    assert [each["what"] for each in said] == ["begun", *["moment"] * 28, "done"]
    with pytest.raises(TrainingError, match="from 1 to 2"):
        train([{}] * 3, said.append)


def test_the_untrained_model_is_the_runs_first_moment_and_leaves_the_generator_alone(
    default: tuple[Snapshot, ...],
) -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    beginning, moment = untrained_snapshot(LiveRunSettings())
    assert torch.equal(torch.rand(3), expected)
    assert beginning == LiveRun(LiveRunSettings()).beginning
    assert snapshot_message(0, moment) == snapshot_message(0, default[0])
    assert isinstance(untrained_snapshot(LiveRunSettings(mistake="swapped"))[1], RunFailure)


# ---------------------------------------------------------------- what the lessons say of these runs


def test_two_sentences_need_no_positions() -> None:
    last = moments(LiveRunSettings(positions=False))[-1]
    assert [sentence.translation for sentence in last.sentences] == ["i want a beer .", "i want a coke ."]


TRAINED_WITH = {
    "exponent": True, "unscaled": True, "late_mask": True, "norm": True,
    "replaced": False, "residual": False, "ahead": False, "unmasked": False, "softmax": False,
}  # fmt: skip


@pytest.mark.slow(after=3)
@pytest.mark.parametrize(("name", "learns"), TRAINED_WITH.items())
def test_what_a_mistake_does_to_the_toy_that_is_trained_with_it(name: str, learns: bool) -> None:
    run = LiveRunSettings(mistake=name)
    written = [sentence.translation for sentence in moments(run)[-1].sentences]
    assert (written == ["i want a beer .", "i want a coke ."]) == learns
    loss = losses(run)[-1]
    if name == "softmax":  # probabilities lie between 0 and 1: their softmax is never sure
        floor = math.log(math.e + 273) - 1
        assert floor < loss
    elif name in ("ahead", "unmasked"):
        assert loss < 0.12  # the loss is as low as can be, and what it writes is not both sentences
    elif name == "residual":
        assert loss > 1.0
    elif name == "replaced":
        assert written[0] == written[1]
        assert loss > 0.2
    else:
        assert loss < 0.12
    assert set(TRAINED_WITH) | {"swapped"} == set(MISTAKES)

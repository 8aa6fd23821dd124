"""The training lesson: claims about real runs."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

from headlight.model.training.live_run import LiveRun, Snapshot, interleave, make_untrained_snapshot
from headlight.model.training.live_run_settings import CHOICES, CORPUS_BY_NAME, LiveRunSettings
from headlight.viz.lessons.train import HIGH_RATE, LONG_WARM_UP
from tests.viz.lessons.asked import Asked


@cache
def moments(run: LiveRunSettings) -> tuple[Snapshot, ...]:
    """A complete run, trained once for all tests."""
    return tuple(moment for _, moment in interleave([LiveRun(run)]) if isinstance(moment, Snapshot))


def losses(run: LiveRunSettings) -> list[float]:
    return [loss for moment in moments(run) for loss in moment.losses]


def it_learns_by_heart(asked: Asked) -> None:
    first, last = moments(LiveRunSettings())[0], moments(LiveRunSettings())[-1]
    assert [sentence.translation for sentence in last.sentences] == ["i want a beer .", "i want a coke ."]
    assert not {sentence.translation for sentence in first.sentences} & {"i want a beer .", "i want a coke ."}
    assert asked.run_experiment("train", "watch").numbers["parameters"] == "60,416"
    assert losses(LiveRunSettings())[-1] < losses(LiveRunSettings())[0] / 20


def smoothing_asks_for_no_more(asked: Asked) -> None:
    chances = [chance for sentence in moments(LiveRunSettings())[-1].sentences for chance in sentence.probabilities]
    assert max(chances) < 0.93
    assert np.mean(chances) == pytest.approx(float(asked.run_experiment("train", "watch").numbers["most"]), abs=0.01)


def it_begins_worse_than_a_guess(asked: Asked) -> None:
    """Otherwise the question is not asked."""
    for heads, d_model in product(("1", "8"), ("16", "64")):
        result = asked.run_experiment("train", "watch", heads=heads, d_model=d_model)
        worse = float(result.numbers["start"]) - float(result.numbers["guess"])
        assert result.correct_option == ("logarithm" if worse > 0.1 else "") or abs(worse - 0.1) < 0.01
    assert asked.run_experiment("train", "watch").correct_option == "logarithm"
    assert losses(LiveRunSettings())[0] == pytest.approx(
        float(asked.run_experiment("train", "watch").numbers["start"]), abs=0.01
    )


def without_positions_both_are_one(asked: Asked) -> None:
    assert asked.run_experiment("train", "order").correct_option == "half"
    run = LiveRunSettings(corpus="order", positions=False)
    for moment in moments(run):
        assert sum(sentence.probabilities[0] for sentence in moment.sentences) <= 1 + 1e-4
    assert len({sentence.translation for sentence in moments(run)[-1].sentences}) == 1
    assert losses(run)[-1] > 2 * losses(LiveRunSettings(corpus="order"))[-1]
    assert abs(losses(run)[-1] - losses(run)[-40]) < 0.02  # the loss no longer falls


def with_positions_both_are_right(asked: Asked) -> None:
    last = moments(LiveRunSettings(corpus="order"))[-1]
    assert [sentence.translation for sentence in last.sentences] == ["anna calls ben .", "ben calls anna ."]


def a_high_rate_needs_a_warm_up(asked: Asked) -> None:
    assert 10 * LiveRunSettings().rate == HIGH_RATE
    cold, warm = (losses(LiveRunSettings(corpus="mini", rate=HIGH_RATE, warmup=steps)) for steps in (0, LONG_WARM_UP))
    assert np.mean(cold[:20]) < np.mean(warm[:20])  # it first falls more slowly with a warm-up
    assert steps_until_low_loss(cold) > 1.5 * steps_until_low_loss(warm)  # and stays low sooner
    assert abs(np.mean(cold[-10:]) - np.mean(warm[-10:])) < 0.02


def steps_until_low_loss(losses: list[float], limit: float = 0.3, steps: int = 10) -> int:
    """The step after which the mean loss of `steps` steps is below `limit`.

    Later values differ between processors: at a high rate, rounding decides when the loss jumps again.
    """
    means = np.convolve(losses, np.full(steps, 1 / steps), "valid")
    return int(np.argmax(means < limit)) + steps if (means < limit).any() else len(losses)


def what_was_never_seen_is_not_learnt(asked: Asked) -> None:
    corpus, run = CORPUS_BY_NAME["mini"], LiveRunSettings(corpus="mini")
    watched = LiveRun(run)
    known = {word for pair in watched.trained for word in pair.source.rstrip(".").split()}
    assert set(corpus.unseen[0].source.rstrip(".").split()) <= known
    assert corpus.unseen[0] not in watched.trained
    *seen, unseen = moments(run)[-1].sentences
    assert all(min(sentence.probabilities) > 0.8 for sentence in seen)
    assert min(unseen.probabilities) < 0.2
    assert unseen.translation != corpus.unseen[0].target
    assert losses(run)[-1] < 0.15


def runs_are_small(asked: Asked) -> None:
    largest = {name: max(CHOICES[name]) for name in ("layers", "d_model")}
    assert make_untrained_snapshot(LiveRunSettings(corpus="mini", **largest))[0].parameters < 310_000
    for beside, count in (("alone", 1), ("positions", 2), ("warmup", 2)):
        for warmup, positions in product(("0", "60"), (True, False)):
            runs = (
                asked.run_experiment("train", "own", beside=beside, warmup=warmup, positions=positions).figures[0].runs
            )  # type: ignore[attr-defined]
            assert len(runs) == count
            if count == 2:  # they differ only in that
                assert {name for name in runs[0] if runs[0][name] != runs[1][name]} == {beside}

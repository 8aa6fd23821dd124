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
    compute_uniform_loss,
    interleave,
    make_snapshot_message,
    make_untrained_snapshot,
    snapshot_steps,
)
from headlight.model.training.live_run_process import train
from headlight.model.training.live_run_settings import CHOICES, CORPUS_BY_NAME, LiveRunSettings
from headlight.model.training.mistakes import MISTAKES

SMALL = LiveRunSettings(layers=1, heads=2, d_model=16)


@cache
def snapshots(run: LiveRunSettings) -> tuple[Snapshot, ...]:
    return tuple(snapshot for _, snapshot in interleave([LiveRun(run)]) if isinstance(snapshot, Snapshot))


def losses(run: LiveRunSettings) -> list[float]:
    return [loss for snapshot in snapshots(run) for loss in snapshot.losses]


@pytest.fixture(scope="module")
def default() -> tuple[Snapshot, ...]:
    return snapshots(LiveRunSettings())


def test_default_run_learns_both_sentences(default: tuple[Snapshot, ...]) -> None:
    assert [sentence.translation for sentence in default[-1].sentences] == ["i want a beer .", "i want a coke ."]
    for sentence in default[-1].sentences:
        assert all(
            0.85 < chance < 0.95 for chance in sentence.probabilities
        )  # label smoothing limits them to about 0.9


def test_accepted_targets_contain_all_corpus_translations() -> None:
    toy, guess = (LiveRun(LiveRunSettings(corpus=corpus)).beginning.accepted_targets for corpus in ("toy", "guess"))
    assert toy == (("i want a beer .",), ("i want a coke .",))
    (each,) = guess
    assert each[0] == "The dog is sleeping in the garden."
    assert len(set(each)) == len(each) == CORPUS_BY_NAME["guess"].pairs


def test_every_step_has_loss_and_every_snapshot_maps(default: tuple[Snapshot, ...]) -> None:
    run = LiveRunSettings()
    assert [snapshot.step for snapshot in default] == list(snapshot_steps(run.steps))
    assert len(losses(run)) == run.steps
    assert all(len(snapshot.losses) == snapshot.step - last.step for last, snapshot in pairwise(default))
    for snapshot in default:
        for sentence in snapshot.sentences:
            assert sentence.cross.shape == (run.layers, run.heads, 6, 5)  # [layer, head, query, key]
            np.testing.assert_allclose(sentence.cross.sum(axis=-1), 1.0, atol=1e-5)


def test_first_loss_matches_untrained_snapshot(default: tuple[Snapshot, ...]) -> None:
    """The loss of the first step is −log of the probabilities in the untrained snapshot."""
    chances = np.concatenate([sentence.probabilities for sentence in default[0].sentences])
    assert losses(LiveRunSettings())[0] == pytest.approx(float(-np.log(chances).mean()), abs=1e-4)


@pytest.mark.slow
def test_run_is_deterministic_also_interleaved() -> None:
    other = replace(SMALL, corpus="order", positions=False)
    alone = losses(SMALL)
    interleaved: dict[int, list[float]] = {0: [], 1: []}
    for number, snapshot in interleave([LiveRun(SMALL), LiveRun(other)]):
        assert isinstance(snapshot, Snapshot)
        interleaved[number] += snapshot.losses
    assert interleaved[0] == alone
    assert interleaved[1] == losses(other)


def test_snapshots_are_denser_at_start() -> None:
    for corpus in CORPUS_BY_NAME.values():
        steps = snapshot_steps(corpus.steps)
        assert steps[0] == 0
        assert steps[-1] == corpus.steps
        assert len(steps) >= 24
        assert steps[1] - steps[0] < steps[-1] - steps[-2]


def test_invalid_run_settings_are_rejected() -> None:
    for name, value in (("layers", 9), ("heads", True), ("rate", math.inf), ("corpus", "../x"), ("positions", 1)):
        with pytest.raises(TrainingError, match=name):
            LiveRunSettings(**{name: value})  # type: ignore[arg-type]


def test_largest_model_is_small() -> None:
    largest = {name: max(values) for name, values in CHOICES.items() if name in ("layers", "d_model")}
    run = LiveRun(LiveRunSettings(corpus="mini", heads=8, **largest))
    assert run.model.parameter_count() < 310_000


def test_uniform_loss_is_log_of_vocabulary() -> None:
    beginning = LiveRun(LiveRunSettings()).beginning
    chances = torch.full((beginning.vocabulary,), 1 / beginning.vocabulary)
    assert compute_uniform_loss(beginning.vocabulary) == pytest.approx(float(-chances[0].log()))


def test_failing_run_does_not_stop_the_other() -> None:
    swapped = replace(SMALL, mistake="swapped")
    messages = list(interleave([LiveRun(SMALL), LiveRun(swapped)]))
    ends = [snapshot for number, snapshot in messages if number == 1 and isinstance(snapshot, RunFailure)]
    assert [end.reason for end in ends] == ["broken"]
    assert "size of tensor" in ends[0].message
    assert [snapshot.step for number, snapshot in messages if number == 0][-1] == SMALL.steps  # type: ignore[union-attr]


def test_nan_loss_ends_run(monkeypatch: pytest.MonkeyPatch) -> None:
    run = LiveRun(SMALL)
    monkeypatch.setattr(run.trainer, "pop_mean_losses", lambda: (_ for _ in ()).throw(TrainingError("diverged")))
    assert list(interleave([run]))[-1] == (0, RunFailure("diverged"))


def test_process_sends_snapshots_as_json_values() -> None:
    messages: list[dict[str, object]] = []
    train([{"layers": 1, "heads": 2, "d_model": 16}], messages.append)
    assert [each["what"] for each in messages] == ["begun", *["moment"] * 28, "done"]
    with pytest.raises(TrainingError, match="from 1 to 2"):
        train([{}] * 3, messages.append)


def test_untrained_snapshot_is_first_and_keeps_random_state(
    default: tuple[Snapshot, ...],
) -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    beginning, snapshot = make_untrained_snapshot(LiveRunSettings())
    assert torch.equal(torch.rand(3), expected)
    assert beginning == LiveRun(LiveRunSettings()).beginning
    assert make_snapshot_message(0, snapshot) == make_snapshot_message(0, default[0])
    assert isinstance(make_untrained_snapshot(LiveRunSettings(mistake="swapped"))[1], RunFailure)


# ---------------------------------------------------------------- claims of the lessons


def test_two_sentences_need_no_positions() -> None:
    last = snapshots(LiveRunSettings(positions=False))[-1]
    assert [sentence.translation for sentence in last.sentences] == ["i want a beer .", "i want a coke ."]


LEARNS_DESPITE_MISTAKE = {
    "exponent": True, "unscaled": True, "late_mask": True, "norm": True,
    "replaced": False, "residual": False, "ahead": False, "unmasked": False, "softmax": False,
}  # fmt: skip


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(("name", "learns"), LEARNS_DESPITE_MISTAKE.items())
def test_mistake_has_its_stated_effect_on_training(name: str, learns: bool) -> None:
    run = LiveRunSettings(mistake=name)
    translations = [sentence.translation for sentence in snapshots(run)[-1].sentences]
    assert (translations == ["i want a beer .", "i want a coke ."]) == learns
    loss = losses(run)[-1]
    if name == "softmax":  # a softmax of probabilities has a lower bound of its loss
        floor = math.log(math.e + 273) - 1
        assert floor < loss
    elif name in ("ahead", "unmasked"):
        assert loss < 0.12  # the loss is minimal, but the translations are wrong
    elif name == "residual":
        assert loss > 1.0
    elif name == "replaced":
        assert translations[0] == translations[1]
        assert loss > 0.2
    else:
        assert loss < 0.12
    assert set(LEARNS_DESPITE_MISTAKE) | {"swapped"} == set(MISTAKES)


@pytest.mark.slow
@pytest.mark.parametrize("corpus", ["toy_zh", "order_zh"])
def test_chinese_toy_reads_words_and_learns_its_sentences(corpus: str) -> None:
    run = LiveRun(LiveRunSettings(corpus=corpus))
    header = run.beginning
    assert all(len(labels) > 2 for labels in header.sources)  # words, not the whole sentence as one token
    *_, last = run.snapshots()
    assert [sentence.translation for sentence in last.sentences] == [pair.target for pair in run.pairs]


def test_chinese_held_out_sentence_consists_of_known_characters() -> None:
    run = LiveRun(LiveRunSettings(corpus="mini_zh"))
    unseen = run.pairs[-1]
    assert unseen.source == "女 人 在 喝 牛 奶 。"
    assert unseen not in run.trained
    assert set(unseen.source) <= {character for pair in run.trained for character in pair.source}

"""The lesson on mistakes: claims, in a trained model and in a toy trained with the mistake."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from headlight.model.training.live_run_settings import LiveRunSettings
from headlight.model.training.mistake_experiments import MistakeResult, try_mistakes
from headlight.model.training.mistakes import MISTAKES, with_mistakes
from headlight.viz.lessons.mistakes import GAME_MISTAKES
from headlight.viz.lessons.result_figures import Heatmap, Table
from tests.viz.lessons.asked import Asked, pictures, step_phrase
from tests.viz.lessons.claims.train import losses, moments

BOTH = ["i want a beer .", "i want a coke ."]


def tried(asked: Asked, name: str) -> MistakeResult:
    return try_mistakes(asked.translator, asked.translation, [name])


def lost(asked: Asked, name: str) -> float:
    """Decrease of the correct translation's log probability."""
    forced = tried(asked, name).forced
    assert forced is not None
    return asked.translation.log_probability - forced.log_probability


def outputs(name: str) -> list[str]:
    return [sentence.translation for sentence in moments(LiveRunSettings(mistake=name))[-1].sentences]


def one_speed_loses_the_order(asked: Asked) -> None:
    assert lost(asked, "exponent") > 0.2


def vectors_without_words_are_one(asked: Asked) -> None:
    wrong = with_mistakes(asked.translator.model, ["replaced"])
    with torch.no_grad():
        one, other = (wrong.encoder(torch.tensor([ids]), None) for ids in ([5, 6, 7, 2], [9, 8, 5, 2]))
    assert torch.equal(one, other)
    assert lost(asked, "replaced") > 10


def unscaled_words_drown(asked: Asked) -> None:
    assert lost(asked, "unscaled") > 10


def swapped_lengths_do_not_fit(asked: Asked) -> None:
    attempt = tried(asked, "swapped")
    assert attempt.generated is None
    assert "size of tensor" in attempt.error


def late_masks_leave_the_words(asked: Asked) -> None:
    attempt = tried(asked, "late_mask")
    assert attempt.generated is not None
    assert attempt.forced is not None
    assert attempt.generated.text == asked.translation.text
    assert lost(asked, "late_mask") > 0.2
    assert attempt.forced.attention.decoder[0, 0, 0].sum() < 0.01


def without_the_stream_nothing_is_left(asked: Asked) -> None:
    assert lost(asked, "residual") > 20


def a_new_norm_costs(asked: Asked) -> None:
    assert lost(asked, "norm") > 0.5


def looking_ahead_costs(asked: Asked) -> None:
    assert lost(asked, "ahead") > 1


def looking_everywhere_costs(asked: Asked) -> None:
    assert lost(asked, "unmasked") > 1
    pictures_in = pictures(asked.run_experiment("mistakes", "live", mistake="unmasked"))
    before, now = (np.triu(each.numbers, 1).max() for each in pictures_in if isinstance(each, Heatmap))
    assert before == 0 < 0.1 < now  # the figure shows the leak


def two_softmaxes_change_the_loss_alone(asked: Asked) -> None:
    attempt = tried(asked, "softmax")
    assert attempt.forced is not None
    assert attempt.generated is not None
    assert attempt.generated.text == asked.translation.text
    assert attempt.forced.log_probability == pytest.approx(asked.translation.log_probability, abs=1e-4)
    assert attempt.right_loss == pytest.approx(
        -asked.translation.log_probability / len(attempt.forced.target_tokens), abs=1e-3
    )
    assert attempt.loss > attempt.right_loss + 1


def costs_do_not_add_up(asked: Asked) -> None:
    names = list(MISTAKES)
    also = [names.index("norm"), names.index("unscaled"), 399]
    result = asked.run_experiment("mistakes", "live", mistake="late_mask", also=also)
    assert (result.facts, result.numbers["count"]) == (("several",), 3)
    both = float(str(result.numbers["before"])) - float(str(result.numbers["after"]))
    assert abs(both - sum(lost(asked, name) for name in ("late_mask", "norm", "unscaled"))) > 1
    (table,) = (each for each in pictures(result) if isinstance(each, Table) and len(each.columns) == 2)
    assert [str(row[1]).startswith("AssertionError") for row in table.rows] == [True] * 3
    # A mistake that cannot run hides the others; one that is selected twice counts once.
    stopped = asked.run_experiment("mistakes", "live", mistake="swapped", also=also)
    assert stopped.facts == ("stopped",)
    for each in (result, stopped):
        assert step_phrase("mistakes", "live", "title", each).startswith("Several")
    assert "size of tensor" in str(stopped.numbers["error"])
    alone = asked.run_experiment("mistakes", "live", mistake="norm", also=also[:1])
    assert alone.facts == ("norm",)
    for each, first in ((result, "late_mask"), (stopped, "swapped"), (alone, "norm")):  # so it is not offered again
        assert [name for name, offered in zip(names, each.position_labels["also"], strict=True) if offered is None] == [
            first
        ]


def half_of_them_go_unnoticed(asked: Asked) -> None:
    right = losses(LiveRunSettings())[-1]
    for name in ("exponent", "unscaled", "late_mask", "norm"):
        assert outputs(name) == BOTH
        assert losses(LiveRunSettings(mistake=name))[-1] < right + 0.02
    assert outputs("replaced")[0] == outputs("replaced")[1]
    assert losses(LiveRunSettings(mistake="residual"))[-1] > 1


def two_softmaxes_have_a_floor(asked: Asked) -> None:
    floor = math.log(math.e + 273) - 1
    assert asked.run_experiment("mistakes", "trained", mistake="softmax").numbers["floor"] == f"{floor:.3f}"
    assert floor < min(losses(LiveRunSettings(mistake="softmax")))


def looking_ahead_looks_perfect(asked: Asked) -> None:
    assert losses(LiveRunSettings(mistake="ahead"))[-1] < losses(LiveRunSettings())[-1] + 0.02
    assert not set(outputs("ahead")) & set(BOTH)


def looking_everywhere_looks_perfect(asked: Asked) -> None:
    assert losses(LiveRunSettings(mistake="unmasked"))[-1] < losses(LiveRunSettings())[-1] + 0.02
    assert outputs("unmasked") != BOTH


def every_game_has_one_answer(asked: Asked) -> None:
    correct_options = {asked.run_experiment("mistakes", "game", game=number).correct_option for number in range(12)}
    assert correct_options <= {name for name in GAME_MISTAKES if MISTAKES[name].applies(asked.config)}
    assert len(correct_options) > 3
    assert (
        asked.run_experiment("mistakes", "game", game=5).correct_option
        == asked.run_experiment("mistakes", "game", game=5).correct_option
    )

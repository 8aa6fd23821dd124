"""The trainer of one process: steps, sums, EMA, dropout, and resuming."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from headlight.model.errors import TrainingError
from headlight.model.training import checkpoints
from headlight.model.training.batches import plan_epoch, target_tokens
from headlight.model.training.dropout import ByteDropout, make_random_bytes
from headlight.model.training.ema import WeightAverage
from headlight.model.training.loop import Trainer, run_steps
from headlight.model.training.recipe import Recipe
from tests.compare import assert_close
from tests.model.training.examples import MODEL, make_recipe, make_trainer, random_sentences

SENTENCES = random_sentences(53)


def with_dropout(**fields: object) -> Recipe:
    return make_recipe(model=MODEL | {"dropout": 0.3}, **fields)


def train(trainer: Trainer, steps: int) -> None:
    run_steps(trainer, lambda _: SENTENCES, steps, 0, lambda _: False)


@pytest.mark.parametrize("optimisation", [{"ema_decay": 0.9}, {"ema_decay": 0.0, "weight_decay": 0.1, "clip": 0.0}])
def test_resumed_trainer_matches_uninterrupted_one(tmp_path: Path, optimisation: dict[str, float]) -> None:
    recipe = with_dropout(
        optimisation=optimisation, batching={"batch_tokens": 211, "accumulate": 2, "max_sentence_tokens": 97}
    )
    uninterrupted, interrupted, resumed = (make_trainer(recipe) for _ in range(3))
    train(uninterrupted, 13)
    train(interrupted, 6)
    path = tmp_path / "step-00000006.safetensors"
    checkpoints.save_checkpoint(path, interrupted.tensors(), interrupted.progress, {})
    groups, progress, _ = checkpoints.load_checkpoint(path)
    resumed.restore(groups, progress)
    train(resumed, 13)
    for (name, tensor), other in zip(
        uninterrupted.average.tensors().items(), resumed.average.tensors().values(), strict=True
    ):
        assert torch.equal(tensor, other), name
    assert uninterrupted.pop_mean_losses() == resumed.pop_mean_losses()


def test_checkpoint_of_another_model_is_rejected() -> None:
    other = make_trainer(make_recipe(model=MODEL | {"d_ff": 29}))
    with pytest.raises(TrainingError, match="a different model from the recipe"):
        make_trainer(make_recipe()).restore(other.tensors(), other.progress)


def test_accumulated_gradient_is_mean_over_tokens() -> None:
    recipe = make_recipe()
    plan = plan_epoch(SENTENCES, recipe.batching, seed=1, epoch=0)[:3]
    trainer = make_trainer(recipe)
    alone = []
    for rows in plan:
        trainer.accumulate_gradients(SENTENCES, [rows])
        alone.append(
            [p.grad.clone() * target_tokens(SENTENCES, rows) for p in trainer.parameters if p.grad is not None]
        )
    trainer.accumulate_gradients(SENTENCES, plan)
    words = sum(target_tokens(SENTENCES, rows) for rows in plan)
    for number, parameter in enumerate(trainer.parameters):
        assert parameter.grad is not None
        assert_close(parameter.grad, sum(each[number] for each in alone) / words)  # type: ignore[arg-type]


def test_nan_loss_stops_with_advice() -> None:
    trainer = make_trainer(make_recipe())
    trainer.sums[1] = math.nan
    with pytest.raises(TrainingError, match=r"training has diverged\. Lower optimisation\.peak_rate"):
        trainer.pop_mean_losses()


def test_moving_average_matches_formula_and_swaps_temporarily() -> None:
    layer = torch.nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        layer.weight.fill_(1.0)
    average = WeightAverage(layer, decay=0.5)
    with torch.no_grad():
        layer.weight.fill_(3.0)
    for step in (1, 2, 3):
        average.update(step)  # only every fourth step counts
    assert float(average.tensors()["weight"]) == 1.0
    average.update(4)
    decay = min(0.5, 5 / 14) ** 4
    expected = decay * 1.0 + (1 - decay) * 3.0
    assert float(average.tensors()["weight"]) == pytest.approx(expected)
    with average.use_averages():
        assert layer.weight.item() == pytest.approx(expected)
    assert layer.weight.item() == 3.0


def test_byte_dropout_has_requested_rate_and_keeps_mean() -> None:
    dropout = ByteDropout(0.25)
    x = torch.ones(997, 101)
    y = dropout(x)
    dropped = float((y == 0).float().mean())
    assert dropped == pytest.approx(0.25, abs=0.01)
    assert sorted(set(y.unique().tolist())) == [0.0, pytest.approx(4 / 3)]
    assert torch.equal(dropout.eval()(x), x)


def test_byte_dropout_gradient_is_zero_at_dropped_values() -> None:
    x = torch.randn(13, 17, requires_grad=True)
    y = ByteDropout(0.5)(x)
    y.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, torch.where(y == 0, 0.0, 2.0))


def test_random_bytes_are_uniform_and_seeded() -> None:
    torch.manual_seed(5)
    bytes_ = make_random_bytes(100_003, torch.device("cpu"))
    counts = torch.bincount(bytes_.int(), minlength=256)
    assert int(counts.min()) > 280  # 390 expected of each of the 256
    torch.manual_seed(5)
    assert torch.equal(make_random_bytes(100_003, torch.device("cpu")), bytes_)

"""The training loop, which can stop and resume after any step.

Randomness depends only on seed, step and process, so a resumed run has the dropout of an uninterrupted one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from headlight.model.errors import TrainingError
from headlight.model.training.batches import RowArray, Sentences, SpecialIds, compute_batch_cost, plan_epoch
from headlight.model.training.checkpoints import RunProgress, Tensors
from headlight.model.training.dropout import use_byte_dropout
from headlight.model.training.ema import WeightAverage
from headlight.model.training.loss import LossSums
from headlight.model.training.optimiser import make_dropout_seed, make_optimiser
from headlight.model.training.processes import Processes, autocast
from headlight.model.training.recipe import Batching, Recipe
from headlight.model.training.schedule import make_schedule
from headlight.model.training.tasks import TASKS


class TrainingStep(NamedTuple):
    """The batches of one step, and the position of the next step."""

    rows: list[RowArray]  # row indices per batch
    epoch: int  # of the next step
    batch: int  # index in that epoch


@dataclass(frozen=True)
class ComputeSettings:
    """Device, precision and compilation."""

    device: torch.device
    precision: str = "auto"  # one of `PRECISIONS`
    compile: bool = False  # whether to use torch.compile


def training_steps(
    data: Callable[[int], Sentences], batching: Batching, seed: int, progress: RunProgress
) -> Iterator[tuple[Sentences, TrainingStep]]:
    """Yield the steps from a position on, in an endless sequence of epochs. `data` maps an epoch to its sentences."""
    epoch, first = progress.epoch, progress.batch
    while True:
        sentences = data(epoch)
        plan = plan_epoch(sentences, batching, seed, epoch)
        while first < len(plan):
            stop = min(first + batching.accumulate, len(plan))
            ends_epoch = stop == len(plan)
            yield sentences, TrainingStep(plan[first:stop], epoch + ends_epoch, 0 if ends_epoch else stop)
            first = stop
        epoch, first = epoch + 1, 0


class Trainer:
    """Model, optimiser and running average of one run in one process."""

    def __init__(
        self, model: nn.Module, recipe: Recipe, special: SpecialIds, setting: ComputeSettings, processes: Processes
    ) -> None:
        self.model = model.to(setting.device)
        if setting.device.type == "cpu":
            use_byte_dropout(model)
        self.task = TASKS[recipe.task]
        self.recipe, self.special, self.setting, self.processes = recipe, special, setting, processes
        settings = recipe.optimisation
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.optimiser = make_optimiser(self.parameters, settings)
        self.average = WeightAverage(model, settings.ema_decay)
        self.progress = RunProgress()
        # Sums since the last report: smoothed loss, plain loss, gradient norm; target tokens, padded tokens, steps.
        self.sums = torch.zeros(3, device=setting.device)
        self.words = self.padded = self.steps_taken = 0
        self.losses: Callable[..., LossSums] = self._wrap(self.task.make_losses(model, recipe))

    def _wrap(self, module: nn.Module) -> nn.Module:
        if self.setting.compile:
            module.compile(dynamic=True)
        if self.processes.world == 1:
            return module
        ids = [self.setting.device.index] if self.setting.device.type == "cuda" else None
        return DistributedDataParallel(module, device_ids=ids, gradient_as_bucket_view=True)

    def step(self, sentences: Sentences, step: TrainingStep, rate: float) -> None:
        """Run one optimiser step with this learning rate."""
        self.model.train()
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.accumulate_gradients(sentences, step.rows)
        norm = nn.utils.clip_grad_norm_(self.parameters, self.recipe.optimisation.clip or math.inf, foreach=True)
        self.optimiser.step()
        self.progress.step += 1
        self.progress.epoch, self.progress.batch = step.epoch, step.batch
        self.average.update(self.progress.step)
        self.sums[2] += norm
        self.steps_taken += 1

    def accumulate_gradients(self, sentences: Sentences, batches: list[RowArray]) -> None:
        """Accumulate the gradient of the mean loss over all target tokens of these batches in the parameters.

        Every process has the rows of all processes, so it knows the total number of tokens without communication.
        """
        self.optimiser.zero_grad(set_to_none=True)
        words = sum(self.task.count(sentences, rows) for rows in batches)
        world, rank = self.processes.world, self.processes.rank
        for number, rows in enumerate(batches):
            own_rows = rows[rank::world]
            weight = world / words if len(own_rows) else 0.0  # DistributedDataParallel takes the mean over processes
            batch = self.task.make_batch(sentences, own_rows if len(own_rows) else rows[:1], self.special)
            batch = batch.to(self.setting.device)
            torch.manual_seed(make_dropout_seed(self.recipe.seed, self.progress.step, number, rank))
            last = number == len(batches) - 1
            sync_context = nullcontext() if last or world == 1 else self.losses.no_sync()  # type: ignore[attr-defined]
            with sync_context:
                with autocast(self.setting.device, self.setting.precision):
                    losses = self.losses(batch)
                (losses.smoothed * weight).backward()  # type: ignore[no-untyped-call]
            share = float(len(own_rows) > 0)
            self.sums[0] += losses.smoothed.detach() * share
            self.sums[1] += losses.plain.detach() * share
            self.padded += compute_batch_cost(sentences, rows)
        self.words += words
        self.progress.tokens += words

    def reduce_losses(self) -> None:
        """Add the sums of all processes in the first one. All processes must call this method."""
        if self.processes.world > 1:
            torch.distributed.all_reduce(self.sums[:2])
        if not self.processes.first:
            self.sums.zero_()

    def pop_mean_losses(self) -> dict[str, float]:
        """Return the means since the last call. They are complete only in the first process."""
        self.reduce_losses()
        smoothed, plain, norms = self.sums.tolist()
        values = {
            "smoothed_loss": smoothed / max(1, self.words),
            "loss": plain / max(1, self.words),
            "gradient_norm": norms / max(1, self.steps_taken),
        }
        self.sums.zero_()
        self.words = self.padded = self.steps_taken = 0
        if not math.isfinite(values["loss"]):
            raise TrainingError(
                f"The loss is {values['loss']} after step {self.progress.step}: training has diverged. Lower "
                "optimisation.peak_rate or raise warmup_steps; the last checkpoint is from before this."
            )
        return values

    # ------------------------------------------------------------ checkpoints

    def tensors(self) -> dict[str, Tensors]:
        """Return the tensors of a checkpoint, by group."""
        optimiser: Tensors = {}
        for name, parameter in self.model.named_parameters():
            for key, value in self.optimiser.state.get(parameter, {}).items():
                optimiser[f"{key}/{name}"] = value if isinstance(value, Tensor) else torch.tensor(float(value))
        counts = torch.tensor([self.words, self.padded, self.steps_taken], dtype=torch.int64)
        groups = {
            "model": {name: parameter.detach() for name, parameter in self.model.named_parameters()},
            "optimiser": optimiser,
            "since": {"sums": self.sums, "counts": counts},
        }
        if self.average.decay:
            groups["average"] = self.average.tensors()
        return groups

    @torch.no_grad()
    def restore(self, groups: dict[str, Tensors], progress: RunProgress) -> None:
        """Restore the state of a checkpoint."""
        parameters = dict(self.model.named_parameters())
        saved = {name: tuple(tensor.shape) for name, tensor in groups["model"].items()}
        expected = {name: tuple(parameter.shape) for name, parameter in parameters.items()}
        if saved != expected:
            raise TrainingError(
                "The run's checkpoint has a different model from the recipe's. "
                "Choose another --run folder for the changed recipe, or restore the recipe."
            )
        for name, parameter in parameters.items():
            parameter.copy_(groups["model"][name])
        for key, value in groups.get("optimiser", {}).items():
            kind, _, name = key.partition("/")
            device = "cpu" if kind == "step" and not self.optimiser.defaults.get("fused") else self.setting.device
            self.optimiser.state[parameters[name]][kind] = value.to(device)
        self.average.load(groups.get("average", groups["model"]))
        if self.processes.first:
            self.sums.copy_(groups["since"]["sums"])
        self.words, self.padded, self.steps_taken = groups["since"]["counts"].tolist()
        self.progress = progress


def run_steps(
    trainer: Trainer,
    data: Callable[[int], Sentences],
    last: int,
    cool_down_steps: int,
    after_step: Callable[[float], bool],
) -> None:
    """Train until step `last`, or until `after_step(rate)` returns true.

    Args:
        trainer: Model and optimiser.
        data: Function from epoch to sentences.
        last: Last step.
        cool_down_steps: Length of the cool-down before `last`.
        after_step: Called after each step with the learning rate.
    """
    rate_at = make_schedule(trainer.recipe.optimisation, last, cool_down_steps)
    started, earlier_seconds = time.monotonic(), trainer.progress.seconds
    for sentences, step in training_steps(data, trainer.recipe.batching, trainer.recipe.seed, trainer.progress):
        if trainer.progress.step >= last:
            return
        rate = rate_at(trainer.progress.step + 1)
        trainer.step(sentences, step, rate)
        trainer.progress.seconds = earlier_seconds + time.monotonic() - started
        if after_step(rate):
            return

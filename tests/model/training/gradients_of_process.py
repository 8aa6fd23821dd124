"""One of several gloo processes: computes the gradients of a step; the first process writes them to a file."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

from headlight.model.training.batches import plan_epoch
from headlight.model.training.processes import join_process_group
from tests.model.training.examples import make_recipe, make_trainer, random_sentences


def write_gradients(path: Path) -> None:
    recipe = make_recipe()
    sentences = random_sentences(53)
    batches = plan_epoch(sentences, recipe.batching, seed=1, epoch=0)[:3]
    with join_process_group() as processes:
        trainer = make_trainer(recipe, processes)
        # The last batch has fewer rows than there are processes.
        trainer.accumulate_gradients(sentences, [*batches, batches[0][:1]])
        sums = trainer.pop_mean_losses()
        if processes.first:
            gradients = {name: p.grad.clone() for name, p in trainer.model.named_parameters() if p.grad is not None}
            save_file({**gradients, "loss": torch.tensor([sums["loss"], sums["smoothed_loss"]])}, path)


if __name__ == "__main__":
    write_gradients(Path(sys.argv[1]))

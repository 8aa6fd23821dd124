"""The optimiser, and the seeds of dropout: the recipe alone decides both."""

from __future__ import annotations

import torch
from torch import nn

from headlight.model.training.recipe import Optimisation


def make_optimiser(parameters: list[nn.Parameter], settings: Optimisation) -> torch.optim.Optimizer:
    """Adam with the paper's constants (section 5.3), or AdamW; one fused kernel for all parameters."""
    kind = torch.optim.AdamW if settings.weight_decay else torch.optim.Adam
    return kind(
        parameters,
        lr=settings.peak_rate,
        betas=(settings.beta_1, settings.beta_2),
        eps=settings.epsilon,
        weight_decay=settings.weight_decay,
        fused=True,
    )


def dropout_seed(seed: int, step: int, batch: int, rank: int) -> int:
    """A seed for the dropout of one batch of one step in one process."""
    return hash((seed, step, batch, rank)) & (2**63 - 1)  # of integers: the same in every Python process

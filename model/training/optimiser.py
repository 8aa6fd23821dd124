"""The optimiser and the seeds of dropout, which depend only on the recipe."""

from __future__ import annotations

import torch
from torch import nn

from headlight.model.training.recipe import Optimisation


def make_optimiser(parameters: list[nn.Parameter], settings: Optimisation) -> torch.optim.Optimizer:
    """Create Adam (section 5.3 of the paper), or AdamW if the settings have weight decay, with fused kernels."""
    optimiser_class = torch.optim.AdamW if settings.weight_decay else torch.optim.Adam
    return optimiser_class(
        parameters,
        lr=settings.peak_rate,
        betas=(settings.beta_1, settings.beta_2),
        eps=settings.epsilon,
        weight_decay=settings.weight_decay,
        fused=True,
    )


def make_dropout_seed(seed: int, step: int, batch: int, rank: int) -> int:
    """Return the dropout seed of one batch of one step in one process."""
    return hash((seed, step, batch, rank)) & (2**63 - 1)  # hashes of integers are equal in all Python processes

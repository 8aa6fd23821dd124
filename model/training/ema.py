"""Exponential moving average of the weights, which scores better than the latest weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class WeightAverage:
    """Keeps average ← decay · average + (1 − decay) · weights. At step n, decay is at most (1 + n) / (10 + n)."""

    STEPS_PER_UPDATE = 4  # nearly the same average as with an update per step, at a quarter of the cost

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.names = [name for name, _ in model.named_parameters()]
        self.weights = [parameter for _, parameter in model.named_parameters()]
        self.averages = [parameter.detach().clone() for parameter in self.weights]

    def update(self, step: int) -> None:
        """Update the average with the weights after this step."""
        if self.decay == 0.0 or step % self.STEPS_PER_UPDATE:
            return
        decay = min(self.decay, (1 + step) / (10 + step)) ** self.STEPS_PER_UPDATE
        lerp_weights(self.averages, [weight.detach() for weight in self.weights], 1 - decay)

    @contextmanager
    def use_averages(self) -> Iterator[None]:
        """Use the averages as the model's weights inside the `with` block."""
        if self.decay == 0.0:
            yield
            return
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def tensors(self) -> dict[str, Tensor]:
        """Return the weights to validate and export, by name."""
        best = self.averages if self.decay else [weight.detach() for weight in self.weights]
        return dict(zip(self.names, best, strict=True))

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Restore the average from a checkpoint."""
        for name, average in zip(self.names, self.averages, strict=True):
            average.copy_(tensors[name])

    def _swap(self) -> None:
        for weight, average in zip(self.weights, self.averages, strict=True):
            weight.data, average.data = average.data, weight.data


def lerp_weights(averages: list[torch.Tensor], weights: list[torch.Tensor], part: float) -> None:
    """Move each average towards its weight by this fraction of the difference, in place.

    One call updates all averages if PyTorch has its private operator for lists.
    """
    foreach_lerp = getattr(torch, "_foreach_lerp_", None)
    if foreach_lerp is not None:
        foreach_lerp(averages, weights, part)
        return
    for average, weight in zip(averages, weights, strict=True):
        average.lerp_(weight, part)

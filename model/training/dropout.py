"""Dropout for CPUs: one random byte per value instead of one random float.

PyTorch draws a Bernoulli float64 per value, which took a fifth of a training step.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


class ByteDropout(nn.Module):
    """Like `nn.Dropout` with a probability in 256ths. Remaining values are scaled up to keep the mean."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.p = probability  # the attribute of nn.Dropout
        self.dropped = round(256 * probability)  # in 256ths

    def forward(self, x: Tensor) -> Tensor:
        """Zero random values of `x` in training mode."""
        if not self.training or not self.dropped:
            return x
        bytes_ = random_bytes(x.numel(), x.device).view(x.shape).to(x.dtype)
        # 1 if the byte is at least `dropped`, else 0. Arithmetic is four times faster than a comparison.
        mask = bytes_.sub_(self.dropped - 1).clamp_(0, 1).mul_(256 / (256 - self.dropped))
        return x * mask


def random_bytes(count: int, device: torch.device) -> Tensor:
    """Draw random bytes from PyTorch's generator, eight per draw."""
    words = torch.empty((count + 7) // 8, dtype=torch.int64, device=device)
    return words.random_(-(2**63), None).view(torch.uint8)[:count]


def use_byte_dropout(model: nn.Module) -> None:
    """Replace every `nn.Dropout` of a model. Neither module has weights, so checkpoints do not change."""
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Dropout):
                setattr(module, name, ByteDropout(child.p))

"""A PyTorch mode in which norms and activations are linear: their scales and gates are constants of the current run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode


class FixedNonlinearities(TorchFunctionMode):
    """Makes norms divide by a constant, and activations multiply by a constant.

    `gated`: whether activations are gates of a gated linear unit, whose output is then a constant.
    """

    def __init__(self, *, gated: bool) -> None:
        super().__init__()
        self.gated = gated

    def __torch_function__(
        self, func: Callable[..., Any], types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        options: Mapping[str, Any] = kwargs or {}
        if func is F.layer_norm:
            return _make_fixed_layer_norm(*args, **options)
        if func in (torch.rsqrt, Tensor.rsqrt):  # the scale of an RMS norm
            return func(*args, **options).detach()
        if func in (F.relu, F.gelu, F.silu):
            result: Tensor = func(*args, **options)
            return result.detach() if self.gated else _make_fixed_factor(args[0], result)
        return func(*args, **options)


def _make_fixed_layer_norm(
    x: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    centred = x - x.mean(dim=-1, keepdim=True)
    normed = centred * torch.rsqrt(centred.square().mean(dim=-1, keepdim=True) + eps).detach()
    scaled = normed if weight is None else normed * weight
    return scaled if bias is None else scaled + bias


def _make_fixed_factor(x: Tensor, activated: Tensor) -> Tensor:
    """Return x times the constant f(x) / x. `activated`: f(x)."""
    factor = torch.where(x == 0, torch.zeros_like(x), activated / torch.where(x == 0, torch.ones_like(x), x))
    return x * factor.detach()

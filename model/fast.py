"""The decoding step on prepared weights: the same code as in `transformer.py`, standing on something lighter.

One word at a time, a decoder spends its time on reading weights and on Python's way to each kernel. `prepare` therefore
makes a twin of a module: its methods are the module's own, so that there is one decoder to read and to test, but

- matrices are packed once as float16 for FBGEMM, which computes in float32 (half the bytes to read a step);
- queries, keys and values of self-attention come from one product;
- probes, dropout and the call machinery of `nn.Module` are gone: nobody watches here.

Maps and probabilities never come from here: they are computed in float32 from the plain model.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, Literal

import torch
from torch import Tensor, nn

from model.attention import MultiHeadAttention
from model.probes import Probe

StepWeights = Literal["float16", "float32", "plain"]
SMALL = 1 << 17  # matrices of fewer entries are faster as they are: packed kernels cost 10 µs a call
LARGEST_FLOAT16 = 65_504.0
# What a step never calls: self-attention projects all three at once, and keys and values of the source are made once a
# sentence by the plain model.
UNUSED = {"self_attention": ("query", "key", "value"), "cross_attention": ("key", "value")}


def prepare(module: nn.Module, weights: StepWeights = "float16") -> tuple[Any, int]:
    """A callable twin of `module` for inference, and the bytes that its copies of weights take."""
    if weights == "plain":
        return module, 0
    preparation = _Preparation(packs=weights == "float16" and can_pack())
    return preparation.twin(module), preparation.bytes


@cache
def can_pack() -> bool:
    """Whether this machine has FBGEMM's float16 kernels (x86 with AVX2)."""
    if (
        platform.machine().lower() not in ("x86_64", "amd64")
        or "fbgemm" not in torch.backends.quantized.supported_engines
    ):
        return False
    try:
        matrix = torch.eye(8)
        packed = torch.ops.quantized.linear_prepack_fp16(matrix, None)
        return bool(torch.equal(torch.ops.quantized.linear_dynamic_fp16(matrix, packed), matrix))
    except (RuntimeError, AttributeError):
        return False


class _Preparation:
    """One pass over a module tree."""

    def __init__(self, *, packs: bool) -> None:
        self.packs = packs
        self.bytes = 0

    def twin(self, module: nn.Module, without: Sequence[str] = ()) -> Any:
        if isinstance(module, Probe):
            return _Unwatched()
        if isinstance(module, nn.Dropout | nn.Identity):
            return _same
        if isinstance(module, nn.Linear):
            return self.linear(module.weight.detach(), None if module.bias is None else module.bias.detach())
        if isinstance(module, nn.LayerNorm):
            return _layer_norm(module)
        if isinstance(module, nn.Embedding):
            return partial(torch.embedding, module.weight.detach())
        if isinstance(module, nn.ModuleList):
            return [self.twin(child) for child in module]
        twin = _twin_class(type(module))()  # type: ignore[arg-type]
        for name, value in vars(module).items():
            if not name.startswith("_"):
                setattr(twin, name, value)
        for name, tensor in [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]:
            setattr(twin, name, tensor.detach())
        for name, child in module.named_children():
            if name not in without:
                setattr(twin, name, self.twin(child, without=UNUSED.get(name, ())))
        if isinstance(module, MultiHeadAttention) and "query" in without:
            twin.project = self.projection(module)
        twin.training = False
        return twin

    def linear(self, weight: Tensor, bias: Tensor | None) -> Callable[[Tensor], Tensor]:
        if not self.packable(weight):
            return partial(_plain_linear, weight, bias)
        packed = torch.ops.quantized.linear_prepack_fp16(weight.float(), None if bias is None else bias.float())
        self.bytes += 2 * weight.numel()
        return partial(_packed_linear, packed)

    def packable(self, weight: Tensor) -> bool:
        return self.packs and weight.numel() >= SMALL and bool(weight.abs().max() <= LARGEST_FLOAT16)

    def projection(self, module: MultiHeadAttention) -> Callable[[Tensor], tuple[Tensor, ...]]:
        """Queries, keys and values from one product."""
        parts = (module.query, module.key, module.value)
        biases = [part.bias.detach() for part in parts if part.bias is not None]
        weight = torch.cat([part.weight.detach() for part in parts])
        together = self.linear(weight, torch.cat(biases) if biases else None)
        if not self.packable(weight):  # then it is a copy all the same
            self.bytes += weight.numel() * weight.element_size()
        heads, width = module.heads, module.head_width

        def project(x: Tensor) -> tuple[Tensor, ...]:  # [batch, tokens, d_model] → 3 × [batch, heads, tokens, width]
            batch, tokens, _ = x.shape
            return together(x).view(batch, tokens, 3, heads, width).permute(2, 0, 3, 1, 4).unbind(0)

        return project


class _Unwatched:
    """Where the module has a probe, its twin has nothing."""

    watched = False

    def __call__(self, value: Tensor) -> Tensor:
        return value


@cache
def _twin_class(kind: type[nn.Module]) -> type:
    """A plain class with the methods of a module's class, called by its `forward`."""
    members: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if base not in (object, nn.Module):
            members |= {name: member for name, member in vars(base).items() if not name.startswith("__")}
    members["__call__"] = members["forward"]
    return type(f"Prepared{kind.__name__}", (), members)


def _same(x: Tensor) -> Tensor:
    return x


def _plain_linear(weight: Tensor, bias: Tensor | None, x: Tensor) -> Tensor:
    return torch._C._nn.linear(x, weight, bias)


def _packed_linear(packed: Any, x: Tensor) -> Tensor:
    product: Tensor = _LINEAR_FLOAT16(x, packed)
    return product


def _layer_norm(module: nn.LayerNorm) -> Callable[[Tensor], Tensor]:
    shape, epsilon = tuple(module.normalized_shape), module.eps
    weight, bias = module.weight.detach(), module.bias.detach()
    return lambda x: torch.layer_norm(x, shape, weight, bias, epsilon)


_LINEAR_FLOAT16 = torch.ops.quantized.linear_dynamic_fp16.default

"""Prepared weights: the same code as in `transformer.py`, standing on something lighter.

`prepare_step` and `prepare_passes` make a twin of a module: its methods are the module's own, so that there is one
Transformer to read and to test, but dropout and the call machinery of `nn.Module` are gone, queries, keys and values of
self-attention come from one product, and matrices are packed once for the processor.

- A *step* writes one word and spends its time on reading weights: they are packed as float16 for FBGEMM, which computes
  in float32. Nobody watches a step, so it has no probes.
- A *pass* reads a whole sentence, or looks at one: its weights are packed in full float32 for oneDNN. It keeps the
  module's own probes, so that `watch` sees and edits it. All maps and probabilities come from passes.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Literal

import torch
from torch import Tensor, nn

from model.attention import MultiHeadAttention
from model.probes import Probe

StepWeights = Literal["float16", "float32", "plain"]
Linear = Callable[[Tensor], Tensor]
SMALL = 1 << 15  # matrices of fewer entries are faster as they are: a packed product costs 10 µs before it begins
LARGEST_FLOAT16 = 65_504.0
# What is never called: self-attention projects all three at once, and in a step keys and values of the source are made
# once a sentence, by a pass.
UNUSED_IN_PASSES = {"self_attention": ("query", "key", "value")}
UNUSED_IN_STEPS = UNUSED_IN_PASSES | {"cross_attention": ("key", "value")}


def prepare_step(decoder: nn.Module, weights: StepWeights = "float16") -> tuple[Any, int]:
    """A callable twin of a decoder that writes word by word, and the bytes that its copies of weights take."""
    if weights == "plain":
        return decoder, 0
    packs = pack_float16 if weights == "float16" and can_pack_float16() else None
    preparation = _Preparation(packs or float32_packing(), UNUSED_IN_STEPS, keeps_probes=False)
    return preparation.twin(decoder), preparation.bytes


def prepare_passes(model: nn.Module) -> tuple[Any, int]:
    """A twin of a whole model for whole sentences, watched through the model's own probes, and its copies' bytes."""
    preparation = _Preparation(float32_packing(), UNUSED_IN_PASSES, keeps_probes=True)
    return preparation.twin(model), preparation.bytes


# ---------------------------------------------------------------- packing one matrix


def pack_float16(weight: Tensor, bias: Tensor | None) -> tuple[Linear, int] | None:
    """Half the bytes to read, and float32 arithmetic; not for numbers that float16 cannot hold."""
    if weight.numel() < SMALL or bool(weight.abs().max() > LARGEST_FLOAT16):
        return None
    packed = torch.ops.quantized.linear_prepack_fp16(weight, bias)
    return partial(_linear_float16, packed), 2 * weight.numel()


def pack_float32(weight: Tensor, bias: Tensor | None) -> tuple[Linear, int] | None:
    """The same numbers in the order in which oneDNN reads them: no rounding, and both cores at work."""
    if weight.numel() < SMALL:
        return None
    packed = torch.ops.mkldnn._reorder_linear_weight(weight, 32)
    return partial(_linear_float32, packed, bias), 4 * weight.numel()


def float32_packing() -> Callable[[Tensor, Tensor | None], tuple[Linear, int] | None]:
    """oneDNN's packing where this machine has it."""
    return pack_float32 if can_pack_float32() else lambda weight, bias: None


@cache
def can_pack_float16() -> bool:
    """Whether this machine has FBGEMM's float16 kernels (x86 with AVX2)."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return False
    return "fbgemm" in torch.backends.quantized.supported_engines and _works(
        lambda matrix: torch.ops.quantized.linear_dynamic_fp16(
            matrix, torch.ops.quantized.linear_prepack_fp16(matrix, None)
        )
    )


@cache
def can_pack_float32() -> bool:
    """Whether this PyTorch has oneDNN and its prepacked products."""
    return bool(torch.backends.mkldnn.is_available()) and _works(  # type: ignore[no-untyped-call]
        lambda matrix: _linear_float32(torch.ops.mkldnn._reorder_linear_weight(matrix, 8), None, matrix)
    )


def _works(product: Callable[[Tensor], Tensor]) -> bool:
    matrix = torch.eye(8)
    try:
        return bool(torch.equal(product(matrix), matrix))
    except (RuntimeError, AttributeError, NotImplementedError):
        return False


# ---------------------------------------------------------------- the twin of a module


class _Preparation:
    """One pass over a module tree."""

    def __init__(
        self,
        pack: Callable[[Tensor, Tensor | None], tuple[Linear, int] | None],
        unused: Mapping[str, Sequence[str]],
        *,
        keeps_probes: bool,
    ) -> None:
        self.pack = pack
        self.unused = unused
        self.keeps_probes = keeps_probes
        self.bytes = 0

    def twin(self, module: nn.Module, without: Sequence[str] = ()) -> Any:
        if isinstance(module, Probe):
            return module if self.keeps_probes else _Unwatched()
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
                setattr(twin, name, self.twin(child, without=self.unused.get(name, ())))
        if isinstance(module, MultiHeadAttention) and "query" in without:
            twin.project = self.projection(module)
        twin.training = False
        return twin

    def linear(self, weight: Tensor, bias: Tensor | None, *, is_copy: bool = False) -> Linear:
        packed = self.pack(weight, bias)
        if packed is None:
            self.bytes += weight.numel() * weight.element_size() if is_copy else 0
            return partial(_plain_linear, weight, bias)
        self.bytes += packed[1]
        return packed[0]

    def projection(self, module: MultiHeadAttention) -> Callable[[Tensor], tuple[Tensor, ...]]:
        """Queries, keys and values from one product."""
        parts = (module.query, module.key, module.value)
        biases = [part.bias.detach() for part in parts if part.bias is not None]
        weight = torch.cat([part.weight.detach() for part in parts])
        together = self.linear(weight, torch.cat(biases) if biases else None, is_copy=True)
        heads, width = module.heads, module.head_width

        def project(x: Tensor) -> tuple[Tensor, ...]:  # [batch, tokens, d_model] → 3 × [batch, heads, tokens, width]
            batch, tokens, _ = x.shape
            return together(x).view(batch, tokens, 3, heads, width).permute(2, 0, 3, 1, 4).unbind(0)

        return project


class _Unwatched:
    """Where the module has a probe, the twin of a step has nothing."""

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


def _linear_float16(packed: Any, x: Tensor) -> Tensor:
    product: Tensor = _FLOAT16(x, packed)
    return product


def _linear_float32(packed: Tensor, bias: Tensor | None, x: Tensor) -> Tensor:
    product: Tensor = _FLOAT32(x, packed, bias, "none", [], "")
    return product


def _layer_norm(module: nn.LayerNorm) -> Callable[[Tensor], Tensor]:
    shape, epsilon = tuple(module.normalized_shape), module.eps
    weight, bias = module.weight.detach(), module.bias.detach()
    return lambda x: torch.layer_norm(x, shape, weight, bias, epsilon)


# Below their Python faces, which look for objects of the exporter at each call: a tenth of a small product's time.
_FLOAT16 = torch.ops.quantized.linear_dynamic_fp16.default._op
_FLOAT32 = torch.ops.mkldnn._linear_pointwise.default._op

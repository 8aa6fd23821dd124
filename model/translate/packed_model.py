"""Packed models: the code of `transformer.py`, run on packed copies of the weights.

`prepare_step` and `prepare_passes` copy a module. The copy runs the methods of the module, so there is only one
Transformer to read and to test, but it has no dropout and no call overhead of `nn.Module`. One product computes
queries, keys and values of self-attention, and matrices are packed once for the processor.

- A *step* decodes one token and is bound by reading weights: they are packed as float16 for FBGEMM, which computes in
  float32. A step is never watched, so it has no probes.
- A *draft* also decodes tokens, with weights and inputs of 8 bits. A pass verifies the tokens, so rounding only changes
  how often the draft is right.
- A *pass* computes a whole sentence, with weights packed in float32 for oneDNN. It keeps the module's probes, so
  `watch` can read and edit it. All maps and probabilities come from passes.

Packed weights are copies, and `CopyBudget` limits their bytes. Weights beyond the limit are read unpacked, also by
oneDNN: for a sentence of 16 tokens this takes 1.4 times as long as a packed product, and PyTorch's product takes 2 to 3
times as long. The model keeps its weights, so it can be called, saved and read like any module.

Kernels are looked up when weights are packed, never at import, because wheels for different platforms have different
kernels.
"""

from __future__ import annotations

import math
import platform
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headlight.model.core.attention import MultiHeadAttention
from headlight.model.core.probes import Probe

StepWeights = Literal["float16", "float32", "plain"]
Linear = Callable[[Tensor], Tensor]
MIN_PACKED_ENTRIES = 1 << 15  # smaller matrices are not packed: a packed product has 10 µs of overhead
FLOAT16_MAX = 65_504.0
# Memory limit of copies: a share of the model's weights, or this number of bytes if larger. The bytes suffice for all
# copies of a model of OPUS-MT's size (d 512, 6 + 6 layers) except its output. The share is for larger models: with
# vocabularies and kernels, a process that loads one stays below 1.3 times the model's weights.
COPY_SHARE, MIN_COPY_BUDGET = 0.25, 300_000_000
# Projections that are never called: self-attention computes all three in one product, and a pass computes the keys and
# values of the source once per sentence.
UNUSED_IN_PASSES = {"self_attention": ("query", "key", "value")}
UNUSED_IN_STEPS = UNUSED_IN_PASSES | {"cross_attention": ("key", "value")}


@dataclass(frozen=True)
class Packing:
    """The bytes of the copies of a model's weights, and the reason as a sentence."""

    step_bytes: int
    pass_bytes: int
    reason: str


class PackedModel:
    """Packed versions of a model within a memory limit derived from `own_bytes`.

    If steps use up the limit, passes read unpacked weights: a sentence has a step per token, but only two passes.
    """

    def __init__(self, model: nn.Module, weights: StepWeights, own_bytes: int) -> None:
        self.copies = CopyBudget(max(int(COPY_SHARE * own_bytes), MIN_COPY_BUDGET))
        self.decoder = model.get_submodule("decoder")
        self._step_packer = ModelPacker(_packer_for(weights), UNUSED_IN_STEPS, self.copies, keeps_probes=False)
        self._step_packer.plan(self.decoder)
        step_bytes = self._step_packer.bytes
        pass_budget = CopyBudget(max(int(COPY_SHARE * own_bytes) - step_bytes, 0))
        self.passes, pass_bytes = prepare_passes(model, pass_budget)
        kind = "float16" if weights == "float16" and can_pack_float16() else "float32"
        reason = (
            f"The model's weights take {_megabytes(own_bytes)}, so copies may take {_megabytes(self.copies.limit)}. "
            f"Made for this processor: {_megabytes(step_bytes)} in {kind} for writing, {_megabytes(pass_bytes)} in "
            f"float32 for reading and looking"
        )
        if excess_bytes := self.copies.excess_bytes + pass_budget.excess_bytes:
            reason += f"; {_megabytes(excess_bytes)} more would be faster, but are read where the model has them"
        self.packing = Packing(step_bytes, pass_bytes, f"{reason}.")

    @cached_property
    def step(self) -> Any:
        """The packed step, called like the decoder. Created on first use, because greedy search may not need it."""
        return self._step_packer.pack_module(self.decoder, "")

    def pack_step_with(self, packer: ModelPacker) -> Any:
        """Pack the decoder with another packer, which copies the weights that the step copies."""
        packer.copied_paths = self._step_packer.copied_paths
        return packer.pack_module(self.decoder, "")


def _packer_for(weights: StepWeights) -> Packer:
    return step_packer() if weights == "float16" else float32_packer()


def step_packer() -> Packer:
    """Return the packer of steps: FBGEMM's float16 if this machine has it."""
    return FLOAT16 if can_pack_float16() else float32_packer()


def prepare_step(
    decoder: nn.Module, weights: StepWeights = "float16", copies: CopyBudget | None = None
) -> tuple[Any, int]:
    """Pack a decoder for decoding steps, and return it with the bytes of its copies of weights."""
    if weights == "plain":
        return decoder, 0
    packer = ModelPacker(_packer_for(weights), UNUSED_IN_STEPS, copies or CopyBudget(), keeps_probes=False)
    return packer.pack(decoder), packer.bytes


def prepare_passes(model: nn.Module, copies: CopyBudget | None = None) -> tuple[Any, int]:
    """Pack a model with its probes for whole sentences, and return it with the bytes of its copies of weights."""
    packer = ModelPacker(float32_packer(), UNUSED_IN_PASSES, copies or CopyBudget(), keeps_probes=True)
    return packer.pack(model), packer.bytes


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.0f} MB"


# ---------------------------------------------------------------- packing one matrix


class Packer(NamedTuple):
    """A format of packed matrices."""

    name: str
    entry_bytes: int
    fits: Callable[[Tensor], bool]  # whether the format can represent all entries of a weight matrix
    pack: Callable[[Tensor, Tensor | None], Linear]  # weight `[out, in]` and bias → linear layer


def _fits_float16(weight: Tensor) -> bool:
    """Whether float16 can represent all numbers. Unlike `abs`, `aminmax` needs no second large tensor."""
    lowest, highest = weight.aminmax()
    return bool(torch.maximum(-lowest, highest) <= FLOAT16_MAX)


def pack_float16(weight: Tensor, bias: Tensor | None) -> Linear:
    """Pack weights in float16, which halves the bytes to read, and compute in float32. All numbers must fit float16."""
    kernel = _raw_operator(torch.ops.quantized.linear_dynamic_fp16)
    return partial(_linear_float16, kernel, torch.ops.quantized.linear_prepack_fp16(weight, bias))


def pack_int8(weight: Tensor, bias: Tensor | None) -> Linear:
    """Pack weights in 8 bits, a quarter of the bytes. Inputs are rounded to 8 bits, too, and products use integers."""
    lowest, highest = weight.aminmax(dim=1)  # `abs` would need a second large tensor
    scales = torch.maximum(-lowest, highest).clamp(min=torch.finfo(torch.float32).tiny).double() / 127
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # PyTorch has deprecated quantized tensors, which 8-bit drafts need
        rounded = torch.quantize_per_channel(weight, scales, torch.zeros(len(weight), dtype=torch.long), 0, torch.qint8)
    kernel = _raw_operator(torch.ops.quantized.linear_dynamic)
    return partial(_linear_int8, kernel, torch.ops.quantized.linear_prepack(rounded, bias))


def pack_float32(weight: Tensor, bias: Tensor | None) -> Linear:
    """Pack float32 weights in oneDNN's layout: no rounding, multi-threaded."""
    return _linear_onednn(torch.ops.mkldnn._reorder_linear_weight(weight, 32), bias)


def unpacked_linear(weight: Tensor, bias: Tensor | None) -> Linear:
    """Create a linear layer on the original weights, without a copy."""
    if weight.numel() >= MIN_PACKED_ENTRIES and can_pack_float32():
        return _linear_onednn(weight, bias)  # faster than PyTorch's product, even unpacked
    return partial(_plain_linear, weight, bias)


FLOAT16 = Packer("float16", 2, _fits_float16, pack_float16)
INT8 = Packer("int8", 1, lambda weight: True, pack_int8)
FLOAT32 = Packer("float32", 4, lambda weight: True, pack_float32)
NO_PACKER = Packer("nothing", 4, lambda weight: False, unpacked_linear)


def float32_packer() -> Packer:
    """Return oneDNN's packer if this machine has it, else a packer that copies nothing."""
    return FLOAT32 if can_pack_float32() else NO_PACKER


@cache
def can_pack_float16() -> bool:
    """Whether this machine has FBGEMM's float16 kernels (x86 with AVX2)."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return False
    return _is_supported(
        lambda matrix: "fbgemm" in torch.backends.quantized.supported_engines and pack_float16(matrix, None)(matrix)
    )


@cache
def can_pack_int8() -> bool:
    """Whether this machine has fast products of 8-bit numbers: those of PyTorch's x86 engine."""
    if not can_pack_float16() or torch.backends.quantized.engine not in ("x86", "fbgemm"):
        return False
    return _is_supported(
        lambda matrix: pack_int8(matrix, None)(matrix).round()
    )  # products of ones and zeros are nearly integers


@cache
def can_pack_float32() -> bool:
    """Whether this PyTorch has oneDNN and its prepacked products."""
    return bool(torch.backends.mkldnn.is_available()) and _is_supported(  # type: ignore[no-untyped-call]
        lambda matrix: pack_float32(matrix, None)(_linear_onednn(matrix, None)(matrix))
    )


def _is_supported(product: Callable[[Tensor], Tensor | bool]) -> bool:
    matrix = torch.eye(8)
    try:
        result = product(matrix)
        return isinstance(result, Tensor) and bool(torch.equal(result, matrix))
    except (RuntimeError, AttributeError, NotImplementedError):
        return False


# ---------------------------------------------------------------- packing a module


class CopyBudget:
    """The packed copies of weights, with a limit on their bytes."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit or 0
        self.remaining_bytes: float = math.inf if limit is None else limit
        self.excess_bytes = 0  # bytes of the copies that did not fit in the limit
        # (packer name, module id) → copy, which steps and passes share if their packer is the same.
        self.packed_modules: dict[tuple[str, int], Linear] = {}

    def choose(self, sizes: Mapping[str, int], *, largest_first: bool) -> set[str]:
        """Choose copies that fit in the limit, and return their paths. `sizes`: path → bytes."""
        paths = set()
        for path in sorted(sizes, key=lambda path: -sizes[path] if largest_first else sizes[path]):
            if sizes[path] <= self.remaining_bytes:
                self.remaining_bytes -= sizes[path]
                paths.add(path)
            else:
                self.excess_bytes += sizes[path]
        return paths


class ModelPacker:
    """Packs a tree of modules.

    Args:
        packer: Format of the packed matrices.
        unused: Name of a module → names of its submodules that are never called.
        copies: Limit and cache of the copies.
        keeps_probes: Whether the packed modules keep their probes.
    """

    def __init__(
        self, packer: Packer, unused: Mapping[str, Sequence[str]], copies: CopyBudget, *, keeps_probes: bool
    ) -> None:
        self.packer = packer
        self.unused = unused
        self.copies = copies
        self.keeps_probes = keeps_probes
        self.copied_paths: set[str] = set()
        self.bytes = 0

    def pack(self, module: nn.Module) -> Any:
        self.plan(module)
        return self.pack_module(module, "")

    def plan(self, module: nn.Module) -> None:
        """Choose the weights to copy; no copy is made yet."""
        candidates = self.candidate_copies(module, "")
        # In a step every byte of a copy saves equal time, so the largest copies are chosen first. In a pass a layer's
        # matrix saves more per byte than the output: with 5 tokens, a layer is 3.5 times as fast, the output 1.8 times.
        self.copied_paths = self.copies.choose(candidates, largest_first=not self.keeps_probes)
        self.bytes = sum(candidates[name] for name in self.copied_paths)

    def candidate_copies(self, module: nn.Module, path: str, without: Sequence[str] = ()) -> dict[str, int]:
        """Return the copies that would be faster than unpacked weights: path → bytes, zero for existing copies.

        `without`: names of submodules to skip.
        """
        sizes: dict[str, int] = {}
        for name, child in module.named_children():
            child_path = f"{path}.{name}"
            if name in without:
                continue
            if not isinstance(child, nn.Linear):
                sizes |= self.candidate_copies(child, child_path, self.unused.get(name, ()))
            elif self._is_worth_packing([child.weight]):
                sizes[child_path] = self._copy_bytes(child, child.weight.numel() * self.packer.entry_bytes)
        if isinstance(module, MultiHeadAttention) and "query" in without:
            weights = [projection.weight for projection in _qkv_projections(module)]
            entry_bytes = self.packer.entry_bytes if self._is_worth_packing(weights) else 4
            sizes[path] = self._copy_bytes(module, entry_bytes * sum(weight.numel() for weight in weights))
        return sizes

    def _is_worth_packing(self, weights: Sequence[Tensor]) -> bool:
        """Whether these weights, joined to one matrix, are worth packing and can be packed."""
        is_large = sum(weight.numel() for weight in weights) >= MIN_PACKED_ENTRIES
        return is_large and all(self.packer.fits(weight.detach()) for weight in weights)

    def _copy_bytes(self, module: nn.Module, size: int) -> int:
        return 0 if (self.packer.name, id(module)) in self.copies.packed_modules else size

    def pack_module(self, module: nn.Module, path: str, without: Sequence[str] = ()) -> Any:
        if isinstance(module, Probe):
            return module if self.keeps_probes else _NoProbe()
        if isinstance(module, nn.Dropout | nn.Identity):
            return _identity
        if isinstance(module, nn.Linear):
            return self.linear(module, path)
        if isinstance(module, nn.LayerNorm):
            return _layer_norm(module)
        if isinstance(module, nn.Embedding):
            return partial(torch.embedding, module.weight.detach())
        if isinstance(module, nn.ModuleList):
            return [self.pack_module(child, f"{path}.{name}") for name, child in module.named_children()]
        is_joint = isinstance(module, MultiHeadAttention) and "query" in without
        if is_joint and path not in self.copied_paths:
            without, is_joint = (), False  # three products with the model's own weights
        packed = _plain_class(type(module))()  # type: ignore[arg-type]
        for name, value in vars(module).items():
            if not name.startswith("_"):
                setattr(packed, name, value)
        for name, tensor in [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]:
            setattr(packed, name, tensor.detach())
        for name, child in module.named_children():
            if name not in without:
                setattr(packed, name, self.pack_module(child, f"{path}.{name}", without=self.unused.get(name, ())))
        if is_joint:
            packed.project_qkv = self.joint_projection(module)
        packed.training = False
        return packed

    def linear(self, module: nn.Linear, path: str) -> Linear:
        if path not in self.copied_paths:
            return unpacked_linear(module.weight.detach(), _detach(module.bias))
        return self._get_or_make(module, lambda: self.packer.pack(module.weight.detach(), _detach(module.bias)))

    def _get_or_make(self, module: nn.Module, make: Callable[[], Linear]) -> Linear:
        key = self.packer.name, id(module)
        if key not in self.copies.packed_modules:
            self.copies.packed_modules[key] = make()
        return self.copies.packed_modules[key]

    def joint_projection(self, module: Any) -> Callable[[Tensor], tuple[Tensor, ...]]:
        """Return a function that computes queries, keys and values in one product."""

        def join() -> Linear:
            projections = _qkv_projections(module)
            biases = [projection.bias.detach() for projection in projections if projection.bias is not None]
            weight = torch.cat([projection.weight.detach() for projection in projections])
            bias = torch.cat(biases) if biases else None
            return self.packer.pack(weight, bias) if self._is_worth_packing([weight]) else unpacked_linear(weight, bias)

        joint = self._get_or_make(module, join)
        heads, width = module.heads, module.head_width

        # [batch, tokens, d_model] → 3 × [batch, heads, tokens, width]
        def project_qkv(x: Tensor) -> tuple[Tensor, ...]:
            batch, tokens, _ = x.shape
            return joint(x).view(batch, tokens, 3, heads, width).permute(2, 0, 3, 1, 4).unbind(0)

        return project_qkv


def _qkv_projections(module: MultiHeadAttention) -> tuple[nn.Linear, nn.Linear, nn.Linear]:
    return module.query, module.key, module.value


def _detach(bias: Tensor | None) -> Tensor | None:
    return None if bias is None else bias.detach()


class _NoProbe:
    """Replaces a probe in a packed step."""

    watched = False

    def __call__(self, value: Tensor) -> Tensor:
        return value


@cache
def _plain_class(kind: type[nn.Module]) -> type:
    """Create a plain class with the methods of a module's class. A call runs `forward`."""
    members: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if base not in (object, nn.Module):
            members |= {name: member for name, member in vars(base).items() if not name.startswith("__")}
    members["__call__"] = members["forward"]
    return type(f"Packed{kind.__name__}", (), members)


def _identity(x: Tensor) -> Tensor:
    return x


# The function behind `F.linear`, without its override check; `F.linear` itself if PyTorch lacks it.
_linear: Callable[..., Tensor] = getattr(getattr(torch._C, "_nn", None), "linear", F.linear)


def _plain_linear(weight: Tensor, bias: Tensor | None, x: Tensor) -> Tensor:
    return _linear(x, weight, bias)


def _linear_float16(kernel: Any, packed: Any, x: Tensor) -> Tensor:
    product: Tensor = kernel(x, packed)
    return product


def _linear_int8(kernel: Any, packed: Any, x: Tensor) -> Tensor:
    product: Tensor = kernel(x, packed, False)
    return product


def _linear_onednn(weight: Tensor, bias: Tensor | None) -> Linear:
    return partial(_linear_float32, _raw_operator(torch.ops.mkldnn._linear_pointwise), weight, bias)


def _linear_float32(kernel: Any, weight: Tensor, bias: Tensor | None, x: Tensor) -> Tensor:
    product: Tensor = kernel(x, weight, bias, "none", [], "")
    return product


def _raw_operator(operator: Any) -> Any:
    """Return the operator without its Python wrapper, which costs 10% of a small product."""
    return getattr(operator.default, "_op", operator)


def _layer_norm(module: nn.LayerNorm) -> Callable[[Tensor], Tensor]:
    shape, epsilon = tuple(module.normalized_shape), module.eps
    weight, bias = module.weight.detach(), module.bias.detach()
    return lambda x: torch.layer_norm(x, shape, weight, bias, epsilon)

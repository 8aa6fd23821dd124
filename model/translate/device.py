"""Choice of a model's device and dtype, with the reason as a sentence.

`HEADLIGHT_DEVICE` (cuda, cuda:1, mps, cpu) and `HEADLIGHT_DTYPE` (float32, bfloat16, float16) override the choice.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch

from headlight.model.errors import DeviceError, NoMemoryError

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
DEVICE_FORM = re.compile(r"cpu|mps|cuda(?::(\d{1,3}))?")

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class DeviceChoice:
    """A device, a dtype, and the reason for this choice as a sentence."""

    device: torch.device
    dtype: torch.dtype
    reason: str


def choose_device(override: str | torch.device | None = None) -> DeviceChoice:
    """Choose the device: `override`, else `HEADLIGHT_DEVICE`, else the first available of CUDA, MPS and CPU."""
    name, origin = str(override or ""), "the device"
    if not name:
        name, origin = os.environ.get("HEADLIGHT_DEVICE", ""), "HEADLIGHT_DEVICE"
    name = name.strip().lower()
    if name:
        device = _parse_device(name, origin)
        cause = f"{origin} {name} was requested" if origin == "the device" else f"{origin} is {name}"
        reason = f"{cause}; using {_describe_device(device)}"
    else:
        device, reason = _best_device()
    if device.type == "cuda":
        choose_kernels()
    dtype, type_reason = _choose_dtype(device)
    return DeviceChoice(device, dtype, f"{reason}; {type_reason}.")


def choose_kernels() -> None:
    """Disable cuDNN's attention kernel: it makes a plan for every new shape, and sentences have hundreds of shapes.

    On an H100, with 12 million parameters, a step of 50,000 tokens took 330 ms with it. Without it, a step of 30,000
    tokens took 70 ms in each of five parallel runs.
    """
    torch.backends.cuda.enable_cudnn_sdp(False)


def _best_device() -> tuple[torch.device, str]:
    if torch.cuda.is_available():
        device = torch.device("cuda", 0)
        return device, f"a CUDA device was found; using {_describe_device(device)}"
    if torch.backends.mps.is_available():
        device = torch.device("mps")
        return device, f"no CUDA device was found; using {_describe_device(device)}"
    device = torch.device("cpu")
    return device, f"no CUDA device was found; using {_describe_device(device)}"


def _parse_device(name: str, origin: str) -> torch.device:
    match = DEVICE_FORM.fullmatch(name)
    if match is None:
        raise DeviceError(f"{origin} is {name!r}, but must be cuda, cuda:1 (or another number), mps or cpu.")
    if name == "mps" and not torch.backends.mps.is_available():
        raise DeviceError(
            f"{origin} is mps, but PyTorch cannot use a GPU with MPS on this machine. Choose cpu, or omit it."
        )
    if not name.startswith("cuda"):
        return torch.device(name)
    if not torch.cuda.is_available():
        cause = (
            "this PyTorch was built without CUDA: install one with it"
            if torch.version.cuda is None and torch.version.hip is None
            else "PyTorch finds no CUDA device: check the driver with nvidia-smi"
        )
        raise DeviceError(f"{origin} is {name}, but {cause}, choose cpu, or omit it.")
    count, index = torch.cuda.device_count(), int(match[1] or 0)
    if index >= count:
        raise DeviceError(
            f"{origin} is {name}, but there are only {count} CUDA device(s), from cuda:0 to cuda:{count - 1}. "
            "Choose one of them."
        )
    return torch.device("cuda", index)


def _describe_device(device: torch.device) -> str:
    if device.type == "cuda":
        return f"{torch.cuda.get_device_name(device)} ({device})"
    if device.type == "mps":
        return "the Mac's GPU"
    threads = torch.get_num_threads()
    return f"the CPU with {threads} thread{'' if threads == 1 else 's'}"


def _choose_dtype(device: torch.device) -> tuple[torch.dtype, str]:
    name = os.environ.get("HEADLIGHT_DTYPE", "").strip().lower()
    if not name:
        return _best_dtype(device)
    if name not in DTYPES:
        raise DeviceError(f"HEADLIGHT_DTYPE is {name!r}, but must be one of: {', '.join(DTYPES)}.")
    if name == "bfloat16" and device.type != "cpu" and not _supports_bfloat16(device):
        raise DeviceError(
            f"HEADLIGHT_DTYPE is bfloat16, which {_describe_device(device)} cannot compute. Choose float16."
        )
    return DTYPES[name], f"HEADLIGHT_DTYPE is {name}"


def _best_dtype(device: torch.device) -> tuple[torch.dtype, str]:
    if device.type == "cuda":
        if _supports_bfloat16(device):
            return torch.bfloat16, "numbers are bfloat16"
        return torch.float16, "numbers are float16, as the device cannot compute bfloat16"
    # MPS uses float32, too, because half precision makes small models little faster.
    return torch.float32, "numbers are float32"


def _supports_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        # torch.cuda.is_bf16_supported would check the current device, and count slow emulation as support.
        return torch.version.hip is not None or torch.cuda.get_device_capability(device) >= (8, 0)
    return bool(torch.backends.mps.is_macos_or_newer(14, 0))


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a device ran out of memory, by PyTorch's exception class or its message."""
    if isinstance(error, torch.OutOfMemoryError):
        return True
    words = ("out of memory", "_STATUS_ALLOC_FAILED", "not enough memory", "can't allocate memory")
    return isinstance(error, RuntimeError) and any(word in str(error) for word in words)


def in_smaller_batches(run: Callable[[Sequence[Item]], list[Result]], items: Sequence[Item]) -> list[Result]:
    """Run all items at once. If the device runs out of memory, retry in batches of half the size, a quarter, …"""
    results: list[Result] = []
    start, size = 0, len(items)
    while start < len(items):
        batch = items[start : start + size]
        failure = None
        try:
            results += run(batch)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            failure = str(error).partition("\n")[0]
        # Retry outside the `except` block, because the exception references the tensors of the failed run.
        if failure is None:
            start += len(batch)
            continue
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        if len(batch) == 1:
            raise NoMemoryError(f"HEADLIGHT_DEVICE=cpu avoids the device; PyTorch: {failure}")
        size = (len(batch) + 1) // 2
    return results

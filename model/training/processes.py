"""Device, precision and processes of a run."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache

import torch
import torch.distributed as dist

from headlight.model.errors import TrainingError
from headlight.model.translate.device import choose_kernels

PRECISIONS = ("auto", "float32", "bfloat16")
# Maximum time of a bfloat16 product relative to float32. Conversions take a part of the gain.
MAX_TIME_RATIO = 0.8


@dataclass(frozen=True)
class Processes:
    """Rank of this process and number of processes. Each process computes every `world`-th row of every batch."""

    rank: int = 0
    world: int = 1  # number of processes
    local_rank: int = 0  # rank among the processes of this machine

    @property
    def first(self) -> bool:
        """Whether this process writes, validates and reports."""
        return self.rank == 0

    def any_process(self, flag: bool) -> bool:
        """Whether the flag is set in any process; all processes get the same result."""
        if self.world == 1:
            return flag
        votes = torch.tensor([int(flag)])
        if dist.get_backend() == "nccl":
            votes = votes.cuda()
        dist.all_reduce(votes, op=dist.ReduceOp.MAX)
        return bool(votes.item())

    def barrier(self) -> None:
        """Wait until all processes have called this method."""
        if self.world > 1:
            dist.barrier()


@contextmanager
def join_process_group() -> Iterator[Processes]:
    """Join the process group of `torchrun` inside the `with` block. Without `torchrun`, there is one process."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        yield Processes()
        return
    processes = Processes(int(os.environ["RANK"]), world, int(os.environ.get("LOCAL_RANK", "0")))
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(processes.local_rank)
    dist.init_process_group("nccl" if cuda else "gloo")
    try:
        yield processes
    finally:
        dist.destroy_process_group()


def choose_device(name: str, processes: Processes) -> torch.device:
    """Return the device of this process. "auto" is its GPU, or the CPU if there is none."""
    if name == "auto":
        name = f"cuda:{processes.local_rank}" if torch.cuda.is_available() else "cpu"
    device = torch.device(name)
    if device.type == "cuda":
        if not torch.cuda.is_available():
            raise TrainingError(f"--device {name}: this PyTorch finds no GPU. Omit --device to train on the CPU.")
        choose_kernels()
        torch.set_float32_matmul_precision("high")  # TF32 for products that are not bfloat16
    return device


@cache
def bfloat16_is_faster(device: torch.device) -> bool:
    """Whether the device multiplies bfloat16 matrices clearly faster than float32.

    Processors with hardware support differ: some with AVX512-BF16, but without AMX, take nearly twice as long as in
    float32. A product is therefore timed in both formats, which takes some hundredths of a second.
    """
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    checks = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    if device.type != "cpu" or not any(bool(getattr(torch.cpu, name, bool)()) for name in checks):
        return False
    return measure_matmul_seconds(torch.bfloat16) < MAX_TIME_RATIO * measure_matmul_seconds(torch.float32)


def measure_matmul_seconds(kind: torch.dtype) -> float:
    """Return the minimum time of a matrix product of feed-forward size on this CPU."""
    tokens, weight = torch.ones(1024, 256, dtype=kind), torch.ones(256, 1024, dtype=kind)
    times = []
    for _ in range(6):  # the first product also creates its kernel
        started = time.perf_counter()
        tokens @ weight
        times.append(time.perf_counter() - started)
    return min(times)


def autocast(device: torch.device, precision: str) -> AbstractContextManager[object]:
    """Return a context in which matrix products have this precision, one of `PRECISIONS`."""
    if precision not in PRECISIONS:
        raise TrainingError(f"--precision is {precision!r}, but must be one of: {', '.join(PRECISIONS)}.")
    if precision == "bfloat16" or (precision == "auto" and bfloat16_is_faster(device)):
        return torch.autocast(device.type, torch.bfloat16)
    return nullcontext()

"""Decoding on a GPU in bfloat16."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from workshop.benchmarks import decode
from workshop.benchmarks.engines import GPU_ENGINES
from workshop.benchmarks.shapes import Case


def measure(cases: Sequence[Case], repetitions: int, threads: int, log: Callable[[str], None]) -> dict[str, Any]:
    """Measure Headlight and `transformers`; without a GPU, return only the reason for its absence."""
    if not torch.cuda.is_available():
        return {"absence": "There was no GPU on this machine."}
    result = decode.measure(cases, GPU_ENGINES, repetitions, threads, log)
    return result | {"device": torch.cuda.get_device_name(0)}

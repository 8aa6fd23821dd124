"""Engines of the comparison: one module per engine, which a separate process loads.

An engine loads a model folder and returns, for a workload, its jobs by row name: the functions to time.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

Job = Callable[[], list[list[int]]]  # runs the workload and returns the tokens of each sentence


@dataclass(frozen=True)
class Workload:
    """A batch of sentences; each output has as many tokens as its input."""

    ids: list[list[int]]  # source ids, with the end token
    texts: list[str]  # the same sentences as text
    length: int  # tokens to generate


class Engine(Protocol):
    """A loaded model."""

    def jobs(self, work: Workload) -> dict[str, Job]:
        """Return the jobs to time for a workload, by row name."""


@dataclass(frozen=True)
class EngineSpec:
    """The module and options of one engine."""

    module: str  # defines `load(folder, *, threads, **options) -> Engine`
    package: str = ""  # an optional package that the engine needs
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def unavailable_reason(self) -> str:
        """Why the engine cannot run here; empty if it can."""
        if self.package and importlib.util.find_spec(self.package) is None:
            return f"{self.package} is not installed (pip install -r requirements-bench.txt)"
        return ""

    def load(self, folder: Path, threads: int) -> Engine:
        """Load the engine with the model of a folder."""
        options = {"threads": threads} | self.options
        engine: Engine = importlib.import_module(self.module).load(folder, **options)
        return engine


MARIAN, TUTORIAL = "workshop.benchmarks.engines.marian", "workshop.benchmarks.engines.tutorial"
CTRANSLATE, HEADLIGHT = "workshop.benchmarks.engines.ctranslate", "workshop.benchmarks.engines.headlight"

CPU_ENGINES = {
    "transformers": EngineSpec(MARIAN, package="transformers"),
    "tutorial": EngineSpec(TUTORIAL),
    "ctranslate2": EngineSpec(CTRANSLATE, package="ctranslate2"),
    "ctranslate2-int8": EngineSpec(
        CTRANSLATE, package="ctranslate2", options={"row": "ctranslate2-int8", "compute_type": "int8"}
    ),
    "headlight": EngineSpec(HEADLIGHT),
    "headlight-float32": EngineSpec(HEADLIGHT, options={"row": "headlight-float32", "step_weights": "float32"}),
}
GPU_ENGINES = {
    "transformers": EngineSpec(MARIAN, package="transformers", options={"device": "cuda", "dtype": "bfloat16"}),
    "headlight": EngineSpec(HEADLIGHT, options={"device": "cuda", "dtype": "bfloat16"}),
}

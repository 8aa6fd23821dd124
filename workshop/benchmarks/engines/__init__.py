"""Engines to compare with: one module each, loaded in its own process.

Every engine takes a model folder and work, and returns jobs by row name: the timed functions, without arguments.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

Job = Callable[[], list[list[int]]]  # does the work, and gives the tokens of each sentence


@dataclass(frozen=True)
class Workload:
    """A batch of sentences; each output has as many tokens as its input."""

    ids: list[list[int]]  # with the end token
    texts: list[str]  # the same
    length: int  # tokens to write


class Engine(Protocol):
    """A loaded model that can be set to work."""

    def jobs(self, work: Workload) -> dict[str, Job]:
        """By the name of their row, everything to time for this work."""


@dataclass(frozen=True)
class EngineSpec:
    """How one engine is started."""

    module: str  # has `load(folder, *, threads, **options) -> Engine`
    package: str = ""  # a package that may be absent
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def unavailable_reason(self) -> str:
        """Why it cannot run here; empty if it can."""
        if self.package and importlib.util.find_spec(self.package) is None:
            return f"{self.package} is not installed (pip install -r requirements-bench.txt)"
        return ""

    def load(self, folder: Path, threads: int) -> Engine:
        """The engine with the model of this folder."""
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

"""Memory while a model loads: the peak relative to its weights, and the bytes that the fast path copies.

The first model of a process also loads libraries and compiles code. Each model is therefore loaded twice: as the first
model, and after a tiny model.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headlight.model.checkpoints.checkpoint import save_checkpoint
from headlight.model.checkpoints.shipped import ASSETS
from workshop.benchmarks.random_models import make_random_model, train_random_tokenizer
from workshop.benchmarks.shapes import Shape
from workshop.benchmarks.worker import Worker

TINY = ASSETS / "models" / "toy"
STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def measure(shapes: Sequence[Shape]) -> dict[str, Any]:
    """Measure each shape, stored in float16 like the shipped models and loaded on the CPU in a new process."""
    if not RESET.exists():
        return {"absence": "Only Linux tells a process its peak of memory since a given moment."}
    models = []
    for shape in shapes:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / shape.name
            tokenizer = train_random_tokenizer(shape.vocabulary)
            save_checkpoint(folder, make_random_model(shape.config), tokenizer, tokenizer)
            with Worker(LoadBenchmark) as worker:
                first = worker.call("load", folder)
            with Worker(LoadBenchmark) as worker:
                worker.call("load", TINY)
                second = worker.call("load", folder)
            fresh = first["peak"] - first["before"]
            models.append({"name": shape.name, "shape": shape.words, "fresh": fresh} | second)
    return {"models": models}


class LoadBenchmark:
    """A process that has imported all libraries but loaded no model yet."""

    def __init__(self) -> None:
        from headlight.model.translate.packed_model import can_pack_float16
        from headlight.model.translate.translator import Translator

        can_pack_float16()  # excludes the memory of the kernels from the measurement
        self.translator: Translator | None = None

    def load(self, folder: Path) -> dict[str, int]:
        """Load a folder and translate a sentence. Return bytes before, at the peak and after, and of the weights."""
        from headlight.model.translate.translator import Translator

        before = _memory("VmRSS")
        RESET.write_text("5")  # reset the peak
        self.translator = Translator.load(folder, device="cpu")
        self.translator.translate("a", max_length=20)
        return {
            "before": before,
            "peak": _memory("VmHWM"),
            "after": _memory("VmRSS"),
            "weights": self.translator.weight_bytes,
            "copied": self.translator.copied_bytes,
        }


def _memory(field: str) -> int:
    """Return a memory counter of this process in bytes."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(f"{field}:"))
    return 1024 * int(line.split()[1])

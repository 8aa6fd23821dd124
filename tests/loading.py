"""Measure the peak memory of loading a model in a separate process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

MEASURE = """
import gc, sys
from pathlib import Path
from headlight.model.families.loading import load_checkpoint
from headlight.model.core.transformer import count_bytes

def status(field):  # bytes
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))

load_checkpoint(sys.argv[1])  # load a small model first: memory of the libraries does not count
for folder in sys.argv[2:]:
    gc.collect()
    try:
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak; on failure the measured peak is only higher
    except OSError:
        pass
    before = status("VmRSS")
    model = load_checkpoint(folder).model
    print(count_bytes(model), status("VmHWM") - before, before)
    del model
assert "torch._dynamo" not in sys.modules, "loading must not load the compiler: it takes a second"
"""

TRANSLATE = """
import sys
from pathlib import Path
from headlight.model.translate import prepared
from headlight.model.translate.translator import Translator

def status(field):  # bytes
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))

small, folder, prepared.ALWAYS = sys.argv[1], sys.argv[2], int(sys.argv[3])
Translator.load(small, device="cpu").translate("a")  # memory of the libraries does not count
try:
    Path("/proc/self/clear_refs").write_text("5")
except OSError:
    pass
before = status("VmRSS")
translator = Translator.load(folder, device="cpu")
translator.translate("a", max_length=3)
print(translator.weight_bytes - translator.copied_bytes, status("VmHWM") - before, translator.copied_bytes)
"""

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the peak of memory is read from Linux's /proc"
)


class Load(NamedTuple):
    """Bytes of one model: its weights, the growth of the process at its peak, and its size before."""

    weights: int
    peak: int
    before: int


def measure_loading(small: Path, folders: Sequence[Path]) -> list[Load]:
    """Load the models one after the other in one process, after a small model that does not count."""
    return [Load(*numbers) for numbers in _run_program(MEASURE, small, *folders)]


class Use(NamedTuple):
    """Bytes of a model in use: its weights, the growth of the process at its peak, and its packed copies."""

    weights: int
    peak: int
    copies: int


def measure_use(small: Path, folder: Path, always: int) -> Use:
    """Load a translator and translate one word; `always` is the number of bytes that any model's copies may use."""
    return Use(*_run_program(TRANSLATE, small, folder, always)[0])


def _run_program(program: str, *arguments: object) -> list[list[int]]:
    # With a fixed threshold, malloc returns large blocks to the system: no load reuses memory of the previous one.
    result = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        check=True, capture_output=True, text=True, env={"MALLOC_MMAP_THRESHOLD_": "65536", "PYTHONPATH": "."},
    )  # fmt: skip
    return [list(map(int, line.split())) for line in result.stdout.splitlines()]

"""The peak of memory while models load, in a process of its own."""

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

load_checkpoint(sys.argv[1])  # a small one first: what libraries take for themselves is not the model's
for folder in sys.argv[2:]:
    gc.collect()
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew; elsewhere it only looks higher
    except OSError:
        pass
    before = status("VmRSS")
    model = load_checkpoint(folder).model
    print(count_bytes(model), status("VmHWM") - before, before)
    del model
assert "torch._dynamo" not in sys.modules, "loading must not load the compiler: it takes a second"
"""

PUT_TO_USE = """
import sys
from pathlib import Path
from headlight.model.translate import prepared
from headlight.model.translate.translator import Translator

def status(field):  # bytes
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))

small, folder, prepared.ALWAYS = sys.argv[1], sys.argv[2], int(sys.argv[3])
Translator.load(small, device="cpu").translate("a")  # what libraries take for themselves is not the model's
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
    """Bytes of one model: its weights, how much the process grew at the peak, what it held before."""

    weights: int
    peak: int
    before: int


def measure_loading(small: Path, folders: Sequence[Path]) -> list[Load]:
    """One after the other in one process, after a small one that does not count."""
    return [Load(*numbers) for numbers in _measured(MEASURE, small, *folders)]


class Use(NamedTuple):
    """Bytes of a model put to use: its own weights, how much the process grew at the peak, the copies it made."""

    weights: int
    peak: int
    copies: int


def measure_use(small: Path, folder: Path, always: int) -> Use:
    """A translator is loaded and writes a word; `always`: bytes that copies may take of any model."""
    return Use(*_measured(PUT_TO_USE, small, folder, always)[0])


def _measured(program: str, *arguments: object) -> list[list[int]]:
    # A fixed threshold makes malloc give large blocks back at once, so that one load does not use what another left.
    result = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        check=True, capture_output=True, text=True, env={"MALLOC_MMAP_THRESHOLD_": "65536", "PYTHONPATH": "."},
    )  # fmt: skip
    return [list(map(int, line.split())) for line in result.stdout.splitlines()]

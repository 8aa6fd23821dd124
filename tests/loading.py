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
from model.checkpoint import load_checkpoint
from model.transformer import count_bytes

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
    # A fixed threshold makes malloc give large blocks back at once, so that one load does not use what another left.
    result = subprocess.run(
        [sys.executable, "-c", MEASURE, str(small), *map(str, folders)],
        check=True, capture_output=True, text=True, env={"MALLOC_MMAP_THRESHOLD_": "65536", "PYTHONPATH": "."},
    )  # fmt: skip
    return [Load(*map(int, line.split())) for line in result.stdout.splitlines()]

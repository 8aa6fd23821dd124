"""Description of the machine, package versions and command."""

from __future__ import annotations

import os
import platform
import time
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = ("torch", "transformers", "ctranslate2", "tokenizers", "numpy")
MAX_BUSY_CORES = 0.3  # cores busy with other processes, above which measurements are approximate
SAMPLE_SECONDS = 1.0


def describe_environment(date: str, command: str) -> dict[str, Any]:
    """Return the facts that are needed to reproduce a run."""
    return {
        "date": date,
        "command": command,
        "processor": _read_cpu_name(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory": _read_memory_size(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {"Python": platform.python_version()} | _read_versions(),
        "load": measure_busy_cores(),
    }


def _read_cpu_name() -> str:
    """Return the name of the CPU and the widest instruction set that PyTorch uses on it."""
    import torch

    name = platform.processor() or platform.machine()
    path = Path("/proc/cpuinfo")
    if path.exists():
        lines_by_key = dict(
            line.split(":", 1) for line in path.read_text().split("\n\n")[0].splitlines() if ":" in line
        )
        values = {key.strip(): value.strip() for key, value in lines_by_key.items()}
        model = f"family {values.get('cpu family', '?')}, model {values.get('model', '?')}"
        name = f"{values.get('model name', name)} ({model})"
    return f"{name}, {torch.backends.cpu.get_cpu_capability()}"


def measure_busy_cores() -> float | None:
    """Return the number of cores busy with other processes. The load average would include processes that ended."""
    path = Path("/proc/stat")
    if not path.exists():
        return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None

    def ticks() -> tuple[int, int]:  # idle, all: user nice system idle iowait irq softirq steal
        fields = [int(field) for field in path.read_text().splitlines()[0].split()[1:9]]
        return fields[3] + fields[4], sum(fields)

    (idle_before, all_before), _, (idle_after, all_after) = ticks(), time.sleep(SAMPLE_SECONDS), ticks()
    share = 1 - (idle_after - idle_before) / max(1, all_after - all_before)
    return round(share * (os.cpu_count() or 1), 2)


def _read_memory_size() -> str:
    if not hasattr(os, "sysconf"):
        return "unknown"
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"


def _read_versions() -> dict[str, str]:
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "absent"
    return versions

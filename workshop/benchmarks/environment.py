"""Describes the machine, package versions and command."""

from __future__ import annotations

import os
import platform
import time
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = ("torch", "transformers", "ctranslate2", "tokenizers", "numpy")
MAX_BUSY_CORES = 0.3  # cores at work for others before we begin: above this, numbers are rough
SAMPLE_SECONDS = 1.0  # seconds


def describe_environment(date: str, command: str) -> dict[str, Any]:
    """Everything needed to reproduce the run."""
    return {
        "date": date,
        "command": command,
        "processor": _cpu_name(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {"Python": platform.python_version()} | _versions(),
        "load": busy_cores(),
    }


def _cpu_name() -> str:
    """Its name, and the widest instructions that PyTorch uses on it."""
    import torch

    name = platform.processor() or platform.machine()
    path = Path("/proc/cpuinfo")
    if path.exists():
        fields = dict(line.split(":", 1) for line in path.read_text().split("\n\n")[0].splitlines() if ":" in line)
        values = {key.strip(): value.strip() for key, value in fields.items()}
        model = f"family {values.get('cpu family', '?')}, model {values.get('model', '?')}"
        name = f"{values.get('model name', name)} ({model})"
    return f"{name}, {torch.backends.cpu.get_cpu_capability()}"


def busy_cores() -> float | None:
    """Number of cores busy with other processes. (The load average still counts what ended a minute ago.)"""
    path = Path("/proc/stat")
    if not path.exists():
        return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None

    def ticks() -> tuple[int, int]:  # idle, all: user nice system idle iowait irq softirq steal
        fields = [int(field) for field in path.read_text().splitlines()[0].split()[1:9]]
        return fields[3] + fields[4], sum(fields)

    (idle_before, all_before), _, (idle, whole) = ticks(), time.sleep(SAMPLE_SECONDS), ticks()
    share = 1 - (idle - idle_before) / max(1, whole - all_before)
    return round(share * (os.cpu_count() or 1), 2)


def _memory() -> str:
    if not hasattr(os, "sysconf"):
        return "unknown"
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"


def _versions() -> dict[str, str]:
    results = {}
    for name in PACKAGES:
        try:
            results[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            results[name] = "absent"
    return results

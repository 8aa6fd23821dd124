"""CPU seconds of each test, including its processes and browser; the slowest are listed at the end.

This number decides the tier of a test, because wall time depends mostly on the load of the machine.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

LIST_LENGTH = 5
PROC = Path("/proc")


def processes_below(pid: int) -> Iterator[int]:
    """The descendants of a process."""
    for children in PROC.glob(f"{pid}/task/*/children"):
        try:
            pids = children.read_text(encoding="ascii").split()
        except OSError:  # the process has ended
            continue
        for child in map(int, pids):
            yield child
            yield from processes_below(child)


def cpu_seconds() -> float:
    """CPU seconds of this process, of its finished children and, on Linux, of its running descendants."""
    times = os.times()
    total = sum(times[:4])
    ticks = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
    for pid in processes_below(os.getpid()):
        try:
            fields = (PROC / str(pid) / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15])) / ticks  # of the process and its finished children
    return total


class CpuSeconds:
    """The pytest plugin. Workers measure; the main process sums and prints."""

    def __init__(self, config: pytest.Config) -> None:
        printing = not hasattr(config, "workerinput")
        self.output = config.getoption("--cpu-seconds") if printing else None
        self.totals: dict[str, float] = defaultdict(float)
        self.before = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, Any, Any]:
        self.before = cpu_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        report = yield
        now = cpu_seconds()
        report.cpu_seconds, self.before = (
            max(0.0, now - self.before),
            now,
        )  # never negative: a process may end between two measurements
        return report

    def pytest_runtest_logreport(self, report: Any) -> None:
        seconds = getattr(report, "cpu_seconds", 0.0)  # a worker that crashed reports none
        self.totals[report.nodeid] += seconds
        if self.output:
            with Path(self.output).open("a", encoding="utf-8") as file:
                file.write(f"{report.nodeid}\t{report.when}\t{seconds:.2f}\n")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.section(
            f"slowest {LIST_LENGTH} of {len(self.totals)}: {sum(self.totals.values()):.0f} CPU seconds"
        )
        for nodeid in sorted(self.totals, key=self.totals.__getitem__, reverse=True)[:LIST_LENGTH]:
            terminalreporter.line(f"{self.totals[nodeid]:7.1f} s  {nodeid}")

"""A separate process per engine: loaded once, then idle until it is called.

    with Worker(DecodingEngine, entry, folder) as worker:
        worker.ask("prepare", "one sentence", work)

The object lives in the other process; `ask` calls a method of it there.
"""

from __future__ import annotations

import gc
import multiprocessing
import statistics
import time
import traceback
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from workshop.benchmarks.engines import EngineSpec, Job, Workload

MIN_TIMED_SECONDS = 0.1  # short jobs are repeated for this time; the median counts as one measurement


class WorkerError(RuntimeError):
    """Something failed in the other process; its traceback is the message."""


class Worker:
    """Parent side: one call at a time; the child is idle in between."""

    def __init__(self, make: Callable[..., Any], *arguments: Any) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would inherit the locks of our threads
        self._connection, far_end = context.Pipe()
        self._process = context.Process(target=_serve, args=(far_end, make, arguments), daemon=True)
        self._process.start()
        far_end.close()
        try:
            self._answer()  # made
        except WorkerError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def call(self, method: str, *arguments: Any) -> Any:
        """Call a method of the remote object and wait for its result."""
        self._connection.send((method, arguments))
        return self._answer()

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        self._process.join(timeout=10)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _answer(self) -> Any:
        try:
            fine, answer = self._connection.recv()
        except EOFError as error:
            raise WorkerError("A worker's process died, perhaps for want of memory.") from error
        if not fine:
            raise WorkerError(answer)
        return answer


def _serve(connection: Connection, make: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Child side: create the object and serve calls until the pipe closes."""
    made: list[Any] = []

    def answer(do: Callable[[], Any]) -> None:
        try:
            reply = True, do()
        except Exception:  # the near end shall know whatever it was
            reply = False, traceback.format_exc()
        connection.send(reply)

    try:
        answer(lambda: made.append(make(*arguments)))
        while made:
            method, value = connection.recv()
            answer(partial(getattr(made[0], method), *value))
    except (EOFError, BrokenPipeError):
        return  # the near end is gone


class DecodingEngine:
    """One engine in its process: jobs are prepared once, then timed whenever their turn comes."""

    def __init__(self, entry: EngineSpec, folder: Path, threads: int) -> None:
        self._engine = entry.load(folder, threads)
        self._jobs: dict[tuple[str, str], Job] = {}

    def prepare(self, case: str, work: Workload) -> dict[str, list[list[int]]]:
        """Create the jobs of this work, run each once, and return their outputs by row."""
        jobs = self._engine.jobs(work)
        self._jobs |= {(case, row): job for row, job in jobs.items()}
        return {row: job() for row, job in jobs.items()}

    def time(self, case: str, row: str) -> float:
        """Seconds of one run: one measurement."""
        return stopwatch(self._jobs[case, row])


def stopwatch(job: Callable[[], Any], at_least: float = MIN_TIMED_SECONDS) -> float:
    """Seconds of one run: the median of as many as fit into a moment, after one that does not count."""
    job()
    runs: list[float] = []
    gc.collect()
    gc.disable()
    try:
        while sum(runs) < at_least:
            start = time.perf_counter()
            job()
            runs.append(time.perf_counter() - start)
    finally:
        gc.enable()
    return statistics.median(runs)

"""A process per engine: it loads the engine once and then serves calls.

    with Worker(DecodingEngine, entry, folder, threads) as worker:
        worker.call("prepare", "one sentence", work)

The worker's process creates the object, and `call` runs a method of the object there.
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

MIN_TIMED_SECONDS = 0.1  # a short job is repeated for this time, and its median is one measurement


class WorkerError(RuntimeError):
    """A failure in the worker's process, with its traceback as the message."""


class Worker:
    """The parent's side of a worker. It runs one call at a time."""

    def __init__(self, make: Callable[..., Any], *arguments: Any) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would inherit locks of the parent's threads
        self._connection, child_connection = context.Pipe()
        self._process = context.Process(target=_serve, args=(child_connection, make, arguments), daemon=True)
        self._process.start()
        child_connection.close()
        try:
            self._answer()  # the object exists
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
        """Stop the process."""
        self._connection.close()
        self._process.join(timeout=10)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _answer(self) -> Any:
        try:
            succeeded, answer = self._connection.recv()
        except EOFError as error:
            raise WorkerError("A worker process exited, possibly because memory ran out.") from error
        if not succeeded:
            raise WorkerError(answer)
        return answer


def _serve(connection: Connection, make: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Create the object in the worker's process and serve calls until the pipe closes."""
    instances: list[Any] = []

    def answer(do: Callable[[], Any]) -> None:
        try:
            reply = True, do()
        except Exception:  # the parent raises any error
            reply = False, traceback.format_exc()
        connection.send(reply)

    try:
        answer(lambda: instances.append(make(*arguments)))
        while instances:
            method, method_arguments = connection.recv()
            answer(partial(getattr(instances[0], method), *method_arguments))
    except (EOFError, BrokenPipeError):
        return  # the parent has exited


class DecodingEngine:
    """One engine in a worker's process. It prepares jobs once and times them on request."""

    def __init__(self, entry: EngineSpec, folder: Path, threads: int) -> None:
        self._engine = entry.load(folder, threads)
        self._jobs: dict[tuple[str, str], Job] = {}

    def prepare(self, case: str, work: Workload) -> dict[str, list[list[int]]]:
        """Create the jobs of a workload, run each once, and return their outputs by row."""
        jobs = self._engine.jobs(work)
        self._jobs |= {(case, row): job for row, job in jobs.items()}
        return {row: job() for row, job in jobs.items()}

    def time(self, case: str, row: str) -> float:
        """Return the seconds of one measurement."""
        return time_job(self._jobs[case, row])


def time_job(job: Callable[[], Any], at_least: float = MIN_TIMED_SECONDS) -> float:
    """Return the median seconds of a run, over as many runs as fit into `at_least` seconds, after a warm-up run."""
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

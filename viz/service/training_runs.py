"""Training runs of visitors, each in a separate process. A queue limits the parallel runs.

A run ends when its visitor stops it, starts another one, disconnects, or does not poll for `ABANDONED_AFTER_SECONDS`.
Slots are shared by session, not by address, because a class may have one address. The child process exits at the end of
its input, which the system closes if this process dies, so no run outlives the server.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Condition, Thread
from typing import Any

from headlight.viz.errors import PageError
from headlight.viz.service.import_path import python_path
from headlight.viz.service.request_queue import RequestQueue, Ticket, Visitor

MAX_RUNNING = 1  # parallel runs; the server's two cores also translate
MAX_WAITING = 64  # waiting runs, each with a thread; one address, for example of a class, may have half of them
ABANDONED_AFTER_SECONDS = 10.0  # seconds without a poll; hidden pages poll once a second
POLL_SECONDS = 0.2  # seconds between two checks of whether a run must end
MAX_RUN_SECONDS = 180.0  # runs have the lowest priority; on an idle machine a run takes 2 to 12 s
MAX_RESULT_BYTES = 8_000_000  # messages of one run; the largest run sends a third of it
COMMAND = (sys.executable, "-P", "-m", "headlight.model.training.live_run_process")

LOG = logging.getLogger(__name__)


class TrainingRun:
    """A visitor's training run and its messages so far. `settings`: of one model, or of two trained in parallel."""

    def __init__(self, visitor: Visitor, settings: Sequence[Mapping[str, Any]], ticket: Ticket, now: float) -> None:
        self.name = secrets.token_urlsafe(12)  # the browser polls with it
        self.visitor, self.settings = visitor, settings
        self.polled_at = now
        self.messages: list[Any] = []
        self.is_over = self.is_stopped = False
        self.ticket = ticket

    def mark_stopped(self) -> None:
        """Mark the run as stopped, so that its thread ends the process."""
        self.is_stopped = True


class TrainingRunPool:
    """All runs. Thread-safe."""

    def __init__(
        self,
        *,
        slots: int = MAX_RUNNING,
        max_waiting: int = MAX_WAITING,
        command: Sequence[str] = COMMAND,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.queue = RequestQueue(slots, max_waiting, by_session=True)
        self.command, self.clock = tuple(command), clock
        self._runs: dict[str, TrainingRun] = {}
        self._changed = Condition()

    def start(self, visitor: Visitor, settings: Sequence[Mapping[str, Any]]) -> TrainingRun:
        """Enqueue a run and stop the visitor's previous one. Raises `PageError` if the queue is full."""
        self.stop_all(visitor)
        try:
            ticket = self.queue.enqueue(visitor)
        except PageError as error:
            if error.word != "line_full":
                raise
            raise PageError("data", "training_full", error.values) from error
        run = TrainingRun(visitor, settings, ticket, self.clock())
        with self._changed:
            self._runs[run.name] = run
        Thread(target=self._run_in_turn, args=(run,), daemon=True).start()
        return run

    def poll(self, visitor: Visitor, name: Any, seen: int) -> dict[str, Any]:
        """Return the messages after the first `seen`, and the position in the queue."""
        with self._changed:
            run = self._runs.get(name) if isinstance(name, str) else None
            if run is None or run.visitor != visitor:
                raise PageError("data", "training_gone")
            run.polled_at = self.clock()
            messages = run.messages[seen:]
            if run.is_over and seen + len(messages) == len(run.messages):
                del self._runs[run.name]  # the visitor has received all messages
            return {"before": run.ticket.position(), "messages": messages, "over": run.is_over}

    def stop(self, visitor: Visitor, name: Any) -> None:
        """Stop the visitor's run of this name, if it still exists."""
        self._stop_runs(lambda run: run.visitor == visitor and run.name == name)

    def stop_all(self, visitor: Visitor) -> None:
        """Stop all runs of a visitor who has disconnected or starts another run."""
        self._stop_runs(lambda run: run.visitor == visitor)

    def count(self) -> int:
        """Return the number of runs that wait, run, or have messages left to fetch."""
        with self._changed:
            return len(self._runs)

    def wait_for(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait until a condition is true or `seconds` have passed; return its value."""
        with self._changed:
            return self._changed.wait_for(condition, seconds)

    # ------------------------------------------------------------ one thread per run

    def _run_in_turn(self, run: TrainingRun) -> None:
        try:
            with run.ticket:
                while not run.ticket.wait(POLL_SECONDS):
                    if self._should_stop(run):
                        return
                if not self._should_stop(run):
                    self._run(run)
        except Exception:
            LOG.exception("A training run failed.")
            self._append_message(run, {"what": "failed"})
        finally:
            self._finish(run)

    def _run(self, run: TrainingRun) -> None:
        try:
            process = self._start()
        except OSError:
            LOG.exception("No process can be started to train in.")
            self._append_message(run, {"what": "no_process"})
            return
        reader = Thread(target=self._read, args=(run, process), daemon=True)
        reader.start()
        try:
            with process:
                try:
                    self._watch_process(run, process, reader)
                finally:
                    process.kill()
                    reader.join()
        except BrokenPipeError:
            LOG.warning("The process of a training run ended before it began.")
        if not run.is_stopped and not (run.messages and run.messages[-1]["what"] == "done"):
            self._append_message(run, {"what": "failed"})

    def _watch_process(self, run: TrainingRun, process: subprocess.Popen[bytes], reader: Thread) -> None:
        """Send the settings and wait until the process has finished or must end."""
        deadline = self.clock() + MAX_RUN_SECONDS
        assert process.stdin is not None  # noqa: S101 - it is a pipe
        process.stdin.write(json.dumps(list(run.settings)).encode() + b"\n")
        process.stdin.flush()
        while reader.is_alive() and not self._should_stop(run) and self.clock() < deadline:
            reader.join(POLL_SECONDS)

    def _start(self) -> subprocess.Popen[bytes]:
        # The GPU is reserved for translations.
        overrides = {"PYTHONPATH": python_path(), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        return subprocess.Popen(  # noqa: S603 - our own module, without user input
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **overrides},
            creationflags=getattr(subprocess, "IDLE_PRIORITY_CLASS", 0),  # Windows has no niceness
        )

    def _read(self, run: TrainingRun, process: subprocess.Popen[bytes]) -> None:
        size = 0
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        for line in process.stdout:
            size += len(line)
            if size > MAX_RESULT_BYTES:
                return
            try:
                self._append_message(run, json.loads(line))
            except ValueError:
                LOG.warning("A training run sent a line that is not JSON.")
                return

    def _append_message(self, run: TrainingRun, message: Any) -> None:
        with self._changed:
            run.messages.append(message)
            self._changed.notify_all()

    def _should_stop(self, run: TrainingRun) -> bool:
        return run.is_stopped or self.clock() - run.polled_at > ABANDONED_AFTER_SECONDS

    def _finish(self, run: TrainingRun) -> None:
        with self._changed:
            run.is_over = True
            if self._should_stop(run):
                self._runs.pop(run.name, None)
            for abandoned in [
                candidate for candidate in self._runs.values() if candidate.is_over and self._should_stop(candidate)
            ]:
                del self._runs[abandoned.name]  # the visitor left without fetching the last messages
            self._changed.notify_all()

    def _stop_runs(self, matches: Callable[[TrainingRun], bool]) -> None:
        with self._changed:
            for run in [candidate for candidate in self._runs.values() if matches(candidate)]:
                run.mark_stopped()
                if run.is_over:
                    del self._runs[run.name]

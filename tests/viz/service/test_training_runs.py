"""Training runs in separate processes that end with the visitor, the run or the page, and their queue."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headlight.viz.errors import PageError
from headlight.viz.service import training_runs
from headlight.viz.service.request_queue import Visitor
from headlight.viz.service.training_runs import ABANDONED_AFTER_SECONDS, MAX_RESULT_BYTES, TrainingRun, TrainingRunPool

ANNA, BEN = Visitor("203.0.113.1", "anna"), Visitor("203.0.113.2", "ben")
TIMEOUT_SECONDS = 240.0  # long, because training processes have the lowest priority
TOY = [{"corpus": "toy"}]
# Prints one message, then waits for the end of its input, as the real process does.
WAITING_SCRIPT = (
    "import sys, json; sys.stdin.readline(); print(json.dumps({'what': 'begun'}), flush=True); sys.stdin.read()"
)
FINISHING_SCRIPT = (
    'import sys; sys.stdin.readline(); print(\'{"what": "begun"}\'); print(\'{"what": "done"}\', flush=True)'
)


class Clock:
    """Seconds that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def run_pool(script: str, clock: Clock, **options: Any) -> TrainingRunPool:
    return TrainingRunPool(command=(sys.executable, "-c", script), clock=clock, **options)


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[bytes]]]:
    """The processes that the test started; all must have ended."""
    processes: list[subprocess.Popen[bytes]] = []
    start = TrainingRunPool._start

    def _start(runs: TrainingRunPool) -> subprocess.Popen[bytes]:
        processes.append(start(runs))
        return processes[-1]

    monkeypatch.setattr(TrainingRunPool, "_start", _start)
    yield processes
    assert [process.pid for process in processes if process.poll() is None] == []


def wait_for_message(runs: TrainingRunPool, run: TrainingRun) -> None:
    assert runs.wait_for(lambda: bool(run.messages), TIMEOUT_SECONDS)


def wait_for_end(runs: TrainingRunPool, run: TrainingRun) -> None:
    assert runs.wait_for(lambda: run.is_over, TIMEOUT_SECONDS)


@pytest.mark.slow
def test_run_is_streamed_from_separate_process(clock: Clock, processes: list[subprocess.Popen[bytes]]) -> None:
    runs = TrainingRunPool(clock=clock)
    run = runs.start(ANNA, TOY)
    wait_for_end(runs, run)
    answer = runs.poll(ANNA, run.name, 0)
    kinds = [message["what"] for message in answer["messages"]]
    assert kinds == ["begun", *["moment"] * 28, "done"]
    assert answer["over"]
    assert len(json.dumps(answer)) < MAX_RESULT_BYTES / 20
    assert processes[0].pid != os.getpid()
    assert runs.count() == 0  # the visitor received everything


def test_received_snapshots_are_not_sent_again(clock: Clock, processes: list[subprocess.Popen[bytes]]) -> None:
    runs = run_pool(FINISHING_SCRIPT, clock)
    run = runs.start(ANNA, TOY)
    wait_for_end(runs, run)
    assert [message["what"] for message in runs.poll(ANNA, run.name, 1)["messages"]] == ["done"]


def test_visitor_can_stop_run(clock: Clock, processes: list[subprocess.Popen[bytes]]) -> None:
    runs = run_pool(WAITING_SCRIPT, clock)
    run = runs.start(ANNA, TOY)
    wait_for_message(runs, run)
    runs.stop_all(BEN)
    assert not run.is_stopped
    runs.stop_all(ANNA)
    wait_for_end(runs, run)
    assert processes[0].poll() is not None


def test_abandoned_run_is_stopped(clock: Clock, processes: list[subprocess.Popen[bytes]]) -> None:
    runs = run_pool(WAITING_SCRIPT, clock)
    run = runs.start(ANNA, TOY)
    wait_for_message(runs, run)
    clock.now += ABANDONED_AFTER_SECONDS - 1
    runs.poll(ANNA, run.name, 0)
    clock.now += ABANDONED_AFTER_SECONDS - 1
    assert not runs._should_stop(run)  # the poll in between counts
    clock.now += 2
    wait_for_end(runs, run)
    with pytest.raises(PageError, match="training"):
        runs.poll(ANNA, run.name, 0)


def test_new_run_stops_visitors_previous_run(clock: Clock, processes: list[subprocess.Popen[bytes]]) -> None:
    runs = run_pool(WAITING_SCRIPT, clock)
    first = runs.start(ANNA, TOY)
    wait_for_message(runs, first)
    second = runs.start(ANNA, TOY)
    wait_for_end(runs, first)
    wait_for_message(runs, second)
    runs.stop_all(ANNA)
    wait_for_end(runs, second)


def test_queued_runs_get_their_position(clock: Clock, processes: list[subprocess.Popen[bytes]]) -> None:
    runs = run_pool(WAITING_SCRIPT, clock)
    first = runs.start(ANNA, TOY)
    wait_for_message(runs, first)
    second = runs.start(BEN, TOY)
    third = runs.start(Visitor("203.0.113.3", "cleo"), TOY)
    assert runs.poll(third.visitor, third.name, 0)["before"] == 1
    assert runs.poll(BEN, second.name, 0) == {"before": 0, "messages": [], "over": False}
    assert len(processes) == 1
    for run in (first, second, third):
        wait_for_message(runs, run)
        runs.stop_all(run.visitor)
        wait_for_end(runs, run)


def test_full_queue_rejects(clock: Clock, processes: list[subprocess.Popen[bytes]]) -> None:
    runs = run_pool(WAITING_SCRIPT, clock, max_waiting=1)
    first = runs.start(ANNA, TOY)
    wait_for_message(runs, first)
    second = runs.start(BEN, TOY)
    with pytest.raises(PageError, match="queue for training is full"):
        runs.start(Visitor("203.0.113.3", "cleo"), TOY)
    for run in (first, second):
        runs.stop_all(run.visitor)
        wait_for_end(runs, run)


def test_class_of_one_address_can_train_together(clock: Clock, processes: list[subprocess.Popen[bytes]]) -> None:
    runs = run_pool(WAITING_SCRIPT, clock)
    pupils = [Visitor(ANNA.address, f"pupil {number}") for number in range(30)]
    pupil_runs = [runs.start(pupil, TOY) for pupil in pupils]
    wait_for_message(runs, pupil_runs[0])
    assert [runs.poll(run.visitor, run.name, 0)["before"] for run in pupil_runs[1:]] == list(range(29))
    other = runs.start(BEN, TOY)  # the queue is fair among visitors, not addresses
    assert runs.poll(BEN, other.name, 0)["before"] == 29
    again = runs.start(pupils[1], TOY)
    wait_for_end(runs, pupil_runs[1])
    assert runs.poll(pupils[1], again.name, 0)["before"] == 29
    for run in (*pupil_runs[2:], other):
        runs.stop_all(run.visitor)
        wait_for_end(runs, run)
    runs.stop_all(pupils[0])
    wait_for_message(runs, again)
    runs.stop_all(again.visitor)
    wait_for_end(runs, again)


def test_full_share_of_queue_has_its_own_message(clock: Clock, processes: list[subprocess.Popen[bytes]]) -> None:
    runs = run_pool(WAITING_SCRIPT, clock, max_waiting=4)
    pupil_runs = [runs.start(Visitor(ANNA.address, name), TOY) for name in "abc"]
    with pytest.raises(PageError) as error_info:
        runs.start(Visitor(ANNA.address, "d"), TOY)
    assert (error_info.value.word, error_info.value.values) == ("training_full", {"before": 2, "seconds": 1})
    for run in pupil_runs:
        runs.stop_all(run.visitor)
        wait_for_end(runs, run)


def test_stop_applies_to_named_run(clock: Clock, processes: list[subprocess.Popen[bytes]]) -> None:
    runs = run_pool(WAITING_SCRIPT, clock)
    first = runs.start(ANNA, TOY)
    wait_for_message(runs, first)
    second = runs.start(ANNA, TOY)
    wait_for_end(runs, first)
    for visitor, name in ((ANNA, first.name), (ANNA, None), (BEN, second.name)):
        runs.stop(visitor, name)
        assert not second.is_stopped
    wait_for_message(runs, second)
    runs.stop(ANNA, second.name)
    wait_for_end(runs, second)


def test_runs_of_other_visitors_are_not_readable(clock: Clock, processes: list[subprocess.Popen[bytes]]) -> None:
    runs = run_pool(FINISHING_SCRIPT, clock)
    run = runs.start(ANNA, TOY)
    wait_for_end(runs, run)
    for name in (run.name, "another", None, 7):
        with pytest.raises(PageError):
            runs.poll(BEN, name, 0)


@pytest.mark.parametrize(
    ("command", "word"),
    [
        (("/nowhere/python",), "no_process"),
        ((sys.executable, "-c", ""), "failed"),  # ends without a message
        ((sys.executable, "-c", "print('no JSON', flush=True)"), "failed"),
    ],
)
def test_process_start_failure_is_reported(command: tuple[str, ...], word: str) -> None:
    runs = TrainingRunPool(command=command)
    run = runs.start(ANNA, TOY)
    wait_for_end(runs, run)
    assert runs.poll(ANNA, run.name, 0)["messages"][-1] == {"what": word}


def test_flood_of_snapshots_stops_run(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(training_runs, "MAX_RESULT_BYTES", 1000)
    flood = 'import sys\nsys.stdin.readline()\nwhile True: print(\'{"what": "moment"}\', flush=True)'
    runs = run_pool(flood, clock)
    run = runs.start(ANNA, TOY)
    wait_for_end(runs, run)
    assert len(run.messages) < 100
    assert run.messages[-1] == {"what": "failed"}


def test_runs_end_with_killed_page(tmp_path: Path) -> None:
    """The page's process is killed; the training process ends because its input ends."""
    pid_file = tmp_path / "pid"
    page = (
        "import os, time\n"
        "from headlight.viz.service.request_queue import Visitor\n"
        "from headlight.viz.service.training_runs import TrainingRunPool\n"
        "start = TrainingRunPool._start\n"
        "def _start(self):\n"
        "    process = start(self)\n"
        f"    open({str(pid_file)!r}, 'w').write(str(process.pid))\n"
        "    return process\n"
        "TrainingRunPool._start = _start\n"
        "runs = TrainingRunPool(clock=lambda: 0.0)\n"
        "run = runs.start(Visitor(), [{'corpus': 'mini', 'layers': 3, 'd_model': 64, 'heads': 8}] * 2)\n"
        "assert runs.wait_for(lambda: len(run.messages) > 1, 240)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    root = Path(__file__).resolve().parents[3]
    page_process = subprocess.run([sys.executable, "-c", page], cwd=root, check=False)
    assert page_process.returncode == -9
    assert_process_ends(int(pid_file.read_text(encoding="utf-8")))


def assert_process_ends(pid: int) -> None:
    """The process is gone, or a zombie that its parent has not reaped."""
    timer = threading.Event()
    for _ in range(int(TIMEOUT_SECONDS / 0.05)):
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return
        if state == "Z":
            return
        timer.wait(0.05)
    raise AssertionError(f"Process {pid} still runs.")

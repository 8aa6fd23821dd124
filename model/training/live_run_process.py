"""A live run in a separate process: settings come in as one line of JSON, snapshots go out as lines of JSON.

    echo '[{"corpus": "toy"}]' | python -m headlight.model.training.live_run_process

The process has the lowest priority and one thread, so that a server on the same machine stays responsive. It exits when
its runs end, after `MAX_CPU_SECONDS`, and as soon as its standard input closes: the parent process keeps that pipe
open, and the operating system closes it when the parent dies.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

NICENESS = 19  # the lowest priority
MAX_CPU_SECONDS = 60  # the two largest runs take a third of it
MAX_RUNS = 2  # per process


def main() -> None:
    """Train the runs that standard input describes."""
    lower_priority()
    settings = json.loads(sys.stdin.readline())
    threading.Thread(target=_exit_on_eof, daemon=True).start()
    train(settings, _write_message)


def lower_priority() -> None:
    """Set the lowest priority, one thread and a CPU time limit."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    try:
        import resource
    except ImportError:  # Windows: the parent sets the priority and the time limit
        return
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_SECONDS, MAX_CPU_SECONDS))


def train(settings: Sequence[dict[str, Any]], say: Callable[[dict[str, Any]], None]) -> None:
    """Train the runs in turn, and pass every message to `say`."""
    # Imported after the priority is set: loading PyTorch takes most of the time of a short run.
    import torch

    from headlight.model.errors import TrainingError
    from headlight.model.training.live_run import LiveRun, header_message, interleave, snapshot_message
    from headlight.model.training.live_run_settings import LiveRunSettings

    torch.set_num_threads(1)
    if not 0 < len(settings) <= MAX_RUNS:
        raise TrainingError(f"The number of runs must be from 1 to {MAX_RUNS}, not {len(settings)}.")
    runs = [LiveRun(LiveRunSettings(**values)) for values in settings]
    say(header_message([run.beginning for run in runs]))
    for number, event in interleave(runs):
        say(snapshot_message(number, event))
    say({"what": "done"})


def _write_message(message: dict[str, Any]) -> None:
    try:
        print(json.dumps(message, ensure_ascii=True, separators=(",", ":"), allow_nan=False), flush=True)
    except BrokenPipeError:
        os._exit(0)  # the reader has closed the pipe


def _exit_on_eof() -> None:
    """Exit when the parent process closes the pipe or dies."""
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()

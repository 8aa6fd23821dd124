"""A process for live runs. It reads settings as one line of JSON, and writes snapshots as lines of JSON.

    echo '[{"corpus": "toy"}]' | python -m headlight.model.training.live_run_process

The process has the lowest priority and one thread, so that a server on the same machine stays responsive. It exits when
its runs end, after `MAX_CPU_SECONDS`, or when its standard input is closed. The parent process keeps that pipe open,
and the operating system closes it if the parent is killed.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

NICENESS = 19  # the lowest priority
MAX_CPU_SECONDS = 60  # two runs of the largest size take a third of this time
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


def train(settings: Sequence[dict[str, Any]], send: Callable[[dict[str, Any]], None]) -> None:
    """Train the runs in turn, and pass every message to `send`."""
    # PyTorch is imported after the priority is set, because the import takes most of the time of a short run.
    import torch

    from headlight.model.errors import TrainingError
    from headlight.model.training.live_run import LiveRun, interleave, make_header_message, make_snapshot_message
    from headlight.model.training.live_run_settings import LiveRunSettings

    torch.set_num_threads(1)
    if not 0 < len(settings) <= MAX_RUNS:
        raise TrainingError(f"The number of runs must be from 1 to {MAX_RUNS}, not {len(settings)}.")
    runs = [LiveRun(LiveRunSettings(**values)) for values in settings]
    send(make_header_message([run.beginning for run in runs]))
    for number, event in interleave(runs):
        send(make_snapshot_message(number, event))
    send({"what": "done"})


def _write_message(message: dict[str, Any]) -> None:
    try:
        print(json.dumps(message, ensure_ascii=True, separators=(",", ":"), allow_nan=False), flush=True)
    except BrokenPipeError:
        os._exit(0)  # the reader has closed the pipe


def _exit_on_eof() -> None:
    """Exit when the parent process closes the pipe or ends."""
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()

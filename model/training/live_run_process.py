"""A live run in a separate process: settings come in as one line of JSON, snapshots go out as lines of JSON.

    echo '[{"corpus": "toy"}]' | python -m headlight.model.training.live_run_process

The process has the lowest priority and one thread, so that a server on the same machine answers others as fast as
before. It ends with its run, after `SECONDS` of computing, and at once when its input ends: whoever started it holds
that pipe open, and the system closes it when that process dies, however it dies.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

NICENESS = 19  # niceness
CPU_SECONDS_LIMIT = 60  # of computing: the largest two runs take a third of it
MAX_RUNS = 2  # side by side


def main() -> None:
    """Run what standard input asks for."""
    lower_priority()
    asked = json.loads(sys.stdin.readline())
    threading.Thread(target=_exit_on_eof, daemon=True).start()
    train(asked, _write_message)


def lower_priority() -> None:
    """Set the lowest priority, one thread and a CPU time limit."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    try:
        import resource
    except ImportError:  # Windows: the starter sets the priority, and counts the seconds
        return
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS_LIMIT, CPU_SECONDS_LIMIT))


def train(asked: Sequence[dict[str, Any]], say: Callable[[dict[str, Any]], None]) -> None:
    """Train the asked runs in turn, and say every moment."""
    # Imported after the priority is set: loading PyTorch is most of a short run.
    import torch

    from headlight.model.errors import TrainingError
    from headlight.model.training.live_run import LiveRun, header_message, interleave, snapshot_message
    from headlight.model.training.live_run_settings import LiveRunSettings

    torch.set_num_threads(1)
    if not 0 < len(asked) <= MAX_RUNS:
        raise TrainingError(f"{len(asked)} runs were asked for, but 1 to {MAX_RUNS} are trained side by side.")
    runs = [LiveRun(LiveRunSettings(**values)) for values in asked]
    say(header_message([run.beginning for run in runs]))
    for number, moment in interleave(runs):
        say(snapshot_message(number, moment))
    say({"what": "done"})


def _write_message(message: dict[str, Any]) -> None:
    try:
        print(json.dumps(message, ensure_ascii=True, separators=(",", ":"), allow_nan=False), flush=True)
    except BrokenPipeError:
        os._exit(0)  # the reader has closed the pipe


def _exit_on_eof() -> None:
    """The starter closed the pipe, or is dead."""
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()

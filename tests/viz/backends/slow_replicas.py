"""A real cluster in a separate process. Its replicas decode slowly if a request has the seed `SLOW`.

Started as a module, it says "ready"; "update" on its input replaces all replicas, "scale" makes their number follow the
load, "count" asks how many run; the end of the input ends the cluster.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headlight.viz import serve_command as command
from headlight.viz.backends.ray_cluster import join_or_start
from headlight.viz.backends.replica import Replica, deployment

SLOW = 7
STEP = 0.1  # seconds


class Slowly:
    """A slow translator that records its work in a file per process."""

    def __init__(self, translator: Any, notes: Path) -> None:
        self.translator = translator
        self.notes = notes / str(os.getpid())

    def stream(self, request: Any) -> Iterator[Any]:
        if request.options.seed != SLOW:
            yield from self.translator.stream(request)
            return
        try:
            for progress in self.translator.stream(request):
                self._note(f"step {progress.step}")
                time.sleep(STEP)
                yield progress
                if progress.translation is not None:
                    self._note("done")
        finally:
            self._note("over")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.translator, name)

    def _note(self, line: str) -> None:
        with self.notes.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


class SlowAnswers(Replica):
    """Replicas whose translators take their time."""

    def __init__(self, notes: str, version: int) -> None:
        super().__init__()
        self.notes, self.version = Path(notes), version
        (self.notes / f"replica-{version}-{os.getpid()}").touch()

    def _load(self, model_id: str) -> Any:
        loaded = super()._load(model_id)
        return Slowly(loaded, self.notes) if hasattr(loaded, "translate") else loaded


TWO = {"num_replicas": 2, "autoscaling_config": None}
# Like `headlight serve --replicas 1-3`, but Ray Serve decides within seconds instead of minutes.
SCALED = {
    name: values | {"upscale_delay_s": 1, "downscale_delay_s": 3, "look_back_period_s": 3, "metrics_interval_s": 1}
    for name, values in command.parse_scale("1-3").items()
}


def application(notes: str, version: int, scale: dict[str, Any]) -> Any:
    """Replicas that each answer two requests at a time, while eight more may wait."""
    return deployment.options(
        func_or_class=SlowAnswers,
        **scale,
        max_queued_requests=8,
        ray_actor_options={"num_cpus": 0.5},
        health_check_period_s=1,
    ).bind(notes, version)


def main(notes: str, folder: str, port: int) -> None:
    """See above."""
    join_or_start("serve", start_local=True, num_cpus=2, _temp_dir=folder, object_store_memory=80_000_000)
    version, scale = 1, TWO
    for line in _lines():
        if line == "count":
            sys.stdout.write(f"{running()}\n")
            sys.stdout.flush()
            continue
        if line:
            version, scale = version + 1, SCALED if line == "scale" else TWO
        command.deploy(application(notes, version, scale), "127.0.0.1", port)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
    command.leave()


def running() -> int:
    """The replicas that can answer, as Ray Serve counts them."""
    from ray import serve

    (status,) = serve.status().applications[command.NAME].deployments.values()
    count: int = status.replica_states.get("RUNNING", 0)
    return count


def _lines() -> Iterator[str]:
    yield ""
    for line in sys.stdin:
        yield line.strip()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

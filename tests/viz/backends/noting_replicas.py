"""A real cluster in a separate process. Its replicas record which models they load and free.

Started as a module, it says "ready". A line on its input is what `headlight serve` gets as `--replicas`; the answer is
what Ray Serve then holds of the deployment, as JSON. An empty line asks for that alone.
"""

from __future__ import annotations

import gc
import json
import sys
import weakref
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from headlight.viz import serve_command as command
from headlight.viz.backends.ray_cluster import join_or_start
from headlight.viz.backends.replica import Replica, deployment

FIRST = "1-3"


class NotingAnswers(Replica):
    """Replicas that write a line for each model that comes into memory or leaves it."""

    def __init__(self, notes: str) -> None:
        super().__init__()
        self.notes = Path(notes) / "models"

    def _load(self, model_id: str) -> Any:
        gc.collect()  # models evicted earlier are freed now if unreferenced
        loaded = super()._load(model_id)
        name = unquote(model_id).split(":", 2)[2]
        note(self.notes, f"loaded {name}")
        weakref.finalize(loaded, note, self.notes, f"freed {name}").atexit = False
        return loaded


def note(path: Path, line: str) -> None:
    """One more line."""
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def deployment_status() -> dict[str, Any]:
    """The deployment as Ray Serve has it, and the states of its replicas."""
    from ray import serve
    from ray.serve import context

    details: Any = context._get_global_client().get_serve_details()  # type: ignore[no-untyped-call]
    (deployment,) = details["applications"][command.NAME]["deployments"].values()
    config = deployment["deployment_config"]
    (status,) = serve.status().applications[command.NAME].deployments.values()
    return {
        "replicas": config.get("num_replicas"),
        "scaled": config.get("autoscaling_config"),
        "running": status.replica_states.get("RUNNING", 0),
    }


def main(notes: str, folder: str, port: int) -> None:
    """See above."""
    join_or_start("serve", start_local=True, num_cpus=3, _temp_dir=folder, object_store_memory=80_000_000)

    def deploy(replicas: str) -> None:
        application = deployment.options(func_or_class=NotingAnswers, **command.parse_scale(replicas))
        command.deploy(application.bind(notes), "127.0.0.1", port)

    deploy(FIRST)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        if line.strip():
            deploy(line.strip())
        sys.stdout.write(f"{json.dumps(deployment_status(), default=str)}\n")
        sys.stdout.flush()
    command.leave()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

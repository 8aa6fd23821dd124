"""`headlight serve`: compute answers for page processes, on a Ray cluster (docs/scale.md).

headlight serve --cluster                                # a cluster of this machine alone
HEADLIGHT_BACKEND=ray headlight run                      # and a page that asks it
"""

from __future__ import annotations

import argparse
import io
import signal
import sys
import time
from contextlib import redirect_stdout, suppress
from types import FrameType
from typing import Any

from headlight.model.errors import CommandError
from headlight.viz.service.ray_cluster import join_or_start

NAME = "headlight"  # of the application
PORT = 8000
POLL_SECONDS = 0.2  # seconds between two checks for a signal
OBJECT_STORE_BYTES = (
    200_000_000  # bytes that Ray reserves for objects; Headlight keeps none there, and Ray's own are small
)


def add(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--cluster", action="store_true", help="start a cluster on this machine, until Ctrl-C")
    parser.add_argument("--replicas", default="1-4", help="how many, as 2, or as 1-4 by how much is asked (1-4)")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (this machine alone)")
    parser.add_argument("--port", type=int, default=PORT, help=f"the port to listen at ({PORT})")


def run(arguments: argparse.Namespace) -> int:
    """Start or join the cluster, deploy the application, and stay."""
    scaled = parse_scale(arguments.replicas)
    if not arguments.cluster:
        join_or_start("serve", start_local=False)
        serve(scaled, arguments.host, arguments.port)
        return 0
    join_or_start("serve", start_local=True, object_store_memory=OBJECT_STORE_BYTES)
    try:
        with suppress(KeyboardInterrupt):
            handle_sigterm_as_sigint()
            serve(scaled, arguments.host, arguments.port)
            while True:
                time.sleep(POLL_SECONDS)
    finally:
        leave()
    return 0


def handle_sigterm_as_sigint() -> None:
    """From now on SIGTERM, by which containers are stopped, does what Ctrl-C does; a second one ends at once.

    It takes the place of Ray's own handler, which ends the process below the running code, with Ray's trace.
    """

    def heard(number: int, frame: FrameType | None) -> None:
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, signal.SIG_DFL)
        raise KeyboardInterrupt

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, heard)


def serve(scaled: dict[str, Any], host: str, port: int) -> None:
    """Deploy the application, and say where it answers."""
    from headlight.viz.service.replica import deployment

    deploy(deployment.options(**scaled).bind(), host, port)
    address = f"http://{host}:{port}"
    sys.stdout.write(f"Answers at {address}\nHEADLIGHT_BACKEND=ray HEADLIGHT_RAY_ADDRESS={address} headlight run\n")
    sys.stdout.flush()


def parse_replicas(text: str) -> tuple[int, int]:
    """The least and the most replicas."""
    parts = text.split("-")
    if len(parts) > 2 or not all(part.isascii() and part.isdecimal() and len(part) < 6 for part in parts):
        raise CommandError(f"--replicas is {text[:40]!r}, but must be a number such as 2, or two such as 1-4.")
    low, high = int(parts[0]), int(parts[-1])
    if not 1 <= low <= high:
        raise CommandError(f"--replicas is {text[:40]!r}, but must be at least 1, and the second not below the first.")
    return low, high


def parse_scale(text: str) -> dict[str, Any]:
    """So many replicas as options of a deployment: always as many, or by how much is asked."""
    low, high = parse_replicas(text)
    if low == high:
        return {"num_replicas": low, "autoscaling_config": None}
    scaled = {"min_replicas": low, "max_replicas": high, "target_ongoing_requests": 1.5}
    return {"autoscaling_config": scaled}


def deploy(application: Any, host: str, port: int) -> None:
    """Serve an application, or update the one that is served: its replicas are replaced one after another."""
    from ray import serve

    serve.start(proxy_location="EveryNode", http_options={"host": host, "port": port})
    serve.run(application, name=NAME, route_prefix="/")


def leave() -> None:
    """End the application and this machine's cluster.

    Ray writes to standard output that its controller, which was told to end, is at an end.
    """
    import ray
    from ray import serve

    with redirect_stdout(io.StringIO()):
        serve.shutdown()  # type: ignore[no-untyped-call]
        ray.shutdown()

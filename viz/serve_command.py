"""`headlight serve`: compute answers for page processes, on a Ray cluster (docs/scale.md).

headlight serve --cluster                                # a cluster on this machine
HEADLIGHT_BACKEND=ray headlight run                      # a page that uses it
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
from headlight.viz.backends.ray_cluster import join_or_start
from headlight.viz.settings import port_argument

NAME = "headlight"  # name of the application
PORT = 8000
POLL_SECONDS = 0.2  # seconds between checks for a signal
# Size of Ray's object store. Headlight stores nothing there, and Ray's objects are small.
OBJECT_STORE_BYTES = 200_000_000


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--cluster", action="store_true", help="start a cluster on this machine, until Ctrl-C")
    parser.add_argument(
        "--replicas", default="1-4", help="number of replicas, e.g. 2, or a range for autoscaling (1-4)"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (localhost)")
    parser.add_argument("--port", type=port_argument, default=PORT, help=f"port to listen on ({PORT})")


def run(arguments: argparse.Namespace) -> int:
    """Start or join the cluster and deploy the application; with `--cluster`, block until a signal."""
    options = parse_scale(arguments.replicas)
    if not arguments.cluster:
        join_or_start("serve", start_local=False)
        serve(options, arguments.host, arguments.port)
        return 0
    join_or_start("serve", start_local=True, object_store_memory=OBJECT_STORE_BYTES)
    try:
        with suppress(KeyboardInterrupt):
            handle_sigterm_as_sigint()
            serve(options, arguments.host, arguments.port)
            while True:
                time.sleep(POLL_SECONDS)
    finally:
        shut_down()
    return 0


def handle_sigterm_as_sigint() -> None:
    """Handle SIGTERM, which stops containers, like Ctrl-C; a second signal exits at once.

    This replaces Ray's handler, which kills the process without cleanup and prints Ray's stack trace.
    """

    def on_signal(number: int, frame: FrameType | None) -> None:
        for stop_signal in (signal.SIGTERM, signal.SIGINT):
            signal.signal(stop_signal, signal.SIG_DFL)
        raise KeyboardInterrupt

    for stop_signal in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop_signal, on_signal)


def serve(scale_options: dict[str, Any], host: str, port: int) -> None:
    """Deploy the application and print its address."""
    from headlight.viz.backends.replica import deployment

    deploy(deployment.options(**scale_options).bind(), host, port)
    address = f"http://{host}:{port}"
    sys.stdout.write(f"Answers at {address}\nHEADLIGHT_BACKEND=ray HEADLIGHT_RAY_ADDRESS={address} headlight run\n")
    sys.stdout.flush()


def parse_replicas(text: str) -> tuple[int, int]:
    """Parse the minimum and maximum number of replicas."""
    parts = text.split("-")
    if len(parts) > 2 or not all(part.isascii() and part.isdecimal() and len(part) < 6 for part in parts):
        raise CommandError(f"--replicas is {text[:40]!r}, but must be a number such as 2, or two such as 1-4.")
    low, high = int(parts[0]), int(parts[-1])
    if not 1 <= low <= high:
        raise CommandError(f"--replicas is {text[:40]!r}, but must be at least 1, and the second not below the first.")
    return low, high


def parse_scale(text: str) -> dict[str, Any]:
    """Return the deployment options for a fixed number of replicas, or for autoscaling."""
    low, high = parse_replicas(text)
    if low == high:
        return {"num_replicas": low, "autoscaling_config": None}
    autoscaling = {"min_replicas": low, "max_replicas": high, "target_ongoing_requests": 1.5}
    return {"autoscaling_config": autoscaling}


def deploy(application: Any, host: str, port: int) -> None:
    """Deploy an application, or update the running one by replacing its replicas one by one."""
    from ray import serve

    serve.start(proxy_location="EveryNode", http_options={"host": host, "port": port})
    serve.run(application, name=NAME, route_prefix="/")


def shut_down() -> None:
    """Stop the application and this machine's cluster.

    Standard output is redirected to hide Ray's message that the controller has stopped.
    """
    import ray
    from ray import serve

    with redirect_stdout(io.StringIO()):
        serve.shutdown()  # type: ignore[no-untyped-call]
        ray.shutdown()

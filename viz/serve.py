"""`headlight serve`: compute answers for page processes, on a Ray cluster (docs/scale.md).

headlight serve --cluster                                # a cluster of this machine alone
HEADLIGHT_BACKEND=ray headlight run                      # and a page that asks it
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from threading import Event
from typing import Any

from headlight.model.errors import CommandError
from headlight.viz.answers.joining import join

NAME = "headlight"  # of the application
PORT = 8000


def add(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--cluster", action="store_true", help="start a cluster on this machine, until Ctrl-C")
    parser.add_argument("--replicas", default="1-4", help="how many, as 2, or as 1-4 by how much is asked (1-4)")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen at (this machine alone)")
    parser.add_argument("--port", type=int, default=PORT, help=f"the port to listen at ({PORT})")


def run(arguments: argparse.Namespace) -> int:
    """Start or join the cluster, deploy the application, and stay."""
    low, high = replicas_of(arguments.replicas)
    join("serve", alone=arguments.cluster)
    from headlight.viz.answers.replica import deployment

    scaled = {"min_replicas": low, "max_replicas": high, "target_ongoing_requests": 1.5}
    many = {"autoscaling_config": scaled} if low < high else {"num_replicas": low, "autoscaling_config": None}
    deploy(deployment.options(**many).bind(), arguments.host, arguments.port)
    address = f"http://{arguments.host}:{arguments.port}"
    sys.stdout.write(f"Answers at {address}\nHEADLIGHT_BACKEND=ray HEADLIGHT_RAY_ADDRESS={address} headlight run\n")
    sys.stdout.flush()
    if arguments.cluster:
        with suppress(KeyboardInterrupt):
            Event().wait()
        leave()
    return 0


def replicas_of(text: str) -> tuple[int, int]:
    """The least and the most replicas."""
    parts = text.split("-")
    if len(parts) > 2 or not all(part.isascii() and part.isdecimal() and len(part) < 6 for part in parts):
        raise CommandError(f"--replicas is {text[:40]!r}, but must be a number such as 2, or two such as 1-4.")
    low, high = int(parts[0]), int(parts[-1])
    if not 1 <= low <= high:
        raise CommandError(f"--replicas is {text[:40]!r}, but must be at least 1, and the second not below the first.")
    return low, high


def deploy(application: Any, host: str, port: int) -> None:
    """Serve an application, or update the one that is served: its replicas are replaced one after another."""
    from ray import serve

    serve.start(proxy_location="EveryNode", http_options={"host": host, "port": port})
    serve.run(application, name=NAME, route_prefix="/")


def leave() -> None:
    """End the application and this machine's cluster."""
    import ray
    from ray import serve

    serve.shutdown()  # type: ignore[no-untyped-call]
    ray.shutdown()

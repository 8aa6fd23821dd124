"""Chaos among replicas: one of two is killed while visitors wait for it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace

from workshop.trust.checks import Check, Log, Options

NAME, BOUND = (
    "a replica of two killed under load",
    "every answer arrives, equal to that of one process; a new replica starts",
)
VISITORS = 4


def kill_replica(options: Options, log: Log) -> Iterator[Check]:
    """Kill the replica that computes an answer, while others compute, too."""
    try:
        import ray.serve as _  # noqa: F401 - an optional package
    except ImportError:
        yield Check("chaos", NAME, BOUND, "Ray Serve is not installed", None)
        return
    from headlight.viz.backends.choice import choose_backend
    from headlight.viz.service.service import Service
    from headlight.viz.settings import Settings
    from tests.viz.backends.real_cluster import real_cluster, soon

    requests = 4 if options.quick else 20
    here = Service(Settings(model="toy"))
    with ExitStack() as stack:
        try:
            cluster = stack.enter_context(real_cluster("tests.viz.backends.slow_replicas"))
        except AssertionError:  # after three attempts
            yield Check("chaos", NAME, BOUND, "Ray did not start on this machine", None)
            return
        settings = replace(here.settings, backend="ray", ray_address=cluster.address, cache_mb=0)
        page = Service(settings, choose_backend)
        computing = threading.Event()

        def visit(visitor: int) -> int:
            """Return the number of right answers."""
            right = 0
            for number in range(requests):
                # The seed makes an answer slow. Each visitor stays below the limits of the cluster.
                request = page.check({"text": "ich mochte ein bier", "seed": 7, "max_length": 20 + number})
                answer = None
                for progress in page.stream(request, threading.Event()):
                    computing.set()
                    answer = progress.translation
                right += answer is not None and answer.text == here.translate(request).text
            log(f"visitor {visitor}: {right} of {requests}")
            return right

        with ThreadPoolExecutor(VISITORS) as pool:
            visits = [pool.submit(visit, visitor) for visitor in range(VISITORS)]
            computing.wait()
            worker = next(int(path.name) for path in cluster.notes.iterdir() if path.name.isdecimal())
            os.kill(worker, signal.SIGKILL)
            right = sum(each.result() for each in visits)
        soon(lambda: len(list(cluster.notes.glob("replica-*"))) > 2, "no new replica")
    count = VISITORS * requests
    yield Check("chaos", NAME, BOUND, f"{right} of {count} answered right; a new one started", right == count)

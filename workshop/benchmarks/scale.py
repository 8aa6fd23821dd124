"""Cluster benchmark: answers per second and latency by replicas; the cost of a killed replica and a killed page.

Everything runs on this one machine: callers, pages, Ray's own processes and replicas share its cores.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Lock
from typing import Any

import httpx

from headlight.model.records import Translation, TranslationRequest
from headlight.model.translate.translator import Translator
from headlight.viz import serve_command as command
from headlight.viz.backends.choice import choose_backend
from headlight.viz.backends.ray_cluster import join_or_start
from headlight.viz.backends.remote_calls import ANSWER, encode_frame
from headlight.viz.errors import PageError
from headlight.viz.service.record_codec import encode
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from workshop.benchmarks.page import HUNDRED, Log, _memory, _serve
from workshop.benchmarks.sleeping_replica import application

CALLER_COUNT = 8  # who ask, each for the next answer once the last one is there
WORKER_COUNTS = (1, 4, 16, 64)  # of known speed
SLEEP_SECONDS = 1.0  # seconds of each of their answers
KILL_AT_SHARE = 0.3  # of the time of a measurement
TIMEOUT_SECONDS = 120.0  # seconds for everything to be normal again
SENTENCE = HUNDRED[: HUNDRED.index(".") + 1]


def measure(seconds: float, workers: Sequence[int], say: Log) -> dict[str, Any]:
    """All parts, each on a cluster of this machine that is started for it."""
    here = Service(Settings(cache_mb=0))
    result: dict[str, Any] = {"seconds": seconds, "callers": CALLER_COUNT, "sleep": SLEEP_SECONDS}
    say("in one process, without a cluster")
    result["here"] = _run_callers(here, seconds, _expected(here))
    with _cluster(cores=4) as address:  # two replicas fit; they share the cores that there are
        from headlight.viz.backends.replica import deployment

        page = Service(Settings(cache_mb=0, backend="ray", ray_address=address), choose_backend)
        result["replicas"] = {}
        for count in (1, 2):
            say(f"replicas: {count}")
            _deploy(deployment.options(num_replicas=count, autoscaling_config=None).bind(), address)
            _run_callers(page, 2.0, _expected(here))  # every replica loads its model
            result["replicas"][str(count)] = _run_callers(page, seconds, _expected(here))
        say("a replica is killed")
        result["killed_replica"] = _with_a_killed_replica(page, here, seconds)
        say("a page's process is killed")
        result["killed_page"] = _with_a_killed_page(here, address, seconds)
    result["workers"] = {}
    encoded = encode_frame(ANSWER, encode(here.translate(_request(here, 0))))
    with _cluster(cores=4) as address:
        page = Service(Settings(cache_mb=0, backend="ray", ray_address=address), choose_backend)
        for count in workers:
            say(f"workers of known speed: {count}")
            _deploy(application(count, SLEEP_SECONDS, encoded), address)
            _run_callers(page, 2.0, None, callers=count)
            result["workers"][str(count)] = _run_callers(page, seconds, None, callers=count)
    return result


# ------------------------------------------------------------ a cluster


@contextlib.contextmanager
def _cluster(cores: int) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="hl-") as folder:
        join_or_start("serve", start_local=True, num_cpus=cores, _temp_dir=folder, object_store_memory=80_000_000)
        try:
            yield f"http://127.0.0.1:{free_port()}"
        finally:
            command.leave()


def _deploy(made: Any, address: str) -> None:
    command.deploy(made, "127.0.0.1", int(address.rpartition(":")[2]))


def free_port() -> int:
    """A free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _replicas() -> list[int]:
    """The processes of the replicas, by the names that Ray gives them."""
    results = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (path / "cmdline").read_bytes().startswith(b"ray::ServeReplica:headlight:answers"):
                results.append(int(path.name))
    return results


# ------------------------------------------------------------ callers


def _values(number: int) -> dict[str, Any]:
    """The same sentence, but no request is equal to another one that runs at its time."""
    return {"text": SENTENCE, "beam_size": 4, "length_penalty": 1 + number % 97 / 10_000}


def _request(service: Service, number: int) -> TranslationRequest:
    return service.check(_values(number))


def _expected(service: Service) -> str:
    return service.translate(_request(service, 0)).text


class _CallLog:
    """Log of calls: time, latency, errors."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.late: list[tuple[float, float]] = []  # when it came, after how many seconds
        self.wrong = self.lost = self.again = 0

    def record(self, started: float, right: bool | None) -> None:
        with self.lock:
            self.late.append((time.monotonic(), time.monotonic() - started))
            self.wrong += right is False
            self.lost += right is None

    def values(self, seconds: float) -> dict[str, Any]:
        late = sorted(each for _, each in self.late)
        return {
            "answers": len(late),
            "rate": len(late) / seconds,
            "p50": statistics.median(late),
            "p95": late[int(0.95 * (len(late) - 1))],
            "longest": late[-1],
            "wrong": self.wrong,
            "lost": self.lost,
            "again": self.again,
        }


def _run(
    ask: Callable[[int], bool | None], seconds: float, callers: int, during: Callable[[_CallLog], None]
) -> _CallLog:
    """Run callers in a loop for `seconds`; `during` runs concurrently."""
    asked, over = _CallLog(), Event()

    def caller(number: int) -> None:
        while not over.is_set():
            started = time.monotonic()
            asked.record(started, ask(number))
            number += callers

    with ThreadPoolExecutor(callers) as pool:
        all_of_them = [pool.submit(caller, number) for number in range(callers)]
        try:
            during(asked)
        finally:
            over.set()
        for each in all_of_them:
            each.result()
    return asked


def _run_callers(
    service: Service, seconds: float, expected: str | None, *, callers: int = CALLER_COUNT
) -> dict[str, Any]:
    """Run callers of a service for a number of seconds."""
    started = time.monotonic()
    result = _run(_make_caller(service, expected), seconds, callers, lambda _: time.sleep(seconds))
    return result.values(time.monotonic() - started)


def _make_caller(service: Service, expected: str | None) -> Callable[[int], bool | None]:
    def ask(number: int) -> bool | None:
        try:
            result: Translation = service.run_on_translator("", Translator.translate, _request(service, number))
        except PageError:
            return None
        return expected is None or result.text == expected

    return ask


# ------------------------------------------------------------ killed processes


def _with_a_killed_replica(page: Service, here: Service, seconds: float) -> dict[str, Any]:
    times: dict[str, float] = {}

    def kill(asked: _CallLog) -> None:
        time.sleep(KILL_AT_SHARE * seconds)
        before = _replicas()
        os.kill(before[0], signal.SIGKILL)
        killed = time.monotonic()
        _wait_until(lambda: len(set(_replicas()) - {before[0]}) >= len(before))
        times["replaced"] = time.monotonic() - killed
        time.sleep(seconds)

    started = time.monotonic()
    asked = _run(_make_caller(page, _expected(here)), seconds, CALLER_COUNT, kill)
    return asked.values(time.monotonic() - started) | times


def _with_a_killed_page(here: Service, address: str, seconds: float) -> dict[str, Any]:
    """Two pages; callers switch to the other page if one does not respond, like a load balancer."""
    ports = [free_port(), free_port()]
    settings = {
        "HEADLIGHT_BACKEND": "ray",
        "HEADLIGHT_RAY_ADDRESS": address,
        "HEADLIGHT_CACHE_MB": "0",
        "HEADLIGHT_LINE": "500",
    }
    expected, times, asked_now = _expected(here), dict[str, float](), list[_CallLog]()

    def ask(number: int) -> bool | None:
        for attempt in range(4):
            port = ports[(number + attempt) % 2]
            try:
                return _text(port, _values(number)) == expected
            except (httpx.HTTPError, ValueError, KeyError, IndexError):
                if asked_now:
                    asked_now[0].again += 1
                time.sleep(0.2)
        return None

    with contextlib.ExitStack() as pages:
        first = pages.enter_context(_serve([sys.executable, "app.py"], ports[0], **settings))
        pages.enter_context(_serve([sys.executable, "app.py"], ports[1], **settings))
        for number in range(4):
            ask(number)
        times["memory"] = _memory(first.pid)

        def kill(asked: _CallLog) -> None:
            asked_now.append(asked)
            time.sleep(KILL_AT_SHARE * seconds)
            first.kill()
            first.wait()
            killed = time.monotonic()
            pages.enter_context(_serve([sys.executable, "app.py"], ports[0], **settings))  # as a watcher does
            _text(ports[0], {"text": SENTENCE})
            times["replaced"] = time.monotonic() - killed
            time.sleep(seconds)

        started = time.monotonic()
        asked = _run(ask, seconds, CALLER_COUNT, kill)
        result = asked.values(time.monotonic() - started) | times
    with _serve([sys.executable, "app.py"], ports[0], HEADLIGHT_CACHE_MB="0") as alone:
        _text(ports[0], {"text": SENTENCE})
        return result | {"memory_here": _memory(alone.pid)}


def _text(port: int, values: dict[str, Any]) -> str:
    """The API's answer of the page at a port."""
    base = f"http://127.0.0.1:{port}/gradio_api/call/v2/translate"
    event = httpx.post(base, json=values, timeout=10).raise_for_status().json()["event_id"]
    text = (
        httpx.get(f"http://127.0.0.1:{port}/gradio_api/call/v2/translate/{event}", timeout=60).raise_for_status().text
    )
    match = re.search(r'"text": ?"([^"]*)"', text)
    if match is None:
        raise ValueError(text[:200])
    return match[1]


def _wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise RuntimeError("It does not become normal again.")
        time.sleep(0.05)

"""Cluster benchmark: rate and latency by number of replicas, and recovery from a killed replica and a killed page.

Callers, pages, Ray's processes and replicas share the cores of one machine.
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
from workshop.benchmarks.page import SENTENCE_100_TOKENS, Log, _read_memory, serve
from workshop.benchmarks.sleeping_replica import make_application

CALLER_COUNT = 8  # concurrent callers, each of which sends the next request after the previous answer
WORKER_COUNTS = (1, 4, 16, 64)  # sleeping replicas
SLEEP_SECONDS = 1.0  # delay of a sleeping replica
KILL_AFTER_SHARE = 0.3  # share of a measurement's duration after which a process is killed
TIMEOUT_SECONDS = 120.0  # limit for the recovery of a killed process
SENTENCE = SENTENCE_100_TOKENS[: SENTENCE_100_TOKENS.index(".") + 1]


def measure(seconds: float, workers: Sequence[int], log: Log) -> dict[str, Any]:
    """Run all parts, each on a new cluster on this machine."""
    local_service = Service(Settings(cache_mb=0))
    result: dict[str, Any] = {"seconds": seconds, "callers": CALLER_COUNT, "sleep": SLEEP_SECONDS}
    log("one process without a cluster")
    result["here"] = _run_callers(local_service, seconds, _translate_expected(local_service))
    with _run_cluster(cores=4) as address:  # Ray schedules two replicas, which share the real cores
        from headlight.viz.backends.replica import deployment

        page = Service(Settings(cache_mb=0, backend="ray", ray_address=address), choose_backend)
        result["replicas"] = {}
        for count in (1, 2):
            log(f"replicas: {count}")
            _deploy(deployment.options(num_replicas=count, autoscaling_config=None).bind(), address)
            _run_callers(page, 2.0, _translate_expected(local_service))  # so that every replica loads its model
            result["replicas"][str(count)] = _run_callers(page, seconds, _translate_expected(local_service))
        log("a killed replica")
        result["killed_replica"] = _measure_killed_replica(page, local_service, seconds)
        log("a killed page process")
        result["killed_page"] = _measure_killed_page(local_service, address, seconds)
    result["workers"] = {}
    encoded = encode_frame(ANSWER, encode(local_service.translate(_make_request(local_service, 0))))
    with _run_cluster(cores=4) as address:
        page = Service(Settings(cache_mb=0, backend="ray", ray_address=address), choose_backend)
        for count in workers:
            log(f"sleeping replicas: {count}")
            _deploy(make_application(count, SLEEP_SECONDS, encoded), address)
            _run_callers(page, 2.0, None, callers=count)
            result["workers"][str(count)] = _run_callers(page, seconds, None, callers=count)
    return result


# ------------------------------------------------------------ a cluster


@contextlib.contextmanager
def _run_cluster(cores: int) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="hl-") as folder:
        join_or_start("serve", start_local=True, num_cpus=cores, _temp_dir=folder, object_store_memory=80_000_000)
        try:
            yield f"http://127.0.0.1:{free_port()}"
        finally:
            command.leave()


def _deploy(deployment: Any, address: str) -> None:
    command.deploy(deployment, "127.0.0.1", int(address.rpartition(":")[2]))


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as server_socket:
        server_socket.bind(("127.0.0.1", 0))
        port: int = server_socket.getsockname()[1]
        return port


def _find_replicas() -> list[int]:
    """Return the process ids of the replicas, by the process names that Ray sets."""
    process_ids = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (path / "cmdline").read_bytes().startswith(b"ray::ServeReplica:headlight:answers"):
                process_ids.append(int(path.name))
    return process_ids


# ------------------------------------------------------------ callers


def _make_values(number: int) -> dict[str, Any]:
    """Return a request for the same sentence that differs from all concurrent requests."""
    return {"text": SENTENCE, "beam_size": 4, "length_penalty": 1 + number % 97 / 10_000}


def _make_request(service: Service, number: int) -> TranslationRequest:
    return service.check(_make_values(number))


def _translate_expected(service: Service) -> str:
    return service.translate(_make_request(service, 0)).text


class _CallLog:
    """Latencies, wrong answers and failed calls of all callers."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.latencies: list[tuple[float, float]] = []  # (time of the answer, latency), in seconds
        self.wrong_answers = self.lost_answers = self.retries = 0

    def record(self, started: float, is_right: bool | None) -> None:
        with self.lock:
            self.latencies.append((time.monotonic(), time.monotonic() - started))
            self.wrong_answers += is_right is False
            self.lost_answers += is_right is None

    def values(self, seconds: float) -> dict[str, Any]:
        latencies = sorted(latency for _, latency in self.latencies)
        return {
            "answers": len(latencies),
            "rate": len(latencies) / seconds,
            "p50": statistics.median(latencies),
            "p95": latencies[int(0.95 * (len(latencies) - 1))],
            "longest": latencies[-1],
            "wrong": self.wrong_answers,
            "lost": self.lost_answers,
            "again": self.retries,
        }


def _run(
    ask: Callable[[int], bool | None], seconds: float, callers: int, during: Callable[[_CallLog], None]
) -> _CallLog:
    """Run callers in a loop until `during`, which runs concurrently, returns. Return the log of all calls."""
    log, stop_event = _CallLog(), Event()

    def caller(number: int) -> None:
        while not stop_event.is_set():
            started = time.monotonic()
            log.record(started, ask(number))
            number += callers

    with ThreadPoolExecutor(callers) as pool:
        futures = [pool.submit(caller, number) for number in range(callers)]
        try:
            during(log)
        finally:
            stop_event.set()
        for future in futures:
            future.result()
    return log


def _run_callers(
    service: Service, seconds: float, expected: str | None, *, callers: int = CALLER_COUNT
) -> dict[str, Any]:
    """Run callers of a service for `seconds` and return the statistics of their calls."""
    started = time.monotonic()
    result = _run(_make_caller(service, expected), seconds, callers, lambda _: time.sleep(seconds))
    return result.values(time.monotonic() - started)


def _make_caller(service: Service, expected: str | None) -> Callable[[int], bool | None]:
    def ask(number: int) -> bool | None:
        try:
            result: Translation = service.run_on_translator("", Translator.translate, _make_request(service, number))
        except PageError:
            return None
        return expected is None or result.text == expected

    return ask


# ------------------------------------------------------------ killed processes


def _measure_killed_replica(page: Service, local_service: Service, seconds: float) -> dict[str, Any]:
    times: dict[str, float] = {}

    def kill(log: _CallLog) -> None:
        time.sleep(KILL_AFTER_SHARE * seconds)
        replicas_before = _find_replicas()
        os.kill(replicas_before[0], signal.SIGKILL)
        killed_at = time.monotonic()
        _wait_until(lambda: len(set(_find_replicas()) - {replicas_before[0]}) >= len(replicas_before))
        times["replaced"] = time.monotonic() - killed_at
        time.sleep(seconds)

    started = time.monotonic()
    log = _run(_make_caller(page, _translate_expected(local_service)), seconds, CALLER_COUNT, kill)
    return log.values(time.monotonic() - started) | times


def _measure_killed_page(local_service: Service, address: str, seconds: float) -> dict[str, Any]:
    """Kill one of two page processes. Callers switch to the other if one does not respond, like a load balancer."""
    ports = [free_port(), free_port()]
    settings = {
        "HEADLIGHT_BACKEND": "ray",
        "HEADLIGHT_RAY_ADDRESS": address,
        "HEADLIGHT_CACHE_MB": "0",
        "HEADLIGHT_LINE": "500",
    }
    expected_text, times, current_log = _translate_expected(local_service), dict[str, float](), list[_CallLog]()

    def ask(number: int) -> bool | None:
        for attempt in range(4):
            port = ports[(number + attempt) % 2]
            try:
                return _request_text(port, _make_values(number)) == expected_text
            except (httpx.HTTPError, ValueError, KeyError, IndexError):
                if current_log:
                    current_log[0].retries += 1
                time.sleep(0.2)
        return None

    with contextlib.ExitStack() as pages:
        first = pages.enter_context(serve([sys.executable, "app.py"], ports[0], **settings))
        pages.enter_context(serve([sys.executable, "app.py"], ports[1], **settings))
        for number in range(4):
            ask(number)
        times["memory"] = _read_memory(first.pid)

        def kill(calls: _CallLog) -> None:
            current_log.append(calls)
            time.sleep(KILL_AFTER_SHARE * seconds)
            first.kill()
            first.wait()
            killed_at = time.monotonic()
            pages.enter_context(serve([sys.executable, "app.py"], ports[0], **settings))  # as a supervisor does
            _request_text(ports[0], {"text": SENTENCE})
            times["replaced"] = time.monotonic() - killed_at
            time.sleep(seconds)

        started = time.monotonic()
        log = _run(ask, seconds, CALLER_COUNT, kill)
        result = log.values(time.monotonic() - started) | times
    with serve([sys.executable, "app.py"], ports[0], HEADLIGHT_CACHE_MB="0") as alone:
        _request_text(ports[0], {"text": SENTENCE})
        return result | {"memory_here": _read_memory(alone.pid)}


def _request_text(port: int, values: dict[str, Any]) -> str:
    """Request a translation from the API of the page at a port and return its text."""
    base = f"http://127.0.0.1:{port}/gradio_api/call/v2/translate"
    event = httpx.post(base, json=values, timeout=10).raise_for_status().json()["event_id"]
    text = (
        httpx.get(f"http://127.0.0.1:{port}/gradio_api/call/v2/translate/{event}", timeout=60).raise_for_status().text
    )
    match = re.search(r'"text": ?"([^"]*)"', text)
    if match is None:
        raise ValueError(text[:200])
    return match[1]


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"The killed process was not replaced within {TIMEOUT_SECONDS:g} seconds.")
        time.sleep(0.05)

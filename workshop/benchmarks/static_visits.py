"""Visits to the static page: what a class costs a plain file server, and when a first visitor sees a map.

A visit in Chromium, with a translation, records which files it fetches; then 300 clients fetch them at once. The file
server is a process of its own, so that its processor time is known.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles
from typing import Any, BinaryIO, NamedTuple

import httpx

from workshop.benchmarks.arithmetic import compute_paired_ratio, summarise_quartiles
from workshop.benchmarks.first_visit import BANDWIDTH_MBIT, EMPTY_SELECTOR, LATENCY_MS, MAP_SELECTOR, visit
from workshop.benchmarks.page import PORT, Log, serve
from workshop.benchmarks.scale import free_port

VISITOR_COUNT = 300
TIMEOUT_SECONDS = 600.0  # for one file, while all visitors fetch theirs


class FileServer(NamedTuple):
    """`python -m http.server` for one folder. Its output has a line for each request."""

    address: str
    pid: int
    output: BinaryIO

    def methods(self) -> Counter[str]:
        """Count the requests by method and status."""
        self.output.seek(0)
        lines = self.output.read().decode(errors="replace").splitlines()
        parts = [line.split('"') for line in lines if line.count('"') == 2]
        return Counter(f"{request.split()[0]} {status.split()[0]}" for _, request, status in parts)

    def cpu_seconds(self) -> float:
        """Processor time so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100


@contextmanager
def run_file_server(folder: Path) -> Iterator[FileServer]:
    """Serve a folder."""
    port = free_port()
    command = [sys.executable, "-u", "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(folder)]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            address = f"http://127.0.0.1:{port}/"
            _wait_for(address)
            yield FileServer(address, process.pid, output)
        finally:
            process.terminate()
            process.wait()


def _wait_for(address: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            httpx.get(address)
            return
        except httpx.HTTPError:
            time.sleep(0.05)
    raise RuntimeError("The file server did not start.")


def measure_class(browser: Any, folder: Path, translate: Callable[[Any], None], log: Log) -> dict[str, Any]:
    """Fetch what one visitor fetches, as 300 visitors at once. `translate`: translates on the open page."""
    with run_file_server(folder) as server:
        urls: list[str] = []
        page = browser.new_page()
        page.on("request", lambda request: urls.append(request.url))
        page.goto(server.address)
        page.wait_for_selector(MAP_SELECTOR)
        translate(page)
        page.close()
        urls = [url for url in urls if url.startswith(server.address)]
        log(f"one visitor: {len(urls)} files")
        before, cpu_before, start = server.methods(), server.cpu_seconds(), time.perf_counter()
        with ThreadPoolExecutor(VISITOR_COUNT) as threads:
            visits = list(threads.map(_fetch, [urls] * VISITOR_COUNT))
        return {
            "visitors": VISITOR_COUNT,
            "files": len(urls),
            "bytes": visits[0][1],
            "requests": dict(server.methods() - before),
            "seconds": time.perf_counter() - start,
            "p95": quantiles([seconds for seconds, _ in visits], n=20)[-1],
            "cpu_seconds": server.cpu_seconds() - cpu_before,
        }


def _fetch(urls: Sequence[str]) -> tuple[float, int]:
    """Return the seconds and bytes of one visit."""
    start = time.perf_counter()
    with httpx.Client(timeout=TIMEOUT_SECONDS) as client:
        sizes = [len(client.get(url).raise_for_status().content) for url in urls]
    return time.perf_counter() - start, sum(sizes)


def measure_first_map(browser: Any, folder: Path, repetitions: int, log: Log) -> dict[str, Any]:
    """Time a first visit until the map is painted, alternately with Gradio's empty page."""
    ours: list[float] = []
    empty: list[float] = []
    traffic: dict[str, int] = {}
    command = [sys.executable, "-m", "workshop.benchmarks.empty_page"]
    with run_file_server(folder) as server, serve(command, PORT + 1):
        for turn in range(repetitions + 1):  # the first visits warm up the servers
            seconds, traffic = visit(browser, server.address, MAP_SELECTOR)
            empty_seconds, _ = visit(browser, f"http://127.0.0.1:{PORT + 1}", EMPTY_SELECTOR)
            log(f"first map {seconds:.2f} s, empty page {empty_seconds:.2f} s")
            if turn:
                ours.append(seconds)
                empty.append(empty_seconds)
    result = {
        "ours": summarise_quartiles(ours),
        "empty": summarise_quartiles(empty),
        "ratio": compute_paired_ratio(ours, empty),
    }
    return result | {"line": {"latency": LATENCY_MS, "speed": BANDWIDTH_MBIT}} | traffic

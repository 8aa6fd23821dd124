"""A page in a separate process, which can be killed, and its memory, threads and descriptors."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from workshop.trust.checks import ROOT

START_SECONDS = 400.0  # until the page answers, also on a busy machine
STREAM = "gradio_api/headlight/stream/stream_messages"
CALL = "gradio_api/headlight/call/"
API_CALL = "gradio_api/call/"


class Usage(NamedTuple):
    """Resources of a process."""

    megabytes: float
    threads: int
    descriptors: int


class PageProcess:
    """A running page. `output`: the file of its messages."""

    def __init__(self, process: subprocess.Popen[str], url: str, output: Path) -> None:
        self.process, self.url, self.output = process, url, output
        self.http = httpx.Client(base_url=url, timeout=120, limits=httpx.Limits(max_connections=None))

    def usage(self) -> Usage:
        """Read the resources from Linux's `/proc`."""
        folder = Path("/proc") / str(self.process.pid)
        status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        return Usage(
            int(status["VmRSS"].split()[0]) / 1000, int(status["Threads"]), len(list((folder / "fd").iterdir()))
        )

    def kill(self) -> None:
        """End the process at once, as the kernel does when memory runs out."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def text(self) -> str:
        """Return the messages of the process."""
        return self.output.read_text(encoding="utf-8", errors="replace")

    def translate(self, text: str, **values: Any) -> dict[str, Any]:
        """Request a translation as the page does, and return the last message."""
        address = values.pop("address", "127.0.0.1")
        body = {"session": values.pop("session", "s"), "values": {"turn": 1, "text": text, **values}}
        reply = self.http.post(STREAM, json=body, headers={"x-forwarded-for": address})
        messages = [json.loads(line[6:]) for line in reply.text.splitlines() if line.startswith("data: ")]
        return messages[-1] if messages else {"what": "error", "word": str(reply.status_code)}

    def call(self, name: str, values: Any, address: str = "127.0.0.1", session: str = "s") -> httpx.Response:
        """Call a function of a widget, and repeat the call while its ticket waits in the queue."""
        body = {"session": session, "values": values, "ticket": ""}
        while True:
            reply = self.http.post(CALL + name, json=body, headers={"x-forwarded-for": address})
            is_waiting = (
                reply.status_code == 200 and reply.content.startswith(b"{") and reply.json().get("what") == "waiting"
            )
            if not is_waiting:
                return reply
            body["ticket"] = reply.json()["ticket"]


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def start_page(
    folder: Path,
    variables: Mapping[str, str | None] | None = None,
    *,
    before: Sequence[str] = (),
    program: Sequence[str] = ("app.py",),
    port: int | None = None,
) -> PageProcess:
    """Start a page and return at once.

    `variables` update the environment; None removes a variable. `before` is a command that runs the page's command.
    """
    port = port or free_port()
    environment = os.environ | {"HEADLIGHT_PORT": str(port), "HEADLIGHT_HOST": "127.0.0.1", "PYTHONUNBUFFERED": "1"}
    for name, value in (variables or {}).items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value
    output = folder / f"page-{port}-{time.monotonic_ns()}.log"
    with output.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            [*before, sys.executable, *program], cwd=ROOT, env=environment, stdout=file, stderr=file, text=True
        )
    return PageProcess(process, f"http://127.0.0.1:{port}/", output)


def wait_until_ready(page: PageProcess) -> bool:
    """Wait until the page answers. Return False if its process has ended or `START_SECONDS` have passed."""
    deadline = time.monotonic() + START_SECONDS
    while page.process.poll() is None and time.monotonic() < deadline:
        try:
            if page.http.get("config").status_code == 200:
                return True
        except httpx.HTTPError:
            time.sleep(0.1)
    return False


@contextmanager
def run_page(folder: Path, variables: Mapping[str, str | None] | None = None, **options: Any) -> Iterator[PageProcess]:
    """Run a page for the length of a `with` block."""
    page = start_page(folder, variables, **options)
    try:
        if not wait_until_ready(page):
            raise RuntimeError(f"The page did not start: {page.text()[-2000:]}")
        yield page
    finally:
        page.http.close()
        page.process.terminate()
        try:
            page.process.wait(30)
        except subprocess.TimeoutExpired:
            page.kill()

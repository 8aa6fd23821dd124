"""A real cluster for tests, in a separate process that is stopped with all of its children."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from headlight.model.records import KINDS, Translation
from headlight.viz.service.import_path import python_path

PATIENCE = 240.0  # seconds until a condition counts as never met: on a busy machine Ray takes a minute to start


def soon(holds: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def expect_same(actual: Translation | None, expected: Translation) -> None:
    assert actual is not None
    assert (actual.text, actual.target_tokens, actual.tree) == (expected.text, expected.target_tokens, expected.tree)
    assert all((actual.attention.of(kind) == expected.attention.of(kind)).all() for kind in KINDS)


class RealCluster:
    """The process of a module that serves at a port, and answers each line that it reads with one."""

    def __init__(self, process: subprocess.Popen[str], port: int, notes: Path) -> None:
        self.process, self.notes = process, notes
        self.address = f"http://127.0.0.1:{port}"

    def ask(self, line: str) -> str:
        """The answer, or "" if the process has ended."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.read()

    def read(self) -> str:
        """The next line that it says."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")


@contextmanager
def real_cluster(module: str, environment: Mapping[str, str] | None = None) -> Iterator[RealCluster]:
    """The cluster of a module, which gets a folder for notes, one for Ray, and a port, and says "ready"."""
    for attempt in range(3):  # processes of Ray exit if a busy machine delays them
        folder = Path(tempfile.mkdtemp(prefix="hl-"))  # short: names of sockets have 107 letters at most
        port = free_port()
        process = _start(module, folder, port, environment or {})
        try:
            cluster = RealCluster(process, port, folder / "notes")
            if cluster.read() != "ready":
                sys.stderr.write((folder / "log").read_text()[-5000:])
                assert attempt < 2, "the cluster does not start"
                continue
            yield cluster
            return
        finally:
            _end(process, folder)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _start(module: str, folder: Path, port: int, environment: Mapping[str, str]) -> subprocess.Popen[str]:
    (folder / "notes").mkdir()
    own = {"PYTHONPATH": python_path(), "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    with (folder / "log").open("w") as log:
        return subprocess.Popen(
            [sys.executable, "-m", module, folder / "notes", folder / "ray", str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, **own, **environment},
        )


def _end(process: subprocess.Popen[str], folder: Path) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError):
        process.stdin.close()  # by which it ends its cluster
    with suppress(subprocess.TimeoutExpired):
        process.wait(60)
    for number in started_from(folder):  # nothing of it stays, whatever has happened
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    process.kill()
    process.wait()
    process.stdout.read()
    process.stdout.close()
    shutil.rmtree(folder, ignore_errors=True)


def started_from(folder: Path, *, by_variables: bool = False) -> list[int]:
    """The processes whose command, or whose variables, name this cluster's folder."""
    name, processes = str(folder).encode(), []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            environment = (path / "cmdline").read_bytes() + ((path / "environ").read_bytes() if by_variables else b"")
            if int(path.name) != os.getpid() and name in environment:
                processes.append(int(path.name))
    return processes

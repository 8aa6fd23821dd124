"""`headlight serve --cluster`: start, and stop by SIGTERM or Ctrl-C."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from headlight.model.errors import CommandError
from headlight.viz.backends.ray_cluster import join_or_start
from headlight.viz.service.import_path import python_path
from tests.viz.backends.real_cluster import PATIENCE, free_port, started_from


@contextmanager
def served() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the command; yield its process and the printed address."""
    for attempt in range(5):  # on a busy machine, Ray's processes time out
        folder = Path(tempfile.mkdtemp(prefix="hl-"))  # short, because socket paths have at most 107 characters
        own = {"PYTHONPATH": python_path(), "RAY_TMPDIR": str(folder)}
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        command = [sys.executable, "-m", "headlight", "serve", "--cluster", "--replicas", "1"]
        process = subprocess.Popen(
            [*command, "--port", str(free_port())],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **own, **token},
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                why = process.communicate(timeout=PATIENCE)[1]
                assert "Ray does not start on this machine" in why
                assert attempt < 4, why
                continue
            address = line.split()[-1]
            command_line = f"HEADLIGHT_BACKEND=ray HEADLIGHT_RAY_ADDRESS={address} headlight run\n"
            assert process.stdout.readline() == command_line
            yield process, address
            return
        finally:
            for number in started_from(folder):  # stop all processes, also after an error
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            process.kill()
            process.communicate()
            shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.cluster
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_cluster_stops_quietly_with_all_processes(number: signal.Signals) -> None:
    pytest.importorskip("ray.serve", reason="Ray Serve is not installed, so no cluster is started")
    with served() as (process, address):
        assert httpx.get(f"{address}/-/routes", timeout=PATIENCE).json() == {"/": "headlight"}
        process.send_signal(number)
        output, logged = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, logged
        assert output == ""
        assert "Traceback" not in logged
        assert "Error" not in logged
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{address}/-/routes", timeout=PATIENCE)


def test_ray_start_failure_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**options: object) -> None:
        raise Exception("The node timed out.")

    for name in ("RAY_USAGE_STATS_ENABLED", "PYTHONPATH"):
        monkeypatch.setenv(name, "")  # so that both are restored
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(init=init, __path__=[]))
    monkeypatch.setitem(sys.modules, "ray.serve", SimpleNamespace())
    with pytest.raises(CommandError, match=r"^Ray does not start on this machine: The node timed out\. If"):
        join_or_start("serve", start_local=True)

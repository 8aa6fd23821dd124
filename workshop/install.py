"""Installs a requirements file for `make`: `python workshop/install.py requirements.txt`.

On Linux, the package index has the PyTorch build for NVIDIA GPUs, with 3 GB of CUDA libraries. A machine without an
NVIDIA driver installs PyTorch from its index of CPU builds instead, if that index is reachable. This script imports
only the standard library, because it runs before any package is installed.
"""

from __future__ import annotations

import ctypes.util
import importlib.metadata
import os
import platform
import re
import shutil
import ssl
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
MAX_WAIT_SECONDS = 5.0
PIN = re.compile(r"^torch==([\w.]+)", re.MULTILINE)
PIP = [sys.executable, "-m", "pip"]
INSTALL = ["install", "--quiet", "--disable-pip-version-check"]


def find_pinned_torch(requirements: Path) -> str | None:
    """Return the PyTorch version that a requirements file or one of its included files pins."""
    text = requirements.read_text(encoding="utf-8")
    if pin := PIN.search(text):
        return pin[1]
    included = re.findall(r"^-r (\S+)", text, re.MULTILINE)
    return next(filter(None, (find_pinned_torch(requirements.parent / name) for name in included)), None)


def find_installed_torch() -> str | None:
    """Return the installed PyTorch version without its build: 2.13.0 for 2.13.0+cpu."""
    try:
        return importlib.metadata.version("torch").partition("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return None


def has_nvidia_driver() -> bool:
    """Whether this machine has an NVIDIA driver."""
    signs = (shutil.which("nvidia-smi"), ctypes.util.find_library("cuda"), Path("/proc/driver/nvidia").exists())
    return any(signs)


def find_pip_index_setting() -> str | None:
    """Return the name of a user's pip setting that selects or disables an index."""
    output = subprocess.run([*PIP, "config", "list"], capture_output=True, text=True, check=False).stdout
    settings = re.findall(r"^(\S+?\.(?:index-url|no-index))=", output, re.MULTILINE)
    return next(iter(settings), None)


def is_index_reachable(index: str, wait_seconds: float = MAX_WAIT_SECONDS) -> bool:
    """Whether an index serves a PyTorch page, through the proxies of the environment.

    A thread sends the request, because a DNS lookup has no timeout.
    """
    is_reachable = threading.Event()
    certificates = os.environ.get("PIP_CERT") or os.environ.get("REQUESTS_CA_BUNDLE")

    def send_request() -> None:
        request = urllib.request.Request(f"{index}/torch/", method="HEAD")  # noqa: S310 - CPU_INDEX, or the index of a test
        try:
            context = ssl.create_default_context(cafile=certificates)
            with urllib.request.urlopen(request, timeout=wait_seconds, context=context):  # noqa: S310
                is_reachable.set()
        except (OSError, ValueError):
            pass
        finally:
            is_done.set()

    is_done = threading.Event()
    threading.Thread(target=send_request, daemon=True).start()
    is_done.wait(wait_seconds)
    return is_reachable.is_set()


def find_reason_against_cpu_build(index: str) -> str | None:
    """Return why PyTorch comes from the package index, or None if the CPU build is used."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return f"it has one build for {platform.system()} on {platform.machine()}"
    if has_nvidia_driver():
        return "this machine has an NVIDIA driver"
    if setting := find_pip_index_setting():
        return f"your setting {setting} of pip names the index"
    if not is_index_reachable(index):
        return f"{index} does not answer, so it may bring 3 GB of CUDA that this machine cannot use"
    return None


def install_torch(version: str, index: str) -> None:
    """Install the CPU build of PyTorch if possible. Else pip installs PyTorch with the other packages."""
    if reason := find_reason_against_cpu_build(index):
        print(f"PyTorch {version}: as the package index has it, because {reason}.", flush=True)
        return
    print(f"PyTorch {version}: the CPU build of {index}, because this machine has no NVIDIA driver.", flush=True)
    # Only PyTorch comes from this index; pip installs its dependencies with the other packages.
    command = [*PIP, *INSTALL, "--no-deps", "--index-url", index, f"torch=={version}"]
    if subprocess.run(command, check=False).returncode:
        print(f"PyTorch {version}: the installation failed; using the build of the package index.", flush=True)


def main(requirements: Path, index: str = CPU_INDEX) -> int:
    """Install the requirements file and return the exit status of pip."""
    version = find_pinned_torch(requirements)
    if version and find_installed_torch() != version:
        install_torch(version, index)
    return subprocess.run([*PIP, *INSTALL, "-r", str(requirements)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))

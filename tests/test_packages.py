"""The lock files of the image: complete, with hashes, and consistent with the lists of direct requirements."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
CLUSTER = "docs/cluster/requirements"
CLUSTER_LOCK = (ROOT / f"{CLUSTER}.lock").read_text(encoding="utf-8")
PIN = re.compile(r"^([a-z0-9][a-z0-9-]*)==([^ ;]+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE)


def plain(name: str) -> str:
    """A package name in its normalised form."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked(text: str = LOCK) -> dict[str, str]:
    return {name: version for name, version, _ in PIN.findall(text)}


def wanted(path: str = "requirements.txt") -> dict[str, str]:
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    pairs = (line.partition("#")[0].strip().split("==") for line in lines)
    return {plain(pair[0].partition("[")[0]): pair[1] for pair in pairs if pair[0]}


@pytest.mark.parametrize(("lock", "path"), [(LOCK, "requirements.txt"), (CLUSTER_LOCK, f"{CLUSTER}.txt")])
def test_lock_has_required_versions(lock: str, path: str) -> None:
    assert wanted(path)
    assert {name: locked(lock).get(name) for name in wanted(path)} == wanted(path)


def test_both_locks_agree() -> None:
    """The second one is installed over the first."""
    app, cluster = locked(), locked(CLUSTER_LOCK)
    assert len(app.keys() & cluster.keys()) > 20
    assert {name: cluster[name] for name in app.keys() & cluster.keys()} == {
        name: app[name] for name in app.keys() & cluster.keys()
    }


@pytest.mark.parametrize("name", ["fastapi", "starlette", "uvicorn", "pillow", "httpx2", "pydantic"])
def test_indirect_dependencies_are_pinned(name: str) -> None:
    assert name in locked()


@pytest.mark.parametrize("lock", [LOCK, CLUSTER_LOCK], ids=["app", "cluster"])
def test_lock_has_only_pins_with_hashes(lock: str) -> None:
    rest = PIN.sub("", lock)
    assert [line for line in rest.splitlines() if line and not line.startswith("#")] == []
    assert len(locked(lock)) == len(PIN.findall(lock)) > 50
    for fragment in ("://", "@", "--index", "--find-links", ".org", ".com"):
        assert fragment not in lock


def test_image_installs_only_the_lock() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    installs = re.findall(r"pip install .*", dockerfile)
    assert installs == [
        "pip install --no-cache-dir --require-hashes -r requirements.lock",
        "pip install --no-cache-dir --require-hashes -r cluster.lock; \\",  # only for clusters
    ]
    assert re.search(r"^FROM python:3\.12-slim@sha256:[0-9a-f]{64}$", dockerfile, re.MULTILINE)
    assert "Python 3.12 on Linux" in LOCK.splitlines()[0]

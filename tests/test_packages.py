"""The lock file of the image: complete, with hashes, and consistent with requirements.txt."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PIN = re.compile(r"^([a-z0-9][a-z0-9-]*)==([^ ;]+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE)


def plain(name: str) -> str:
    """A package name in its normalised form."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked() -> dict[str, str]:
    return {name: version for name, version, _ in PIN.findall(LOCK)}


def wanted() -> dict[str, str]:
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.partition("#")[0].strip().split("==") for line in lines)
    return {plain(pair[0]): pair[1] for pair in pairs if pair[0]}


def test_lock_has_required_versions() -> None:
    assert wanted()
    assert {name: locked().get(name) for name in wanted()} == wanted()


@pytest.mark.parametrize("name", ["fastapi", "starlette", "uvicorn", "pillow", "httpx2", "pydantic"])
def test_indirect_dependencies_are_pinned(name: str) -> None:
    assert name in locked()


def test_lock_has_only_pins_with_hashes() -> None:
    rest = PIN.sub("", LOCK)
    assert [line for line in rest.splitlines() if line and not line.startswith("#")] == []
    assert len(locked()) == len(PIN.findall(LOCK)) > 50
    for fragment in ("://", "@", "--index", "--find-links", ".org", ".com"):
        assert fragment not in LOCK


def test_image_installs_only_the_lock() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    installs = re.findall(r"pip install .*", dockerfile)
    assert installs == [
        "pip install --no-cache-dir --require-hashes -r requirements.lock",
        "pip install --no-cache-dir -r cluster.txt; \\",  # only for clusters
    ]
    assert "FROM python:3.12-" in dockerfile
    assert "Python 3.12 on Linux" in LOCK.splitlines()[0]

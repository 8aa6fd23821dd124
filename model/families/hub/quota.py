"""The disk quota of downloaded models: the least recently used one is deleted first.

Other programs use the cache, too. A repository that Headlight downloaded first has a mark file. Only marked
repositories are deleted; the modification time of the mark is that of the last use.
"""

from __future__ import annotations

import shutil
from collections.abc import Container
from pathlib import Path
from threading import Lock

from headlight.model.families.hub.cache import cache_folder, repository_folder
from headlight.model.families.hub.download_plan import megabytes
from headlight.model.families.hub.model_id import HubError

MARK_FILE = ".headlight"
_LOCK = Lock()


def mark_claimed(repository: str) -> None:
    """Mark a repository before its download, unless it is already in the cache."""
    folder = repository_folder(repository)
    if (folder / MARK_FILE).exists() or not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MARK_FILE).touch()


def mark_used(repository: str) -> None:
    """Record that a model of this repository is in use."""
    mark = repository_folder(repository) / MARK_FILE
    try:
        if mark.exists():
            mark.touch()
    except OSError:
        return  # nothing is deleted from a read-only cache


def claimed_sizes() -> dict[str, int]:
    """Return the bytes of every marked repository, the least recently used first."""
    marks = sorted(cache_folder().glob(f"models--*--*/{MARK_FILE}"), key=lambda mark: mark.stat().st_mtime_ns)
    return {_name(mark.parent): _bytes(mark.parent) for mark in marks}


def make_room(repository: str, needed: int, limit: int, in_use: Container[str]) -> list[str]:
    """Delete repositories until `needed` more bytes fit. Return their names; raise a HubError if that is not enough."""
    with _LOCK:
        sizes = claimed_sizes()
        excess = sum(sizes.values()) + needed - limit
        deleted = []
        for name, size in sizes.items():
            if excess <= 0:
                break
            if name == repository or name in in_use:
                continue
            shutil.rmtree(repository_folder(name), ignore_errors=True)  # Windows cannot delete a file that is open
            if not repository_folder(name).exists():
                deleted.append(name)
                excess -= size
        if excess > 0:
            raise HubError("full", repository=repository, megabytes=megabytes(needed), limit=megabytes(limit))
        return deleted


def _name(folder: Path) -> str:
    return folder.name.removeprefix("models--").replace("--", "/")


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())

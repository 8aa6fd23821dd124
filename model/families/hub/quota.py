"""Disk quota of downloaded models. The least recently used repository is deleted first.

Other programs use the cache, too, so Headlight marks each repository that it adds with a file, and deletes only marked
repositories. The modification time of this file is the time of the last use.
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
        return  # a read-only cache needs no time of use, because nothing can be deleted from it


def marked_sizes() -> dict[str, int]:
    """Return the bytes of every marked repository, the least recently used first."""
    marks = sorted(cache_folder().glob(f"models--*--*/{MARK_FILE}"), key=lambda mark: mark.stat().st_mtime_ns)
    return {_name(mark.parent): _bytes(mark.parent) for mark in marks}


def make_room(repository: str, needed: int, limit: int, in_use: Container[str]) -> list[str]:
    """Delete marked repositories until `needed` more bytes fit in `limit`, and return their names.

    Raises:
        HubError: too few bytes can be freed, because `repository` and the repositories `in_use` are kept.
    """
    with _LOCK:
        sizes = marked_sizes()
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

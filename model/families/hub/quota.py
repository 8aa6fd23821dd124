"""The disk quota of downloaded models: the least recently used one is deleted first.

Other programs use the cache, too. A repository that we were the first to download carries a mark. Only marked ones are
ever deleted, and the time of the mark says when it was last used.
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
    """Mark a repository as ours before its download, unless it is in the cache already."""
    folder = repository_folder(repository)
    if (folder / MARK_FILE).exists() or not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MARK_FILE).touch()


def mark_used(repository: str) -> None:
    """Note that a model of this repository is used now."""
    mark = repository_folder(repository) / MARK_FILE
    try:
        if mark.exists():
            mark.touch()
    except OSError:
        return  # in a read-only cache nothing is deleted either


def claimed_sizes() -> dict[str, int]:
    """The bytes of every marked repository, the least recently used first."""
    marks = sorted(cache_folder().glob(f"models--*--*/{MARK_FILE}"), key=lambda mark: mark.stat().st_mtime_ns)
    return {_name(mark.parent): _bytes(mark.parent) for mark in marks}


def make_room(repository: str, needed: int, limit: int, in_use: Container[str]) -> list[str]:
    """Delete until `needed` more bytes fit; the names of the deleted, or an error if that is not enough."""
    with _LOCK:
        sizes = claimed_sizes()
        left = sum(sizes.values()) + needed - limit
        gone = []
        for name, size in sizes.items():
            if left <= 0:
                break
            if name == repository or name in in_use:
                continue
            shutil.rmtree(repository_folder(name), ignore_errors=True)  # Windows cannot delete a file that is open
            if not repository_folder(name).exists():
                gone.append(name)
                left -= size
        if left > 0:
            raise HubError("full", repository=repository, megabytes=megabytes(needed), limit=megabytes(limit))
        return gone


def _name(folder: Path) -> str:
    return folder.name.removeprefix("models--").replace("--", "/")


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())

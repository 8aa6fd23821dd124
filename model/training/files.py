"""Atomic writes: write a temporary file in the same folder, flush it to disk, rename it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from headlight.model.errors import TrainingError


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file, and rename it to `path`. If `write` fails, `path` is unchanged."""
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(part)
        with part.open("rb+") as file:
            os.fsync(file.fileno())  # without this, a crash may leave a renamed file without content
        part.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise TrainingError(
            f"{path} cannot be written: {error.strerror or error}. The previous file is intact. "
            "Free some space or choose another folder, then repeat the command."
        ) from error
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    write_atomically(path, lambda part: _write_text(part, text))


def copy_file(source: Path, path: Path) -> None:
    """Copy a file atomically."""
    if not source.exists():
        raise TrainingError(f"{source} does not exist. Check the recipe's `start` and the current folder.")
    write_atomically(path, lambda part: _write_bytes(part, source.read_bytes()))


def _write_bytes(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _sync_folder(folder: Path) -> None:
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return  # Windows cannot open a folder; the file itself is already on disk
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

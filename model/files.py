"""Atomic writes: a temporary file in the same folder is filled, flushed to disk and renamed.

After a full disk, a crash or an interrupt, a file has either its previous or its new content.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from headlight.model.errors import WriteError

PART = re.compile(r"\..+\.[0-9a-f]{8}\.part")  # a temporary file of `write_atomically`


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file atomically. Text is encoded as UTF-8, without conversion of line ends."""
    data = content.encode() if isinstance(content, str) else content
    write_atomically(path, lambda part: part.write_bytes(data))


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write` fill a temporary file, and rename it to `path`. If that fails, `path` is unchanged.

    A symbolic link is kept, and its target is replaced. Devices and pipes, such as `/dev/stdout`, are written directly.
    """
    target = path.resolve()
    if target.exists() and not target.is_file() and not target.is_dir():
        with name_file(path):
            write(path)
        return
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    with name_file(path, "The previous file is intact. "):
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            write(part)
            if target.exists():
                shutil.copymode(target, part)
            with part.open("rb+") as file:
                os.fsync(file.fileno())  # without this, a crash may leave a renamed file without content
            part.replace(target)
            _sync_folder(target.parent)
        except BaseException:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise


def delete_partial_files(folder: Path) -> None:
    """Delete the temporary files that killed writes have left in a folder."""
    for part in folder.glob(".*.part"):
        if PART.fullmatch(part.name):
            with suppress(OSError):
                part.unlink()


@contextmanager
def name_file(path: Path, state: str = "") -> Iterator[None]:
    """Convert an `OSError` to a `WriteError` that names the file. `state` is a sentence about the previous file."""
    try:
        yield
    except BrokenPipeError:  # the reader of a pipe has closed it, as `head` does
        raise
    except OSError as error:
        raise WriteError(
            f"{path} cannot be written: {error.strerror or error}. {state}"
            "Free some space or choose another folder, then repeat the command."
        ) from error


def _sync_folder(folder: Path) -> None:
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return  # Windows cannot open a folder; the file itself is already on disk
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

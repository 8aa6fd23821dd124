"""Download of a public set: described before, resumed after a break, checked at the end."""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from headlight.model.errors import TrainingError
from headlight.model.training.datasets import PUBLIC_SETS, DatasetFile, PublicDataset, damaged

BLOCK_BYTES = 1 << 16
USER_AGENT = "Mozilla/5.0 (compatible; Headlight)"  # one of the sites answers no others
OnMessage = Callable[[str], None]


def find_dataset(name: str) -> PublicDataset:
    """The set of this name."""
    if name not in PUBLIC_SETS:
        raise TrainingError(f"There is no set {name!r}. Known are: {', '.join(PUBLIC_SETS)}.")
    return PUBLIC_SETS[name]


def download_dataset(chosen: PublicDataset, data: Path, report: OnMessage) -> list[Path]:
    """Fetch a set into a folder of its name; gives the files that a recipe can name."""
    report(f"{chosen.name}: {chosen.about}\n  licence: {chosen.licence}\n  size: {chosen.size}\n  from: {chosen.page}")
    folder = data / chosen.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in chosen.files:
            if not (folder / file.name).exists():
                download_file(file, folder / file.name, report)
        made = chosen.unpack(folder)
    except urllib.error.HTTPError as error:
        raise TrainingError(
            f"{error.url} answers {error.code} ({error.reason}). It may have moved: look at {chosen.page}, "
            f"and put {', '.join(file.name for file in chosen.files)} into {folder} by hand; "
            "the same command then checks and unpacks them."
        ) from error
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise TrainingError(
            f"The connection failed ({getattr(error, 'reason', None) or error or type(error).__name__}). "
            "What has come is kept: start the same command again to go on. Without a network, fetch "
            f"{', '.join(file.url for file in chosen.files)} on another computer, put the file(s) into {folder}, "
            "and start the same command: it then checks and unpacks them."
        ) from error
    except OSError as error:
        raise TrainingError(
            f"{folder} cannot be written: {error.strerror or error}. Make room, or name another."
        ) from error
    for path in made:
        report(f"  {path} ({path.stat().st_size:,} bytes)")
    return made


def download_file(file: DatasetFile, path: Path, report: OnMessage, *, timeout: float = 60.0) -> None:
    """One file to its place, by way of a `.part` that a later call goes on with."""
    part = path.with_name(path.name + ".part")
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(file.url, headers={"User-Agent": USER_AGENT})  # noqa: S310 - addresses of the table
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:  # noqa: S310
            goes_on = answer.status == 206 and _starts_at(answer.headers.get("Content-Range"), have)
            length = answer.headers.get("Content-Length")
            expected = int(length) + (have if goes_on else 0) if length else None
            report(f"  {file.url}" + (f" (goes on after {have:,} bytes)" if goes_on else ""))
            with part.open("ab" if goes_on else "wb") as out:
                while block := answer.read(BLOCK_BYTES):
                    out.write(block)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not have:  # 416: nothing is left to fetch, or the file is another by now
            raise
        expected = None
        if file.size is None and file.digest is None:
            part.unlink()
            download_file(file, path, report, timeout=timeout)
            return
    _check(file, part, expected)
    part.replace(path)


def _starts_at(content_range: str | None, start: int) -> bool:
    return bool(content_range) and str(content_range).strip().startswith(f"bytes {start}-")


def _check(file: DatasetFile, part: Path, expected: int | None) -> None:
    size = part.stat().st_size
    for wanted in (expected, file.size):
        if wanted is not None and size < wanted:
            raise ConnectionError(f"it broke off after {size:,} of {wanted:,} bytes")
    if file.size is not None and size != file.size:
        part.unlink()
        raise damaged(part, f"{size:,} bytes instead of {file.size:,}")
    if file.digest is not None:
        kind, _, wanted_digest = file.digest.partition(":")
        with part.open("rb") as content:
            result = hashlib.file_digest(content, lambda: hashlib.new(kind, usedforsecurity=False)).hexdigest()
        if result != wanted_digest:
            part.unlink()
            raise damaged(part, f"its {kind} is {result}, not {wanted_digest}")

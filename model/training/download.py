"""Download of a public dataset, which resumes after an interruption and checks the files."""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from headlight.model.errors import TrainingError
from headlight.model.training.datasets import PUBLIC_SETS, DatasetFile, PublicDataset, make_damage_error

BLOCK_BYTES = 1 << 16
USER_AGENT = "Mozilla/5.0 (compatible; Headlight)"  # one of the sites rejects other agents
OnMessage = Callable[[str], None]


def find_dataset(name: str) -> PublicDataset:
    """Return the dataset with this name."""
    if name not in PUBLIC_SETS:
        raise TrainingError(f"There is no dataset {name!r}. Available are: {', '.join(PUBLIC_SETS)}.")
    return PUBLIC_SETS[name]


def download_dataset(dataset: PublicDataset, data: Path, report: OnMessage) -> list[Path]:
    """Describe a dataset, download it to the folder `data/NAME`, and return the files that a recipe can name."""
    report(
        f"{dataset.name}: {dataset.about}\n  licence: {dataset.licence}\n  size: {dataset.size}\n  from: {dataset.page}"
    )
    folder = data / dataset.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in dataset.files:
            if not (folder / file.name).exists():
                download_file(file, folder / file.name, report)
        outputs = dataset.unpack(folder)
    except urllib.error.HTTPError as error:
        raise TrainingError(
            f"{error.url} returned {error.code} ({error.reason}). It may have moved: look at {dataset.page}, "
            f"and put {', '.join(file.name for file in dataset.files)} into {folder} by hand; "
            "the same command then checks and unpacks them."
        ) from error
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise TrainingError(
            f"The connection failed ({getattr(error, 'reason', None) or error or type(error).__name__}). "
            "The partial download is kept: repeat the command to resume. Without a network, download "
            f"{', '.join(file.url for file in dataset.files)} on another computer, put the file(s) into {folder}, "
            "and start the same command: it then checks and unpacks them."
        ) from error
    except OSError as error:
        raise TrainingError(
            f"{error.filename or folder} cannot be written: {error.strerror or error}. "
            "Free some space, or choose another folder."
        ) from error
    for path in outputs:
        report(f"  {path} ({path.stat().st_size:,} bytes)")
    return outputs


def download_file(file: DatasetFile, path: Path, report: OnMessage, *, timeout: float = 60.0) -> None:
    """Download one file to a `.part` file, which a later call resumes, then check and rename it. `timeout`: seconds."""
    part = path.with_name(path.name + ".part")
    offset = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(file.url, headers={"User-Agent": USER_AGENT})  # noqa: S310 - a URL of PUBLIC_SETS
    if offset:
        request.add_header("Range", f"bytes={offset}-")
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:  # noqa: S310
            resumes = response.status == 206 and _starts_at(response.headers.get("Content-Range"), offset)
            length = response.headers.get("Content-Length")
            expected = int(length) + (offset if resumes else 0) if length else None
            report(f"  {file.url}" + (f" (resumes after {offset:,} bytes)" if resumes else ""))
            with part.open("ab" if resumes else "wb") as out:
                while block := response.read(BLOCK_BYTES):
                    out.write(block)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not offset:  # 416, range not satisfiable: the part is complete, or the file has changed
            raise
        expected = None
        if file.size is None and file.digest is None:
            part.unlink()
            download_file(file, path, report, timeout=timeout)
            return
    _check_file(file, part, expected)
    part.replace(path)


def _starts_at(content_range: str | None, start: int) -> bool:
    return bool(content_range) and str(content_range).strip().startswith(f"bytes {start}-")


def _check_file(file: DatasetFile, part: Path, expected: int | None) -> None:
    size = part.stat().st_size
    for required_size in (expected, file.size):
        if required_size is not None and size < required_size:
            raise ConnectionError(f"it stopped after {size:,} of {required_size:,} bytes")
    if file.size is not None and size != file.size:
        part.unlink()
        raise make_damage_error(part, f"{size:,} bytes instead of {file.size:,}")
    if file.digest is not None:
        kind, _, expected_digest = file.digest.partition(":")
        with part.open("rb") as content:
            result = hashlib.file_digest(content, lambda: hashlib.new(kind, usedforsecurity=False)).hexdigest()
        if result != expected_digest:
            part.unlink()
            raise make_damage_error(part, f"its {kind} is {result}, not {expected_digest}")

"""SHA256SUMS of a model folder, in the format of the `sha256sum` tool: writing, verification and digests."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path

from headlight.model.errors import CheckpointError
from headlight.model.files import write_file

CHECKSUMS_FILE = "SHA256SUMS"
CHECKSUM_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")
CARD_FILE = "README.md"  # an edited card does not change the model
WEIGHTS = (".safetensors", ".bin")  # endings of the names of weight files
DESCRIPTIVE_FILES = (CARD_FILE, "pruning.json")  # files that describe a model without changing its answers


def write_checksums(folder: Path) -> None:
    """Write the checksum of every file of the folder to SHA256SUMS."""
    lines = [f"{_digest(path)}  {path.name}\n" for path in sorted(folder.iterdir()) if path.name != CHECKSUMS_FILE]
    write_file(folder / CHECKSUMS_FILE, "".join(lines))


def markdown_file_list(folder: Path) -> str:
    """Return the list of files for a model card, with sizes and SHA-256 checksums."""
    rows = [
        f"| {path.name} | {path.stat().st_size:,} | `{_digest(path)}` |\n"
        for path in sorted(folder.iterdir())
        if path.name not in (CHECKSUMS_FILE, CARD_FILE)
    ]
    return f"## Files\n\n| file | bytes | SHA-256 |\n| --- | ---: | --- |\n{''.join(rows)}"


def require_file(folder: Path, name: str) -> None:
    """Raise a `CheckpointError` if the file is missing."""
    if not (folder / name).exists():
        raise CheckpointError(f"{folder}: {name} is missing. Download or save the model again.")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_checksums(folder: Path) -> dict[str, str]:
    """Return the checksum of each file except the model card."""
    # Imported here, so that reading model cards does not load PyTorch.
    from headlight.model.checkpoints.storage import is_file_name

    lines = (folder / CHECKSUMS_FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    matches = [CHECKSUM_LINE.fullmatch(line) for line in lines]
    sums = {match[2]: match[1] for match in matches if match and is_file_name(match[2])}
    if len(sums) != len(lines):
        raise CheckpointError(
            f"{folder}: {CHECKSUMS_FILE} is not what `sha256sum` writes for one folder. Download it again."
        )
    sums.pop(CARD_FILE, None)
    return sums


def verify_checksums(folder: Path, required_files: Iterable[str]) -> None:
    """Raise an error unless all required files are listed, and all listed files match their checksums."""
    # Imported here, so that reading model cards does not load PyTorch.
    from headlight.model.checkpoints.storage import reject_lfs_pointer

    require_file(folder, CHECKSUMS_FILE)
    sums = _read_checksums(folder)
    for name in required_files:
        if name not in sums:
            raise CheckpointError(f"{folder}: {CHECKSUMS_FILE} has no checksum of {name}. Download the model again.")
    for name, expected_digest in sums.items():
        require_file(folder, name)
        reject_lfs_pointer(folder / name)
        if _digest(folder / name) != expected_digest:
            raise CheckpointError(
                f"{folder}: {name} differs from its checksum in {CHECKSUMS_FILE}: it was changed or damaged. Download "
                f"it again; if the change is intended, write a new {CHECKSUMS_FILE} with `sha256sum`."
            )


def fingerprint(folder: Path) -> str:
    """Return a short digest that changes with config, weights and vocabulary; empty without SHA256SUMS."""
    if not (folder / CHECKSUMS_FILE).exists():
        return ""
    return hashlib.sha256(json.dumps(sorted(_read_checksums(folder).items())).encode()).hexdigest()[:16]


def weights_digest(folder: Path) -> str:
    """Return a short digest of only the weights, unaffected by other files of the folder; empty without weights.

    Each report contains the digest of the weights that it measured. Without SHA256SUMS, the weight files are read.
    """
    if (folder / CHECKSUMS_FILE).exists():
        sums = {name: digest for name, digest in _read_checksums(folder).items() if name.endswith(WEIGHTS)}
    else:
        sums = {path.name: _digest(path) for path in folder.iterdir() if path.name.endswith(WEIGHTS)}
    return hashlib.sha256("\n".join(sorted(sums.values())).encode()).hexdigest()[:16] if sums else ""


def revision(folder: Path) -> str:
    """Return a short digest of all files that affect an answer or its roles; empty without SHA256SUMS."""
    if not (folder / CHECKSUMS_FILE).exists():
        return ""
    lines = (folder / CHECKSUMS_FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    checksum_text = "\n".join(line for line in lines if not line.endswith(DESCRIPTIVE_FILES))
    return hashlib.sha256(checksum_text.encode()).hexdigest()[:16]

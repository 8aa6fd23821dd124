"""SHA256SUMS of a model folder, in the format of the `sha256sum` tool: written, verified, summarised."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path

from headlight.model.errors import CheckpointError

SUMS = "SHA256SUMS"
SUM_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")
CARD = "README.md"  # an edited card does not change the model
WEIGHTS = (".safetensors", ".bin")  # ends of the names of files with weights
TELLS = (CARD, "pruning.json")  # files that describe a model without changing its answers


def write_sums(folder: Path) -> None:
    """A line for every file of the folder."""
    lines = [f"{_digest(path)}  {path.name}\n" for path in sorted(folder.iterdir()) if path.name != SUMS]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def files_in_words(folder: Path) -> str:
    """The list of files for a model card: size and SHA-256 of each."""
    rows = [
        f"| {path.name} | {path.stat().st_size:,} | `{_digest(path)}` |\n"
        for path in sorted(folder.iterdir())
        if path.name not in (SUMS, CARD)
    ]
    return f"## Files\n\n| file | bytes | SHA-256 |\n| --- | ---: | --- |\n{''.join(rows)}"


def require_file(folder: Path, name: str) -> None:
    """Raise an error unless the folder has this file."""
    if not (folder / name).exists():
        raise CheckpointError(f"{folder}: {name} is missing. Download or save the model again.")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_sums(folder: Path) -> dict[str, str]:
    """File names and their checksums, without the card."""
    from headlight.model.folders.storage import is_plain_name  # late: model cards load no PyTorch

    lines = (folder / SUMS).read_text(encoding="utf-8", errors="replace").splitlines()
    matches = [SUM_LINE.fullmatch(line) for line in lines]
    sums = {match[2]: match[1] for match in matches if match and is_plain_name(match[2])}
    if len(sums) != len(lines):
        raise CheckpointError(f"{folder}: {SUMS} is not what `sha256sum` writes for one folder. Download it again.")
    sums.pop(CARD, None)
    return sums


def verify_sums(folder: Path, needed: Iterable[str]) -> None:
    """Raise an error unless all listed and needed files have their checksums."""
    from headlight.model.folders.storage import refuse_pointer  # late: model cards load no PyTorch

    require_file(folder, SUMS)
    sums = _read_sums(folder)
    for name in needed:
        if name not in sums:
            raise CheckpointError(f"{folder}: {SUMS} has no checksum of {name}. Download the model again.")
    for name, expected in sums.items():
        require_file(folder, name)
        refuse_pointer(folder / name)
        if _digest(folder / name) != expected:
            raise CheckpointError(
                f"{folder}: {name} differs from its checksum in {SUMS}: it was changed or damaged. Download it again; "
                f"if the change is meant, write a new {SUMS} with `sha256sum`."
            )


def fingerprint(folder: Path) -> str:
    """A short name for the content of the folder: changes with config, weights and vocabulary; empty without sums."""
    if not (folder / SUMS).exists():
        return ""
    return hashlib.sha256(json.dumps(sorted(_read_sums(folder).items())).encode()).hexdigest()[:16]


def weights_digest(folder: Path) -> str:
    """A short name for the weights alone, which no other file of the folder changes; empty where there are none.

    Every report on what weights do is kept under it. Without SHA256SUMS the files of weights are read.
    """
    if (folder / SUMS).exists():
        sums = {name: digest for name, digest in _read_sums(folder).items() if name.endswith(WEIGHTS)}
    else:
        sums = {path.name: _digest(path) for path in folder.iterdir() if path.name.endswith(WEIGHTS)}
    return hashlib.sha256("\n".join(sorted(sums.values())).encode()).hexdigest()[:16] if sums else ""


def revision(folder: Path) -> str:
    """A short name for everything in the folder that decides an answer or its roles; empty without sums."""
    if not (folder / SUMS).exists():
        return ""
    lines = (folder / SUMS).read_text(encoding="utf-8", errors="replace").splitlines()
    said = "\n".join(line for line in lines if not line.endswith(TELLS))
    return hashlib.sha256(said.encode()).hexdigest()[:16]

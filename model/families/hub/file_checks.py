"""Check that a file has the format of its name, before a reader opens it. Nothing in it is run."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

from headlight.model.families.hub.download_plan import RemoteFile

POINTER = b"version https://git-lfs"
MAX_HEADER_BYTES = 100_000_000  # bytes: limit of the safetensors format
ZIP = b"PK\x03\x04"
LEGACY_TORCH_MAGIC = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # how PyTorch before 1.6 began its files
PIECES = 0x0A  # the first field of a SentencePiece model, and of each of its pieces: number 1, of counted length


def find_fault(path: Path, file: RemoteFile) -> str:
    """Problem of a downloaded file, or an empty string."""
    size = path.stat().st_size
    if size != file.bytes:
        return f"it has {size:,} bytes, but the Hub states {file.bytes:,}"
    if compute_digest(path, file) != file.digest:
        return "its content differs from the checksum that the Hub states"
    with path.open("rb") as opened:
        start = opened.read(64)
    if start.startswith(POINTER):
        return "it is only a git-lfs pointer to the real file"
    if file.name.endswith(".safetensors"):
        return _safetensors(path, size)
    if file.name.endswith(".json"):
        return _json(path)
    if file.name.endswith((".spm", ".model")):
        return "" if _pieces(start, size) else "it is no SentencePiece model"
    if file.name.endswith(".bin"):
        return "" if _torch(path, start) else "it is no file of PyTorch"
    return ""


def compute_digest(path: Path, file: RemoteFile) -> str:
    """The checksum that the Hub states for this file: SHA-256, or that of git."""
    if len(file.digest) == 64:
        with path.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    whole = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as opened:
        while block := opened.read(1 << 20):
            whole.update(block)
    return whole.hexdigest()


def _safetensors(path: Path, size: int) -> str:
    with path.open("rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        if size < 8 or length > min(MAX_HEADER_BYTES, size - 8):
            return "it is no safetensors file"
        text = opened.read(length)
    try:
        header = json.loads(text)
        ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
        whole = max(ends, default=0) == size - 8 - length
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return "it is no safetensors file"
    return "" if whole else "its tensors do not fill it"


def _json(path: Path) -> str:
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return "it is no JSON"
    return "" if isinstance(result, dict | list) else "it holds no JSON object"


def _pieces(start: bytes, size: int) -> bool:
    """Whether a file begins like the message of a SentencePiece model: a piece, which begins with its text."""
    if len(start) < 4 or start[0] != PIECES:
        return False
    length, place = 0, 1
    while place < len(start) and place < 10:
        length |= (start[place] & 0x7F) << (7 * (place - 1))
        place += 1
        if start[place - 1] < 0x80:
            break
    return 0 < length <= size - place and place < len(start) and start[place] == PIECES


def _torch(path: Path, start: bytes) -> bool:
    if start.startswith(LEGACY_TORCH_MAGIC):
        return True
    if not (start.startswith(ZIP) and zipfile.is_zipfile(path)):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(name.rpartition("/")[2] == "data.pkl" for name in archive.namelist())

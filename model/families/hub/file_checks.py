"""Checks that the content of a downloaded file matches its extension, before it is parsed. No content is executed."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

from headlight.model.families.hub.download_plan import RemoteFile

LFS_POINTER_PREFIX = b"version https://git-lfs"
MAX_HEADER_BYTES = 100_000_000  # limit of the safetensors format
ZIP_MAGIC = b"PK\x03\x04"
LEGACY_TORCH_MAGIC = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # first bytes of files saved by PyTorch before 1.6
PIECE_TAG = 0x0A  # tag of field 1, length-delimited: starts a SentencePiece model and each of its pieces


def find_problem(path: Path, file: RemoteFile) -> str:
    """Return the problem of a downloaded file as a clause, or an empty string."""
    size = path.stat().st_size
    if size != file.bytes:
        return f"it has {size:,} bytes, but the Hub lists {file.bytes:,}"
    if compute_digest(path, file) != file.digest:
        return "its content differs from the checksum that the Hub lists"
    with path.open("rb") as stream:
        start = stream.read(64)
    if start.startswith(LFS_POINTER_PREFIX):
        return "it is only a git-lfs pointer to the real file"
    if file.name.endswith(".safetensors"):
        return _find_safetensors_problem(path, size)
    if file.name.endswith(".json"):
        return _find_json_problem(path)
    if file.name.endswith((".spm", ".model")):
        return "" if _is_sentencepiece(start, size) else "it is not a SentencePiece model"
    if file.name.endswith(".bin"):
        return "" if _is_torch(path, start) else "it is not a PyTorch file"
    return ""


def compute_digest(path: Path, file: RemoteFile) -> str:
    """Compute the checksum as the Hub lists it: SHA-256 for files in git-lfs, the git blob id for all other files."""
    if len(file.digest) == 64:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    blob_hash = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            blob_hash.update(block)
    return blob_hash.hexdigest()


def _find_safetensors_problem(path: Path, size: int) -> str:
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if size < 8 or length > min(MAX_HEADER_BYTES, size - 8):
            return "it is not a safetensors file"
        text = stream.read(length)
    try:
        header = json.loads(text)
        ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
        is_complete = max(ends, default=0) == size - 8 - length
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return "it is not a safetensors file"
    return "" if is_complete else "its tensors do not fill the file"


def _find_json_problem(path: Path) -> str:
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return "it is not JSON"
    return "" if isinstance(result, dict | list) else "it does not contain a JSON object or array"


def _is_sentencepiece(start: bytes, size: int) -> bool:
    """Whether a file begins with a piece, as a SentencePiece model does. A piece begins with its text."""
    if len(start) < 4 or start[0] != PIECE_TAG:
        return False
    length, offset = 0, 1
    while offset < len(start) and offset < 10:
        length |= (start[offset] & 0x7F) << (7 * (offset - 1))
        offset += 1
        if start[offset - 1] < 0x80:
            break
    return 0 < length <= size - offset and offset < len(start) and start[offset] == PIECE_TAG


def _is_torch(path: Path, start: bytes) -> bool:
    if start.startswith(LEGACY_TORCH_MAGIC):
        return True
    if not (start.startswith(ZIP_MAGIC) and zipfile.is_zipfile(path)):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(name.rpartition("/")[2] == "data.pkl" for name in archive.namelist())

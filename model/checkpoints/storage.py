"""Tensors ↔ safetensors files: rounded or quantised, split into shards, and read one at a time.

A tensor `name` is stored as one of

- `name`, in float32 or float16;
- `name` in int8 and `name.scale` in float32: row r is `name[r] × name.scale[r]` (matrices only);
- `name` in uint8, with two numbers of four bits a byte, and `name.scale` in float16, with one scale for each 32 columns
  of a row: `int4.py` (matrices only);
- `name.rows.0`, `name.rows.1`, …: parts along the first axis of a tensor that is larger than a shard.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, get_args

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from headlight.model.checkpoints import int4
from headlight.model.errors import CheckpointError

Storage = Literal["float32", "float16", "int8", "int4"]

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"
READABLE_DTYPES = ("F64", "F32", "F16", "BF16", "I8", "U8")  # supported types, as safetensors names them
SCALED_DTYPES = {"I8": "int8", "U8": "int4"}  # types that need a scale
# Matrices that int4 leaves in int8, because their rounding changes translations most: vectors of words and positions,
# and the matrix of the last logits.
PRECISE_MATRICES = re.compile(r"(.*\.)?(embedding\..*|output\.words\.weight|verdict\.weight)")
HEADER_ENTRY_BYTES = 256  # maximum size of a tensor's entry in a file's header
MAX_HEADER_BYTES = 100_000_000  # limit of safetensors
REMAP_BYTES = 8_000_000  # bytes that are read before a file is reopened
LFS_POINTER = b"version https://git-lfs"
PICKLE_FILES = ("pytorch_model.bin", "model.pt", "model.pth", "model.ckpt")


class MissingTensorError(CheckpointError):
    """A tensor name that the files do not contain."""


class StoredTensor(NamedTuple):
    """Location and header of a stored tensor."""

    path: Path
    dtype: str
    shape: tuple[int, ...]  # of its numbers; a byte of int4 has two


# ------------------------------------------------------------ writing


def write_weights(folder: Path, tensors: Mapping[str, Tensor], storage: Storage, shard_bytes: int) -> None:
    """Write `model.safetensors`, or shards of at most `shard_bytes` with their index. The files are deterministic."""
    if storage not in get_args(Storage):
        raise CheckpointError(f"Weights cannot be stored as {storage!r}; choose {', '.join(get_args(Storage))}.")
    shard_files: list[tuple[Path, list[str]]] = []
    total = 0
    for shard in _pack_shards(tensors, storage, shard_bytes):
        path = folder / f"{len(shard_files)}.part"  # final names contain the number of shards, known only at the end
        # `save_file` would write a file that only its owner may read.
        path.write_bytes(save(shard, metadata={"format": "pt"}))
        shard_files.append((path, list(shard)))
        total += sum(piece.nbytes for piece in shard.values())
    if len(shard_files) == 1:
        shard_files[0][0].rename(folder / WEIGHTS)
        return
    weight_map: dict[str, str] = {}
    for shard_number, (path, names) in enumerate(shard_files, start=1):
        shard_name = f"model-{shard_number:05d}-of-{len(shard_files):05d}.safetensors"
        path.rename(folder / shard_name)
        weight_map |= dict.fromkeys(names, shard_name)
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(weight_map.items()))}
    (folder / INDEX).write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")


def _pack_shards(tensors: Mapping[str, Tensor], storage: Storage, limit: int) -> Iterator[dict[str, Tensor]]:
    shard: dict[str, Tensor] = {}
    size = 0
    for name, tensor in tensors.items():
        for piece_name, piece in _split_tensor(name, tensor, storage, limit):
            if shard and size + piece.nbytes + HEADER_ENTRY_BYTES > limit:
                yield shard
                shard, size = {}, 0
            shard[piece_name] = piece
            size += piece.nbytes + HEADER_ENTRY_BYTES
    yield shard


def _split_tensor(name: str, tensor: Tensor, storage: Storage, limit: int) -> Iterator[tuple[str, Tensor]]:
    """Yield the values of a tensor in one or more parts, and for int8 and int4 the scale in the same way."""
    values, scale = encode_tensor(name, tensor, storage)
    for stored_name, stored in ((name, values), (f"{name}.scale", scale)):
        if stored is None:
            continue
        if stored.nbytes + HEADER_ENTRY_BYTES <= limit or stored.ndim == 0:
            yield stored_name, stored
            continue
        rows = max(1, (limit - HEADER_ENTRY_BYTES) // stored[0].nbytes)
        for number, part in enumerate(torch.split(stored, rows)):
            yield f"{stored_name}.rows.{number}", part.clone()


def encode_tensor(name: str, tensor: Tensor, storage: Storage) -> tuple[Tensor, Tensor | None]:
    """Return the stored values and, for int8 and int4, the scale. Vectors are small, so they stay in float32.

    For int4, `PRECISE_MATRICES` and matrices that `int4.pack` does not take are stored as int8.
    """
    float32_values = tensor.detach().to("cpu", torch.float32).contiguous()
    if not all_finite(float32_values):
        raise CheckpointError(
            f"{name} contains NaN or infinite numbers, so it is not saved. Go back to an earlier state."
        )
    if float32_values.ndim < 2 or storage == "float32":
        return float32_values, None
    if storage == "int4" and not PRECISE_MATRICES.fullmatch(name) and (packed := int4.pack(float32_values)):
        return packed
    if storage in ("int8", "int4"):
        scale = float32_values.abs().flatten(1).amax(dim=1) / 127  # [rows]
        steps = float32_values / scale.where(scale > 0, 1.0).reshape(_column_shape(float32_values))
        return steps.round_().clamp_(-127, 127).to(torch.int8), scale
    float16_values = float32_values.to(torch.float16)
    if not all_finite(float16_values):
        raise CheckpointError(
            f"{name} contains numbers above 65504, too large for float16. Store it as float32 or int8."
        )
    return float16_values, None


def all_finite(tensor: Tensor) -> bool:
    """Whether no number is NaN or infinite. Needs no second tensor of this size."""
    return tensor.numel() == 0 or bool(torch.stack(tensor.aminmax()).isfinite().all())


def _column_shape(tensor: Tensor) -> tuple[int, ...]:
    """Return the shape in which one number per row broadcasts to the tensor."""
    return (-1, *[1] * (tensor.ndim - 1))


# ------------------------------------------------------------ reading


class Weights(Protocol):
    """Interface of the tensors of a folder, in any file format."""

    folder: Path
    files: list[str]
    unread: set[str]  # stored names that have not been read

    def __contains__(self, name: str) -> bool:
        """Whether there is a tensor of this name."""

    def read(self, name: str) -> Tensor:
        """Read a tensor to the CPU and convert it to float32."""

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor without reading its numbers."""

    def are_equal(self, names: list[str]) -> bool:
        """Whether all these tensors are equal."""


class TensorStore:
    """The tensors in a folder's safetensors files. Headers are validated immediately, numbers are read on demand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._entries: dict[str, StoredTensor] = {}
        if (folder / WEIGHTS).exists():
            self.files = [WEIGHTS]
            self._entries = read_header(folder / WEIGHTS)
        elif (folder / INDEX).exists():
            self._read_index()
        else:
            raise CheckpointError(_no_weights_error(folder))
        self.unread = set(self._entries)

    def _read_index(self) -> None:
        index = read_json(self.folder / INDEX)
        weight_map = index.get("weight_map")
        if not isinstance(weight_map, dict) or not weight_map:
            raise CheckpointError(f"{self.folder}: {INDEX} has no weight_map. Download it again.")
        for name in weight_map.values():
            # The index is untrusted: it must not refer to other folders.
            if not isinstance(name, str) or not is_file_name(name) or not name.endswith(".safetensors"):
                raise CheckpointError(
                    f"{self.folder}: {INDEX} names {name!r}, but only .safetensors files of the same folder may be "
                    "read. Get the model from a source that you trust."
                )
        self.files = sorted(set(weight_map.values()))
        for file in self.files:
            if not (self.folder / file).exists():
                raise CheckpointError(f"{self.folder}: {file} is missing, but {INDEX} names it. Download it again.")
            self._entries |= read_header(self.folder / file)
        for name, file in weight_map.items():
            if name not in self._entries or self._entries[name].path.name != file:
                raise CheckpointError(f"{self.folder}: {file} lacks {name}, which {INDEX} places there. {_ADVICE}")

    def __contains__(self, name: str) -> bool:
        return name in self._entries or f"{name}.rows.0" in self._entries

    def read(self, name: str) -> Tensor:
        """Read a tensor to the CPU and convert it to float32."""
        tensor, dtype = self._read_numbers(name)
        return self._rescale(name, dtype, tensor) if dtype in SCALED_DTYPES else tensor

    def _read_numbers(self, name: str) -> tuple[Tensor, str]:
        """Read the numbers of a tensor without its scale, and return their stored type, too."""
        parts = self._find_parts(name)
        if not parts:
            raise MissingTensorError(f"{self.folder}: the weights lack {name}. Save or download the model again.")
        entries = [self._entries[part] for part in parts]
        if len({(entry.dtype, entry.shape[1:]) for entry in entries}) > 1 or (len(parts) > 1 and not entries[0].shape):
            raise CheckpointError(f"{self.folder}: the parts of {name} do not fit together. {_ADVICE}")
        tensor = torch.empty(self.shape(name))
        if len(parts) == 1:
            self._copy(parts[0], tensor)
        else:
            for part, rows in zip(parts, torch.split(tensor, [entry.shape[0] for entry in entries]), strict=True):
                self._copy(part, rows)
        return tensor, entries[0].dtype

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor without reading its numbers."""
        shapes = [self._entries[part].shape for part in self._find_parts(name)]
        return (sum(shape[0] for shape in shapes), *shapes[0][1:]) if len(shapes) > 1 else tuple(shapes[0])

    def are_equal(self, names: list[str]) -> bool:
        """Whether all these tensors are equal."""
        unread = set(self.unread)  # a comparison does not count as reading
        first = self.read(names[0])
        equal = all(torch.equal(self.read(name), first) for name in names[1:])
        self.unread = unread
        return equal

    def _find_parts(self, name: str) -> list[str]:
        if name in self._entries:
            return [name]
        part_names = (f"{name}.rows.{number}" for number in itertools.count())
        return list(itertools.takewhile(self._entries.__contains__, part_names))

    def _copy(self, name: str, target: Tensor) -> None:
        entry = self._entries[name]
        self.unread.discard(name)
        if entry.dtype not in READABLE_DTYPES:
            raise CheckpointError(
                f"{self.folder}: {name} is stored as {entry.dtype}, but only {', '.join(READABLE_DTYPES)} can be read. "
                "Write it in one of them: load it with torch, and save it with `safetensors.torch.save_file`."
            )
        if target.ndim == 0:
            with safe_open(entry.path, framework="pt") as file:
                target.copy_(file.get_tensor(name))
            return
        rows = max(1, REMAP_BYTES * len(target) // max(1, target.nbytes))
        for start in range(0, len(target), rows):
            # Reopen the file each time: closing releases the mapped pages, which count as memory of the process.
            with safe_open(entry.path, framework="pt") as file:
                stored, part = file.get_slice(name)[start : start + rows], target[start : start + rows]
                if entry.dtype == "U8":
                    int4.unpack(stored, part)
                else:
                    part.copy_(stored)

    def _rescale(self, name: str, dtype: str, tensor: Tensor) -> Tensor:
        """Multiply each row of int8, or each group of int4, in place by its scale."""
        scale_name = f"{name}.scale"
        scale, scale_dtype = self._read_numbers(scale_name) if scale_name in self else (None, "")
        if dtype == "U8":
            groups, unit = int4.split_groups(tensor), f"{int4.GROUP} columns of a row"  # [rows, groups, 32]
        else:
            groups, unit = tensor.flatten(1) if tensor.ndim > 1 else None, "row"  # [rows, columns]
        if groups is None or scale is None or scale_dtype in SCALED_DTYPES or scale.shape != groups.shape[:-1]:
            raise CheckpointError(
                f"{self.folder}: {name} is stored as {SCALED_DTYPES[dtype]}, but {scale_name} does not give one number "
                f"for each {unit}. {_ADVICE}"
            )
        groups.mul_(scale.unsqueeze(-1))
        return tensor


_ADVICE = "Save or download the model again."


def read_header(path: Path) -> dict[str, StoredTensor]:
    """Read the header of a safetensors file, and check the size of the file."""
    reject_lfs_pointer(path)
    folder, name, size = path.parent, path.name, path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        first_byte = file.read(1)
        if size < 8:
            raise CheckpointError(f"{folder}: {name} is cut short to {size} bytes. Download it again.")
        if length > MAX_HEADER_BYTES or first_byte not in (b"{", b""):
            raise CheckpointError(f"{folder}: {name} is not a safetensors file. Download it again.")
        text = first_byte + file.read(length - 1) if length else b""
    try:
        if len(text) < length:
            raise _truncated_error(path, 8 + length, size)
        header = json.loads(text)
        header.pop("__metadata__", None)
        expected = 8 + length + max((entry["data_offsets"][1] for entry in header.values()), default=0)
        if size < expected:
            raise _truncated_error(path, expected, size)
        with safe_open(path, framework="pt") as file:  # safetensors validates the entries
            file.keys()
        return {key: StoredTensor(path, entry["dtype"], _shape_of_numbers(entry)) for key, entry in header.items()}
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError, SafetensorError) as error:
        raise CheckpointError(
            f"{folder}: {name} is not a valid safetensors file ({type(error).__name__}: {error}). Download it again."
        ) from error


def _shape_of_numbers(entry: Mapping[str, Any]) -> tuple[int, ...]:
    shape = entry["shape"]
    return (*shape[:-1], 2 * shape[-1]) if entry["dtype"] == "U8" and shape else tuple(shape)


def _truncated_error(path: Path, expected: int, size: int) -> CheckpointError:
    return CheckpointError(
        f"{path.parent}: {path.name} is cut short (expected {expected:,} bytes, found {size:,}). Download it again."
    )


def _no_weights_error(folder: Path) -> str:
    if any(folder.glob("model-*-of-*.safetensors")):
        return f"{folder}: {INDEX}, which maps tensors to shards, is missing. Download it again."
    if pickles := [name for name in PICKLE_FILES if (folder / name).exists()]:
        return (
            f"{folder}: there is {pickles[0]}, but no {WEIGHTS}. A pickle can run any code and is never read: "
            "choose a model that offers safetensors, or, if you trust this one, convert it with "
            "`safetensors.torch.save_file(torch.load(…, weights_only=True), …)`."
        )
    return f"{folder}: {WEIGHTS} is missing. Download or save the model again."


def reject_lfs_pointer(path: Path) -> None:
    """Raise an error for the pointer file that git leaves if git-lfs did not run."""
    with path.open("rb") as file:
        if file.read(len(LFS_POINTER)) == LFS_POINTER:
            raise CheckpointError(
                f"{path.parent}: {path.name} is only a git-lfs pointer to the real file. Run `git lfs pull` there."
            )


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object from a file of a model folder."""
    if not path.exists():
        raise CheckpointError(f"{path.parent}: {path.name} is missing. Download or save the model again.")
    reject_lfs_pointer(path)
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path.parent}: {path.name} is not JSON ({error}). Download it again.") from error
    if not isinstance(values, dict):
        raise CheckpointError(f"{path.parent}: {path.name} does not contain a JSON object. Download it again.")
    return values


def is_file_name(name: str) -> bool:
    """Whether this is a plain file name, not a path to another folder."""
    return name not in ("", ".", "..") and not set(name) & {"/", "\\", ":", "\0"}

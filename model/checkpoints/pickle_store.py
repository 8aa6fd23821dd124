"""Reading of weights from PyTorch's `pytorch_model.bin`: only tensors, never the code that a pickle can contain.

The file is memory-mapped and reopened regularly: closing releases the mapped pages, which count as memory of the
process. Only files in the format from before 2020 must be read as a whole.
"""

from __future__ import annotations

import pickle
import re
import warnings
import zipfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headlight.model.checkpoints.storage import MissingTensorError, read_json, reject_lfs_pointer
from headlight.model.errors import CheckpointError

PICKLED, PICKLED_INDEX = "pytorch_model.bin", "pytorch_model.bin.index.json"
SHARD = re.compile(r"pytorch_model-\d{5}-of-\d{5}\.bin")
REMAP_BYTES = 32_000_000  # bytes read before the file is reopened
READABLE_DTYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
ZIP = b"PK\x03\x04"


class PickledStore:
    """The tensors of a folder's `pytorch_model.bin` or of its shards, each read on demand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = [PICKLED] if (folder / PICKLED).exists() else _list_shards(folder)
        self._is_mapped = {name: _is_zip(folder / name) for name in self.files}
        self._tensors: dict[str, dict[str, Tensor]] = {}  # of the open file, by file name
        self._file_by_tensor: dict[str, str] = {}  # tensor name → file name
        for name in self.files:
            self._file_by_tensor |= dict.fromkeys(self._open(name), name)
            if len(self.files) > 1:
                del self._tensors[name]
        self._bytes_read = 0  # bytes read since a file was opened
        self.unread = set(self._file_by_tensor)

    def _open(self, name: str) -> dict[str, Tensor]:
        """Return the tensors of one file; only one file is open at a time."""
        if name not in self._tensors:
            self._tensors = {name: _load(self.folder / name, self._is_mapped[name])}
            self._bytes_read = 0
        return self._tensors[name]

    def __contains__(self, name: str) -> bool:
        return name in self._file_by_tensor

    def read(self, name: str) -> Tensor:
        """Read a tensor to the CPU and convert it to float32."""
        if name not in self._file_by_tensor:
            raise MissingTensorError(f"{self.folder}: the weights lack {name}. Save or download the model again.")
        file = self._file_by_tensor[name]
        tensor = self._open(file)[name]
        if tensor.dtype not in READABLE_DTYPES:
            raise CheckpointError(f"{self.folder}: {name} is stored as {tensor.dtype}, but only floats can be read.")
        self.unread.discard(name)
        copy = tensor.to(torch.float32, copy=self._is_mapped[file])
        self._bytes_read += tensor.nbytes
        del tensor
        if self._is_mapped[file] and self._bytes_read > REMAP_BYTES:
            self._tensors = {}  # close the file; the next read reopens it
        return copy

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a tensor without reading its numbers."""
        return tuple(self._open(self._file_by_tensor[name])[name].shape)

    def are_equal(self, names: list[str]) -> bool:
        """Whether all these tensors are equal."""
        if len({self._file_by_tensor[name] for name in names}) == 1:
            tensors = self._open(self._file_by_tensor[names[0]])
            first, *remaining = (tensors[name] for name in names)
            return all(tensor.data_ptr() == first.data_ptr() or torch.equal(tensor, first) for tensor in remaining)
        unread = set(self.unread)  # a comparison does not count as reading
        reference = self.read(names[0])
        equal = all(torch.equal(self.read(name), reference) for name in names[1:])
        self.unread = unread
        return equal


def _list_shards(folder: Path) -> list[str]:
    """Return the files in an index, which must be shards of the same folder."""
    weight_map = read_json(folder / PICKLED_INDEX).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise CheckpointError(f"{folder}: {PICKLED_INDEX} has no weight_map. Download it again.")
    for name in weight_map.values():
        if not isinstance(name, str) or SHARD.fullmatch(name) is None:
            raise CheckpointError(
                f"{folder}: {PICKLED_INDEX} names {name!r}, but only pytorch_model-….bin files of the same folder may "
                "be read. Get the model from a source that you trust."
            )
        if not (folder / name).exists():
            raise CheckpointError(f"{folder}: {name} is missing, but {PICKLED_INDEX} names it. Download it again.")
    return sorted(set(weight_map.values()))


def _is_zip(path: Path) -> bool:
    reject_lfs_pointer(path)
    with path.open("rb") as file:
        return file.read(len(ZIP)) == ZIP


def _load(path: Path, memory_map: bool) -> dict[str, Tensor]:
    if memory_map:
        _reject_compressed(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch warns about content that it then rejects
            content: Any = torch.load(path, map_location="cpu", weights_only=True, mmap=memory_map)
    except pickle.UnpicklingError as error:
        raise CheckpointError(
            f"{path.parent}: {path.name} contains more than tensors, which could run any code, so it is not read. "
            "Get the model as model.safetensors, from a source that you trust."
        ) from error
    except (RuntimeError, ValueError, KeyError, EOFError, AttributeError, TypeError, IndexError) as error:
        raise CheckpointError(
            f"{path.parent}: {path.name} is not a valid PyTorch file ({type(error).__name__}). Download it again."
        ) from error
    if not isinstance(content, dict) or not all(isinstance(tensor, Tensor) for tensor in content.values()):
        raise CheckpointError(f"{path.parent}: {path.name} is not a dictionary of tensors. Download it again.")
    for name, tensor in content.items():
        if not _is_complete(tensor):
            raise CheckpointError(
                f"{path.parent}: {path.name} does not store every number of {name}, so the tensor could take any "
                "amount of memory. Get the model as model.safetensors."
            )
    return dict(content)


def _reject_compressed(path: Path) -> None:
    """Raise an error for a compressed archive, which cannot be memory-mapped."""
    try:
        with zipfile.ZipFile(path) as archive:
            is_compressed = any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return  # PyTorch reports the error
    if is_compressed:
        raise CheckpointError(
            f"{path.parent}: {path.name} is compressed, but PyTorch never compresses its files. Download it again."
        )


def _is_complete(tensor: Tensor) -> bool:
    """Whether the file contains every number. A sparse, meta or expanded tensor stores few, but needs much memory."""
    if tensor.layout is not torch.strided or tensor.is_meta:
        return False
    return tensor.untyped_storage().nbytes() >= tensor.nbytes

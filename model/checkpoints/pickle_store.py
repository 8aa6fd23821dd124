"""Weights in PyTorch's own file, `pytorch_model.bin`: tensors alone, never the code that a pickle can hold.

The file is memory-mapped and reopened now and then: closing releases the mapped pages, which count as our memory. Only
the format from before 2020 must be read as a whole.
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

from headlight.model.checkpoints.storage import MissingTensorError, read_json, refuse_pointer
from headlight.model.errors import CheckpointError

PICKLED, PICKLED_INDEX = "pytorch_model.bin", "pytorch_model.bin.index.json"
SHARD = re.compile(r"pytorch_model-\d{5}-of-\d{5}\.bin")
REMAP_BYTES = 32_000_000  # bytes read before the file is reopened
READABLE = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
ZIP = b"PK\x03\x04"


class PickledStore:
    """The tensors of a folder's `pytorch_model.bin`, or of its shards, each read when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = [PICKLED] if (folder / PICKLED).exists() else _shards(folder)
        self._mapped = {name: _is_zip(folder / name) for name in self.files}
        self._tensors: dict[str, dict[str, Tensor]] = {}  # of each file that is open
        self._places: dict[str, str] = {}  # the file of each tensor
        for name in self.files:
            self._places |= dict.fromkeys(self._open(name), name)
            if len(self.files) > 1:
                del self._tensors[name]
        self._read = 0  # bytes since a file was opened
        self.unread = set(self._places)

    def _open(self, name: str) -> dict[str, Tensor]:
        """The tensors of one file; only one file is open at a time."""
        if name not in self._tensors:
            self._tensors = {name: _load(self.folder / name, self._mapped[name])}
            self._read = 0
        return self._tensors[name]

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def read(self, name: str) -> Tensor:
        """One tensor on the CPU, in float32 whatever it is stored in."""
        if name not in self._places:
            raise MissingTensorError(f"{self.folder}: the weights lack {name}. Save or download the model again.")
        file = self._places[name]
        tensor = self._open(file)[name]
        if tensor.dtype not in READABLE:
            raise CheckpointError(f"{self.folder}: {name} is stored as {tensor.dtype}, but floats are needed.")
        self.unread.discard(name)
        copy = tensor.to(torch.float32, copy=self._mapped[file])
        self._read += tensor.nbytes
        del tensor
        if self._mapped[file] and self._read > REMAP_BYTES:
            self._tensors = {}  # closed; the next tensor reopens it
        return copy

    def shape(self, name: str) -> tuple[int, ...]:
        """Of one tensor, before any of its numbers is read."""
        return tuple(self._open(self._places[name])[name].shape)

    def are_equal(self, names: list[str]) -> bool:
        """Whether all these tensors hold the same numbers."""
        if len({self._places[name] for name in names}) == 1:
            tensors = self._open(self._places[names[0]])
            first, *others = (tensors[name] for name in names)
            return all(other.data_ptr() == first.data_ptr() or torch.equal(other, first) for other in others)
        unread = set(self.unread)  # comparing is not using
        held = self.read(names[0])
        answer = all(torch.equal(self.read(name), held) for name in names[1:])
        self.unread = unread
        return answer


def _shards(folder: Path) -> list[str]:
    """The files that an index names: shards of the same folder, and nothing else."""
    places = read_json(folder / PICKLED_INDEX).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise CheckpointError(f"{folder}: {PICKLED_INDEX} has no weight_map. Download it again.")
    for name in places.values():
        if not isinstance(name, str) or SHARD.fullmatch(name) is None:
            raise CheckpointError(
                f"{folder}: {PICKLED_INDEX} names {name!r}, but only pytorch_model-….bin files of the same folder may "
                "be read. Get the model from a source that you trust."
            )
        if not (folder / name).exists():
            raise CheckpointError(f"{folder}: {name} is missing, but {PICKLED_INDEX} names it. Download it again.")
    return sorted(set(places.values()))


def _is_zip(path: Path) -> bool:
    refuse_pointer(path)
    with path.open("rb") as file:
        return file.read(len(ZIP)) == ZIP


def _load(path: Path, mapped: bool) -> dict[str, Tensor]:
    if mapped:
        _refuse_compressed(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns about content that it then rejects
            content: Any = torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
    except pickle.UnpicklingError as error:
        raise CheckpointError(
            f"{path.parent}: {path.name} holds more than tensors, which could run any code, so it is not read. "
            "Get the model as model.safetensors, from a source that you trust."
        ) from error
    except (RuntimeError, ValueError, KeyError, EOFError, AttributeError, TypeError, IndexError) as error:
        raise CheckpointError(
            f"{path.parent}: {path.name} is no sound file of PyTorch ({type(error).__name__}). Download it again."
        ) from error
    if not isinstance(content, dict) or not all(isinstance(tensor, Tensor) for tensor in content.values()):
        raise CheckpointError(f"{path.parent}: {path.name} is no table of tensors. Download it again.")
    for name, tensor in content.items():
        if not _is_plain(tensor):
            raise CheckpointError(
                f"{path.parent}: {path.name} holds {name} without a number for each of its places, so it could be made "
                "as large as anybody likes. Get the model as model.safetensors."
            )
    return dict(content)


def _refuse_compressed(path: Path) -> None:
    """Refuse a compressed archive: numbers are read in place."""
    try:
        with zipfile.ZipFile(path) as archive:
            packed = any(each.compress_type != zipfile.ZIP_STORED for each in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return  # PyTorch raises
    if packed:
        raise CheckpointError(f"{path.parent}: {path.name} is packed, unlike what PyTorch writes. Download it again.")


def _is_plain(tensor: Tensor) -> bool:
    """Whether all numbers are in the file: a sparse, empty or stretched tensor is small there and huge in memory."""
    if tensor.layout is not torch.strided or tensor.is_meta:
        return False
    return tensor.untyped_storage().nbytes() >= tensor.nbytes

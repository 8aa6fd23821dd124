"""Weights in PyTorch's own file, `pytorch_model.bin`: tensors alone, never the code that a pickle can hold.

The file is mapped, and opened anew now and then: closing gives the mapped pages back, which else would count as our
memory. Only the format of before 2020 must be read as a whole.
"""

from __future__ import annotations

import pickle
import warnings
import zipfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from model.errors import CheckpointError
from model.storage import MissingTensorError, refuse_pointer

PICKLED = "pytorch_model.bin"
MAPPED_AT_ONCE = 32_000_000  # bytes read before the file is opened anew
READABLE = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
ZIP = b"PK\x03\x04"


class PickledStore:
    """The tensors of a folder's `pytorch_model.bin`, each read when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = [PICKLED]
        path = folder / PICKLED
        refuse_pointer(path)
        with path.open("rb") as file:
            self._mapped = file.read(len(ZIP)) == ZIP
        self._tensors = _load(path, self._mapped)
        self._read = 0  # bytes since the file was opened
        self.unread = set(self._tensors)

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def read(self, name: str) -> Tensor:
        """One tensor on the CPU, in float32 whatever it is stored in."""
        if name not in self._tensors:
            raise MissingTensorError(f"{self.folder}: the weights lack {name}. Save or download the model again.")
        tensor = self._tensors[name]
        if tensor.dtype not in READABLE:
            raise CheckpointError(f"{self.folder}: {name} is stored as {tensor.dtype}, but floats are needed.")
        self.unread.discard(name)
        copy = tensor.to(torch.float32, copy=self._mapped)
        self._read += tensor.nbytes
        del tensor
        if self._mapped and self._read > MAPPED_AT_ONCE:
            del self._tensors
            self._tensors, self._read = _load(self.folder / PICKLED, mapped=True), 0
        return copy

    def shape(self, name: str) -> tuple[int, ...]:
        """Of one tensor, before any of its numbers is read."""
        return tuple(self._tensors[name].shape)

    def same(self, names: list[str]) -> bool:
        """Whether all these tensors hold the same numbers."""
        first, *others = (self._tensors[name] for name in names)
        return all(other.data_ptr() == first.data_ptr() or torch.equal(other, first) for other in others)


def _load(path: Path, mapped: bool) -> dict[str, Tensor]:
    if mapped:
        _refuse_packed(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of what it is about to refuse
            content: Any = torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
    except pickle.UnpicklingError as error:
        raise CheckpointError(
            f"{path.parent}: {PICKLED} holds more than tensors, which could run any code, so it is not read. "
            "Get the model as model.safetensors, from a source that you trust."
        ) from error
    except (RuntimeError, ValueError, KeyError, EOFError, AttributeError, TypeError, IndexError) as error:
        raise CheckpointError(
            f"{path.parent}: {PICKLED} is no sound file of PyTorch ({type(error).__name__}). Download it again."
        ) from error
    if not isinstance(content, dict) or not all(isinstance(tensor, Tensor) for tensor in content.values()):
        raise CheckpointError(f"{path.parent}: {PICKLED} is no table of tensors. Download it again.")
    for name, tensor in content.items():
        if not _is_plain(tensor):
            raise CheckpointError(
                f"{path.parent}: {PICKLED} holds {name} without a number for each of its places, so it could be made "
                "as large as anybody likes. Get the model as model.safetensors."
            )
    return dict(content)


def _refuse_packed(path: Path) -> None:
    """Numbers are read where they lie: packed ones would be other numbers."""
    try:
        with zipfile.ZipFile(path) as archive:
            packed = any(each.compress_type != zipfile.ZIP_STORED for each in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return  # PyTorch will say so
    if packed:
        raise CheckpointError(f"{path.parent}: {PICKLED} is packed, unlike what PyTorch writes. Download it again.")


def _is_plain(tensor: Tensor) -> bool:
    """Whether all numbers are in the file: a sparse, empty or stretched tensor is small there and huge in memory."""
    if tensor.layout is not torch.strided or tensor.is_meta:
        return False
    return tensor.untyped_storage().nbytes() >= tensor.nbytes

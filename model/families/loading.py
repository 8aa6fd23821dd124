"""Loading of any model folder, ours or third-party.

The "format" of config.json, or the "model_type" of third-party folders, determines the reader. All readers implement
the interface of `checkpoints/reader.py`. Code in a model folder is never executed.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from headlight.model.checkpoints.checkpoint import (
    SHARED,
    SOURCE,
    TARGET,
    Checkpoint,
    HeadlightReader,
    check_vocabularies,
    model_kind,
    unique_tensors,
)
from headlight.model.checkpoints.checksums import CHECKSUMS_FILE, fingerprint, verify_checksums
from headlight.model.checkpoints.reader import CONFIG, FolderReader
from headlight.model.checkpoints.shipped import missing_model_advice
from headlight.model.checkpoints.storage import MissingTensorError, Weights, all_finite, read_json
from headlight.model.checkpoints.unsupported_formats import ADVICE_BY_FORMAT, unsupported_format
from headlight.model.core.transformer import Transformer
from headlight.model.decoding.generation_defaults import DEFAULTS_FILE as DEFAULTS
from headlight.model.errors import CheckpointError, ConfigError
from headlight.model.families import FAMILIES, model_type
from headlight.model.text.languages import LANGUAGES_FILE as LANGUAGES

ModelType = TypeVar("ModelType", bound=nn.Module)

# Format or family → reader, or the name of a module with a function `reader()`.
READERS: dict[str, FolderReader | str] = {"headlight": HeadlightReader(), **FAMILIES}


def load_checkpoint(
    folder: str | Path,
    *,
    device: str | torch.device = "cpu",
    dtype: torch.dtype = torch.float32,
    verify: bool = True,
    weights: bool = True,
) -> Checkpoint[Transformer]:
    """Load a folder with a Transformer. `verify`: check the files against their checksums.

    Without `weights`, the model is on the meta device, and no file is verified.
    """
    return read_checkpoint(folder, Transformer, device=device, dtype=dtype, verify=verify, weights=weights)


def read_checkpoint(
    folder: str | Path,
    model_type: type[ModelType],
    *,
    device: str | torch.device = "cpu",
    dtype: torch.dtype = torch.float32,
    verify: bool = True,
    weights: bool = True,
) -> Checkpoint[ModelType]:
    """Load a folder with a model of the class `model_type`; raise a CheckpointError or a ConfigError for any fault."""
    try:
        return _load(Path(folder), model_type, torch.device(device), dtype, verify and weights, weights)
    except OSError as error:
        raise CheckpointError(f"{folder}: cannot be read ({error}). Check the disk and the permissions.") from error


def _load(
    folder: Path, model_type: type[ModelType], device: torch.device, dtype: torch.dtype, verify: bool, weights: bool
) -> Checkpoint[ModelType]:
    if not folder.is_dir():
        fault = "is a file, but a model folder is needed" if folder.exists() else "there is no such folder"
        raise CheckpointError(f"{folder}: {fault}. {missing_model_advice(folder)}")
    if not (folder / CONFIG).exists() and (form := unsupported_format(folder)):
        raise CheckpointError(f"{folder}: {form} {ADVICE_BY_FORMAT}")
    values = read_json(folder / CONFIG)
    reader = _reader_for(folder, values)
    with reader.convert_errors(folder):
        config = reader.config(folder, values)
        store = reader.store(folder)
        if verify and (reader.requires_checksums or (folder / CHECKSUMS_FILE).exists()):
            other_files = [name for name in (SHARED, SOURCE, TARGET, LANGUAGES, DEFAULTS) if (folder / name).exists()]
            verify_checksums(folder, [CONFIG, *store.files, *other_files])
        config = reader.complete_config(config, store)
        source, target = reader.tokenizers(folder, config)
        check_vocabularies(f"{folder}: ", config, source, target)
        languages = reader.languages(folder, config, source)
        defaults = reader.generation_defaults(folder, config, languages)
        with torch.device("meta"), SkipInitialisation():  # parameters get their values from the file
            model = reader.build(config)
        if not isinstance(model, model_type):
            raise CheckpointError(
                f"{folder}: contains {type(model).__name__}, not {model_type.__name__}. Choose another folder."
            )
        if weights:
            _load_weights(model, store, reader, device, dtype)
            model.to(device=device)
        model.eval().requires_grad_(False)
        return Checkpoint(model, config, source, target, folder, fingerprint(folder), languages, defaults)


class SkipInitialisation(TorchFunctionMode):
    """Skips weight initialisation, because on the meta device it imports PyTorch's compiler, which takes 1 s."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if getattr(func, "__module__", "") == "torch.nn.init":
            return args[0] if args else (kwargs or {})["tensor"]
        return func(*args, **(kwargs or {}))


def kind_of_folder(folder: str | Path) -> str:
    """Return the kind of model in a folder, such as "transformer", without reading weights."""
    values = read_json(Path(folder) / CONFIG)
    reader = _reader_for(Path(folder), values)
    with reader.convert_errors(Path(folder)):
        return model_kind(reader.config(Path(folder), values))[0]


def _reader_for(folder: Path, values: dict[str, Any]) -> FolderReader:
    name = values.get("format", model_type(values))
    reader = READERS.get(name) if isinstance(name, str) else None
    if reader is None:
        fault = f"is of format {name!r}" if name is not None else "lacks the field format"
        raise ConfigError(
            f"{folder / CONFIG} {fault}. Choose a model in one of the supported formats: {', '.join(READERS)}. "
            "In Python, headlight.show(model, tokenizer, text) shows the attention of every model of transformers."
        )
    if isinstance(reader, str):  # a family is imported on first use
        reader = import_module(reader).reader()
        assert isinstance(reader, FolderReader)  # noqa: S101
    return reader


def _load_weights(
    model: nn.Module, store: Weights, reader: FolderReader, device: torch.device, dtype: torch.dtype
) -> None:
    missing = []
    for name, (expected, paths) in unique_tensors(model).items():
        try:
            tensor = reader.load_weight(store, name)
        except MissingTensorError:
            missing.append(name)
            continue
        if tensor.shape != expected.shape:
            raise CheckpointError(
                f"{store.folder}: {name} has shape {list(tensor.shape)}, but {CONFIG} requires {list(expected.shape)}. "
                "Config and weights belong to different models: download both again."
            )
        if not all_finite(tensor):
            raise CheckpointError(
                f"{store.folder}: {name} contains NaN or infinite numbers, so it was damaged or its training failed. "
                "Download it again, or save an earlier state."
            )
        tensor = tensor.to(device, dtype).contiguous()  # a third-party tensor may be a transposed view
        value = nn.Parameter(tensor, requires_grad=False) if isinstance(expected, nn.Parameter) else tensor
        for path in paths:
            parent, _, leaf = path.rpartition(".")
            setattr(model.get_submodule(parent), leaf, value)
    unexpected = sorted(name for name in store.unread if not reader.is_optional(name))
    for fault, names in (("lack", missing), ("also contain", unexpected)):
        if names:
            suffix = f" and {len(names) - 3} more" if len(names) > 3 else ""
            raise CheckpointError(
                f"{store.folder}: the weights {fault} {', '.join(names[:3])}{suffix}, unlike what {CONFIG} describes. "
                "Config and weights belong to different models: download both again."
            )
    missing_values = [name for name, tensor in [*model.named_parameters(), *model.named_buffers()] if tensor.is_meta]
    if missing_values:
        raise RuntimeError(
            f"{', '.join(missing_values)} have no values: derived tensors must be created on the CPU explicitly."
        )

"""Headlight's model folders: saving and loading.

    config.json        {"format": "headlight", "kind": "transformer", "version": 1, "config": {…}}
    model.safetensors  or model-00001-of-0000N.safetensors, each below 10 MB, and model.safetensors.index.json
    tokenizer.json     or source_tokenizer.json and target_tokenizer.json
    languages.json     if a model has several languages
    habits.json        the generation defaults
    README.md          the model card
    SHA256SUMS         checksums of all files, also for `sha256sum -c`

To add a kind of model, add a line to `KINDS`. `families/loading.py` loads any folder, Headlight's or third-party. From
Headlight's folders, only safetensors and JSON are read, because a pickle could run any code.
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from torch import Tensor, nn

from headlight.model.checkpoints.checksums import (
    CARD_FILE,
    markdown_file_list,
    require_file,
    write_checksums,
)
from headlight.model.checkpoints.reader import CONFIG, FolderReader
from headlight.model.checkpoints.storage import (
    Storage,
    read_json,
    reject_lfs_pointer,
    write_weights,
)
from headlight.model.core.classifier import SelfAttentionClassifier
from headlight.model.core.classifier_config import ClassifierConfig, EncoderClassifierConfig
from headlight.model.core.config import Config, TransformerConfig
from headlight.model.core.encoder_classifier import EncoderClassifier
from headlight.model.core.transformer import Transformer
from headlight.model.decoding.generation_defaults import GenerationDefaults, load_generation_defaults
from headlight.model.errors import CheckpointError, ConfigError, WriteError
from headlight.model.text.languages import Languages, load_languages
from headlight.model.text.loading import load_vocabulary
from headlight.model.text.vocabulary import Vocabulary

SHARED, SOURCE, TARGET = "tokenizer.json", "source_tokenizer.json", "target_tokenizer.json"
VERSION = 1
# Files of an earlier save that would contradict a new one.
REPLACED_FILES = re.compile(
    r"model(-.*)?\.safetensors(\.index\.json)?|(source_|target_)?tokenizer\.json|(languages|habits|confidence|reliability|heads|pruning)\.json"
)

ModelType = TypeVar("ModelType", bound=nn.Module)


@dataclass(frozen=True)
class Checkpoint(Generic[ModelType]):
    """A loaded model folder, ready to run: the model is in evaluation mode, without gradients."""

    model: ModelType
    config: Any  # the model's configuration, such as a TransformerConfig
    source_tokenizer: Vocabulary
    target_tokenizer: Vocabulary  # the same object if both languages share one vocabulary
    folder: Path
    fingerprint: str  # changes with config, weights and vocabulary; empty without SHA256SUMS
    languages: Languages = field(default_factory=Languages)
    generation_defaults: GenerationDefaults = field(default_factory=GenerationDefaults)


class ModelKind(NamedTuple):
    """A kind of model in Headlight's folders."""

    config: type[Config]
    build: Callable[[Any], nn.Module]
    vocabularies: Callable[[Any], tuple[int, int]]  # sizes of the source and the target vocabulary


KINDS: dict[str, ModelKind] = {
    "transformer": ModelKind(
        TransformerConfig, Transformer, lambda config: (config.source_vocabulary, config.target_vocabulary)
    ),
    "classifier": ModelKind(
        ClassifierConfig, SelfAttentionClassifier, lambda config: (config.vocabulary, config.vocabulary)
    ),
    "encoder_classifier": ModelKind(
        EncoderClassifierConfig, EncoderClassifier, lambda config: (config.vocabulary, config.vocabulary)
    ),
}


class HeadlightReader(FolderReader):
    """Reader of Headlight's folders."""

    requires_checksums = True

    def config(self, folder: Path, values: dict[str, Any]) -> Any:
        path = folder / CONFIG
        unknown = sorted(set(values) - {"format", "kind", "version", "config"})
        missing = sorted({"kind", "version", "config"} - set(values))
        if unknown or missing:
            fault = f"has unknown field(s) {', '.join(unknown)}" if unknown else f"lacks {', '.join(missing)}"
            raise ConfigError(f"{path} {fault}. It needs format, kind, version and config: save the model again.")
        if type(values["version"]) is not int or values["version"] != VERSION:
            raise ConfigError(
                f"{path} has version {values['version']!r}, but this Headlight reads {VERSION}. Update Headlight."
            )
        kind = KINDS.get(values["kind"]) if isinstance(values["kind"], str) else None
        if kind is None:
            raise ConfigError(f"{path} has kind {values['kind']!r}, but the known kinds are: {', '.join(KINDS)}.")
        try:
            return kind.config.from_json(json.dumps(values["config"]), origin=str(path))
        except ConfigError as error:
            raise error if str(path) in str(error) else ConfigError(f"{path}: {error}") from error

    def build(self, config: Any) -> nn.Module:
        return model_kind(config)[1].build(config)

    def tokenizers(self, folder: Path, config: Any) -> tuple[Vocabulary, Vocabulary]:
        is_shared = not (folder / SOURCE).exists() and not (folder / TARGET).exists()
        for name in [SHARED] if is_shared else [SOURCE, TARGET]:
            require_file(folder, name)
            reject_lfs_pointer(folder / name)
        source = load_vocabulary(folder / (SHARED if is_shared else SOURCE))
        target = source if is_shared else load_vocabulary(folder / TARGET)
        return source, target

    def languages(self, folder: Path, config: Any, source: Vocabulary) -> Languages:
        return load_languages(folder)

    def generation_defaults(self, folder: Path, config: Any, languages: Languages) -> GenerationDefaults:
        return load_generation_defaults(folder)


# ------------------------------------------------------------ saving


def save_checkpoint(
    folder: str | Path,
    model: nn.Module,
    source_tokenizer: Vocabulary,
    target_tokenizer: Vocabulary,
    *,
    storage: Storage = "float16",
    card: str = "",
    extra_files: Mapping[str, str] | None = None,
    shard_bytes: int = 9_500_000,
) -> None:
    """Write a model folder atomically. Other files of an existing folder are kept.

    `extra_files` are additional text files by name. They get checksums like all files of the folder.
    """
    folder = Path(folder).resolve()
    if folder.exists() and not (folder.is_dir() and (_is_headlight_folder(folder) or not any(folder.iterdir()))):
        raise CheckpointError(f"{folder} already exists and is not a Headlight model folder. Choose another name.")
    kind, _ = model_kind(model.config)
    check_vocabularies("", model.config, source_tokenizer, target_tokenizer)
    part = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.part")
    try:
        part.mkdir(parents=True)
        _write_config(part / CONFIG, kind, model.config)
        weights = {name: tensor for name, (tensor, _) in unique_tensors(model).items()}
        write_weights(part, weights, storage, shard_bytes)
        if target_tokenizer is source_tokenizer:
            source_tokenizer.save(part / SHARED)
        else:
            source_tokenizer.save(part / SOURCE)
            target_tokenizer.save(part / TARGET)
        for name, text in (extra_files or {}).items():
            (part / name).write_text(text, encoding="utf-8")
        if card:
            (part / CARD_FILE).write_text(f"{card.rstrip()}\n\n{markdown_file_list(part)}", encoding="utf-8")
        write_checksums(part)
        _replace_folder(part, folder)
    except (OSError, WriteError) as error:
        reason = error.__cause__ if isinstance(error, WriteError) else error
        raise CheckpointError(
            f"{folder}: cannot be written ({getattr(reason, 'strerror', None) or reason}). "
            "Free some space or choose another folder."
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _is_headlight_folder(folder: Path) -> bool:
    try:
        return read_json(folder / CONFIG).get("format") == "headlight"
    except CheckpointError:
        return False


def model_kind(config: object) -> tuple[str, ModelKind]:
    """Return the name and the kind of model that a configuration describes."""
    for name, kind in KINDS.items():
        if type(config) is kind.config:
            return name, kind
    raise CheckpointError(
        f"{type(config).__name__} does not describe a model that can be saved. The known kinds are {', '.join(KINDS)}."
    )


def _write_config(path: Path, kind: str, config: Any) -> None:
    values = {"format": "headlight", "kind": kind, "version": VERSION, "config": json.loads(config.to_json())}
    path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def _replace_folder(part: Path, folder: Path) -> None:
    """Rename the new folder to its final name, and then delete the old folder."""
    if not folder.exists():
        part.rename(folder)
        return
    old_folder = part.with_suffix(".old.part")
    folder.rename(old_folder)
    try:
        part.rename(folder)
    except OSError:
        old_folder.rename(folder)
        raise
    for path in old_folder.iterdir():
        if not (folder / path.name).exists() and not REPLACED_FILES.fullmatch(path.name):
            path.rename(folder / path.name)
    shutil.rmtree(old_folder)


def unique_tensors(model: nn.Module) -> dict[str, tuple[Tensor, list[str]]]:
    """Return each tensor once, by its first name, together with all its names. A tied tensor has several names."""
    by_identity: dict[int, tuple[Tensor, list[str]]] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        by_identity.setdefault(id(tensor), (tensor, []))[1].append(name)
    return {names[0]: (tensor, names) for tensor, names in by_identity.values()}


# ------------------------------------------------------------ checks


def check_vocabularies(prefix: str, config: Any, source: Vocabulary, target: Vocabulary) -> None:
    """Raise an error unless the sizes and the end tokens of the vocabularies match the config."""
    sizes = model_kind(config)[1].vocabularies(config)
    for side, tokenizer, size in zip(("source", "target"), (source, target), sizes, strict=True):
        if tokenizer.vocabulary_size != size:
            raise CheckpointError(
                f"{prefix}the {side} vocabulary has {tokenizer.vocabulary_size} entries, but the config says {size}. "
                "Use the tokenizer that the model was trained with."
            )
        for name in ("pad_id", "end_id"):
            if getattr(tokenizer, name) != getattr(config, name):
                raise CheckpointError(
                    f"{prefix}{name} is {getattr(config, name)} in the config, but {getattr(tokenizer, name)} in the "
                    f"{side} vocabulary. Use the tokenizer that the model was trained with."
                )
    start = getattr(config, "start_id", target.start_id)
    if start != target.start_id:
        raise CheckpointError(
            f"{prefix}start_id is {start} in the config, but {target.start_id} in the target vocabulary. "
            "Use the tokenizer that the model was trained with."
        )

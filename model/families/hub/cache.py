"""Access to the download cache of `huggingface_hub` by its documented layout, without importing the package.

models--OWNER--NAME/refs/REVISION           the last known commit of a branch or tag
models--OWNER--NAME/blobs/HASH              a file's content
models--OWNER--NAME/snapshots/COMMIT/FILE   a link with the file's name to its content
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from headlight.model.families.hub.model_id import COMMIT, HubError, ModelId
from headlight.model.files import write_file

CONFIG = "config.json"
# A tokenizer needs all files of one line. Other programs may cache weights without them.
VOCABULARIES = (
    ("source.spm", "target.spm", "vocab.json"),
    ("sentencepiece.bpe.model",),
    ("spiece.model",),
    ("spm.model",),
    ("tokenizer.json",),
    ("vocab.json", "merges.txt"),
    ("vocab.txt",),
    ("source_tokenizer.json", "target_tokenizer.json"),
)
SETTINGS, BYTE_TOKENIZER = "tokenizer_config.json", "ByT5Tokenizer"
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
PICKLE, PICKLE_INDEX = "pytorch_model.bin", "pytorch_model.bin.index.json"


def cache_folder() -> Path:
    """Return the folder of the cache, from the current environment."""
    for name, subfolders in (
        ("HF_HUB_CACHE", ()),
        ("HUGGINGFACE_HUB_CACHE", ()),
        ("HF_HOME", ("hub",)),
        ("XDG_CACHE_HOME", ("huggingface", "hub")),
    ):
        if value := os.environ.get(name):
            return Path(os.path.expandvars(value)).expanduser().joinpath(*subfolders)
    return Path.home() / ".cache" / "huggingface" / "hub"


def repository_folder(repository: str) -> Path:
    """Return the folder of a repository."""
    return cache_folder() / f"models--{repository.replace('/', '--')}"


def snapshot_folder(repository: str, commit: str) -> Path:
    """Return the folder with the files of a commit."""
    return repository_folder(repository) / "snapshots" / commit


def blob_file(repository: str, digest: str) -> Path:
    """Return the path of a file's content."""
    return repository_folder(repository) / "blobs" / digest


def find_folder(model_id: ModelId) -> Path | None:
    """Return the folder of a complete model in the cache, or None. Sends no request."""
    commit = model_id.revision
    if not model_id.is_commit:
        try:
            commit = _reference_file(model_id).read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            return None
        if COMMIT.fullmatch(commit) is None:
            return None
    folder = snapshot_folder(model_id.repository, commit)
    return folder if _is_complete(folder) else None


def cached_models() -> Iterator[ModelId]:
    """Yield all complete models of the cache, by their branches and tags, else by commits."""
    for repository in sorted(cache_folder().glob("models--*--*")):
        name = repository.name.removeprefix("models--").replace("--", "/")
        references = (path.relative_to(repository / "refs").as_posix() for path in (repository / "refs").rglob("*"))
        commits = (path.name for path in (repository / "snapshots").glob("*") if COMMIT.fullmatch(path.name))
        yield from list(_valid_model_ids(name, references)) or _valid_model_ids(name, commits)


def _valid_model_ids(name: str, revisions: Iterable[str]) -> Iterator[ModelId]:
    """Yield the ids of complete models. Names may be invalid, because other programs write to the cache, too."""
    for revision in sorted(revisions):
        try:
            model_id = ModelId(name, revision)
        except HubError:
            continue
        if find_folder(model_id) is not None:
            yield model_id


def has_vocabulary(names: Iterable[str]) -> bool:
    """Whether these files suffice for a tokenizer."""
    present = set(names)
    return any(present.issuperset(needed) for needed in VOCABULARIES)


def folder_has_vocabulary(folder: Path) -> bool:
    """Whether a folder has the files of a tokenizer, or settings for a byte tokenizer, which needs no vocabulary."""
    return has_vocabulary(path.name for path in folder.iterdir()) or _reads_bytes(folder / SETTINGS)


def _reads_bytes(settings: Path) -> bool:
    try:
        return bool(json.loads(settings.read_text(encoding="utf-8"))["tokenizer_class"] == BYTE_TOKENIZER)
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return False


def store_commit(model_id: ModelId, commit: str) -> None:
    """Store the commit of a branch or tag, for later calls without a network."""
    if model_id.is_commit:
        return
    reference = _reference_file(model_id)
    write_file(reference, commit)


def _reference_file(model_id: ModelId) -> Path:
    return repository_folder(model_id.repository) / "refs" / model_id.revision


def _is_complete(folder: Path) -> bool:
    """Whether configuration, vocabulary and weights are complete."""
    if not (folder / CONFIG).exists() or not folder_has_vocabulary(folder):
        return False
    if (folder / WEIGHTS).exists() or (folder / PICKLE).exists():
        return True
    return _has_shards(folder, INDEX) or _has_shards(folder, PICKLE_INDEX)


def _has_shards(folder: Path, index: str) -> bool:
    """Whether all files that an index names exist."""
    try:
        weight_map = json.loads((folder / index).read_text(encoding="utf-8"))["weight_map"]
        return bool(weight_map) and all((folder / Path(name).name).exists() for name in set(weight_map.values()))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return False

"""The plan of a download: the files that are needed to load a model, with their sizes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from headlight.model.checkpoints.unsupported_formats import unsupported_format
from headlight.model.errors import WriteError
from headlight.model.families import family_name
from headlight.model.families.hub.cache import (
    CONFIG,
    INDEX,
    PICKLE,
    PICKLE_INDEX,
    SETTINGS,
    WEIGHTS,
    blob_file,
    cache_folder,
    folder_has_vocabulary,
    has_vocabulary,
    snapshot_folder,
)
from headlight.model.families.hub.model_id import COMMIT, HubError, ModelId, read_id

HUB = "https://huggingface.co"
AGENT = "headlight"  # user agent; requests contain no other information about this machine
TIMEOUT_SECONDS = 10.0  # seconds without a response
MAX_MEGABYTES = 3000
LIMIT_VARIABLE = "HEADLIGHT_MAX_DOWNLOAD_MB"

# In download order, before the weights, so that a folder with weights is complete.
METADATA_FILES = (
    CONFIG,
    "generation_config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "tokenizer.json",
    "vocab.json",
    "target_vocab.json",
    "merges.txt",
    "vocab.txt",
    "source.spm",
    "target.spm",
    "sentencepiece.bpe.model",
    "spiece.model",
    "spm.model",
    "source_tokenizer.json",
    "target_tokenizer.json",
    "source.json",
    "target.json",
    "languages.json",
    "habits.json",
    "reliability.json",
    "heads.json",
    "roles.json",
    "pruning.json",
    "SHA256SUMS",
    "README.md",
)
SHARD = re.compile(r"model-\d{5}-of-\d{5}\.safetensors")
PICKLE_SHARD = re.compile(r"pytorch_model-\d{5}-of-\d{5}\.bin")
# Files to download manually if the repository cannot be listed.
MANUAL_FILES = (
    f"{CONFIG}, {WEIGHTS} or {PICKLE}, and all files that begin with vocab, tokenizer, source, target or generation"
)
DIGEST = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True)
class RemoteFile:
    """A file of a repository. A digest of 64 digits is SHA-256, else it is a git blob id."""

    name: str
    bytes: int
    digest: str


@dataclass(frozen=True, kw_only=True)
class DownloadPlan:
    """The files that `fetch` would download, and the number of missing bytes."""

    repository: str
    revision: str  # as requested
    commit: str  # current commit of the revision
    files: tuple[RemoteFile, ...]
    missing: int  # bytes that are not in the cache
    licence: str = ""  # from the model card; empty if missing
    family: str = ""  # family of the configuration (`family_name`); empty if the Hub does not report it

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(file.bytes for file in self.files)


@dataclass(frozen=True)
class DownloadProgress:
    """The progress of a download."""

    done: int  # bytes in the cache, including those of earlier downloads
    total: int  # bytes
    file: str  # current file

    def __str__(self) -> str:
        share = self.done / self.total if self.total else 1.0
        amount = f"{self.done / 1e6:,.0f} of {self.total / 1e6:,.0f} MB"
        return f"[{'#' * int(24 * share):<24}] {share:4.0%}  {amount}  {self.file}"


def make_plan(repository: str, revision: str = "main") -> DownloadPlan:
    """Request the list of a model's files from the Hub; raise a HubError if it is too large or not a model."""
    model_id = read_id(repository, revision)
    limit = parse_limit(os.environ.get(LIMIT_VARIABLE, ""))
    if is_offline():
        raise offline_error(model_id)
    with hub_errors(model_id):
        from huggingface_hub import HfApi

        api = HfApi(endpoint=endpoint(), headers={"user-agent": AGENT})
        try:
            info = api.model_info(
                model_id.repository, revision=model_id.revision, files_metadata=True, timeout=TIMEOUT_SECONDS
            )
            remote_files = {sibling.rfilename: _parse_remote_file(sibling) for sibling in info.siblings or ()}
            commit, licence, family = str(info.sha), _licence(info), _family(info)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            raise HubError("odd_answer", repository=str(model_id), host=host()) from None
    files = tuple(remote_files[name] for name in select_files(model_id, remote_files))
    if COMMIT.fullmatch(commit) is None or any(
        file.bytes < 0 or DIGEST.fullmatch(file.digest) is None for file in files
    ):
        raise HubError("odd_answer", repository=str(model_id), host=host())
    plan = DownloadPlan(
        repository=model_id.repository,
        revision=model_id.revision,
        commit=commit,
        files=files,
        missing=sum(file.bytes for file in files if not is_cached(model_id.repository, commit, file)),
        licence=licence,
        family=family,
    )
    if plan.bytes > limit * 1_000_000:
        raise HubError("too_large", repository=str(model_id), megabytes=megabytes(plan.bytes), limit=limit)
    return plan


def select_files(model_id: ModelId, names: Any) -> list[str]:
    """Return the names of the files to download. Safetensors take precedence over pickles."""
    metadata = [name for name in METADATA_FILES if name in names]
    if WEIGHTS in names:
        weights = [WEIGHTS]
    elif INDEX in names and (shards := sorted(name for name in names if SHARD.fullmatch(name))):
        weights = [INDEX, *shards]
    elif PICKLE in names:
        weights = [PICKLE]
    elif PICKLE_INDEX in names and (shards := sorted(name for name in names if PICKLE_SHARD.fullmatch(name))):
        weights = [PICKLE_INDEX, *shards]
    else:
        weights = []
    if CONFIG not in metadata or not weights:
        unsupported = "" if weights else unsupported_format(names).removesuffix(".")
        missing = CONFIG if weights else f"{WEIGHTS} or {PICKLE}"
        missing += f" ({unsupported})" if unsupported else ""
        raise HubError("not_a_model", repository=str(model_id), missing=missing)
    return metadata + weights


def require_vocabulary(plan: DownloadPlan, folder: Path | None = None) -> None:
    """Raise a HubError if the plan lacks the files of a supported tokenizer.

    `folder`: the folder with all downloaded files except weights, whose settings may name a tokenizer that needs no
    vocabulary.
    """
    names = [file.name for file in plan.files]
    may_need_no_vocabulary = SETTINGS in names if folder is None else folder_has_vocabulary(folder)
    if not (has_vocabulary(names) or may_need_no_vocabulary):
        missing = "vocabulary (source.spm, spiece.model, …)"
        raise HubError("not_a_model", repository=plan.repository, missing=missing)


def is_cached(repository: str, commit: str, file: RemoteFile) -> bool:
    """Whether a file is in the cache."""
    return (snapshot_folder(repository, commit) / file.name).exists() or blob_file(repository, file.digest).exists()


def offline_error(model_id: ModelId) -> HubError:
    """Return the error for an unreachable Hub, with the files to download manually."""
    return HubError("offline", repository=str(model_id), host=host(), files=MANUAL_FILES)


def redirect_error(model_id: ModelId) -> HubError:
    """Return the error for circular redirects or an invalid URL."""
    return HubError("astray", repository=str(model_id), host=host())


def is_offline() -> bool:
    """Whether the current environment forbids all requests."""
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")


def endpoint() -> str:
    """Return the URL of the Hub, from the current environment."""
    return (os.environ.get("HF_ENDPOINT") or HUB).rstrip("/")


def host() -> str:
    """Return the host name of the Hub, because its URL may contain a password."""
    return urlsplit(endpoint()).hostname or "the Hub"


def megabytes(count: int) -> int:
    """Convert bytes to whole megabytes, rounded up, so that no file has 0 MB."""
    return -(-count // 1_000_000)


@contextmanager
def hub_errors(model_id: ModelId) -> Iterator[None]:
    """Convert errors from the library and the network to a `HubError` without URLs."""
    import httpx2
    from huggingface_hub import constants, errors

    # With telemetry, requests would list the installed packages. The library reads its environment variables at import,
    # which may have happened already, so the constant is set directly.
    constants.HF_HUB_DISABLE_TELEMETRY = True
    try:
        yield
    except HubError:
        raise
    except errors.GatedRepoError:
        raise status_error(model_id, 403) from None
    except (
        errors.RepositoryNotFoundError,
        errors.RevisionNotFoundError,
        errors.RemoteEntryNotFoundError,
        errors.DisabledRepoError,
    ):
        raise status_error(model_id, 404) from None
    except errors.HfHubHTTPError as error:
        raise status_error(model_id, error.response.status_code) from None
    except (httpx2.TooManyRedirects, httpx2.UnsupportedProtocol, httpx2.InvalidURL):
        raise redirect_error(model_id) from None
    except (httpx2.HTTPError, errors.LocalEntryNotFoundError, ConnectionError, TimeoutError):
        raise offline_error(model_id) from None
    except WriteError as error:
        raise HubError("not_writable", detail=str(error)) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise HubError("not_writable", detail=f"{error.filename or cache_folder()}: {reason}") from None


def status_error(model_id: ModelId, status: int) -> HubError:
    """Return the error for an HTTP status."""
    if status in (401, 403):
        return HubError("gated", repository=str(model_id), host=host())
    if status == 404:
        return HubError("not_found", repository=model_id.repository, revision=model_id.revision, host=host())
    return HubError("busy", repository=str(model_id), host=host(), status=status)


def _parse_remote_file(entry: Any) -> RemoteFile:
    digest = entry.lfs.sha256 if entry.lfs else entry.blob_id
    return RemoteFile(entry.rfilename, entry.size if isinstance(entry.size, int) else -1, str(digest))


def _licence(value: Any) -> str:
    """Return the licence of the card's front matter, else of the tags."""
    licence = getattr(value.card_data, "license", None)
    if not isinstance(licence, str):
        tags = (tag for tag in value.tags or () if isinstance(tag, str) and tag.startswith("license:"))
        licence = next(tags, "").removeprefix("license:")
    return _printable(licence)


def _family(value: Any) -> str:
    config = getattr(value, "config", None)
    return _printable(family_name(config)) if isinstance(config, dict) else ""


def _printable(text: str) -> str:
    """Truncate third-party text to a few printable characters."""
    return "".join(character for character in text[:60] if character.isprintable())


def parse_limit(text: str) -> int:
    """Return the maximum size of a download in megabytes. `text`: the value of `LIMIT_VARIABLE`."""
    value = text.strip()
    if not value:
        return MAX_MEGABYTES
    if not (value.isascii() and value.isdecimal() and len(value) < 10):
        raise HubError("bad_limit", given=repr(value[:20]))
    return int(value)

"""Models of the Hugging Face Hub by id: their files, and downloads into the cache.

    plan = make_plan("Helsinki-NLP/opus-mt-de-en")  # plan.bytes, plan.licence
    folder = fetch("Helsinki-NLP/opus-mt-de-en")    # Translator.load(folder)

The cache is that of `huggingface_hub`, so models that other programs downloaded are not downloaded again. That package
is imported on the first download.
"""

from __future__ import annotations

from headlight.model.families.hub.cache import cached_models, find_folder
from headlight.model.families.hub.download import fetch
from headlight.model.families.hub.download_plan import (
    DownloadPlan,
    DownloadProgress,
    RemoteFile,
    host,
    make_plan,
    megabytes,
    require_vocabulary,
)
from headlight.model.families.hub.model_id import HubError, ModelId, read_id
from headlight.model.families.hub.quota import make_room, mark_claimed, mark_used
from headlight.model.families.hub.reach import is_reachable

__all__ = [
    "DownloadPlan",
    "DownloadProgress",
    "HubError",
    "ModelId",
    "RemoteFile",
    "cached_models",
    "fetch",
    "find_folder",
    "host",
    "is_reachable",
    "make_plan",
    "make_room",
    "mark_claimed",
    "mark_used",
    "megabytes",
    "read_id",
    "require_vocabulary",
]

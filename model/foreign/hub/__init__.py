"""Models of the Hugging Face Hub, by id: what one holds, and a folder with its files.

    offer = plan("Helsinki-NLP/opus-mt-de-en")    # offer.bytes, offer.licence
    folder = fetch("Helsinki-NLP/opus-mt-de-en")  # Translator.load(folder)

The cache is that of `huggingface_hub`, so a model that another program downloaded is not downloaded again. The package
is imported on the first download.
"""

from __future__ import annotations

from headlight.model.foreign.hub.cache import cached_models, find_folder
from headlight.model.foreign.hub.fetching import fetch
from headlight.model.foreign.hub.names import HubError, ModelId, read_id
from headlight.model.foreign.hub.plans import Plan, Progress, RemoteFile, host, megabytes, plan, require_vocabulary
from headlight.model.foreign.hub.quota import claim, make_room, used
from headlight.model.foreign.hub.reach import is_reachable

__all__ = [
    "HubError",
    "ModelId",
    "Plan",
    "Progress",
    "RemoteFile",
    "cached_models",
    "claim",
    "fetch",
    "find_folder",
    "host",
    "is_reachable",
    "make_room",
    "megabytes",
    "plan",
    "read_id",
    "require_vocabulary",
    "used",
]

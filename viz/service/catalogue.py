"""The catalogue: models of the models folder, then models on the Hub that visitors may use.

Names are looked up and never used as paths. A model of the Hub is named by its id, before and after its download.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Literal, NamedTuple

from headlight.model.families import FAMILIES
from headlight.model.families.hub import (
    DownloadPlan,
    DownloadProgress,
    HubError,
    cached_models,
    find_folder,
    host,
    make_plan,
    make_room,
    mark_claimed,
    mark_used,
    megabytes,
    read_id,
    require_vocabulary,
)
from headlight.model.text.languages import languages_from_name
from headlight.viz.errors import PageError, escape_for_log, repr_short, to_page_error
from headlight.viz.service.downloads import Downloads
from headlight.viz.service.model_cards import UNREADABLE_ERRORS, ModelCard, is_readable, read_card, read_cards
from headlight.viz.service.reach import HubReachability
from headlight.viz.settings import ANY_MODEL, Settings, load_hub_list

LOG = logging.getLogger(__name__)


class _HubEntry(NamedTuple):
    """Known properties of a Hub model before its download."""

    languages: tuple[str, ...]
    bytes: int = 0
    kind: Literal["transformer", "classifier"] = "transformer"


class Catalogue:
    """Cards, folders and downloads of all models. Thread-safe."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._local = {card.name: card for card in read_cards(settings.models_folder)}
        self._downloads = Downloads(self._make_room)
        self._reachability = HubReachability()
        entries = {
            entry["id"]: _HubEntry(tuple(entry["languages"]), int(entry["bytes"]), entry.get("kind", "transformer"))
            for entry in load_hub_list()
        }
        # Allowed Hub models by id. If any model is allowed, they include the cached ones.
        self._hub = {
            name: entries.get(name, _HubEntry(languages_from_name(name)))
            for name in settings.models
            if name != ANY_MODEL
        }
        self._hub_cards: dict[tuple[str, Path], ModelCard | None] = {}
        if ANY_MODEL in settings.models:
            self._add_cached_models()

    # ------------------------------------------------------------ cards

    def cards(self) -> tuple[ModelCard, ...]:
        """Return all models, the local ones first, with their current properties."""
        return (*self._local.values(), *(self._hub_card(name) for name in list(self._hub)))

    def card(self, name: str, kind: str = "") -> ModelCard:
        """Return the card of an allowed model. Raises `PageError` if the model is unknown or of another kind."""
        result = self._find(name)
        if result is not None and result.kind == (kind or result.kind):
            return result
        cards = [card for card in self.cards() if card.kind == (kind or card.kind)]
        if not cards or not name:
            raise PageError("model", "no_model")
        if "/" in name and self._hub:
            raise _unknown_model_error("model_not_allowed", name, cards)
        raise _unknown_model_error("unknown_model", name, [card for card in cards if card.downloaded] or cards)

    def reverse_model(self, name: str) -> str:
        """Return the name of the installed model for the reverse direction, or ""."""
        languages = self.card(name, "transformer").languages
        if len(languages) != 2:
            return ""
        translators = (card for card in self._local.values() if card.kind == "transformer")
        return next((card.name for card in translators if card.languages == languages[::-1]), "")

    def _find(self, name: str) -> ModelCard | None:
        if name in self._local:
            return self._local[name]
        if name in self._hub:
            return self._hub_card(name)
        if ANY_MODEL not in self.settings.models or "/" not in name:
            return None
        with convert_hub_errors():
            read_id(name)
        card = self._hub_card(name)
        if card.downloaded:
            self._hub[name] = _HubEntry(card.languages, card.bytes, card.kind)
        return card

    def _add_cached_models(self) -> None:
        """Add all supported models of the download cache, which other programs share."""
        for model_id in cached_models():
            name, folder = str(model_id), find_folder(model_id)
            if folder is not None and is_readable(folder):
                self._hub.setdefault(name, _HubEntry(languages_from_name(name)))

    def _hub_card(self, name: str) -> ModelCard:
        entry = self._hub.get(name, _HubEntry(languages_from_name(name)))
        folder = find_folder(read_id(name))
        if folder is not None and (name, folder) not in self._hub_cards:  # several names may share a folder
            self._hub_cards[name, folder] = self._read_card(name, folder, entry.languages)
        if folder is not None and (result := self._hub_cards[name, folder]) is not None:
            return result
        return ModelCard(
            name=name,
            kind=entry.kind,
            languages=entry.languages,
            parameters=0,
            bytes=entry.bytes,
            summary="",
            revision="",
            location="hub",
            downloaded=False,
        )

    def _read_card(self, name: str, folder: Path, languages: tuple[str, ...]) -> ModelCard | None:
        try:
            result = read_card(folder, name)
        except UNREADABLE_ERRORS as error:
            LOG.warning(
                "The folder %s of %s is invalid: %s",
                escape_for_log(folder),
                escape_for_log(name),
                escape_for_log(error),
            )
            return None
        # The folder's name is its commit, which changes with every file.
        return replace(result, languages=languages or result.languages, revision=folder.name[:16], location="hub")

    # ------------------------------------------------------------ folders and downloads

    def folder(self, card: ModelCard) -> Path:
        """Return the folder of a model. Raises `PageError` with the download size if the model is not downloaded."""
        if card.location == "here":
            return self.settings.models_folder / card.name
        folder = find_folder(read_id(card.name))
        if folder is None:
            size = card.bytes or self.download_info(card.name).missing
            raise PageError("model", "model_not_here", {"given": card.name, "megabytes": megabytes(size)})
        return folder

    def unreachable_host(self, *, refresh: bool = False) -> str:
        """Return the host of the Hub if visitors may use it but it is unreachable, else "".

        `refresh`: refresh the cached status.
        """
        return host() if self.settings.models and not self._reachability.check(refresh=refresh) else ""

    def download_info(self, name: str) -> DownloadPlan:
        """Return the files, size and licence of a download. Raises `PageError` for unsupported models."""
        card = self.card(name)
        with convert_hub_errors():
            try:
                result = make_plan(card.name)
            except HubError as error:
                if error.kind == "offline":
                    self._reachability.mark_unreachable()
                raise
        if result.family and result.family not in FAMILIES:
            values = {"given": card.name, "family": repr_short(result.family), "choices": ", ".join(FAMILIES)}
            raise PageError("model", "other_family", values)
        with convert_hub_errors():
            require_vocabulary(result)
        return result

    def fetch(
        self, name: str, on_progress: Callable[[DownloadProgress], None] | None = None, stop: Event | None = None
    ) -> ModelCard:
        """Download an allowed model if it is missing. Concurrent calls for one model share the download."""
        card = self.card(name)
        if card.downloaded:
            return card
        with convert_hub_errors():
            self._downloads.fetch(card.name, on_progress, stop)
        card = self.card(name)
        if not card.downloaded:  # the files exist but are invalid
            raise PageError("model", "model_cannot_load", {"given": card.name})
        return card

    def mark_used(self, card: ModelCard) -> None:
        """Record the use of a Hub model. At the quota, the least recently used model is deleted first."""
        if card.location == "hub":
            mark_used(read_id(card.name).repository)

    def _make_room(self, plan: DownloadPlan) -> bool:
        """Delete models until the download fits into the quota. Returns True, which confirms the download."""
        mark_claimed(plan.repository)
        downloading = {read_id(name).repository for name in self._downloads.names()}
        for name in make_room(plan.repository, plan.missing, self.settings.hub_mb * 1_000_000, downloading):
            LOG.warning("%s was deleted to make room for %s.", repr_short(name), repr_short(plan.repository))
        return True

    def waiter_count(self, name: str) -> int:
        """Return the number of requests that wait for another request's download."""
        return self._downloads.waiter_count(name)


def _unknown_model_error(word: str, name: str, cards: Sequence[ModelCard]) -> PageError:
    return PageError("model", word, {"given": repr_short(name), "choices": ", ".join(card.name for card in cards)})


@contextmanager
def convert_hub_errors() -> Iterator[None]:
    """Convert a `HubError` to a phrase of the page and log its details."""
    try:
        yield
    except HubError as error:
        LOG.warning("The Hub: %s", escape_for_log(error))  # visitors must not see the details
        raise to_page_error(error) from error

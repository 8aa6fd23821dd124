"""Which models there are: those in the models' folder, then those of the Hub that a visitor may ask for.

Names are looked up and never become a path. A model of the Hub has the name of its id, whether it was fetched or not.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event

from headlight.model.foreign import FAMILIES
from headlight.model.foreign.hub import (
    HubError,
    Plan,
    Progress,
    cached_models,
    claim,
    find_folder,
    make_room,
    megabytes,
    plan,
    read_id,
    require_vocabulary,
    used,
)
from headlight.model.text.languages import languages_of
from headlight.viz.answers.cards import ODD, ModelCard, can_be_read, read_card, read_cards
from headlight.viz.answers.downloads import Downloads
from headlight.viz.errors import PageError, logged, page_error, shown
from headlight.viz.settings import ANY, Settings, hub_list

LOG = logging.getLogger(__name__)


class Catalogue:
    """Cards, folders and downloads of all models. Threads may share it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._here = {card.name: card for card in read_cards(settings.models_folder)}
        self._downloads = Downloads(self._make_room)
        known = {each["id"]: (tuple(each["languages"]), int(each["bytes"])) for each in hub_list()}
        # Those that may be asked for, then those beside them that somebody asked for and that are here.
        self._hub = {name: known.get(name, (languages_of(name), 0)) for name in settings.models if name != ANY}
        self._read: dict[tuple[str, Path], ModelCard | None] = {}
        if ANY in settings.models:
            self._find_kept()

    # ------------------------------------------------------------ cards

    def cards(self) -> tuple[ModelCard, ...]:
        """All models: first those of the folder, then those of the Hub, each with what is known of it today."""
        return (*self._here.values(), *(self._hub_card(name) for name in list(self._hub)))

    def card(self, name: str, kind: str) -> ModelCard:
        """A model of this kind that may be used here."""
        found = self._find(name)
        if found is not None and found.kind == kind:
            return found
        cards = [card for card in self.cards() if card.kind == kind]
        if not cards or not name:
            raise PageError("model", "no_model")
        if "/" in name and self._hub:
            raise _refusal("model_not_allowed", name, cards)
        raise _refusal("unknown_model", name, [card for card in cards if card.downloaded] or cards)

    def _find(self, name: str) -> ModelCard | None:
        if name in self._here:
            return self._here[name]
        if name in self._hub:
            return self._hub_card(name)
        if ANY not in self.settings.models or "/" not in name:
            return None
        with hub_words():
            read_id(name)
        card = self._hub_card(name)
        if card.downloaded:
            self._hub[name] = (card.languages, card.bytes)
        return card

    def _find_kept(self) -> None:
        """Models that an earlier run fetched, or another program: of families that we read."""
        for kept in cached_models():
            name, folder = str(kept), find_folder(kept)
            if folder is not None and can_be_read(folder):
                self._hub.setdefault(name, (languages_of(name), 0))

    def _hub_card(self, name: str) -> ModelCard:
        languages, size = self._hub.get(name, (languages_of(name), 0))
        folder = find_folder(read_id(name))
        if folder is not None and (name, folder) not in self._read:  # one folder may be asked for by several names
            self._read[name, folder] = self._read_card(name, folder, languages)
        if folder is not None and (found := self._read[name, folder]) is not None:
            return found
        return ModelCard(
            name=name,
            kind="transformer",
            languages=languages,
            parameters=0,
            bytes=size,
            summary="",
            revision="",
            where="hub",
            downloaded=False,
        )

    def _read_card(self, name: str, folder: Path, languages: tuple[str, ...]) -> ModelCard | None:
        try:
            found = read_card(folder, name)
        except ODD as error:
            LOG.warning("The folder %s of %s makes no sense: %s", logged(folder), logged(name), logged(error))
            return None
        # Content decides what a commit is called, so its name says when anything changed.
        return replace(found, languages=languages or found.languages, revision=folder.name[:16], where="hub")

    # ------------------------------------------------------------ folders and downloads

    def folder(self, card: ModelCard) -> Path:
        """Where a model's files are; one that must be fetched first is an error that tells how large it is."""
        if card.where == "here":
            return self.settings.models_folder / card.name
        folder = find_folder(read_id(card.name))
        if folder is None:
            size = card.bytes or self.offer(card.name).missing
            raise PageError("model", "model_not_here", {"given": card.name, "megabytes": megabytes(size)})
        return folder

    def offer(self, name: str) -> Plan:
        """What would be fetched, as the Hub says now: files, bytes and licence. What cannot be read is refused here."""
        card = self.card(name, "transformer")
        with hub_words():
            found = plan(card.name)
        if found.family and found.family not in FAMILIES:
            values = {"given": card.name, "family": shown(found.family), "choices": ", ".join(FAMILIES)}
            raise PageError("model", "other_family", values)
        with hub_words():
            require_vocabulary(found)
        return found

    def fetch(
        self, name: str, on_progress: Callable[[Progress], None] | None = None, stop: Event | None = None
    ) -> ModelCard:
        """Fetch a model that may be asked for; what is here already comes at once. Equal fetches are made once."""
        card = self.card(name, "transformer")
        if card.downloaded:
            return card
        with hub_words():
            self._downloads.fetch(card.name, on_progress, stop)
        card = self.card(name, "transformer")
        if not card.downloaded:  # its files came, but nobody here can read them
            raise PageError("model", "model_cannot_load", {"given": card.name})
        return card

    def used(self, card: ModelCard) -> None:
        """A model works now: where the disk is full, those that did not for longest leave first."""
        if card.where == "hub":
            used(read_id(card.name).repository)

    def _make_room(self, offer: Plan) -> bool:
        """Before anything of a model comes."""
        claim(offer.repository)
        on_their_way = {read_id(name).repository for name in self._downloads.names()}
        for name in make_room(offer.repository, offer.missing, self.settings.hub_mb * 1_000_000, on_their_way):
            LOG.warning("%s was deleted to make room for %s.", shown(name), shown(offer.repository))
        return True

    def waiting(self, name: str) -> int:
        """How many wait for a download that somebody else makes."""
        return self._downloads.waiting(name)


def _refusal(word: str, name: str, cards: Sequence[ModelCard]) -> PageError:
    return PageError("model", word, {"given": shown(name), "choices": ", ".join(card.name for card in cards)})


@contextmanager
def hub_words() -> Iterator[None]:
    """An error of the Hub becomes one of the page, without the detail that is for the log alone."""
    try:
        yield
    except HubError as error:
        LOG.warning("The Hub: %s", logged(error))  # whoever runs the page is told more than a visitor
        raise page_error(error) from error

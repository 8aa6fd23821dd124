"""Models in this process, with or without weights, bounded by bytes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from headlight.model.core.transformer import count_bytes
from headlight.model.errors import ModelError
from headlight.model.translate.judge import Judge
from headlight.model.translate.model_info import ModelInfo, read_model_info
from headlight.model.translate.translator import Translator
from headlight.viz.errors import PageError
from headlight.viz.service.catalogue import Catalogue
from headlight.viz.service.model_cache import ModelCache
from headlight.viz.service.model_cards import ModelCard

LOG = logging.getLogger(__name__)


class LoadedModels:
    """Models of a catalogue, loaded on first use. Thread-safe."""

    def __init__(self, catalogue: Catalogue, limit_bytes: int) -> None:
        self.catalogue = catalogue
        self.cache: ModelCache[Any] = ModelCache(limit_bytes, _count_memory_bytes)

    @contextmanager
    def use(self, card: ModelCard) -> Iterator[Any]:
        """Yield the `Translator` or `Judge` of a card. It stays in memory until the end of the block."""
        with self.cache.use(make_model_key(card), lambda: self.load(card)) as model:
            self.catalogue.mark_used(card)
            yield model

    def model_info(self, card: ModelCard) -> ModelInfo:
        """Return the model information of a translator from its folder, without weights."""
        with self.cache.use(("model info", *make_model_key(card)), lambda: self._read(card, read_model_info)) as info:
            result: ModelInfo = info
            return result

    def load(self, card: ModelCard) -> Any:
        """Load the model of a card from its folder, without caching it."""
        return self._read(card, Judge.load if card.kind == "classifier" else Translator.load)

    def _read(self, card: ModelCard, read: Callable[..., Any]) -> Any:
        folder = self.catalogue.folder(card)
        try:
            model = read(folder)
        except (ModelError, OSError) as error:
            LOG.exception("The model %s cannot be loaded.", card.name)
            raise PageError("model", "model_cannot_load", {"given": card.name}) from error
        if isinstance(model, ModelInfo | Judge):
            model.name = card.name  # folders of the download cache are named by commit
        return model


def make_model_key(card: ModelCard) -> tuple[str, str]:
    """Return the cache key of a model: its name and revision."""
    return card.name, card.revision


def _count_memory_bytes(model: ModelInfo | Judge) -> int:
    return model.weight_bytes if isinstance(model, ModelInfo) else count_bytes(model.model)

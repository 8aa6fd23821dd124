"""Backends: in this process, on ZeroGPU or on a Ray cluster.

What goes to a backend and comes back are records. `work` is a function of the model and of records, as `work.py` lists
them; errors of requests come back as the `ModelError` that they are.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from threading import Event
from typing import Any, Protocol

from headlight.model.records import Progress, TranslationRequest
from headlight.model.translate.outline import Outline
from headlight.model.translate.translator import Translator
from headlight.viz.answers.cards import ModelCard
from headlight.viz.answers.loaded import LoadedModels
from headlight.viz.answers.work import Work


class Backend(Protocol):
    """A place with models. Threads may share it."""

    through_queue: bool  # whether requests must come through Gradio's queue, which says for whom they are

    def run(self, card: ModelCard, work: Work, *given: Any) -> Any:
        """Run `work(model, *given)` on the process that has the card's model."""

    def stream(self, card: ModelCard, request: TranslationRequest, stop: Event) -> Generator[Progress]:
        """Progress after each word; the last one carries the translation.

        Closing it ends the work within one step; `stop` ends a long step earlier.
        """

    def outline(self, card: ModelCard) -> Outline:
        """Model information without weights, to validate and tokenise requests in this process."""

    def faults(self) -> Mapping[str, str]:
        """Reasons why the backend is unavailable; empty if healthy. Takes at most a second."""


class Here:
    """In this process: the default."""

    through_queue = False

    def __init__(self, models: LoadedModels) -> None:
        self.models = models

    def run(self, card: ModelCard, work: Work, *given: Any) -> Any:
        """In the caller's thread; the model stays in memory meanwhile."""
        with self.models.hold(card) as model:
            return work(model, *given)

    def stream(self, card: ModelCard, request: TranslationRequest, stop: Event) -> Generator[Progress]:
        """Nothing runs between two steps."""
        with self.models.hold(card) as translator:
            yield from translator.stream(request)

    def outline(self, card: ModelCard) -> Outline:
        """The translator itself, which will be needed anyway."""
        with self.models.hold(card) as translator:
            found: Translator = translator
            return found

    def faults(self) -> Mapping[str, str]:
        """Always healthy: it runs in this process."""
        return {}


def last_progress(translation: Any, kind: type[Progress] = Progress) -> Progress:
    """The final progress record of a stream without intermediate progress."""
    tokens = translation.target_tokens
    return kind(len(tokens) + 1, lambda: (translation.text, tokens), translation)

"""Where an answer is computed: here, on a lent GPU, or on a cluster. The service asks, and does not know which.

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
        """`work(model, *given)`, where the model of the card is."""

    def stream(self, card: ModelCard, request: TranslationRequest, stop: Event) -> Generator[Progress]:
        """Progress after each word; the last one carries the translation.

        Closing it ends the work within one step. Where a step may be long in coming, `stop` ends it before that.
        """

    def outline(self, card: ModelCard) -> Outline:
        """What the model knows without computing: it checks requests and cuts texts in this process."""

    def faults(self) -> Mapping[str, str]:
        """Why no answer can be expected at present; empty where all is well. It waits a second at most."""


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
        """Between two steps nothing runs."""
        with self.models.hold(card) as translator:
            yield from translator.stream(request)

    def outline(self, card: ModelCard) -> Outline:
        """The translator itself, which will be needed anyway."""
        with self.models.hold(card) as translator:
            found: Translator = translator
            return found

    def faults(self) -> Mapping[str, str]:
        """None: who asks is here."""
        return {}


def last_progress(translation: Any, kind: type[Progress] = Progress) -> Progress:
    """What a stream ends with, where nothing came before."""
    tokens = translation.target_tokens
    return kind(len(tokens) + 1, lambda: (translation.text, tokens), translation)

"""The interface of a backend, and the backend of this process. `viz/backends` contains the others.

A backend receives and returns records. `work` is one of the functions listed in `viz/backends/remote_functions.py`,
which take the model and records. Request errors are raised as `ModelError`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from threading import Event
from typing import Any, Protocol

from headlight.model.records import Progress, TranslationRequest
from headlight.model.translate.model_info import ModelInfo
from headlight.model.translate.translator import Translator
from headlight.viz.service.loaded_models import LoadedModels
from headlight.viz.service.model_cards import ModelCard
from headlight.viz.settings import Settings

RemoteFunction = Callable[..., Any]


class Backend(Protocol):
    """The interface of a backend, which runs functions on models. Implementations are thread-safe."""

    uses_gradio_queue: bool  # whether requests must pass through Gradio's queue, which identifies the visitor

    def run(self, card: ModelCard, work: RemoteFunction, *arguments: Any) -> Any:
        """Run `work(model, *arguments)` in the process that has loaded the card's model."""

    def stream(self, card: ModelCard, request: TranslationRequest, stop: Event) -> Generator[Progress]:
        """Yield progress after each word. The last record contains the translation.

        Closing the iterator ends the work within one step; `stop` also interrupts a long step.
        """

    def model_info(self, card: ModelCard) -> ModelInfo:
        """Return the model information without weights, to validate and tokenise requests in this process."""

    def health_problems(self) -> Mapping[str, str]:
        """Return the reasons why the backend is unavailable; empty if it is healthy. Responds within one second."""


class LocalBackend:
    """The default backend, which runs models in this process."""

    uses_gradio_queue = False

    def __init__(self, models: LoadedModels) -> None:
        self.models = models

    def run(self, card: ModelCard, work: RemoteFunction, *arguments: Any) -> Any:
        """Run in the caller's thread. The model stays in memory until the call returns."""
        with self.models.use(card) as model:
            return work(model, *arguments)

    def stream(self, card: ModelCard, request: TranslationRequest, stop: Event) -> Generator[Progress]:
        """Run in the caller's thread, one step per `next`."""
        with self.models.use(card) as translator:
            yield from translator.stream(request)

    def model_info(self, card: ModelCard) -> ModelInfo:
        """Return the translator, which the request needs anyway."""
        with self.models.use(card) as translator:
            result: Translator = translator
            return result

    def health_problems(self) -> Mapping[str, str]:
        """Return no problems, because this backend needs no other process."""
        return {}


BackendChoice = Callable[[Settings, LoadedModels], Backend]


def make_local_backend(settings: Settings, models: LoadedModels) -> Backend:
    """Return a `LocalBackend`, regardless of the settings."""
    return LocalBackend(models)


def last_progress(translation: Any, kind: type[Progress] = Progress) -> Progress:
    """Return the final progress record of a stream without intermediate progress."""
    tokens = translation.target_tokens
    return kind(len(tokens) + 1, lambda: (translation.text, tokens), translation)

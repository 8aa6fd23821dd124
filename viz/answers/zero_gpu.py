"""ZeroGPU backend: on Hugging Face Spaces, a GPU is attached for each call."""

from __future__ import annotations

import importlib
from collections.abc import Generator
from threading import Event
from typing import Any

from headlight.model.records import Progress, TranslationRequest
from headlight.model.translate.translator import Translator
from headlight.viz.answers.backends import Here, last_progress
from headlight.viz.answers.cards import ModelCard
from headlight.viz.answers.loaded import LoadedModels
from headlight.viz.answers.stored import pack, unpack
from headlight.viz.answers.work import WORK, Work, name_of

SECONDS = 15  # the limit of one call; a translation takes less than one


class LentGpu(Here):
    """On the GPU of a call, in a process that is forked for it: models are loaded before, in this process."""

    through_queue = True  # the page's own client adds the visitor's right to a GPU

    def __init__(self, models: LoadedModels, gpu: Any) -> None:
        super().__init__(models)
        self._gpu = gpu

    def run(self, card: ModelCard, work: Work, *given: Any) -> Any:
        """What goes in and comes out is copied between the processes."""
        with self.models.hold(card):
            return unpack(self._gpu(card, name_of(work), pack(given)))

    def stream(self, card: ModelCard, request: TranslationRequest, stop: Event) -> Generator[Progress]:
        """The answer in one call, without progress."""
        yield last_progress(self.run(card, Translator.translate, request))


def lent_gpu(models: LoadedModels) -> LentGpu | None:
    """This backend; `None` without the package `spaces` or its hardware."""
    try:
        spaces: Any = importlib.import_module("spaces")
    except ImportError:
        return None

    def compute(card: ModelCard, work: str, given: bytes) -> bytes:
        return pack(WORK[work](models.find(card) or models.load(card), *unpack(given)))

    on_gpu = spaces.GPU(duration=SECONDS)(compute)
    # Else the package is there, but not the hardware.
    return None if on_gpu is compute else LentGpu(models, on_gpu)

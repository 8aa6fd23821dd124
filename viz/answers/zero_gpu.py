"""ZeroGPU backend: on Hugging Face Spaces, a GPU is attached for each call."""

from __future__ import annotations

import importlib
import re
from collections.abc import Generator
from threading import Event
from typing import Any

from headlight.model.records import Progress, TranslationRequest
from headlight.model.translate.outline import Outline
from headlight.model.translate.translator import Translator
from headlight.viz.answers.backends import Here, last_progress
from headlight.viz.answers.cards import ModelCard
from headlight.viz.answers.loaded import LoadedModels, place_of
from headlight.viz.answers.stored import pack, unpack
from headlight.viz.answers.work import WORK, Work, name_of
from headlight.viz.errors import PageError

SECONDS = 15  # the limit of one call; a translation takes less than one
BROKE = "ZeroGPU worker error"  # the package's title of what failed in a call
TAG = re.compile(r"<[^>]*>")  # the package may add links
LONGEST = 300  # characters of what it says
KEPT = 2  # models in the process of calls: an answer that is read back uses two


class LentGpu(Here):
    """On the GPU of a call, in a process that is forked for it, and kept for later calls where nobody else waits.

    Models are loaded there. Here, `spaces` stands in for CUDA in the main thread alone: loading a model onto the GPU in
    any other thread is an error.
    """

    through_queue = True  # the page's own client adds the visitor's right to a GPU

    def __init__(self, models: LoadedModels, gpu: Any) -> None:
        super().__init__(models)
        self._gpu = gpu

    def run(self, card: ModelCard, work: Work, *given: Any) -> Any:
        """What goes in and comes out is copied between the processes."""
        self.models.catalogue.folder(card)  # a model that is not here is an error before a GPU is asked for
        self.models.catalogue.used(card)
        try:
            return unpack(self._gpu(card, name_of(work), pack(given)))
        except Exception as error:  # the package's own: a visitor's share of GPU time is used up, or none is free
            title = str(getattr(error, "title", ""))
            if not title.startswith("ZeroGPU") or title == BROKE:
                raise
            why = TAG.sub("", str(getattr(error, "message", ""))).strip()[:LONGEST]
            raise PageError("model", "gpu_not_lent", {"why": why}) from error

    def stream(self, card: ModelCard, request: TranslationRequest, stop: Event) -> Generator[Progress]:
        """The answer in one call, without progress."""
        yield last_progress(self.run(card, Translator.translate, request))

    def outline(self, card: ModelCard) -> Outline:
        """From its folder, without the weights."""
        return self.models.outline(card)


def lent_gpu(models: LoadedModels) -> LentGpu | None:
    """This backend; `None` without the package `spaces` or its hardware."""
    try:
        spaces: Any = importlib.import_module("spaces")
    except ImportError:
        return None

    kept: dict[tuple[str, str], Any] = {}  # of the process of calls: in this one it stays empty

    def compute(card: ModelCard, work: str, given: bytes) -> bytes:
        place = place_of(card)
        if place not in kept:
            if len(kept) == KEPT:
                del kept[next(iter(kept))]
            kept[place] = models.load(card)
        return pack(WORK[work](kept[place], *unpack(given)))

    on_gpu = spaces.GPU(duration=SECONDS)(compute)
    # Else the package is there, but not the hardware.
    return None if on_gpu is compute else LentGpu(models, on_gpu)

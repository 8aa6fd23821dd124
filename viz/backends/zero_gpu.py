"""ZeroGPU backend: on Hugging Face Spaces, a GPU is attached for each call."""

from __future__ import annotations

import importlib
import re
from collections.abc import Generator
from threading import Event
from typing import Any

from headlight.model.records import Progress, TranslationRequest
from headlight.model.translate.model_info import ModelInfo
from headlight.model.translate.translator import Translator
from headlight.viz.backends.remote_functions import REMOTE_FUNCTIONS, function_name
from headlight.viz.errors import PageError
from headlight.viz.service.backend import LocalBackend, RemoteFunction, last_progress
from headlight.viz.service.loaded_models import LoadedModels, make_model_key
from headlight.viz.service.model_cards import ModelCard
from headlight.viz.service.record_codec import decode, encode

MAX_CALL_SECONDS = 15  # limit per call; a translation takes less than one second
WORKER_ERROR = "ZeroGPU worker error"  # title of errors inside a call, set by `spaces`
HTML_TAG = re.compile(r"<[^>]*>")  # messages of `spaces` may contain links
MAX_REASON_CHARACTERS = 300
MAX_WORKER_MODELS = 2  # models in the worker process: a translation and its back-translation use two


class ZeroGpuBackend(LocalBackend):
    """A backend that runs each call on a GPU, in a forked worker process that is reused while it is idle.

    The worker loads the models. In the page's process, `spaces` replaces CUDA in the main thread only, so
    loading a model onto the GPU in another thread would fail.
    """

    uses_gradio_queue = True  # Gradio's client adds the visitor's GPU token

    def __init__(self, models: LoadedModels, gpu: Any) -> None:
        super().__init__(models)
        self._gpu = gpu

    def run(self, card: ModelCard, work: RemoteFunction, *arguments: Any) -> Any:
        """Run in the worker process. Arguments and result are copied."""
        self.models.catalogue.folder(card)  # raises for a missing model before a GPU is requested
        self.models.catalogue.mark_used(card)
        try:
            return decode(self._gpu(card, function_name(work), encode(arguments)))
        except Exception as error:  # from `spaces`: the visitor's GPU quota is used up, or no GPU is free
            title = str(getattr(error, "title", ""))
            if not title.startswith("ZeroGPU") or title == WORKER_ERROR:
                raise
            reason = HTML_TAG.sub("", str(getattr(error, "message", ""))).strip()[:MAX_REASON_CHARACTERS]
            raise PageError("model", "gpu_not_lent", {"why": reason}) from error

    def stream(self, card: ModelCard, request: TranslationRequest, stop: Event) -> Generator[Progress]:
        """Translate in one call, without intermediate progress."""
        yield last_progress(self.run(card, Translator.translate, request))

    def model_info(self, card: ModelCard) -> ModelInfo:
        """Read the model information from the folder, without weights."""
        return self.models.model_info(card)


def zero_gpu_backend(models: LoadedModels) -> ZeroGpuBackend | None:
    """Create the backend; `None` without the package `spaces` or its hardware."""
    try:
        spaces: Any = importlib.import_module("spaces")
    except ImportError:
        return None

    worker_models: dict[tuple[str, str], Any] = {}  # used in the worker process; empty in this one

    def compute(card: ModelCard, name: str, arguments: bytes) -> bytes:
        key = make_model_key(card)
        if key not in worker_models:
            if len(worker_models) == MAX_WORKER_MODELS:
                del worker_models[next(iter(worker_models))]
            worker_models[key] = models.load(card)
        return encode(REMOTE_FUNCTIONS[name](worker_models[key], *decode(arguments)))

    on_gpu = spaces.GPU(duration=MAX_CALL_SECONDS)(compute)
    # Without the hardware, the decorator returns the function unchanged.
    return None if on_gpu is compute else ZeroGpuBackend(models, on_gpu)

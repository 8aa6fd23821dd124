"""The first answer of the default model, computed at the start, so that no visitor waits for the model to load."""

from __future__ import annotations

import logging
from threading import Event, Thread

from headlight.model.errors import ModelError
from headlight.model.translate.translator import Translator
from headlight.viz.service.service import Service

TEXT, MAX_LENGTH = "1", 2  # any text will do
RETRY_SECONDS = 5.0  # a cluster may start after the page

LOG = logging.getLogger(__name__)


class WarmUp:
    """Computes one answer in a thread. `/ready` reports a problem until the model has answered."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.done = Event()
        # On ZeroGPU, only a visitor's request gets a GPU. A page without a translator has nothing to wait for.
        if service.backend.uses_gradio_queue or not service.default:
            self.done.set()

    def start(self) -> None:
        """Start the thread."""
        if not self.done.is_set():
            Thread(target=self._run, name="warm up", daemon=True).start()

    def _run(self) -> None:
        while not self._compute_answer() and not self.service.request_queue.closed:
            self.done.wait(RETRY_SECONDS)

    def _compute_answer(self) -> bool:
        """Compute an answer without the caches. Returns whether this succeeded."""
        try:
            request = self.service.check({"text": TEXT, "max_length": MAX_LENGTH})
            self.service.run_on_translator(request.model, Translator.translate, request)
        except ModelError as error:
            LOG.warning("The default model does not answer: %s", error)
            return False
        except Exception:
            LOG.exception("The default model does not answer.")
            return False
        self.done.set()
        return True

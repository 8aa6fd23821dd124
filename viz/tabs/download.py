"""Downloads of Hub models: size and licence first, then the download with its progress.

Each visitor and each address downloads one model at a time. Closing the page or pressing Stop aborts the download; the
next one resumes it. Downloads have their own queue and threads, so that translations do not wait for them.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from queue import Queue
from threading import Event, Thread
from typing import Any

from headlight.model.families.hub import DownloadProgress
from headlight.model.text.languages import languages_from_name
from headlight.viz.errors import PageError, repr_short
from headlight.viz.server.calls import CallTable
from headlight.viz.server.event_stream import Step, Wait
from headlight.viz.server.visitors import VISITOR, OneJobPerVisitor
from headlight.viz.service.messages import Downloaded, DownloadedBefore, DownloadPlan, HubStatus, TranslatorEntry
from headlight.viz.service.model_cards import ModelCard
from headlight.viz.service.model_json import classifiers, translators
from headlight.viz.service.payload import encode_error, encode_message
from headlight.viz.service.request_queue import RequestQueue, Visitor, is_loopback
from headlight.viz.service.service import Service

MAX_DOWNLOADS = 8  # at a time; each takes a thread
MAX_WAITING = 64  # requests in the queue

LOG = logging.getLogger(__name__)


class Downloads(OneJobPerVisitor):
    """Calls of the translate widget's model chooser."""

    def __init__(self, service: Service) -> None:
        super().__init__()
        self.service = service
        self.queue = RequestQueue(MAX_DOWNLOADS, MAX_WAITING, by_session=True)
        self._downloads: list[tuple[Visitor, str]] = []

    def register(self, calls: CallTable) -> None:
        """Add the calls to the page's call table."""
        calls.add(self.download_info, self.list_models, self.check_hub, computes=False)
        calls.add_stream(self.fetch_model)

    def download_info(self, values: Mapping[str, Any]) -> DownloadPlan | DownloadedBefore:
        """Return the languages, licence and size of a model on the Hub, before any download."""
        name = _parse_name(values)
        card = self.service.catalogue.card(name)
        if card.downloaded:  # another visitor downloaded it since the page was opened
            return {"here": True, **self._downloaded_json(card)}
        plan = self.service.download_info(name)
        source, target = (*languages_from_name(name), "", "")[:2]
        return {
            "name": name,
            "here": False,
            "source": source,
            "target": target,
            "bytes": plan.bytes,
            "missing": plan.missing,
            "licence": plan.licence,
            "revision": plan.commit,
        }

    def list_models(self, values: Mapping[str, Any]) -> list[TranslatorEntry]:
        """Return all current translators; other visitors may have downloaded some since the page was opened."""
        return translators(self.service)

    def check_hub(self, values: Mapping[str, Any]) -> HubStatus:
        """Return the Hub's host name if it is unreachable, so that the page hides its models; otherwise empty."""
        return {"away": self.service.catalogue.unreachable_host(refresh=values.get("again") is True)}

    def fetch_model(self, values: Mapping[str, Any], stop: Event) -> Generator[Step]:
        """Yield the messages of one download: its progress, then the updated list of models."""
        try:
            name, visitor = _parse_name(values), VISITOR.get()
            with (
                self._claim_download(visitor, name),
                self._replace_job(visitor.session, stop=stop),
                self.queue.enqueue(visitor) as ticket,
            ):
                while not ticket.settled:
                    yield Wait(ticket)
                    if stop.is_set():
                        return
                yield from self._messages(name, stop)
        except PageError as error:
            yield encode_error(error.field, error.word, error.values)

    def _downloaded_json(self, card: ModelCard) -> Downloaded:
        """Return a downloaded model and the list of all models of its kind."""
        models = translators(self.service) if card.kind == "transformer" else classifiers(self.service)
        return {"name": card.name, "kind": card.kind, "models": models}

    @contextmanager
    def _claim_download(self, visitor: Visitor, name: str) -> Iterator[None]:
        """Limit an address, except loopback, to one model at a time. Several of its pages may wait for this model."""
        download = (visitor, name)
        with self._lock:
            same_address = [other for other in self._downloads if other[0].address == visitor.address]
            others = [other for other, model in same_address if model != name and other.session != visitor.session]
            if others and not is_loopback(visitor.address):
                raise PageError("model", "one_download")
            self._downloads.append(download)
        try:
            yield
        finally:
            with self._lock:
                self._downloads.remove(download)

    def _messages(self, name: str, stop: Event) -> Iterator[str]:
        messages: Queue[str | None] = Queue()
        Thread(target=self._fetch, args=(name, messages, stop), daemon=True).start()
        try:
            while (message := messages.get()) is not None:
                yield message
        finally:
            stop.set()  # the visitor has disconnected

    def _fetch(self, name: str, messages: Queue[str | None], stop: Event) -> None:
        try:
            card = self.service.fetch(name, lambda progress: messages.put(_progress_json(progress)), stop)
            messages.put(encode_message({"what": "fetched", **self._downloaded_json(card)}))
        except PageError as error:
            messages.put(encode_error(error.field, error.word, error.values))
        except Exception:
            LOG.exception("A download failed.")
            messages.put(encode_error("model", "our_fault", {}))
        finally:
            messages.put(None)


def _parse_name(values: Mapping[str, Any]) -> str:
    name = values.get("name")
    if not isinstance(name, str):
        raise PageError("model", "hub_bad_id", {"given": repr_short(name)})
    return name


def _progress_json(progress: DownloadProgress) -> str:
    return encode_message({"what": "fetching", "done": progress.done, "total": progress.total})

"""Downloads of Hub models: size and licence first, then the download with its progress.

Each visitor and each address downloads one model at a time. Closing the page or pressing Stop aborts the download; the
next one resumes it. Downloads run in separate threads, so that translations do not wait for them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from queue import Queue
from threading import Event, Thread
from typing import Any

import gradio as gr

from headlight.model.families.hub import DownloadProgress
from headlight.model.text.languages import languages_from_name
from headlight.viz.errors import PageError, repr_short
from headlight.viz.server.rpc import parse_call, rpc_function
from headlight.viz.server.visitors import VISITOR, OneJobPerVisitor, with_request_number
from headlight.viz.server.widget import widget
from headlight.viz.service.model_cards import ModelCard
from headlight.viz.service.model_json import classifiers, translators
from headlight.viz.service.payload import error_json
from headlight.viz.service.request_queue import Visitor, is_loopback
from headlight.viz.service.service import Service

MAX_DOWNLOADS = 8  # running or waiting downloads; each takes a thread

LOG = logging.getLogger(__name__)


class DownloadWidget(OneJobPerVisitor):
    """Events of an invisible widget; the translate widget renders its messages."""

    def __init__(self, service: Service) -> None:
        super().__init__()
        self.service = service
        self._fetches: list[tuple[Visitor, str]] = []

    def build(self) -> gr.HTML:
        """Build the widget inside a `gr.Blocks`."""
        asked = [rpc_function(each, computes=False) for each in (self.download_info, self.models, self.look)]
        hidden = widget("translate/hub-client", "fetching", server=asked)
        quiet: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private", "api_name": False}
        hidden.submit(self.fetch, None, hidden, concurrency_limit=MAX_DOWNLOADS, trigger_mode="multiple", **quiet)
        hidden.stop(self.stop, None, None, queue=False, **quiet)
        return hidden

    # ------------------------------------------------------------ events

    def download_info(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Languages, licence and size of a model on the Hub, before any download."""
        name = _name(values)
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

    def models(self, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        """All current translators; other visitors may have downloaded some since the page was opened."""
        return translators(self.service)

    def look(self, values: Mapping[str, Any]) -> dict[str, str]:
        """The Hub's name if it is unreachable, which hides its models; otherwise empty."""
        return {"away": self.service.catalogue.away(again=values.get("again") is True)}

    def fetch(self, event: gr.EventData, request: gr.Request) -> Iterator[str]:
        """Messages of one download: its progress, then the updated list of models."""
        turn = None
        try:
            values, turn = parse_call(getattr(event, "request", None))
            name, visitor = _name(values), VISITOR.get()._replace(session=request.session_hash or "")
            with self._claim_download(visitor, name), self._replace_job(visitor.session) as stop:
                for message in self._messages(name, stop):
                    yield with_request_number(message, turn)
        except PageError as error:
            yield with_request_number(error_json(error.field, error.word, error.values), turn)

    def _downloaded_json(self, card: ModelCard) -> dict[str, Any]:
        """A downloaded model and the list of all models of its kind."""
        listed = translators if card.kind == "transformer" else classifiers
        return {"name": card.name, "kind": card.kind, "models": listed(self.service)}

    @contextmanager
    def _claim_download(self, visitor: Visitor, name: str) -> Iterator[None]:
        """Limit an address, except localhost, to one model at a time; several of its pages may wait for it."""
        fetch = (visitor, name)
        with self._lock:
            theirs = [other for other in self._fetches if other[0].address == visitor.address]
            others = [other for other, what in theirs if what != name and other.session != visitor.session]
            if others and not is_loopback(visitor.address):
                raise PageError("model", "one_download")
            self._fetches.append(fetch)
        try:
            yield
        finally:
            with self._lock:
                self._fetches.remove(fetch)

    def _messages(self, name: str, stop: Event) -> Iterator[str]:
        messages: Queue[str | None] = Queue()
        Thread(target=self._work, args=(name, messages, stop), daemon=True).start()
        try:
            while (each := messages.get()) is not None:
                yield each
        finally:
            stop.set()  # the visitor has left

    def _work(self, name: str, messages: Queue[str | None], stop: Event) -> None:
        try:
            card = self.service.fetch(name, lambda progress: messages.put(_progress(progress)), stop)
            messages.put(_json({"what": "fetched", **self._downloaded_json(card)}))
        except PageError as error:
            messages.put(error_json(error.field, error.word, error.values))
        except Exception:
            LOG.exception("A download failed.")
            messages.put(error_json("model", "our_fault", {}))
        finally:
            messages.put(None)


def _name(values: Mapping[str, Any]) -> str:
    name = values.get("name")
    if not isinstance(name, str):
        raise PageError("model", "hub_bad_id", {"given": repr_short(name)})
    return name


def _progress(progress: DownloadProgress) -> str:
    return _json({"what": "fetching", "done": progress.done, "total": progress.total})


def _json(values: Any) -> str:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"), allow_nan=False)

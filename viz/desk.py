"""Sentence and translation: what the browser asks for, and what it hears while the model writes."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from threading import Event, Lock
from typing import Any

import gradio as gr

from model.records import Translation
from viz.cards import ModelCard
from viz.errors import PageError
from viz.examples import EXAMPLES
from viz.first import first_answer
from viz.payload import answer_json, error_json, progress_json
from viz.service import Service
from viz.widgets import widget

BREATH = 0.06  # seconds between two pieces of news: often enough for the eye, seldom enough for the network
OUR_FAULT = "our_fault"

LOG = logging.getLogger(__name__)


class Desk:
    """The widget with its events. Each visitor runs one translation at a time: a new one stops the last."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._running: dict[str, Event] = {}
        self._lock = Lock()

    def build(self) -> gr.HTML:
        """Inside a `gr.Blocks`."""
        first = first_answer(self.service)
        desk = widget("desk", value=first, config=json.dumps(self.config(), ensure_ascii=False))
        quiet: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private", "api_name": False}
        # Two translations share two cores well; more only make everybody wait longer.
        desk.submit(self.translate, None, desk, concurrency_limit=self.service.settings.concurrency, **quiet)
        desk.stop(self.stop, None, None, queue=False, **quiet)
        return desk

    def config(self) -> dict[str, Any]:
        """What the browser must know beforehand: models, examples, limits, and what is usual."""
        settings = self.service.settings
        models = [card for card in self.service.models() if card.kind == "transformer"]
        names = {card.name for card in models}
        return {
            "models": [about(card) for card in sorted(models, key=lambda card: (not card.default, card.name == "toy"))],
            "examples": [example._asdict() for example in EXAMPLES if example.model in names],
            "limits": {"characters": settings.max_characters, "beam": settings.max_beam},
            "usual": usual_request(self.service),
        }

    # ------------------------------------------------------------ events

    def translate(self, event: gr.EventData, request: gr.Request) -> Iterator[str]:
        """One request of one visitor, as news."""
        values = dict(json.loads(event.request))
        turn = values.pop("turn", None)
        stop = self._begin(request.session_hash or "")
        for news in self._news(values, stop):
            yield _with_turn(news, turn)

    def stop(self, request: gr.Request) -> None:
        """The visitor wants no more of what runs."""
        self._begin(request.session_hash or "")

    def left(self, request: gr.Request) -> None:
        """The visitor closed the page."""
        with self._lock:
            running = self._running.pop(request.session_hash or "", None)
        if running:
            running.set()

    def _begin(self, visitor: str) -> Event:
        """Stop what this visitor's last request still does."""
        stop = Event()
        with self._lock:
            last = self._running.get(visitor)
            self._running[visitor] = stop
        if last:
            last.set()
        return stop

    def _news(self, values: dict[str, Any], stop: Event) -> Iterator[str]:
        try:
            asked = self.service.check(values)
            told = time.monotonic()
            for progress in self.service.stream(asked, stop):
                if progress.translation is not None:
                    yield answer_of(self.service, progress.translation)
                elif time.monotonic() - told >= BREATH:
                    told = time.monotonic()
                    yield progress_json(progress.text, progress.tokens)
        except PageError as error:
            yield error_json(error.field, error.word, error.values)
        except Exception:
            LOG.exception("A translation failed.")
            yield error_json("text", OUR_FAULT, {})


def usual_request(service: Service) -> dict[str, Any]:
    """What a request holds where the visitor changes nothing."""
    options = {"beam_size": min(4, service.settings.max_beam), "length_penalty": 1.0, "no_repeat": 4}
    return {"model": service.default, **options, "temperature": 0.0, "seed": 0, "target": None, "prefix": None}


def answer_of(service: Service, translation: Translation) -> str:
    """A translation with what is known of its model."""
    name = translation.request.model or service.default
    return answer_json(translation, about(next(card for card in service.models() if card.name == name)))


def about(card: ModelCard) -> dict[str, Any]:
    """A model, as the browser needs to know it."""
    source, target = (*card.languages, "", "")[:2]
    return {"name": card.name, "source": source, "target": target, "best_head": card.best_head}


def _with_turn(news: str, turn: Any) -> str:
    """News belong to one request of the browser; it passes over those of an older one."""
    return news if not isinstance(turn, int) else f'{{"turn":{turn},{news[1:]}'

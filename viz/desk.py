"""Sentence and translation: what the browser asks for, and what it hears while the model writes."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Generator, Iterator
from contextlib import closing
from threading import Event
from typing import Any

import gradio as gr

from model.records import Translation
from viz.cards import ModelCard
from viz.errors import PageError
from viz.examples import EXAMPLES
from viz.first import first_answer
from viz.manners import plain_manners
from viz.payload import answer_json, error_json, progress_json
from viz.service import Service
from viz.settings import ANY
from viz.visitors import OneEach, with_turn
from viz.widgets import widget

BREATH = 0.06  # seconds between two pieces of news: often enough for the eye, seldom enough for the network
OUR_FAULT = "our_fault"

LOG = logging.getLogger(__name__)


class Desk(OneEach):
    """The widget with its events. Each visitor runs one translation at a time: a new one stops the last."""

    def __init__(self, service: Service) -> None:
        super().__init__()
        self.service = service

    def build(self) -> gr.HTML:
        """Inside a `gr.Blocks`."""
        first = first_answer(self.service)
        desk = widget("desk/desk", value=first, config=json.dumps(self.config(), ensure_ascii=False))
        quiet: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private", "api_name": False}
        # Two translations share two cores well; more only make everybody wait longer. "multiple": otherwise a browser
        # keeps a request to itself while its last one runs.
        limit = self.service.settings.concurrency
        desk.submit(self.tell, None, desk, concurrency_limit=limit, trigger_mode="multiple", **quiet)
        desk.stop(self.stop, None, None, queue=False, **quiet)
        return desk

    def config(self) -> dict[str, Any]:
        """What the browser must know beforehand: models, examples, limits, and what is usual."""
        settings = self.service.settings
        models = translators(self.service)
        names = {model["name"] for model in models}
        return {
            "models": models,
            "examples": [example._asdict() for example in EXAMPLES if example.model in names],
            "limits": {"characters": settings.max_characters, "beam": settings.max_beam},
            "usual": usual_request(self.service),
            "any_model": ANY in settings.models,
        }

    # ------------------------------------------------------------ events

    def tell(self, event: gr.EventData, request: gr.Request) -> Iterator[Any]:
        """The news as Gradio sends them. What came last it says once more at the end, after news of a later request."""
        yield from self.translate(event, request)
        yield gr.skip()

    def translate(self, event: gr.EventData, request: gr.Request) -> Iterator[str]:
        """One request of one visitor, as news, until they ask for something else."""
        values = dict(json.loads(event.request))
        turn = values.pop("turn", None)
        stop = self._begin(request.session_hash or "")
        with closing(self._news(values, stop)) as found:
            for news in found:
                if stop.is_set():
                    return
                yield with_turn(news, turn)

    def _news(self, values: dict[str, Any], stop: Event) -> Generator[str]:
        try:
            asked = self.service.check(values, usual=True)
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
    open_fields = {"target": None, "prefix": None, "source_language": "", "target_language": ""}
    return {"model": service.default, **service.manners().options(), **open_fields}


def answer_of(service: Service, translation: Translation) -> str:
    """A translation with what is known of its model."""
    return answer_json(translation, model_of(service, translation))


def model_of(service: Service, translation: Translation) -> dict[str, Any]:
    """What is known of a translation's model: how it is used, and which languages it read and wrote."""
    request = translation.request
    name = request.model or service.default
    found = about(service.library.card(name, "transformer"))
    manners = service.manners(name)
    return found | {
        "usual": manners.options(),
        "source": request.source_language or manners.source or found["source"],
        "target": request.target_language or manners.target or found["target"],
        "sources": manners.sources,
        "targets": manners.targets,
        "usual_source": manners.source,
        "usual_target": manners.target,
    }


def translators(service: Service) -> list[dict[str, Any]]:
    """All that translate, as a menu lists them: the usual one first, the one that knows two sentences last."""
    cards = [card for card in service.models() if card.kind == "transformer"]
    plain = plain_manners(service.settings).options()
    return [
        about(card) | {"usual": None if card.manners or not card.downloaded else plain}  # None: its answer will tell
        for card in sorted(cards, key=lambda card: (card.where == "hub", not card.default, card.name == "toy"))
    ]


def about(card: ModelCard) -> dict[str, Any]:
    """A model, as the browser needs to know it."""
    source, target = (*card.languages, "", "")[:2]
    names = ("name", "best_head", "where", "downloaded", "bytes")
    return {"source": source, "target": target, **{name: getattr(card, name) for name in names}}

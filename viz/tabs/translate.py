"""Server side of the translate widget: requests and streamed messages."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from contextlib import aclosing, closing
from threading import Event
from typing import Annotated, Any

import gradio as gr
from anyio import CapacityLimiter

from headlight.model.experiments.findings import Finding
from headlight.model.experiments.scan import scan
from headlight.model.phrases import LANGUAGES
from headlight.model.records import Translation
from headlight.viz.errors import PageError
from headlight.viz.request_fields import OPTIONS
from headlight.viz.server.calls import CallTable, parse_json_object
from headlight.viz.server.deferred_answers import DEFER_FROM_CHARACTERS, DeferredAnswers
from headlight.viz.server.event_stream import Step, Wait, stream_messages
from headlight.viz.server.visitors import HAS_LEFT, VISITOR, OneJobPerVisitor, with_request_number
from headlight.viz.server.widget import widget
from headlight.viz.service.examples import EXAMPLES
from headlight.viz.service.first_answer import load_first_answer
from headlight.viz.service.messages import Answer, Findings, FindingValues, ReadBack
from headlight.viz.service.model_json import answer_json, make_default_request, translators
from headlight.viz.service.payload import (
    encode_busy,
    encode_deferred,
    encode_error,
    encode_partial,
    encode_queue_position,
    make_reliability_values,
)
from headlight.viz.service.request_queue import fingerprint
from headlight.viz.service.service import MEGABYTE, CachedResult, Service
from headlight.viz.service.word_query import make_rival_call
from headlight.viz.settings import ANY_MODEL

MESSAGE_INTERVAL_SECONDS = 0.06  # seconds between progress messages
LIVE_TIMEOUT_SECONDS = 1.0  # seconds until a live request reports that the server is busy
# Options of live answers during typing: one pass over the current sentence.
LIVE_OPTIONS: Mapping[str, Any] = {
    "beam_size": 1,
    "n_best": 1,
    "back_weight": 0.0,
    "temperature": 0.0,
    "target": None,
    "prefix": None,
}
OUR_FAULT = "our_fault"

LOG = logging.getLogger(__name__)


class TranslateWidget(OneJobPerVisitor):
    """The translate widget. Each visitor runs one translation at a time; a new one stops the previous one."""

    def __init__(self, service: Service) -> None:
        super().__init__()
        self.service = service
        self.deferred_answers = DeferredAnswers()
        self.threads: CapacityLimiter | None = None  # limits the threads that run its requests

    def build(self, calls: CallTable) -> gr.HTML:
        """Build the widget inside a `gr.Blocks`."""
        self.threads = calls.threads
        calls.add_stream(self.stream_messages)
        calls.add(self.read_back, background=True)
        calls.add(self.scan, make_rival_call(self.service))
        component = widget("translate/translate", value=load_first_answer(self.service), config=self._config_json())
        calls.add(self.fetch_deferred, computes=False)
        if self.service.backend.uses_gradio_queue:
            self._add_events(component)
        return component

    def _add_events(self, component: gr.HTML) -> None:
        """Route requests through Gradio's queue, which assigns GPUs to visitors."""
        quiet: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private", "api_name": False}
        # The request queue schedules jobs. Without "multiple", a browser holds a request back while the last one runs.
        component.submit(
            self.stream_through_gradio, None, component, concurrency_limit=None, trigger_mode="multiple", **quiet
        )
        component.stop(self.stop, None, None, queue=False, **quiet)

    def config(self) -> dict[str, Any]:
        """Return the initial data for the browser: models, examples, limits and the default request."""
        settings = self.service.settings
        models = translators(self.service)
        names = {model["name"] for model in models}
        return {
            "models": models,
            "examples": [example._asdict() for example in EXAMPLES if example.model in names],
            "limits": {"characters": settings.max_characters},
            "options": [row.as_json(settings) for row in OPTIONS if row.on_page],
            "defaults": make_default_request(self.service),
            "any_model": ANY_MODEL in settings.models,
            "through_queue": self.service.backend.uses_gradio_queue,
        }

    def _config_json(self) -> str:
        return json.dumps(self.config(), ensure_ascii=False)

    # ------------------------------------------------------------ events

    def read_back(self, values: Mapping[str, Any]) -> ReadBack:
        """Return the reliability of an answer with its back-translation. The browser calls it after the answer."""
        translation = self.service.translate(self.service.check(values.get("request"), model_defaults=True))
        return {"reliability": make_reliability_values(self.service.read_back(translation))}

    def fetch_deferred(self, values: Mapping[str, Any]) -> Annotated[bytes, Answer]:
        """Return an answer that was too large for a message."""
        return self.deferred_answers.get(values.get("name"))

    def stream_messages(self, values: Mapping[str, Any], stop: Event) -> Generator[Step]:
        """Yield the messages of one request until `stop` is set. They repeat its number, which is sent as `turn`."""
        request_number = values.get("turn")
        with closing(self._messages_for_visitor(values, VISITOR.get().session, stop)) as steps:
            for step in steps:
                yield _add_request_number(step, request_number)

    async def stream_through_gradio(self, event: gr.EventData, request: gr.Request) -> AsyncIterator[Any]:
        """Stream messages through Gradio's queue. The final skip keeps Gradio from repeating the last message."""
        payload, session, stop = getattr(event, "request", None), request.session_hash or "", Event()
        async with aclosing(
            stream_messages(self._deferred_messages(payload, session, stop), stop, self.threads)
        ) as messages:
            async for message in messages:
                yield message
        yield gr.skip()

    def _deferred_messages(self, payload: object, session: str, stop: Event) -> Generator[Step]:
        """Yield messages for Gradio's queue. A large answer is stored, and its message contains its name."""
        try:
            values = parse_json_object(payload)
        except PageError as error:
            yield encode_error(error.field, error.word, error.values)
            return
        request_number = values.get("turn")
        with closing(self._messages_for_visitor(values, session, stop)) as steps:
            for step in steps:
                if isinstance(step, str) and len(step) >= DEFER_FROM_CHARACTERS:
                    step = encode_deferred(self.deferred_answers.store(step))
                yield _add_request_number(step, request_number)

    def _messages_for_visitor(self, request: Mapping[str, Any], session: str, stop: Event) -> Generator[Step]:
        """Yield the messages of a request until the visitor sends another one."""
        values = dict(request)
        request_number = values.pop("turn", None)
        messages = self._live_translation if values.pop("live", None) is True else self._wait_in_queue
        with self._replace_job(session, request_number, stop), closing(messages(values, stop)) as result:
            if stop.is_set():  # a newer request started first
                return
            for step in result:
                if stop.is_set():
                    return
                yield step if isinstance(step, Wait) else self._limit_size(step)

    def _limit_size(self, message: str) -> str:
        """Return the message, or an error if it exceeds the size limit."""
        limit = self.service.settings.max_answer_mb
        if len(message) <= limit * MEGABYTE:
            return message
        return encode_error("text", "answer_too_large", {"given": -(-len(message) // MEGABYTE), "limit": limit})

    def scan(self, values: Mapping[str, Any]) -> Findings:
        """Return the strongest findings about a translation, in every language of the page."""
        translation = self.service.translate(self.service.check(values.get("request")))
        findings: list[Finding] = self.service.run_on_translator(translation.request.model, scan, translation)
        return {"findings": [_finding_values(finding) for finding in findings]}

    def _wait_in_queue(self, values: dict[str, Any], stop: Event) -> Generator[Step]:
        """Yield queue positions until a slot is granted, then the messages, or the answer of an equal request."""
        size, digest = len(json.dumps(values)), fingerprint(values)
        try:
            ticket = self.service.request_queue.enqueue(VISITOR.get(), kind="translate", size=size, request_key=digest)
        except PageError as error:
            yield encode_error(error.field, error.word, error.values)
            return
        with ticket:
            while not ticket.settled:
                yield Wait(ticket, format_position=encode_queue_position)
                if stop.is_set() or HAS_LEFT.get()():
                    return
            if ticket.result is not None:
                yield answer_json(self.service, ticket.result, cached=True)
            elif ticket.granted:
                with closing(self._messages(values, stop, ticket.finish)) as result:
                    yield from result

    def _live_translation(self, values: dict[str, Any], stop: Event) -> Generator[Step]:
        """Translate with low priority, without progress messages. The search is greedy unless `full` is set."""
        if stop.is_set():  # a newer request started first and has the ticket
            return
        try:
            ticket = self.service.request_queue.enqueue_live(VISITOR.get())
        except PageError:
            yield encode_busy()
            return
        with ticket:
            if not ticket.granted:
                yield Wait(ticket, LIVE_TIMEOUT_SECONDS)
            if stop.is_set() or ticket.cancelled or HAS_LEFT.get()():
                return
            if not ticket.granted:
                yield encode_busy()
                return
            yield from self._live_messages(values, stop)

    def _live_messages(self, values: dict[str, Any], stop: Event) -> Generator[str]:
        options = {} if values.pop("full", None) is True else LIVE_OPTIONS
        try:
            request = self.service.check({**values, **options}, model_defaults=True)
            with closing(self.service.stream(request, stop)) as steps:
                for progress in steps:
                    if progress.translation is not None:
                        yield answer_json(self.service, progress.translation, cached=isinstance(progress, CachedResult))
                    elif not self.service.request_queue.is_idle():
                        yield encode_busy()
                        return
        except PageError as error:
            yield encode_error(error.field, error.word, error.values)
        except Exception:
            LOG.exception("A live translation failed.")
            yield encode_error("text", OUR_FAULT, {})

    def _messages(
        self, values: dict[str, Any], stop: Event, on_answer: Callable[[Translation], None]
    ) -> Generator[str]:
        try:
            request = self.service.check(values, model_defaults=True)
            last_message = time.monotonic()
            for progress in self.service.stream(request, stop):
                if progress.translation is not None:
                    on_answer(progress.translation)
                    yield answer_json(self.service, progress.translation, cached=isinstance(progress, CachedResult))
                elif time.monotonic() - last_message >= MESSAGE_INTERVAL_SECONDS:
                    last_message = time.monotonic()
                    yield encode_partial(progress.text, progress.tokens)
        except PageError as error:
            yield encode_error(error.field, error.word, error.values)
        except Exception:
            LOG.exception("A translation failed.")
            yield encode_error("text", OUR_FAULT, {})


def _finding_values(finding: Finding) -> FindingValues:
    sentences = {language: finding.sentence(language) for language in LANGUAGES}
    kind, layer, head, row, column = finding.cell
    return {"sentences": sentences, "kind": kind, "layer": layer, "head": head, "row": row, "column": column}


def _add_request_number(step: Step, request_number: Any) -> Step:
    """Add the request number to a message, including queue position messages."""
    if isinstance(step, str):
        return with_request_number(step, request_number)
    formatter = step.format_position
    if formatter is None:
        return step
    return step._replace(format_position=lambda position: with_request_number(formatter(position), request_number))

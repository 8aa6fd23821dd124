"""The API endpoints, with named arguments and small results.

Gradio checks neither types nor number of arguments, and hides or echoes the errors that endpoints raise. Endpoints are
therefore wrapped: arguments are bound and validated here, and errors become our phrases.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from threading import Event
from typing import Any, get_args

import anyio.to_thread
import gradio as gr
import numpy as np
from anyio import CapacityLimiter
from gradio import events

from headlight.model.errors import ModelError
from headlight.model.experiments.effects import EffectSummary, summarise_effects
from headlight.model.experiments.reasons import find_rival, find_token
from headlight.model.experiments.scan import scan
from headlight.model.measures.statistics import map_geometry, measure_weights
from headlight.model.records import FloatArray, Hypothesis, Kind, Token, Translation, TranslationRequest
from headlight.model.translate.sentences import translate_sentences
from headlight.viz.api.arguments import bind
from headlight.viz.errors import PageError, to_page_error
from headlight.viz.field_values import check_index
from headlight.viz.figure_phrases import phrase
from headlight.viz.request_fields import (
    BATCH_FIELDS,
    EFFECT_FIELDS,
    ENDPOINT_NAMES,
    SELECTION_FIELDS,
    Field,
    IndexOrReduction,
    Merged,
    parameters,
    parse_effect_fields,
    parse_request,
    parse_selection,
    parse_texts,
)
from headlight.viz.server.visitors import HAS_LEFT, VISITOR
from headlight.viz.service.language_hints import make_api_hint
from headlight.viz.service.model_json import model_json
from headlight.viz.service.payload import make_reliability_values
from headlight.viz.service.request_queue import RequestQueue, fingerprint
from headlight.viz.service.service import CachedResult, Service

DISCONNECT_POLL_SECONDS = 1.0  # seconds between disconnect checks while a client waits
PARTIAL_INTERVAL_SECONDS = 0.06  # seconds between partial translations
STREAMING = ("translate",)  # endpoints that yield partial results
DECIMALS = 6  # decimals of weights and probabilities, enough for a row to sum to one

# Meaning of rows and columns. A decoder row is named after the token it predicts.
ROWS_BY_KIND: dict[Kind, str] = {
    "encoder": "Each row is a token of the sentence; its columns are the tokens of the sentence that it looks at.",
    "decoder": "Each row is the token about to be written; its columns are what was written before, from the start on.",
    "cross": "Each row is the token about to be written; its columns are the tokens of the sentence it looks at.",
}

OnPartial = Callable[[dict[str, Any]], object]
LOG = logging.getLogger(__name__)


class Endpoints:
    """Implementations of the endpoints for a service."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def translate(self, values: Mapping[str, Any], on_partial: OnPartial = lambda partial: None) -> dict[str, Any]:
        """Translate a sentence and return the probability of each token. `on_partial` gets the text so far."""
        request = self._request(values)
        answer, cached = translate_in_steps(self.service, request, on_partial)
        timing, model = answer.timing, model_json(self.service, answer)
        return {
            "text": answer.text,
            "model": answer.request.model,
            "source_language": model["source"],
            "target_language": model["target"],
            "tokens": _make_token_values(answer),
            "log_probability": round(answer.log_probability, DECIMALS),
            "score": round(answer.score, DECIMALS),
            "seconds": round(timing.encode + timing.decode + timing.capture, 4),
            "cached": cached,
            "stopped": answer.stopped,
            "reliability": make_reliability_values(answer.reliability),
            "hint": make_api_hint(self.service, answer),
            "partial": False,
        }

    def judge(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Score the caller's translation and return its reliability, by the rule that the page applies to its own."""
        if not values["target"]:
            raise PageError("target", "missing", {"name": "target"})
        answer, _ = self.service.translate_with_source(self._request(values), "api")
        # Reliability rules do not apply to a forced target.
        unforced = replace(answer, request=replace(answer.request, target=None))
        return {
            "text": answer.text,
            "model": answer.request.model,
            "tokens": _make_token_values(answer),
            "log_probability": round(answer.log_probability, DECIMALS),
            "score": round(answer.score, DECIMALS),
            "reliability": make_reliability_values(self.service.read_back(unforced)),
            "hint": make_api_hint(self.service, answer),
        }

    def batch(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Translate many sentences, batched by length. A sentence that cannot be read has an error."""
        own, options = _split_values(values, BATCH_FIELDS)
        texts = parse_texts(own, self.service.settings)
        parse_request({"text": "", **options}, self.service.settings)  # raise for wrong options once, not per sentence
        self.service.model_info(options["model"])
        checked = [self._check_sentence(text, options) for text in texts]
        requests = [item for item in checked if isinstance(item, TranslationRequest)]
        name = requests[0].model if requests else options["model"]
        results = iter(self.service.run_on_translator(name, translate_sentences, tuple(requests)) if requests else ())
        return {
            "model": name or self.service.default,
            "translations": [
                _make_sentence_values(text, item if isinstance(item, str) else next(results))
                for text, item in zip(texts, checked, strict=True)
            ],
        }

    def _check_sentence(self, text: Any, options: Mapping[str, Any]) -> TranslationRequest | str:
        """Return the request of one sentence, or the message of its error."""
        try:
            return self._request({"text": text, **options})
        except PageError as error:
            return str(error)

    def _request(self, values: Mapping[str, Any]) -> TranslationRequest:
        """Validate a request. Raises if reranking is requested but impossible; the page skips it instead."""
        request = self.service.check(values)
        weight = request.options.back_weight
        if weight and (request.options.beam_size < 2 or request.target is not None):
            raise PageError("back_weight", "nothing_to_choose")
        if weight and not self.service.catalogue.reverse_model(request.model or self.service.default):
            raise PageError("back_weight", "no_way_back", {"given": f"{weight:g}"})
        return request

    def attention(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the weights of an attention head, with row and column tokens."""
        selected, request_values = _split_values(values, SELECTION_FIELDS)
        selection = parse_selection({"kind": selected["kind"]}, self.service.settings)
        request = self._request(request_values)
        config = self.service.model_info(request.model).model.config
        # Indices are checked before translating. The mean over layers is available only on the page.
        layer: int = check_index("layer", selected["layer"], count=config.layer_count(selection.kind))
        head: IndexOrReduction = check_index("head", selected["head"], count=config.heads, merged=get_args(Merged))
        answer, _ = self.service.translate_with_source(request, "api")
        attention_map = answer.attention_map(selection.kind, layer, None if isinstance(head, str) else head)
        weights = attention_map.weights
        if head == "max":
            weights = answer.attention.of(selection.kind)[layer].max(axis=0)
        table = weights.astype(np.float64).round(DECIMALS).astype(object)  # [rows, columns]
        table[~attention_map.allowed] = None
        return {
            "text": answer.text,
            "model": answer.request.model,
            "kind": selection.kind,
            "layer": layer,
            "head": head,
            "rows": _texts(attention_map.rows),
            "columns": _texts(attention_map.columns),
            "weights": table.tolist(),
            # Rows of the maximum sum to more than one.
            "measures": _measures(answer, selection.kind, weights) if head != "max" else None,
            "meaning": ROWS_BY_KIND[selection.kind],
            "hint": make_api_hint(self.service, answer),
        }

    def effects(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return how much each head supported a written word, predicted for all heads and measured for the largest."""
        own_values, request_values = _split_values(values, EFFECT_FIELDS)
        own = parse_effect_fields(own_values, self.service.settings)
        request = self._request(request_values)
        answer, _ = self.service.translate_with_source(request, "api")
        tokenizer = self.service.model_info(answer.request.model).target_tokenizer
        try:
            position = find_token(answer.target_tokens, own["word"])
            rival = find_rival(tokenizer, own["rival"] or None, answer.target_tokens[position])
        except ModelError as error:
            raise to_page_error(error) from error
        summary: EffectSummary = self.service.run_on_translator(
            answer.request.model, summarise_effects, answer, position, own["top"], rival
        )
        return {
            "text": answer.text,
            "model": answer.request.model,
            "word": answer.target_tokens[position].text,
            "place": position,
            "predicted": {kind: sums.round(DECIMALS).tolist() for kind, sums in summary.heads.items()},
            "measured": [asdict(head) for head in summary.strongest],
            "hint": make_api_hint(self.service, answer),
        }

    def scan(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the strongest findings about the translation, each confirmed by an experiment."""
        answer, _ = self.service.translate_with_source(self._request(values), "api")
        findings = self.service.run_on_translator(answer.request.model, scan, answer)
        return {
            "text": answer.text,
            "model": answer.request.model,
            "findings": [finding.values() for finding in findings],
            "hint": make_api_hint(self.service, answer),
        }


def translate_in_steps(
    service: Service, request: TranslationRequest, on_partial: OnPartial
) -> tuple[Translation, bool]:
    """Translate and report the text so far, at most every `PARTIAL_INTERVAL_SECONDS`.

    Returns the translation, and whether it was cached.
    """
    last_partial_at = time.monotonic()
    stop = Event()
    with closing(service.stream(request, stop, "api")) as steps:
        for progress in steps:
            if progress.translation is not None:
                return progress.translation, isinstance(progress, CachedResult)
            if HAS_LEFT.get()():
                break
            if time.monotonic() - last_partial_at >= PARTIAL_INTERVAL_SECONDS:
                last_partial_at = time.monotonic()
                on_partial({"text": progress.text, "partial": True})
    raise PageError("data", "no_answer")


def _make_token_values(answer: Translation) -> list[dict[str, Any]]:
    return [
        {"text": token.text, "probability": round(token.probability or 0.0, DECIMALS)} for token in answer.target_tokens
    ]


def _make_sentence_values(text: Any, result: Hypothesis | str) -> dict[str, Any]:
    """Return the translation of one sentence of a batch, or its error. Greedy search computes no score."""
    if isinstance(result, str):
        return {"text": "", "log_probability": None, "score": None, "error": result}
    has_score = bool(result.log_probability)
    return {
        "text": result.text,
        "log_probability": round(result.log_probability, DECIMALS) if has_score else None,
        "score": round(result.score, DECIMALS) if has_score else None,
        "error": None,
    }


def _split_values(values: Mapping[str, Any], fields: Sequence[Field]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Separate the values of `fields` from those of the request."""
    names = {field.name for field in fields}
    own = {name: value for name, value in values.items() if name in names}
    return own, {name: value for name, value in values.items() if name not in names}


def make_endpoint_signature(endpoint: str) -> inspect.Signature:
    """Build the signature of an endpoint from the table of fields."""
    return inspect.Signature(
        [
            inspect.Parameter(
                field.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                annotation=field.value.annotation,
                default=_default(field),
            )
            for field in parameters(endpoint)
        ],
        return_annotation=dict[str, Any],
    )


def _default(row: Field) -> Any:
    if row.required:
        return inspect.Parameter.empty
    if isinstance(row.default, tuple):
        return list(row.default)  # JSON has no tuples
    return "" if row.default is None else row.default


def make_endpoint_docstring(endpoint: str) -> str:
    """Build the docstring of an endpoint from the phrases of its fields, for the API panel and MCP clients."""
    arguments = "\n".join(f"    {field.name}: {phrase(f'api_{field.name}')}" for field in parameters(endpoint))
    return f"{phrase(f'api_{endpoint}')}\n\nArgs:\n{arguments}\n\nReturns:\n    {phrase(f'api_{endpoint}_returns')}\n"


# The middleware checks argument names and counts against these signatures.
ENDPOINTS = {name: make_endpoint_signature(name) for name in ENDPOINT_NAMES}


def register_api(service: Service, threads: CapacityLimiter) -> None:
    """Add the endpoints to the `gr.Blocks` that is being built."""
    endpoints = Endpoints(service)
    for name, signature in ENDPOINTS.items():
        function = getattr(endpoints, name)
        wrap = wrap_stream if name in STREAMING else wrap_endpoint
        events.api(
            wrap(name, function, signature, service.request_queue, threads),
            api_name=name,
            concurrency_limit=None,  # the `RequestQueue` limits computations
        )


class EndpointError(gr.Error):
    """A `PageError` as Gradio shows it."""

    def __init__(self, error: PageError) -> None:
        super().__init__(str(error), print_exception=False)
        self.page_error = error


def wrap_endpoint(
    name: str,
    function: Callable[[Mapping[str, Any]], Any],
    signature: inspect.Signature,
    request_queue: RequestQueue,
    threads: CapacityLimiter | None = None,
) -> Callable[..., Any]:
    """Wrap a function as an endpoint that validates arguments, waits in the queue and raises our phrases.

    The endpoint uses one of the `threads` only while it computes.
    """

    async def call(*positional: Any) -> Any:
        return await _run(name, function, signature, request_queue, threads, positional)

    return _set_signature(call, name, signature)


def wrap_stream(
    name: str,
    function: Callable[[Mapping[str, Any], OnPartial], Any],
    signature: inspect.Signature,
    request_queue: RequestQueue,
    threads: CapacityLimiter | None = None,
) -> Callable[..., Any]:
    """Wrap a function that reports partial results as an endpoint that yields them, and the result at the end.

    The queue's slot belongs to a task, because Gradio may abandon a generator without closing it.
    """

    async def call(*positional: Any) -> AsyncIterator[Any]:
        loop, partials = asyncio.get_running_loop(), asyncio.Queue[Any]()

        def compute(values: Mapping[str, Any]) -> Any:
            return function(values, lambda partial: loop.call_soon_threadsafe(partials.put_nowait, partial))

        task = asyncio.create_task(_run(name, compute, signature, request_queue, threads, positional))
        task.add_done_callback(lambda _: partials.put_nowait(None))
        task.add_done_callback(_retrieve_error)
        while (partial := await partials.get()) is not None:
            yield partial
        yield await task

    return _set_signature(call, name, signature)


def _retrieve_error(task: asyncio.Task[Any]) -> None:
    """Mark the error of a task as read, because asyncio would log one that an abandoned stream never awaits."""
    if not task.cancelled():
        task.exception()


async def _run(
    name: str,
    function: Callable[[Mapping[str, Any]], Any],
    signature: inspect.Signature,
    request_queue: RequestQueue,
    threads: CapacityLimiter | None,
    positional: Sequence[Any],
) -> Any:
    """Bind the arguments, wait for a slot, and run the function in a thread. Equal requests share one result."""
    try:
        arguments = bind(signature, positional)
        request_key = fingerprint([name, arguments])
        # The middleware has already admitted the request.
        with request_queue.enqueue(VISITOR.get(), kind=name, request_key=request_key, admitted=True) as ticket:
            while not await ticket.wait_async(DISCONNECT_POLL_SECONDS):
                if HAS_LEFT.get()():
                    raise PageError("data", "no_answer")
            if ticket.result is not None:
                return {**ticket.result, **({"cached": True} if "cached" in ticket.result else {})}
            values = dict(zip(signature.parameters, arguments, strict=True))
            result = await anyio.to_thread.run_sync(function, values, limiter=threads)
            ticket.finish(result)
            return result
    except PageError as error:
        raise EndpointError(error) from None
    except Exception:
        LOG.exception("An endpoint failed: /%s.", name)
        raise EndpointError(PageError("text", "our_fault")) from None


def _set_signature(call: Callable[..., Any], name: str, signature: inspect.Signature) -> Callable[..., Any]:
    """Set the name, the types and the description that Gradio shows for an endpoint."""
    call.__name__ = call.__qualname__ = name
    call.__doc__ = make_endpoint_docstring(name)
    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in signature.parameters.values()}
    return call


def _measures(answer: Translation, kind: Kind, weights: FloatArray) -> dict[str, float | None]:
    """Return the measures of one map `[query, key]`, by name; None if a measure is undefined."""
    measures = measure_weights(weights[None, None], map_geometry(answer, kind))
    return {name: None if np.isnan(value) else round(value.item(), DECIMALS) for name, value in measures.items()}


def _texts(tokens: Sequence[Token]) -> list[str]:
    return [token.text for token in tokens]

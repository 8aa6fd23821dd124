"""The two endpoints for programs, `/translate` and `/attention`, with named arguments and small results.

Gradio checks neither the types nor the number of their arguments, and hides or repeats the errors that they raise. So
each is wrapped: its arguments are bound and checked here, and every error is a phrase of ours.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, get_args

import anyio.to_thread
import gradio as gr
import numpy as np
from gradio import events
from gradio.context import get_blocks_context

from headlight.model.records import Kind, Token, TranslationRequest
from headlight.viz.answers.hints import hint_for_programs
from headlight.viz.answers.line import Line, fingerprint
from headlight.viz.answers.model_values import model_of
from headlight.viz.answers.payload import reliability_values
from headlight.viz.answers.service import Service
from headlight.viz.api.arguments import bind
from headlight.viz.errors import PageError
from headlight.viz.fields import BOTH, SELECTION, Field, Merged, Place, parameters, selection_from
from headlight.viz.values import check_place
from headlight.viz.wire.gradio_inside import describe, function_named, threads_of
from headlight.viz.wire.visitors import GONE, VISITOR
from headlight.viz.words import say

GLANCE = 1.0  # seconds between two checks whether a waiting program has left
DECIMALS = 6  # of weights and probabilities, so that a row still adds up to one

# The meaning of rows and columns. A decoder row has the name of the token that it predicts.
ROWS: dict[Kind, str] = {
    "encoder": "Each row is a token of the sentence; its columns are the tokens of the sentence that it looks at.",
    "decoder": "Each row is the token about to be written; its columns are what was written before, from the start on.",
    "cross": "Each row is the token about to be written; its columns are the tokens of the sentence it looks at.",
}

LOG = logging.getLogger(__name__)


class Endpoints:
    """The functions of the endpoints, over one service."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def translate(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The translation of a sentence, with the probability of each token."""
        answer, cached = self.service.translated(self._request(values), "api")
        timing, known = answer.timing, model_of(self.service, answer)
        return {
            "text": answer.text,
            "model": answer.request.model,
            "source_language": known["source"],
            "target_language": known["target"],
            "tokens": [
                {"text": token.text, "probability": round(token.probability or 0.0, DECIMALS)}
                for token in answer.target_tokens
            ],
            "log_probability": round(answer.log_probability, DECIMALS),
            "score": round(answer.score, DECIMALS),
            "seconds": round(timing.encode + timing.decode + timing.capture, 4),
            "cached": cached,
            "stopped": answer.stopped,
            "reliability": reliability_values(answer.reliability),
            "hint": hint_for_programs(self.service, answer),
        }

    def _request(self, values: Mapping[str, Any]) -> TranslationRequest:
        """A checked request. A program that asks for the way back gets it, or is told why not; the page leaves it."""
        request = self.service.check(values)
        weight = request.options.back_weight
        if weight and (request.options.beam_size < 2 or request.target is not None):
            raise PageError("back_weight", "nothing_to_choose")
        if weight and not self.service.catalogue.reverse_of(request.model or self.service.default):
            raise PageError("back_weight", "no_way_back", {"given": f"{weight:g}"})
        return request

    def attention(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The weights of one attention head, with the tokens that name its rows and columns."""
        looks = {name: value for name, value in values.items() if name in LOOKS}
        selection = selection_from({"kind": looks["kind"]}, self.service.settings)
        request = self._request({name: value for name, value in values.items() if name not in LOOKS})
        config = self.service.outline(request.model).model.config
        # Checked before the translation. The mean of all layers is for the page alone.
        layers = config.encoder_layers if selection.kind == "encoder" else config.decoder_layers
        place: int = check_place("layer", looks["layer"], count=layers)
        which: Place = check_place("head", looks["head"], count=config.heads, merged=get_args(Merged))
        answer, _ = self.service.translated(request, "api")
        seen = answer.attention_map(selection.kind, place, None if isinstance(which, str) else which)
        weights = seen.weights
        if which == "max":
            weights = answer.attention.of(selection.kind)[place].max(axis=0)
        table = weights.astype(np.float64).round(DECIMALS).astype(object)  # [rows, columns]
        table[~seen.allowed] = None
        return {
            "text": answer.text,
            "model": answer.request.model,
            "kind": selection.kind,
            "layer": place,
            "head": which,
            "rows": _texts(seen.rows),
            "columns": _texts(seen.columns),
            "weights": table.tolist(),
            "meaning": ROWS[selection.kind],
            "hint": hint_for_programs(self.service, answer),
        }


def signature_of(endpoint: str) -> inspect.Signature:
    """An endpoint's parameters, from the table of fields."""
    return inspect.Signature(
        [
            inspect.Parameter(
                row.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                annotation=row.value.annotation,
                default=_default(row),
            )
            for row in parameters(endpoint)
        ],
        return_annotation=dict[str, Any],
    )


def _default(row: Field) -> Any:
    if row.required:
        return inspect.Parameter.empty
    if isinstance(row.default, tuple):
        return list(row.default)  # as JSON has it
    return "" if row.default is None else row.default


def documentation_of(endpoint: str) -> str:
    """An endpoint's docstring, from the phrases of its fields. The API panel and MCP clients show it."""
    arguments = "\n".join(f"    {row.name}: {say(f'api_{row.name}')}" for row in parameters(endpoint))
    return f"{say(f'api_{endpoint}')}\n\nArgs:\n{arguments}\n\nReturns:\n    {say(f'api_{endpoint}_returns')}\n"


# The middleware checks names and numbers of arguments by these.
ENDPOINTS = {name: signature_of(name) for name in BOTH}
LOOKS = {row.name for row in SELECTION}


def register_api(service: Service) -> None:
    """Add the endpoints to the `gr.Blocks` that is being built."""
    endpoints = Endpoints(service)
    blocks = get_blocks_context()
    assert blocks is not None  # noqa: S101 - it is called inside a `gr.Blocks`
    for name, signature in ENDPOINTS.items():
        events.api(
            guarded(name, getattr(endpoints, name), signature, service.line, lambda: threads_of(blocks)),
            api_name=name,
            concurrency_limit=None,  # the queue `Line` limits computations
        )
        _describe(function_named(blocks, name), name)


def _describe(added: Any, endpoint: str) -> None:
    """Describe each argument in the API panel, where Gradio names them "1st" to "11th"."""
    for component, row in zip(added.inputs, parameters(endpoint), strict=True):
        describe(component, row.name, additional_description=say(f"api_{row.name}"))
    (result,) = added.outputs
    describe(result, "result", description=say(f"api_{endpoint}_returns"))


def guarded(
    name: str,
    function: Callable[[Mapping[str, Any]], Any],
    signature: inspect.Signature,
    line: Line,
    threads: Callable[[], Any] = lambda: None,
) -> Callable[..., Awaitable[Any]]:
    """A function of named values as an endpoint: it waits for its turn, checks its arguments and raises our phrases.

    Only while it computes it takes one of the `threads`.
    """

    async def call(*given: Any) -> Any:
        try:
            arguments = bind(signature, given)
            same = fingerprint([name, arguments])
            # The middleware has admitted it: what was taken is answered.
            with line.join(VISITOR.get(), kind=name, same=same, admitted=True) as place:
                while not await place.comes(GLANCE):
                    if GONE.get()():
                        raise PageError("data", "no_answer")
                if place.result is not None:
                    return {**place.result, **({"cached": True} if "cached" in place.result else {})}
                values = dict(zip(signature.parameters, arguments, strict=True))
                result = await anyio.to_thread.run_sync(function, values, limiter=threads())
                place.done(result)
                return result
        except PageError as error:
            raise gr.Error(str(error), print_exception=False) from None
        except Exception:
            LOG.exception("An endpoint failed: /%s.", name)
            raise gr.Error(str(PageError("text", "our_fault")), print_exception=False) from None

    call.__name__ = call.__qualname__ = name
    call.__doc__ = documentation_of(name)
    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in signature.parameters.values()}
    return call


def _texts(tokens: Sequence[Token]) -> list[str]:
    return [token.text for token in tokens]

"""The two doors for programs: `/translate` and `/attention`, by name, with small answers.

Gradio checks neither types nor the number of arguments of such endpoints and hides, or repeats, whatever is raised in
them. So each is wrapped: its arguments are bound and checked here, and every fault is said in our own words.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Sequence
from typing import Any, get_args

import gradio as gr
import numpy as np
from gradio import events
from gradio.context import get_blocks_context
from gradio.utils import get_function_description

from headlight.model.records import Kind, Token
from headlight.viz.answers.hints import hint_in_words, hint_of
from headlight.viz.answers.line import Line
from headlight.viz.answers.service import Service
from headlight.viz.api.arguments import bind
from headlight.viz.errors import PageError
from headlight.viz.session import Merged, Place, check_place, session_from
from headlight.viz.wire.visitors import GONE, VISITOR

DECIMALS = 6  # of weights and probabilities: enough to add up to one

# What a row looks for, in words. Decoder rows are named after the token that they are about to write.
ROWS: dict[Kind, str] = {
    "encoder": "Each row is a token of the sentence; its columns are the tokens of the sentence that it looks at.",
    "decoder": "Each row is the token about to be written; its columns are what was written before, from the start on.",
    "cross": "Each row is the token about to be written; its columns are the tokens of the sentence it looks at.",
}

LOG = logging.getLogger(__name__)


class Endpoints:
    """What programs may call, over one service."""

    def __init__(self, service: Service) -> None:
        self.service = service

    def translate(
        self,
        text: str,
        model: str = "",
        beam_size: int = 1,
        length_penalty: float = 1.0,
        target: str = "",
        prefix: str = "",
        source_language: str = "",
        target_language: str = "",
    ) -> dict[str, Any]:
        """Translate one sentence, and tell how likely each written token was.

        Args:
            text: The sentence.
            model: The name of a model; empty for the default one.
            beam_size: How many translations are followed at once; 1 takes the likeliest token each time.
            length_penalty: A translation counts log p / length ** length_penalty; above 1 favours longer ones.
            target: A translation of your own, to be scored instead of writing one.
            prefix: How the translation begins; it is continued from there.
            source_language: What the sentence is written in, as the model calls it; empty for its default language.
            target_language: What to translate into, where the model has several; empty for its default language.

        Returns:
            An object: text; model; tokens, each with text and probability, </s> last; log_probability, the sum over
            all tokens; score, the same with the length penalty; seconds, of the model's work, not of waiting; cached,
            whether that work was done before; stopped, "end", "length" or "forced"; beyond, whether the model's own
            rule says not to rely on this, null where it has no rule or the target is your own; hint, a sentence
            where the text seems to be of a language that the model does not read, else null.
        """
        values: dict[str, Any] = {"beam_size": beam_size, "length_penalty": length_penalty}
        values |= {"target": target, "prefix": prefix}
        values |= {"source_language": source_language, "target_language": target_language}
        answer, cached = self.service.translated(self.service.check({"text": text, "model": model} | values))
        timing = answer.timing
        return {
            "text": answer.text,
            "model": answer.request.model,
            "tokens": [
                {"text": token.text, "probability": round(token.probability or 0.0, DECIMALS)}
                for token in answer.target_tokens
            ],
            "log_probability": round(answer.log_probability, DECIMALS),
            "score": round(answer.score, DECIMALS),
            "seconds": round(timing.encode + timing.decode + timing.capture, 4),
            "cached": cached,
            "stopped": answer.stopped,
            "beyond": answer.beyond,
            "hint": hint_in_words(hint_of(self.service, answer)),
        }

    def attention(
        self,
        text: str,
        kind: str = "cross",
        layer: int = 0,
        head: int | str = "mean",
        model: str = "",
        beam_size: int = 1,
        length_penalty: float = 1.0,
        target: str = "",
        prefix: str = "",
        source_language: str = "",
        target_language: str = "",
    ) -> dict[str, Any]:
        """Translate one sentence, and tell what one attention head looked at.

        Args:
            text: The sentence.
            kind: "encoder", "decoder" or "cross".
            layer: The layer, counted from 0.
            head: The head, counted from 0, or "mean" or "max" of all heads of the layer.
            model: The name of a model; empty for the default one.
            beam_size: How many translations are followed at once; 1 takes the likeliest token each time.
            length_penalty: A translation counts log p / length ** length_penalty; above 1 favours longer ones.
            target: A translation of your own, to be looked at instead of writing one.
            prefix: How the translation begins; it is continued from there.
            source_language: What the sentence is written in, as the model calls it; empty for its default language.
            target_language: What to translate into, where the model has several; empty for its default language.

        Returns:
            An object: text, the translation; model; rows and columns, the tokens that name them; weights, a list of
            rows, each of which adds up to one ("max" does not), with null where the model may not look; meaning, what
            a row is; hint, as of /translate.
        """
        values: dict[str, Any] = {"text": text, "model": model, "target": target, "prefix": prefix}
        values |= {"beam_size": beam_size, "length_penalty": length_penalty}
        values |= {"source_language": source_language, "target_language": target_language}
        selection = session_from(values | {"kind": kind}, self.service.settings).selection
        request = self.service.check(values)
        config = self.service.translator(request.model).model.config
        # Before the work, not after it. The mean of all layers is for eyes, not for programs.
        layers = config.encoder_layers if selection.kind == "encoder" else config.decoder_layers
        place: int = check_place("layer", layer, count=layers)
        which: Place = check_place("head", head, count=config.heads, merged=get_args(Merged))
        answer = self.service.translate(request)
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
            "hint": hint_in_words(hint_of(self.service, answer)),
        }


# What the door checks names and numbers of arguments by.
ENDPOINTS = {
    name: inspect.signature(functools.partial(getattr(Endpoints, name), None), eval_str=True)
    for name in ("translate", "attention")
}


def register_api(service: Service) -> None:
    """Add the endpoints to the `gr.Blocks` that is being built."""
    endpoints = Endpoints(service)
    blocks = get_blocks_context()
    assert blocks is not None  # noqa: S101 - an endpoint outside of any page is a fault of ours
    for name, signature in ENDPOINTS.items():
        function = getattr(endpoints, name)
        events.api(
            guarded(function, signature, service.line),
            api_name=name,
            concurrency_limit=None,  # the line decides who computes
        )
        _describe(next(each for each in blocks.fns.values() if each.api_name == name), function)


def _describe(added: Any, function: Callable[..., Any]) -> None:
    """Say in the panel of the API what the docstring says of each argument: Gradio names them "1st" to "11th"."""
    _, arguments, returns = get_function_description(function)
    for component, name in zip(added.inputs, ENDPOINTS[function.__name__].parameters, strict=True):
        component.label = name
        component._api_info = {**component._api_info, "additional_description": arguments[name]}
    (result,) = added.outputs
    result.label = "result"
    result._api_info = {**result._api_info, "description": " ".join(returns)}


def guarded(function: Callable[..., Any], signature: inspect.Signature, line: Line) -> Callable[..., Any]:
    """The same function, which waits for its turn, takes anything and complains in our own words."""

    @functools.wraps(function)
    def call(*given: Any) -> Any:
        try:
            arguments = bind(signature, given)
            with line.turn(VISITOR.get(), GONE.get()):
                return function(*arguments)
        except PageError as error:
            raise gr.Error(str(error), print_exception=False) from None
        except Exception:
            LOG.exception("/%s failed.", function.__name__)
            raise gr.Error(str(PageError("text", "our_fault")), print_exception=False) from None

    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    return call


def _texts(tokens: Sequence[Token]) -> list[str]:
    return [token.text for token in tokens]

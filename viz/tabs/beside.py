"""Two models tab: compares translations and heads of two models.

The translate widget asks for the first translation. The second is asked for here: it reads the same sentence, or on the
way back the first translation. It comes with the words in which both maps can be shown: those that cover the same
characters, or are written alike in the same order. Where one model searches twice, neither answer is read back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import gradio as gr

from headlight.model.measures.matching import Matching, Unit, match
from headlight.model.records import Translation, TranslationRequest
from headlight.model.translate.choosing import own_choice
from headlight.viz.answers.model_values import model_of, translators, values_of
from headlight.viz.answers.own_choice import own_translation
from headlight.viz.answers.service import Service
from headlight.viz.labels import shorten, visible
from headlight.viz.wire.rpc import answering
from headlight.viz.wire.widget import widget


def build(service: Service) -> gr.HTML:
    """Inside a `gr.Blocks`."""
    config = {"models": menu(service), "beam": service.settings.max_beam}
    return widget(
        "beside/beside", server=[answering(second_of(service))], config=json.dumps(config, ensure_ascii=False)
    )


def menu(service: Service) -> list[dict[str, Any]]:
    """The translators that answer at once: the translate widget fetches the others."""
    return [model for model in translators(service) if model["downloaded"]]


def second_of(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Server function: the second translation and its token matching with the first."""

    def answer_beside(values: Mapping[str, Any]) -> dict[str, Any]:
        back = values.get("back") is True
        request = service.check(values.get("request"))
        other = service.check(values.get("other"), model_defaults=True)
        own = None
        names = {each.model or service.default for each in (request, other)}
        if len(names) == 1 and not back and other.target is None:
            first, own = own_translation(service, request)
            other = own_choice(other)
        else:
            first = service.translate(request)
        second = service.translate(in_languages_of(first, other, service, back=back))
        read, written = (second.source_tokens, second.source_text), (second.target_tokens, second.text)
        if back:  # what the first model read is what the second one wrote
            read, written = written, read
        sources = match(first.source_tokens, first.source_text, *read)
        targets = match(first.target_tokens, first.text, *written)
        return {
            "answer": values_of(service, second),
            "own": own,
            "source": matching_values(sources),
            "target": matching_values(targets),
            "models": menu(service),  # one may have been fetched since the page was opened
        }

    return answer_beside


def in_languages_of(
    first: Translation, request: TranslationRequest, service: Service, *, back: bool = False
) -> TranslationRequest:
    """The second request in the first one's languages, on the way back exchanged, where its model has a choice and the
    request names none."""
    spoken, defaults = model_of(service, first), service.model_defaults(request.model)
    source, target = (spoken["target"], spoken["source"]) if back else (spoken["source"], spoken["target"])
    if not request.source_language and source in defaults.sources:
        request = replace(request, source_language=source)
    if not request.target_language and target in defaults.targets:
        request = replace(request, target_language=target)
    return request


def matching_values(matching: Matching) -> dict[str, Any]:
    """What goes together, as the browser gets it: units with their places on either side."""
    return {"same": matching.same, "units": [unit_values(unit) for unit in matching.units]}


def unit_values(unit: Unit) -> dict[str, Any]:
    """One unit with its label."""
    full = visible(unit.text)
    return {"label": shorten(full), "full": full, "special": unit.special, "first": unit.first, "second": unit.second}

"""Two models tab: compares translations and heads of two models.

The translate widget requests the first translation; this tab requests the second, of the same sentence or, for
back-translation, of the first translation. The response includes the words that both maps share: words that cover the
same characters, or have the same spelling in the same order. If one model searches twice, neither answer is reranked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import gradio as gr

from headlight.model.measures.matching import MatchedUnit, TokenMatching, match_tokens
from headlight.model.records import Translation, TranslationRequest
from headlight.model.translate.reranking import own_choice
from headlight.viz.server.calls import CallTable
from headlight.viz.server.widget import widget
from headlight.viz.service.messages import TranslatorEntry
from headlight.viz.service.model_json import make_answer_dict, model_json, translators
from headlight.viz.service.own_choice import own_translation
from headlight.viz.service.service import Service
from headlight.viz.token_labels import make_visible, truncate


def build(service: Service, calls: CallTable) -> gr.HTML:
    """Build the tab inside a `gr.Blocks`."""
    config = {"models": model_menu(service), "beam": service.settings.max_beam}
    calls.add(make_second_answer_call(service))
    return widget("compare/two-models", "beside", config=json.dumps(config, ensure_ascii=False))


def model_menu(service: Service) -> list[TranslatorEntry]:
    """Return the installed translators; the translate widget downloads the others."""
    return [model for model in translators(service) if model["downloaded"]]


def make_second_answer_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `second_translation`: the second translation and its token matching with the first."""

    def second_translation(values: Mapping[str, Any]) -> dict[str, Any]:
        back = values.get("back") is True
        request = service.check(values.get("request"))
        other = service.check(values.get("other"), model_defaults=True)
        unranked = None
        names = {checked.model or service.default for checked in (request, other)}
        if len(names) == 1 and not back and other.target is None:
            first, unranked = own_translation(service, request)
            other = own_choice(other)
        else:
            first = service.translate(request)
        second = service.translate(match_languages(first, other, service, back=back))
        source, target = (second.source_tokens, second.source_text), (second.target_tokens, second.text)
        if back:  # the first model's source is the second model's target
            source, target = target, source
        sources = match_tokens(first.source_tokens, first.source_text, *source)
        targets = match_tokens(first.target_tokens, first.text, *target)
        return {
            "answer": make_answer_dict(service, second),
            "own": unranked,
            "source": matching_json(sources),
            "target": matching_json(targets),
            "models": model_menu(service),  # other visitors may have downloaded some since the page was opened
        }

    return second_translation


def match_languages(
    first: Translation, request: TranslationRequest, service: Service, *, back: bool = False
) -> TranslationRequest:
    """Fill in missing languages of a multilingual second request from the first answer, swapped if `back` is set."""
    model, defaults = model_json(service, first), service.model_defaults(request.model)
    source, target = (model["target"], model["source"]) if back else (model["source"], model["target"])
    if not request.source_language and source in defaults.sources:
        request = replace(request, source_language=source)
    if not request.target_language and target in defaults.targets:
        request = replace(request, target_language=target)
    return request


def matching_json(matching: TokenMatching) -> dict[str, Any]:
    """Return the matched units with their positions in both texts."""
    return {"same": matching.same_text, "units": [unit_json(unit) for unit in matching.units]}


def unit_json(unit: MatchedUnit) -> dict[str, Any]:
    """Return a matched unit with its label."""
    full = make_visible(unit.text)
    return {"label": truncate(full), "full": full, "special": unit.special, "first": unit.first, "second": unit.second}

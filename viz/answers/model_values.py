"""What the browser is told of a model: in the menu, beside an answer, and as the request of who changes nothing."""

from __future__ import annotations

from typing import Any

from headlight.model.records import Translation
from headlight.viz.answers.cards import ModelCard
from headlight.viz.answers.defaults import plain_model_defaults
from headlight.viz.answers.hints import hint_of
from headlight.viz.answers.payload import translation_json
from headlight.viz.answers.service import Service


def default_request(service: Service) -> dict[str, Any]:
    """What a request holds where the visitor changes nothing."""
    open_fields = {"target": None, "prefix": None, "source_language": "", "target_language": ""}
    return {"model": service.default, **service.model_defaults().options(), **open_fields}


def answer_of(service: Service, translation: Translation, *, cached: bool = False) -> str:
    """A translation with what is known of its model; `cached`: it was made before, so that its seconds say nothing."""
    hint = hint_of(service, translation)
    return translation_json(translation, model_of(service, translation), cached=cached, hint=hint)


def model_of(service: Service, translation: Translation) -> dict[str, Any]:
    """What is known of a translation's model: how it is used, and which languages it read and wrote."""
    request = translation.request
    name = request.model or service.default
    found = about(service.catalogue.card(name, "transformer"))
    defaults = service.model_defaults(name)
    if defaults.left_out:
        found |= {"left_out": defaults.left_out}
    return found | {
        "usual": defaults.options(),  # saved pages and the first answer hold it by this name
        "source": request.source_language or defaults.source or found["source"],
        "target": request.target_language or defaults.target or found["target"],
        "sources": defaults.sources,
        "targets": defaults.targets,
        "usual_source": defaults.source,
        "usual_target": defaults.target,
    }


def translators(service: Service) -> list[dict[str, Any]]:
    """All that translate, as a menu lists them: the default one first, the one that knows two sentences last."""
    cards = [card for card in service.models() if card.kind == "transformer"]
    plain = plain_model_defaults(service.settings).options()
    return [
        about(card)
        | {"defaults": None if card.brings_defaults or not card.downloaded else plain}  # None: its answer will tell
        for card in sorted(cards, key=lambda card: (card.where == "hub", not card.default, card.name == "toy"))
    ]


def about(card: ModelCard) -> dict[str, Any]:
    """A model, as the browser needs to know it."""
    source, target = (*card.languages, "", "")[:2]
    names = ("name", "best_head", "where", "downloaded", "bytes")
    return {"source": source, "target": target, **{name: getattr(card, name) for name in names}}

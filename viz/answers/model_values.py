"""Model data for the browser: menu entries, model data of an answer, and the default request."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from headlight.model.measures.aligning import CrossHeads
from headlight.model.records import DecodingOptions, Reliability, Translation
from headlight.viz.answers.cards import ModelCard
from headlight.viz.answers.hints import hint_of
from headlight.viz.answers.payload import answer_values, reliability_values, translation_json
from headlight.viz.answers.service import Service


def default_request(service: Service) -> dict[str, Any]:
    """The default request of the page."""
    open_fields = {"target": None, "prefix": None, "source_language": "", "target_language": ""}
    return {"model": service.default, **service.model_defaults().options(), **open_fields}


def answer_of(
    service: Service, translation: Translation, read_back: Reliability | None = None, *, cached: bool = False
) -> str:
    """JSON of a translation and its model; `cached`: timings are from an earlier request.

    `read_back` is its reliability if it was back-translated already; else the browser requests it.
    """
    more: dict[str, Any] = {"hint": hint_of(service, translation), "way_back": service.way_back(translation)}
    if read_back is not None:
        more["reliability"] = reliability_values(read_back)
    about = model_of(service, translation)
    return translation_json(translation, about, cross_heads_of(service, translation), cached=cached, **more)


def values_of(service: Service, translation: Translation) -> dict[str, Any]:
    """The same as data, without what belongs to one answer alone."""
    return answer_values(translation, model_of(service, translation), cross_heads_of(service, translation))


def cross_heads_of(service: Service, translation: Translation) -> CrossHeads:
    """What was measured of the heads of a translation's model."""
    return service.catalogue.card(translation.request.model or service.default, "transformer").cross_heads


def model_of(service: Service, translation: Translation) -> dict[str, Any]:
    """The model of a translation: its defaults, and the languages that it read and wrote."""
    request = translation.request
    name = request.model or service.default
    found = about(service.catalogue.card(name, "transformer"))
    defaults = service.model_defaults(name)
    if defaults.left_out:
        found |= {"left_out": defaults.left_out}
    if defaults.in_python != DecodingOptions():
        found |= {"python_defaults": asdict(defaults.in_python)}
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
    """All translators in the order of a menu: the default first, the toy model last."""
    cards = [card for card in service.models() if card.kind == "transformer"]
    return [
        about(card) | {"defaults": _defaults_at_hand(service, card)}
        for card in sorted(cards, key=lambda card: (card.where == "hub", not card.default, card.name == "toy"))
    ]


def _defaults_at_hand(service: Service, card: ModelCard) -> dict[str, Any] | None:
    """None: its first answer brings them."""
    known = card.downloaded and not card.brings_defaults
    return service.model_defaults(card.name).options() if known else None


def classifiers(service: Service) -> list[dict[str, Any]]:
    """All classifiers in the order of a menu."""
    return [about(card) | {"linear": card.linear} for card in service.classifiers()]


def about(card: ModelCard) -> dict[str, Any]:
    """Model data for the browser."""
    source, target = (*card.languages, "", "")[:2]
    names = ("name", "where", "downloaded", "bytes")
    best = card.cross_heads.best  # that aligns words, whichever row tells of a word
    known = {name: getattr(card, name) for name in names} | {"best_head": best._asdict() if best else None}
    return {"source": source, "target": target, **known}

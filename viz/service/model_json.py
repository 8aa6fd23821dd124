"""JSON for the browser: menu entries, model data of an answer, and the default request."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from headlight.model.measures.alignment_head import CrossHeads
from headlight.model.records import DecodingOptions, Reliability, Translation, TranslationRequest
from headlight.viz.service.language_hints import find_language_hint
from headlight.viz.service.messages import (
    Answer,
    AnswerExtras,
    AnswerModel,
    ClassifierEntry,
    ModelEntry,
    TranslatorEntry,
)
from headlight.viz.service.model_cards import ModelCard
from headlight.viz.service.payload import answer_dict, make_reliability_values, translation_json
from headlight.viz.service.service import Service


def make_default_request(service: Service) -> dict[str, Any]:
    """Return the default request of the page."""
    optional_fields = {"target": None, "prefix": None, "source_language": "", "target_language": ""}
    return {"model": service.default, **service.model_defaults().options(), **optional_fields}


def answer_json(
    service: Service, translation: Translation, read_back: Reliability | None = None, *, cached: bool = False
) -> str:
    """Return the JSON of a translation and its model. `cached`: the timings are from an earlier request.

    `read_back` is the reliability after back-translation, if it is already known; else the browser requests it.
    """
    extras: AnswerExtras = {
        "cached": cached,
        "hint": find_language_hint(service, translation),
        "way_back": service.reverse_model(translation),
    }
    if read_back is not None:
        extras["reliability"] = make_reliability_values(read_back)
    model = model_json(service, translation)
    return translation_json(translation, model, get_measured_heads(service, translation), **extras)


def make_answer_dict(service: Service, translation: Translation) -> Answer:
    """Return the data of `answer_json` without the fields that depend on the request, as a dictionary."""
    return answer_dict(translation, model_json(service, translation), get_measured_heads(service, translation))


def get_measured_heads(service: Service, translation: Translation) -> CrossHeads:
    """Return the measured cross-attention heads of a translation's model."""
    return service.catalogue.card(translation.request.model or service.default, "transformer").cross_heads


def model_json(service: Service, translation: Translation) -> AnswerModel:
    """Return the data of a translation's model."""
    return answer_model(service, translation.request)


def answer_model(service: Service, request: TranslationRequest) -> AnswerModel:
    """Return the data of a request's model, with its defaults and the languages of the translation."""
    name = request.model or service.default
    entry = encode_card(service.catalogue.card(name, "transformer"))
    defaults = service.model_defaults(name)
    return {
        **entry,
        "defaults": defaults.options(),
        "source": request.source_language or defaults.source or entry["source"],
        "target": request.target_language or defaults.target or entry["target"],
        "sources": defaults.sources,
        "targets": defaults.targets,
        "default_source": defaults.source,
        "default_target": defaults.target,
        "left_out": defaults.unsupported,
        "python_defaults": None if defaults.in_python == DecodingOptions() else asdict(defaults.in_python),
    }


def translators(service: Service) -> list[TranslatorEntry]:
    """Return all translators in menu order: the default first, the toy model last, then those on the Hub."""
    cards = [card for card in service.models() if card.kind == "transformer"]
    return [
        {**encode_card(card), "defaults": _get_known_defaults(service, card)}
        for card in sorted(cards, key=lambda card: (card.location == "hub", not card.default, card.name == "toy"))
    ]


def _get_known_defaults(service: Service, card: ModelCard) -> dict[str, Any] | None:
    """Return the defaults of a model, or None if they are unknown before its first answer."""
    is_known = card.downloaded and not card.has_defaults
    return service.model_defaults(card.name).options() if is_known else None


def classifiers(service: Service) -> list[ClassifierEntry]:
    """Return all classifiers in menu order."""
    return [{**encode_card(card), "linear": card.is_additive} for card in service.classifiers()]


def encode_card(card: ModelCard) -> ModelEntry:
    """Return the data of a model for the browser."""
    source, target = (*card.languages, "", "")[:2]
    best = card.cross_heads.best  # the head that aligns words best, with either row shift
    return {
        "source": source,
        "target": target,
        "name": card.name,
        "where": card.location,
        "downloaded": card.downloaded,
        "bytes": card.bytes,
        "best_head": {"layer": best.layer, "head": best.head, "shift": best.shift} if best else None,
    }

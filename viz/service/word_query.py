"""Parsing of calls about one word of a translation and its rival."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headlight.model.experiments.reasons import find_rival
from headlight.model.records import Translation
from headlight.viz.field_values import check_int, check_text
from headlight.viz.service.service import Service
from headlight.viz.token_labels import make_visible, truncate


def parse_word(service: Service, values: Mapping[str, Any]) -> tuple[Translation, int, int | None]:
    """Return the translation of a call, the position of the word, and the rival's token ID or None."""
    translation = service.translate(service.check(values.get("request")))
    position = check_int("place", values.get("place"), low=0, high=len(translation.target_tokens) - 1)
    last = service.model_info(translation.request.model).model.config.target_vocabulary - 1
    rival = None if values.get("rival") is None else check_int("rival", values["rival"], low=0, high=last)
    return translation, position, rival


def make_rival_values(service: Service, translation: Translation, rival: int | None) -> dict[str, Any] | None:
    """Return the ID and the label of a rival for the page."""
    if rival is None:
        return None
    label = service.model_info(translation.request.model).target_tokenizer.label(rival)
    return {"id": rival, "label": truncate(make_visible(label))}


def make_rival_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any] | None]:
    """Return the call `name_rival`, which finds the vocabulary token that a visitor typed as a rival."""

    def name_rival(values: Mapping[str, Any]) -> dict[str, Any] | None:
        translation, position, _ = parse_word(service, {**values, "rival": None})
        text = check_text("rival", values.get("rival"), limit=service.settings.max_characters)
        tokenizer = service.model_info(translation.request.model).target_tokenizer
        rival = find_rival(tokenizer, text, translation.target_tokens[position], single=True)
        return make_rival_values(service, translation, rival)

    return name_rival

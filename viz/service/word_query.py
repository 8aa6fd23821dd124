"""The word of a translation that a call asks about, and its rival."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headlight.model.records import Translation
from headlight.viz.field_values import check_int
from headlight.viz.service.service import Service


def parse_word(service: Service, values: Mapping[str, Any]) -> tuple[Translation, int, int | None]:
    """Return the translation of a call, the position of the word, and the rival's token ID or None."""
    translation = service.translate(service.check(values.get("request")))
    position = check_int("place", values.get("place"), low=0, high=len(translation.target_tokens) - 1)
    last = service.model_info(translation.request.model).model.config.target_vocabulary - 1
    rival = None if values.get("rival") is None else check_int("rival", values["rival"], low=0, high=last)
    return translation, position, rival

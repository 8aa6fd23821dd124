"""Back-translation and reverse score of a translation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headlight.model.errors import RequestError
from headlight.model.records import ReadBack, Translation
from headlight.model.text.cleaning import is_blank
from headlight.model.translate.choosing import request_back
from headlight.model.translate.translator import Translator

WAY: dict[str, Any] = {"beam_size": 4, "no_repeat": 4}  # as the page translates


def read_back(reverse: Translator, translation: Translation) -> ReadBack | None:
    """The back-translation; None if the reverse model cannot read the text because it is empty or too long."""
    return read_all_back(reverse, [translation])[0]


def read_all_back(reverse: Translator, translations: Sequence[Translation]) -> list[ReadBack | None]:
    """Many, in as few passes as their lengths allow."""
    found: list[ReadBack | None] = [None] * len(translations)
    places, requests = [], []
    for place, translation in enumerate(translations):
        if is_blank(translation.text):
            continue
        try:
            request, _ = request_back(reverse, translation.source_text, translation.text)
        except RequestError:
            continue
        places.append(place)
        requests.append(request)
    if not places:
        return found
    scored = reverse.translate_batch(requests)
    texts = reverse.translate_lines([request.text for request in requests], on_refused=lambda *_: None, **WAY)
    for place, text, score in zip(places, texts, scored, strict=True):
        found[place] = ReadBack(text, score.target_tokens)
    return found

"""Translation of many sentences with shared options, batched by length, without capture of attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from headlight.model.records import Hypothesis, TranslationRequest
from headlight.model.translate.translator import Translator


def translate_sentences(translator: Translator, requests: Sequence[TranslationRequest]) -> list[Hypothesis]:
    """Return the best translation of each validated request. The options of the first request apply to all.

    Only `max_length` may differ between requests, because it is lowered for long sentences; the largest applies.
    """
    first = requests[0]
    limits = [request.options.max_length for request in requests]
    options: dict[str, Any] = asdict(first.options) | {
        "max_length": None if None in limits else max(filter(None, limits))
    }
    options |= {"source_language": first.source_language, "target_language": first.target_language}
    beams = translator.hypotheses_of_lines([request.text for request in requests], **options)
    return [beam[0] for beam in beams]

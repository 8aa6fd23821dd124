"""Back-translation and reverse score of a translation."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from headlight.model.errors import RequestError
from headlight.model.records import BackTranslation, Translation, TranslationRequest
from headlight.model.text.cleaning import is_blank
from headlight.model.text.languages import languages_from_name
from headlight.model.text.respelling import respell
from headlight.model.translate.reranking import reverse_request
from headlight.model.translate.translator import Translator

BACK_TRANSLATION_OPTIONS: dict[str, Any] = {"beam_size": 4, "no_repeat": 4}  # decoding options of the page, too
WORD = re.compile(r"[^\W_]+")


def back_translate(reverse: Translator, translation: Translation) -> BackTranslation | None:
    """Return the back-translation, or None if the text is empty or too long for the reverse model."""
    return back_translate_batch(reverse, [translation])[0]


def back_translate_batch(reverse: Translator, translations: Sequence[Translation]) -> list[BackTranslation | None]:
    """Back-translate several translations, in as few passes as their lengths allow.

    The result has one entry per translation: None if the text is empty or too long for the reverse model.
    """
    results: list[BackTranslation | None] = [None] * len(translations)
    indices, requests = [], list[TranslationRequest]()
    for index, translation in enumerate(translations):
        if is_blank(translation.text):
            continue
        try:
            request, _ = reverse_request(reverse, translation.source_text, translation.text)
        except RequestError:
            continue
        indices.append(index)
        requests.append(request)
    if not indices:
        return results
    # `reverse_request` has validated every text, so `on_refused` is never called.
    texts = reverse.translate_lines(
        [request.text for request in requests], on_refused=lambda *_: None, **BACK_TRANSLATION_OPTIONS
    )
    requests = [_respelt(reverse, request, text) for request, text in zip(requests, texts, strict=True)]
    scores = reverse.translate_batch(requests)
    for index, request, text, score in zip(indices, requests, texts, scores, strict=True):
        results[index] = BackTranslation(text, score.target_tokens, str(request.target))
    return results


def _respelt(reverse: Translator, request: TranslationRequest, back: str) -> TranslationRequest:
    """Return the request to score the sentence in the spelling of its back-translation, if the model can read it."""
    language = "".join(languages_from_name(reverse.name)[1:2])
    try:
        return reverse_request(reverse, respell(str(request.target), back, language), request.text)[0]
    except RequestError:
        return request


def is_word_for_word(sentence: str, back: str) -> bool:
    """Whether a back-translation has the words of the sentence, in order; case and punctuation may differ.

    A match is not proof: both directions may make the same mistake. The page's comparison is `isWordForWord` in
    `widgets/parts/reliability.js`.
    """
    expected, actual = (WORD.findall(unicodedata.normalize("NFKC", text).lower()) for text in (sentence, back))
    return bool(expected) and expected == actual

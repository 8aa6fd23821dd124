"""Hints that the sentence is probably in another language, with models that read that language."""

from __future__ import annotations

from headlight.model.records import Translation
from headlight.model.text.identification import identify
from headlight.model.text.languages import to_two_letters
from headlight.viz.figure_phrases import phrase, phrases
from headlight.viz.service.messages import LanguageHint, LanguageOffer
from headlight.viz.service.model_cards import ModelCard
from headlight.viz.service.service import Service

TOY = "toy"  # translates only two sentences, so it is never offered


def find_language_hint(service: Service, translation: Translation) -> LanguageHint | None:
    """Detect a sentence in a language that the model does not read, and offer models that do.

    `language` is a code. `offers` lists installed models with their language pairs, and with `source_language` if a
    request must name it. Models that translate into the language of the request's model come first.
    """
    request = translation.request
    name = request.model or service.default
    card, defaults = service.catalogue.card(name, "transformer"), service.model_defaults(name)
    source_code = request.source_language or defaults.source or "".join(card.languages[:1])
    target_code = request.target_language or defaults.target or "".join(card.languages[1:2])
    detected = identify(request.text)
    if detected is None or not source_code or detected == to_two_letters(source_code):
        return None
    offers: list[LanguageOffer] = [
        {"model": name, "source_language": code, "source": code, "target": target_code}
        for code in defaults.sources
        if to_two_letters(code) == detected and to_two_letters(target_code) != detected
    ]
    candidates = [
        candidate for candidate in service.models() if _can_translate(candidate, detected) and candidate.name != name
    ]

    def rank(candidate: ModelCard) -> tuple[bool, bool, str]:
        target = to_two_letters(candidate.languages[1])
        return target != to_two_letters(source_code), target != to_two_letters(target_code), candidate.name

    offers += [
        {
            "model": candidate.name,
            "source_language": "",
            "source": candidate.languages[0],
            "target": candidate.languages[1],
        }
        for candidate in sorted(candidates, key=rank)
    ]
    return {"language": detected, "reads": source_code, "offers": offers}


def make_api_hint(service: Service, translation: Translation) -> str | None:
    """Return an English hint for API clients: masked words, another language, or an adapted text."""
    masked, tokens = translation.attention.masked_source, translation.source_tokens
    if all(position in masked for position, token in enumerate(tokens) if not token.special):
        return phrase("hint_all_hidden")
    hints = [format_hint(find_language_hint(service, translation)), *list_adaptation_phrases(translation)]
    return " ".join(filter(None, hints)) or None


def list_adaptation_phrases(translation: Translation) -> list[str]:
    """Return one phrase per change that was made to the sentence before the model read it."""
    return [phrase(f"adaptation_{name}") for name in translation.adaptations]


def format_hint(hint: LanguageHint | None) -> str | None:
    """Convert a hint to an English sentence."""
    if hint is None:
        return None
    detected = phrase("hint_looks", name=_name(hint["language"]))
    if not hint["offers"]:
        return f"{detected} {phrase('hint_reads', name=_name(hint['reads']))}"
    settings = (
        f"model={offer['model']!r}"
        + (f", source_language={offer['source_language']!r}" if offer["source_language"] else "")
        for offer in hint["offers"]
    )
    return f"{detected} To translate it as that, use {' or '.join(settings)}."


def _can_translate(card: ModelCard, language: str) -> bool:
    is_supported = card.kind == "transformer" and card.downloaded and len(card.languages) == 2 and card.name != TOY
    return is_supported and to_two_letters(card.languages[0]) == language


def _name(code: str) -> str:
    return phrases().get(f"language_{to_two_letters(code)}", code)

"""Hints that the sentence seems to be in another language, with models that read it."""

from __future__ import annotations

from headlight.model.records import Translation
from headlight.model.text.identification import identify
from headlight.model.text.languages import two_letters
from headlight.viz.figure_phrases import phrase, phrases
from headlight.viz.service.messages import LanguageHint, LanguageOffer
from headlight.viz.service.model_cards import ModelCard
from headlight.viz.service.service import Service

TOY = "toy"  # knows two sentences, so it is never offered


def language_hint(service: Service, translation: Translation) -> LanguageHint | None:
    """Detect a sentence in a language that the model does not read, and offer models that do.

    `language` is a code. `offers` lists installed models with their language pairs, and with `source_language` if a
    request must name it. Models that translate into the language of the request's model come first.
    """
    request = translation.request
    name = request.model or service.default
    card, defaults = service.catalogue.card(name, "transformer"), service.model_defaults(name)
    reads = request.source_language or defaults.source or "".join(card.languages[:1])
    writes = request.target_language or defaults.target or "".join(card.languages[1:2])
    result = identify(request.text)
    if result is None or not reads or result == two_letters(reads):
        return None
    offers: list[LanguageOffer] = [
        {"model": name, "source_language": code, "source": code, "target": writes}
        for code in defaults.sources
        if two_letters(code) == result and two_letters(writes) != result
    ]
    others = [each for each in service.models() if _translates(each, result) and each.name != name]

    def rank(each: ModelCard) -> tuple[bool, bool, str]:
        target = two_letters(each.languages[1])
        return target != two_letters(reads), target != two_letters(writes), each.name

    offers += [
        {"model": each.name, "source_language": "", "source": each.languages[0], "target": each.languages[1]}
        for each in sorted(others, key=rank)
    ]
    return {"language": result, "reads": reads, "offers": offers}


def hint_for_programs(service: Service, translation: Translation) -> str | None:
    """English hint for API clients: all words are masked, or the sentence is in another language."""
    hidden, tokens = translation.attention.masked_source, translation.source_tokens
    if all(place in hidden for place, token in enumerate(tokens) if not token.special):
        return phrase("hint_all_hidden")
    return hint_in_words(language_hint(service, translation))


def hint_in_words(hint: LanguageHint | None) -> str | None:
    """Convert a hint to an English sentence."""
    if hint is None:
        return None
    looks = phrase("hint_looks", name=_name(hint["language"]))
    if not hint["offers"]:
        return f"{looks} {phrase('hint_reads', name=_name(hint['reads']))}"
    ways = (
        f"model={each['model']!r}"
        + (f", source_language={each['source_language']!r}" if each["source_language"] else "")
        for each in hint["offers"]
    )
    return f"{looks} To translate it as that, use {' or '.join(ways)}."


def _translates(card: ModelCard, language: str) -> bool:
    known = card.kind == "transformer" and card.downloaded and len(card.languages) == 2 and card.name != TOY
    return known and two_letters(card.languages[0]) == language


def _name(code: str) -> str:
    return phrases().get(f"language_{two_letters(code)}", code)

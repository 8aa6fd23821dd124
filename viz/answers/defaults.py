"""How a model is used where nobody says otherwise: its own options, and the languages that it can be asked for.

A model that brings no habits is used as the page likes it. What a model's makers wish never goes beyond the limits of
whoever runs the page.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from headlight.model.decoding.generation_defaults import GenerationDefaults
from headlight.model.records import DecodingOptions, TranslationRequest
from headlight.model.translate.translator import Translator
from headlight.viz.errors import PageError, shown
from headlight.viz.session import default_options
from headlight.viz.settings import Settings

OPTIONS = ("beam_size", "length_penalty", "no_repeat", "temperature", "seed")  # that a visitor may change
SHOWN = 12  # so many choices a complaint names


@dataclass(frozen=True, kw_only=True)
class Manners:
    """What is known of a model's use without loading it again."""

    usual: DecodingOptions
    longest: int | None = None  # tokens written; None: the model says nothing
    sources: tuple[str, ...] = ()  # languages as the model calls them; empty: there is no choice
    targets: tuple[str, ...] = ()
    source: str = ""  # which counts where none is named
    target: str = ""

    def checked(self, request: TranslationRequest, most: int) -> TranslationRequest:
        """The same request with the model's own limit, where it names none; an unknown language is an error."""
        for name, choices in (("source_language", self.sources), ("target_language", self.targets)):
            given = getattr(request, name)
            if given and not choices:
                raise PageError(name, "no_languages", {"name": name, "given": shown(given)})
            if given and given not in choices:
                named = ", ".join((*choices[:SHOWN], "…") if len(choices) > SHOWN else choices)
                raise PageError(name, "not_choice", {"name": name, "choices": named, "given": shown(given)})
        if self.longest is None or request.options.max_length is not None:
            return request
        return replace(request, options=replace(request.options, max_length=min(self.longest, most)))

    def options(self) -> dict[str, Any]:
        """The options that a visitor may change, by name."""
        usual = asdict(self.usual)
        return {name: usual[name] for name in OPTIONS}


def plain_manners(settings: Settings) -> Manners:
    """Of a model that brings nothing of its own."""
    return Manners(usual=default_options(settings))


def manners_of(translator: Translator, settings: Settings) -> Manners:
    """Of a model that is loaded."""
    habits, languages = translator.habits, translator.languages
    usual = default_options(settings)
    if habits != GenerationDefaults():
        usual = habits.options({"beam_size": min(habits.beam_size, settings.max_beam), "max_length": None})
    return Manners(
        usual=usual,
        longest=habits.max_length,
        sources=tuple(language.code for language in languages.sources),
        targets=tuple(language.code for language in languages.targets),
        source=languages.source,
        target=languages.target,
    )

"""A model's defaults: the options and languages of a request that names none, and the languages to choose from.

A model without generation defaults gets those of the page. A model's own
defaults never exceed the limits that the page is run with.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from headlight.model.decoding.generation_defaults import GenerationDefaults
from headlight.model.records import DecodingOptions, TranslationRequest
from headlight.model.translate.model_info import ModelInfo
from headlight.model.translate.reranking import REVERSE_WEIGHT
from headlight.viz.errors import PageError, repr_short
from headlight.viz.request_fields import OPTIONS, default_options
from headlight.viz.settings import Settings

# The options that a request of the page names: those a visitor may set, and those for which the page has a default.
_PAGE = asdict(default_options(Settings()))
REQUEST_OPTIONS = tuple(row.name for row in OPTIONS if row.on_page or _PAGE[row.name] != row.default)
MAX_LISTED = 12  # choices that an error lists at most


@dataclass(frozen=True, kw_only=True)
class ModelDefaults:
    """A model's defaults and choices, kept after the model has left memory."""

    decoding: DecodingOptions
    max_length: int | None = None  # output tokens; None: the model names no limit
    sources: tuple[str, ...] = ()  # language codes of the model; empty: a single pair
    targets: tuple[str, ...] = ()
    source: str = ""  # the default
    target: str = ""
    unsupported: tuple[str, ...] = ()  # generation rules of its makers that we do not have
    in_python: DecodingOptions = field(
        default_factory=DecodingOptions
    )  # what `Translator` takes where nothing is named

    def check_request(self, request: TranslationRequest, most: int) -> TranslationRequest:
        """Fill in the model's length limit if the request has none. An unknown language raises an error."""
        for name, choices in (("source_language", self.sources), ("target_language", self.targets)):
            given = getattr(request, name)
            if given and not choices:
                raise PageError(name, "no_languages", {"name": name, "given": repr_short(given)})
            if given and given not in choices:
                named = ", ".join((*choices[:MAX_LISTED], "…") if len(choices) > MAX_LISTED else choices)
                raise PageError(name, "not_choice", {"name": name, "choices": named, "given": repr_short(given)})
        if self.max_length is None or request.options.max_length is not None:
            return request
        return replace(request, options=replace(request.options, max_length=min(self.max_length, most)))

    def options(self) -> dict[str, Any]:
        """The options that a request of the page names, with their defaults."""
        options = asdict(self.decoding)
        return {name: options[name] for name in REQUEST_OPTIONS}


def plain_model_defaults(settings: Settings, *, read_back: bool = False) -> ModelDefaults:
    """The page's defaults for a model without its own; `read_back`: a reverse model is available for reranking."""
    decoding = default_options(settings)
    if read_back and decoding.beam_size > 1:
        decoding = replace(decoding, back_weight=REVERSE_WEIGHT)
    return ModelDefaults(decoding=decoding)


def make_defaults(outline: ModelInfo, settings: Settings) -> ModelDefaults:
    """The defaults of a model."""
    defaults, languages = outline.generation_defaults, outline.languages
    decoding = default_options(settings)
    if defaults != GenerationDefaults():
        decoding = defaults.options({"beam_size": min(defaults.beam_size, settings.max_beam), "max_length": None})
    return ModelDefaults(
        decoding=decoding,
        max_length=defaults.max_length,
        sources=tuple(language.code for language in languages.sources),
        targets=tuple(language.code for language in languages.targets),
        source=languages.source,
        target=languages.target,
        unsupported=defaults.left_out,
        in_python=defaults.options({}),
    )

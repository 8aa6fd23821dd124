"""Default options and languages of a model, and the languages that it offers.

A model without generation defaults gets those of the page. A model's own defaults never exceed the server's limits.
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

# Options in requests from the page: those that visitors can set, and those with a different default on the page.
_PAGE_DEFAULTS = asdict(default_options(Settings()))
REQUEST_OPTIONS = tuple(row.name for row in OPTIONS if row.on_page or _PAGE_DEFAULTS[row.name] != row.default)
MAX_LISTED_CHOICES = 12  # maximum number of choices in an error message


@dataclass(frozen=True, kw_only=True)
class ModelDefaults:
    """Defaults and language choices of a model. They stay in memory after the model is evicted."""

    decoding: DecodingOptions
    max_length: int | None = None  # output tokens; None: no limit of the model
    sources: tuple[str, ...] = ()  # language codes of the model; empty: a single pair
    targets: tuple[str, ...] = ()
    source: str = ""  # the default source language
    target: str = ""  # the default target language
    unsupported: tuple[str, ...] = ()  # generation settings of the model that Headlight does not support
    in_python: DecodingOptions = field(default_factory=DecodingOptions)  # defaults of `Translator`

    def check_request(self, request: TranslationRequest, max_tokens: int) -> TranslationRequest:
        """Fill in the model's length limit if the request sets no limit. Raises `PageError` for unknown languages."""
        for name, choices in (("source_language", self.sources), ("target_language", self.targets)):
            value = getattr(request, name)
            if value and not choices:
                raise PageError(name, "no_languages", {"name": name, "given": repr_short(value)})
            if value and value not in choices:
                choice_list = ", ".join(
                    (*choices[:MAX_LISTED_CHOICES], "…") if len(choices) > MAX_LISTED_CHOICES else choices
                )
                raise PageError(name, "not_choice", {"name": name, "choices": choice_list, "given": repr_short(value)})
        if self.max_length is None or request.options.max_length is not None:
            return request
        return replace(request, options=replace(request.options, max_length=min(self.max_length, max_tokens)))

    def options(self) -> dict[str, Any]:
        """Return the options in requests from the page, with their default values."""
        options = asdict(self.decoding)
        return {name: options[name] for name in REQUEST_OPTIONS}


def make_plain_defaults(settings: Settings, *, read_back: bool = False) -> ModelDefaults:
    """Return the page's defaults, for a model without generation defaults.

    `read_back`: rerank with the installed reverse model.
    """
    decoding = default_options(settings)
    if read_back and decoding.beam_size > 1:
        decoding = replace(decoding, back_weight=REVERSE_WEIGHT)
    return ModelDefaults(decoding=decoding)


def make_defaults(info: ModelInfo, settings: Settings) -> ModelDefaults:
    """Derive the defaults of a model from its generation settings and languages."""
    defaults, languages = info.generation_defaults, info.languages
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

"""The table of all request and selection fields.

A request determines the answer; a selection determines its presentation on the page. The rows define input validation,
the signatures and documentation of the API, the permalink, and the options of the page and of Two models.
`browser_fields` returns the table for the browser.

To add a decoding option, add a row to `REQUEST_FIELDS`, a field and range to `model/records.py`, and phrases
(`option_NAME`, `field_NAME`, and `api_NAME` if the API accepts it). API arguments may be positional, so a new API row
must follow the existing ones.
"""

# ruff: noqa: RUF009 - `_selection_field` returns a dataclass field

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from headlight.model.errors import ModelError
from headlight.model.measures.roles import NAMES as ROLE_NAMES
from headlight.model.measures.statistics import STATISTICS
from headlight.model.records import (
    DEFAULT_TOP,
    FLOAT_RANGES,
    INT_RANGES,
    KINDS,
    DecodingOptions,
    Kind,
    TranslationRequest,
)
from headlight.viz.errors import PageError, repr_short, to_page_error
from headlight.viz.field_values import (
    BoolValue,
    ChoiceValue,
    FloatValue,
    HeadIdValue,
    HeadValue,
    InterventionsValue,
    IntValue,
    LayerValue,
    RivalValue,
    TextOrIdsValue,
    TextsValue,
    TextValue,
    ValueKind,
)
from headlight.viz.settings import Settings
from headlight.viz.theme import PALETTES

Merged = Literal["mean", "max"]
IndexOrReduction = int | Merged
LayerOrMean = int | Literal["mean"]
HeadId = tuple[LayerOrMean, IndexOrReduction]

BEAM_RANGE = INT_RANGES["beam_size"]
MAX_TOKENS = INT_RANGES["max_length"][1]  # upper bound per sentence
QUESTIONS = ("head-needed", "word-effects", "weight-computed")  # classes of the elements in `viz/widgets/heads`
MEASURES = ("maps", *STATISTICS)
MAX_SAFE_INTEGER = 2**53 - 1  # largest exact integer in JavaScript
MAX_TOP = 50  # heads that /effects measures; each takes one run of the model
MAX_NAME_CHARACTERS = 100  # maximum length of a model's name
MAX_LESSON_CHARACTERS = 800  # maximum length of a lesson's state
MAX_LANGUAGE_CHARACTERS = 40  # maximum length of a language code


@dataclass(frozen=True)
class Field:
    """A row of the table.

    Its phrases are `field_NAME`, `option_NAME` or `tool_NAME` on the page, and `api_NAME` in the API.
    """

    name: str
    value: ValueKind
    in_link: bool = False  # part of the permalink
    ids: bool = False  # also accepted as token ids; NAME_ids in a permalink
    on_page: bool = False  # has a control on the page
    api: tuple[str, ...] = ()  # endpoints with this argument
    always_in_link: bool = False  # in the permalink even with its default value
    default: Any = None
    required: bool = False

    def as_json(self, settings: Settings | None = None) -> dict[str, Any]:
        """Return the row for the browser. Without settings, limits that depend on settings are omitted."""
        properties = {
            name: getattr(self, name) for name in ("name", "default", "in_link", "ids", "on_page", "always_in_link")
        }
        return self.value.as_json(settings) | properties


MAX_BATCH = 64  # sentences per call of /batch
BATCH_FACTOR = 16  # maximum characters of these sentences together, as a multiple of the maximum of one sentence

FREE_ENDPOINTS = ("translate", "attention", "effects", "scan")  # one sentence, with all options
ENDPOINT_NAMES = (*FREE_ENDPOINTS, "judge", "batch")
_DEFAULTS = {
    field.name: field.default
    for record in (TranslationRequest, DecodingOptions)
    for field in dataclasses.fields(record)
    if field.default is not dataclasses.MISSING
}


def _field(name: str, value: ValueKind, **more: Any) -> Field:
    """Return a row with the default of the request record."""
    return Field(name, value, default=_DEFAULTS.get(name), **more)


# fmt: off
REQUEST_FIELDS: tuple[Field, ...] = (
    _field(
        "text", TextValue("max_characters"), in_link=True, api=(*FREE_ENDPOINTS, "judge"), always_in_link=True,
        required=True,
    ),
    _field("model", TextValue(MAX_NAME_CHARACTERS), in_link=True, api=ENDPOINT_NAMES),
    _field("beam_size", IntValue(*BEAM_RANGE, "max_beam"), in_link=True, on_page=True, api=(*FREE_ENDPOINTS, "batch")),
    _field(
        "length_penalty", FloatValue(*FLOAT_RANGES["length_penalty"]), in_link=True, on_page=True,
        api=(*FREE_ENDPOINTS, "batch"),
    ),
    _field("temperature", FloatValue(*FLOAT_RANGES["temperature"]), in_link=True, on_page=True),
    _field("seed", IntValue(0, MAX_SAFE_INTEGER), in_link=True, on_page=True),
    _field("n_best", IntValue(*BEAM_RANGE, "max_beam")),
    _field("max_length", IntValue(*INT_RANGES["max_length"], "max_tokens", empty=True)),
    _field("top_k", IntValue(*INT_RANGES["top_k"])),
    _field("top_p", FloatValue(*FLOAT_RANGES["top_p"])),
    _field("no_repeat", IntValue(*INT_RANGES["no_repeat"])),
    _field("target", TextOrIdsValue(), in_link=True, ids=True, on_page=True, api=(*FREE_ENDPOINTS, "judge")),
    _field("prefix", TextOrIdsValue(), ids=True, api=FREE_ENDPOINTS),
    _field("source_language", TextValue(MAX_LANGUAGE_CHARACTERS), in_link=True, api=ENDPOINT_NAMES),
    _field("target_language", TextValue(MAX_LANGUAGE_CHARACTERS), in_link=True, api=ENDPOINT_NAMES),
    _field("interventions", InterventionsValue(), api=FREE_ENDPOINTS),
    _field("back_weight", FloatValue(*FLOAT_RANGES["back_weight"]), in_link=True, on_page=True, api=FREE_ENDPOINTS),
)
# fmt: on


def _selection_field(value: ValueKind, default: Any, **more: Any) -> Any:
    """Define a field of `Selection` and its table row. All rows are part of the permalink."""
    return dataclasses.field(default=default, metadata={"value": value, **more})


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The current selection. All views read it; it is not part of the cache key."""

    kind: Kind = _selection_field(ChoiceValue(KINDS), "cross", api=("attention",))
    view: str = _selection_field(ChoiceValue(("matrix", "effect", "lines", "numbers")), "matrix")
    lead: bool = _selection_field(BoolValue(), False)  # measure effects on the lead over the likeliest other token
    words: bool = _selection_field(BoolValue(), False, on_page=True)  # whole words instead of sub-words
    scale: str = _selection_field(ChoiceValue(("linear", "log", "row")), "linear", on_page=True)
    special: bool = _selection_field(BoolValue(), True, on_page=True)  # show start and end tokens
    palette: str = _selection_field(ChoiceValue(PALETTES), PALETTES[0], on_page=True)
    rescale: bool = _selection_field(BoolValue(), False, on_page=True)  # rows without special tokens sum to one again
    averages: bool = _selection_field(BoolValue(), False, on_page=True)  # the head wall also shows means and maxima
    threshold: float = _selection_field(FloatValue(0.0, 1.0, 0.01), 0.05)  # weaker lines are not drawn
    layer: LayerOrMean = _selection_field(LayerValue(), 0, api=("attention",), always_in_link=True)
    head: IndexOrReduction = _selection_field(HeadValue(), "mean", api=("attention",), always_in_link=True)
    row: int | None = _selection_field(IntValue(0, MAX_TOKENS - 1, empty=True), None)  # the pinned query
    column: int | None = _selection_field(IntValue(0, MAX_TOKENS - 1, empty=True), None)  # the pinned key
    # The selected target position, for maps whose rows are not target tokens.
    word: int | None = _selection_field(IntValue(0, MAX_TOKENS - 1, empty=True), None)
    # A target position and the token ID of its rival (None: no rival); None: the page's default.
    rival: tuple[int, int | None] | None = _selection_field(RivalValue(MAX_TOKENS - 1), None)
    # Content of the head wall: maps, or a measure per head.
    measure: str = _selection_field(ChoiceValue(MEASURES), MEASURES[0])
    # The role whose heads the wall outlines; empty: none.
    role: str = _selection_field(ChoiceValue(("", *ROLE_NAMES)), "")
    explain: bool = _selection_field(BoolValue(), False)  # whether "Explain this head" is open
    # The question that is open next to the map; empty: none.
    question: str = _selection_field(ChoiceValue(("", *QUESTIONS)), "")
    # Number of target tokens shown; None: all.
    written: int | None = _selection_field(IntValue(1, MAX_TOKENS, empty=True), None)
    pinned: HeadId | None = _selection_field(HeadIdValue(), None)  # the head that the selected head is compared with
    # A head of the second model; None: the most similar to the first model's head.
    beside_head: HeadId | None = _selection_field(HeadIdValue(), None)
    # The second model; empty: one with the same source language.
    beside: str = _selection_field(TextValue(MAX_NAME_CHARACTERS), "")
    # The second model's beam size; None: the first model's.
    beside_beam: int | None = _selection_field(IntValue(*BEAM_RANGE, "max_beam", empty=True), None)
    # Lesson, step and its state: "walk.softmax.token-4.encoder-0-7".
    lesson: str = _selection_field(TextValue(MAX_LESSON_CHARACTERS), "")
    beside_same: bool = _selection_field(BoolValue(), False)  # force the second model to the first model's translation


SELECTION_FIELDS: tuple[Field, ...] = tuple(
    Field(field.name, in_link=True, default=field.default, **field.metadata) for field in dataclasses.fields(Selection)
)
# Input of the Sentiment tab, only for its permalink. Empty values mean the first example and the first model.
CLASSIFIER_FIELDS = (
    Field("review", TextValue("max_characters"), in_link=True, default=""),
    Field("classifier", TextValue(MAX_NAME_CHARACTERS), in_link=True, default=""),
)
# Arguments of the endpoint /effects.
EFFECT_FIELDS = (
    Field("word", TextValue("max_characters"), api=("effects",), required=True),
    Field("rival", TextValue("max_characters"), api=("effects",), default=""),
    Field("top", IntValue(1, MAX_TOP), api=("effects",), default=DEFAULT_TOP),
)
# Argument of the endpoint /batch.
BATCH_FIELDS = (Field("texts", TextsValue(MAX_BATCH, BATCH_FACTOR), api=("batch",), required=True),)
OPTIONS = tuple(
    row for row in REQUEST_FIELDS if row.name in {field.name for field in dataclasses.fields(DecodingOptions)}
)


def parameters(endpoint: str) -> tuple[Field, ...]:
    """Return the parameters of an endpoint in order: sentence, arguments of this endpoint only, decoding options."""
    text, *options = (row for row in (*BATCH_FIELDS, *REQUEST_FIELDS) if endpoint in row.api)
    own = [row for row in (*SELECTION_FIELDS, *EFFECT_FIELDS) if endpoint in row.api]
    if endpoint == "judge":  # /judge scores this translation, so it is required
        (target,) = (row for row in options if row.name == "target")
        own, options = [replace(target, required=True)], [row for row in options if row is not target]
    return (text, *own, *options)


def browser_fields() -> dict[str, list[dict[str, Any]]]:
    """Return the table for the browser: rows by part, with the limits of their types."""
    return {
        part: [row.as_json() | {"option": row in OPTIONS} for row in rows]
        for part, rows in (("request", REQUEST_FIELDS), ("selection", SELECTION_FIELDS), ("judged", CLASSIFIER_FIELDS))
    }


# ---------------------------------------------------------------- parsing requests


def default_options(settings: Settings) -> DecodingOptions:
    """Return the options for requests in which neither the visitor nor the model sets them."""
    return DecodingOptions(beam_size=min(4, settings.max_beam), no_repeat=4)


def parse_request(values: Any, settings: Settings, defaults: DecodingOptions | None = None) -> TranslationRequest:
    """Validate a request from named values; `text` is required.

    `defaults` replace missing options. Without `defaults`, as in the API, those of `DecodingOptions` apply.
    """
    checked = _check_fields(values, REQUEST_FIELDS, settings)
    options = {} if defaults is None else {row.name: getattr(defaults, row.name) for row in OPTIONS}
    if checked.get("temperature", 0) > 0:
        options |= {"beam_size": 1}  # sampling and beam search are mutually exclusive
    options |= {row.name: checked.pop(row.name) for row in OPTIONS if row.name in checked}
    beam = options.get("beam_size", 1)
    if options.get("n_best", 1) > beam:
        value = repr_short(options["n_best"])
        raise PageError("n_best", "not_whole", {"name": "n_best", "low": 1, "high": beam, "given": value})
    try:
        return TranslationRequest(options=DecodingOptions(**options), **checked)
    except ModelError as error:
        raise to_page_error(error) from error


def parse_effect_fields(values: Any, settings: Settings) -> dict[str, Any]:
    """Validate the arguments of /effects."""
    return _check_fields(values, EFFECT_FIELDS, settings)


def parse_texts(values: Any, settings: Settings) -> tuple[Any, ...]:
    """Validate the list of sentences of /batch."""
    texts: tuple[Any, ...] = _check_fields(values, BATCH_FIELDS, settings)["texts"]
    return texts


def parse_selection(values: Any, settings: Settings) -> Selection:
    """Validate a selection from named values; missing fields get their defaults."""
    return replace(Selection(), **_check_fields(values, SELECTION_FIELDS, settings))


def _check_fields(values: Any, rows: Sequence[Field], settings: Settings) -> dict[str, Any]:
    if not isinstance(values, Mapping):
        example = '{"text": "Guten Tag."}'
        raise PageError("text", "not_names", {"given": repr_short(values), "example": example})
    field_names = {row.name for row in rows}
    for name in values:
        if name not in field_names:
            value = {"given": repr_short(name), "choices": ", ".join(row.name for row in rows)}
            raise PageError(name if isinstance(name, str) and name.isidentifier() else "text", "unknown_name", value)
    for row in rows:
        if row.required and row.name not in values:
            raise PageError(row.name, "missing", {"name": row.name})
    return {row.name: row.value.check(row.name, values[row.name], settings) for row in rows if row.name in values}

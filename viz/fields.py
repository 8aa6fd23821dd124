"""Table of all request and selection fields.

A request decides the answer; a selection decides what of it is on the screen. From these rows come the checks of what
a browser or a program sends, the signatures and the documentation of the API, the permalink, the options of the page
and those of Two models. `browser_fields` is the table as the browser gets it.

A new option of decoding: its row in `REQUEST`, its field and range in `model/records.py`, and its words (`option_NAME`,
`field_NAME`; `api_NAME` where the API takes it). Programs pass arguments by position, too: a row for the API goes last
among those.
"""

# ruff: noqa: RUF009 - `_row` returns a dataclass field

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from headlight.model.errors import ModelError
from headlight.model.measures.statistics import STATISTICS
from headlight.model.records import KINDS, REAL_RANGES, WHOLE_RANGES, DecodingOptions, Kind, TranslationRequest
from headlight.viz.errors import PageError, page_error, shown
from headlight.viz.settings import Settings
from headlight.viz.theme import PALETTES
from headlight.viz.values import Changes, Choice, Head, Layer, OneHead, Real, Switch, Text, Value, Whole, Words

Merged = Literal["mean", "max"]
Place = int | Merged
LayerPlace = int | Literal["mean"]
OneOf = tuple[LayerPlace, Place]

BEAM = WHOLE_RANGES["beam_size"]
TOKENS = WHOLE_RANGES["max_length"][1]  # of a sentence, beyond any
MEASURES = ("maps", *STATISTICS)
SAFE = 2**53 - 1  # as far as JavaScript can count
NAME = 100  # characters of a model's name
CHOICE = 800  # characters of what is chosen within a lesson
LANGUAGE = 40  # characters of what a model calls a language


@dataclass(frozen=True)
class Field:
    """One row. Its words are `field_NAME`, on the page `option_NAME` or `tool_NAME`, and in the API `api_NAME`."""

    name: str
    value: Value
    link: bool = False  # it is in the address
    ids: bool = False  # also as ids of tokens, which an address calls NAME_ids
    page: bool = False  # the page has a control for it
    api: tuple[str, ...] = ()  # the endpoints that take it
    always: bool = False  # an address names it even where it has its default
    default: Any = None
    required: bool = False

    def as_json(self, settings: Settings | None = None) -> dict[str, Any]:
        """The row as the browser gets it; with settings, their limits count."""
        own = {name: getattr(self, name) for name in ("name", "default", "link", "ids", "page", "always")}
        return self.value.as_json(settings) | own


BOTH = ("translate", "attention")
_DEFAULTS = {
    each.name: each.default
    for record in (TranslationRequest, DecodingOptions)
    for each in dataclasses.fields(record)
    if each.default is not dataclasses.MISSING
}


def _request(name: str, value: Value, **more: Any) -> Field:
    return Field(name, value, default=_DEFAULTS.get(name), **more)


# fmt: off
REQUEST: tuple[Field, ...] = (
    _request("text", Text("max_characters"), link=True, api=BOTH, always=True, required=True),
    _request("model", Text(NAME), link=True, api=BOTH),
    _request("beam_size", Whole(*BEAM, "max_beam"), link=True, page=True, api=BOTH),
    _request("length_penalty", Real(*REAL_RANGES["length_penalty"]), link=True, page=True, api=BOTH),
    _request("temperature", Real(*REAL_RANGES["temperature"]), link=True, page=True),
    _request("seed", Whole(0, SAFE), link=True, page=True),
    _request("n_best", Whole(*BEAM, "max_beam")),
    _request("max_length", Whole(*WHOLE_RANGES["max_length"], "max_tokens", empty=True)),
    _request("top_k", Whole(*WHOLE_RANGES["top_k"])),
    _request("top_p", Real(*REAL_RANGES["top_p"])),
    _request("no_repeat", Whole(*WHOLE_RANGES["no_repeat"])),
    _request("target", Words(), link=True, ids=True, page=True, api=BOTH),
    _request("prefix", Words(), ids=True, api=BOTH),
    _request("source_language", Text(LANGUAGE), link=True, api=BOTH),
    _request("target_language", Text(LANGUAGE), link=True, api=BOTH),
    _request("interventions", Changes(), api=BOTH),
    _request("back_weight", Real(*REAL_RANGES["back_weight"]), link=True, page=True, api=BOTH),
)
# fmt: on


def _row(value: Value, default: Any, **more: Any) -> Any:
    """A field of `Selection`, which is the row of the table at once; each of them is in the address."""
    return dataclasses.field(default=default, metadata={"value": value, **more})


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The current selection. All views read it; it is not part of the cache key."""

    kind: Kind = _row(Choice(KINDS), "cross", api=("attention",))
    view: str = _row(Choice(("matrix", "lines", "numbers")), "matrix")
    words: bool = _row(Switch(), False, page=True)  # whole words instead of sub-words
    scale: str = _row(Choice(("linear", "log", "row")), "linear", page=True)
    special: bool = _row(Switch(), True, page=True)  # the sentence's end and the start are shown
    palette: str = _row(Choice(PALETTES), PALETTES[0], page=True)
    rescale: bool = _row(Switch(), False, page=True)  # rows without special tokens sum to one again
    threshold: float = _row(Real(0.0, 1.0, 0.01), 0.05)  # weaker lines are not drawn
    layer: LayerPlace = _row(Layer(), 0, api=("attention",), always=True)
    head: Place = _row(Head(), "mean", api=("attention",), always=True)
    row: int | None = _row(Whole(0, TOKENS - 1, empty=True), None)  # the pinned query
    column: int | None = _row(Whole(0, TOKENS - 1, empty=True), None)  # the pinned key
    measure: str = _row(Choice(MEASURES), MEASURES[0])  # what the wall shows: the maps, or a measure of each head
    written: int | None = _row(Whole(1, TOKENS, empty=True), None)  # tokens of the translation so far; None: all
    pinned: OneOf | None = _row(OneHead(), None)  # the other side of a comparison
    beside_head: OneOf | None = _row(OneHead(), None)  # of the second model; None: the one most like the first's
    beside: str = _row(Text(NAME), "")  # the second of two models; empty: one that reads the same language
    beside_beam: int | None = _row(Whole(*BEAM, "max_beam", empty=True), None)  # None: as wide as the first model's
    lesson: str = _row(Text(CHOICE), "")  # lesson, step, and what is chosen there: "walk.softmax.token-4.encoder-0-7"
    beside_same: bool = _row(Switch(), False)  # the second model reads the first one's translation


SELECTION: tuple[Field, ...] = tuple(
    Field(each.name, link=True, default=each.default, **each.metadata) for each in dataclasses.fields(Selection)
)
# What Sentiment judges, which is in the address of that tab alone. Empty: its first example, and its first model.
JUDGED = (
    Field("review", Text("max_characters"), link=True, default=""),
    Field("classifier", Text(NAME), link=True, default=""),
)
OPTIONS = tuple(row for row in REQUEST if row.name in {each.name for each in dataclasses.fields(DecodingOptions)})
PAGE_OPTIONS = tuple(row.name for row in OPTIONS if row.page)


def parameters(endpoint: str) -> tuple[Field, ...]:
    """What an endpoint takes, in order: the sentence, where to look, then how to translate."""
    text, *rest = (row for row in REQUEST if endpoint in row.api)
    return (text, *(row for row in SELECTION if endpoint in row.api), *rest)


def browser_fields() -> dict[str, list[dict[str, Any]]]:
    """The table as the browser gets it: each part's rows with the limits of their kind."""
    return {
        part: [row.as_json() | {"option": row in OPTIONS} for row in rows]
        for part, rows in (("request", REQUEST), ("selection", SELECTION), ("judged", JUDGED))
    }


# ---------------------------------------------------------------- what a browser or a program sends


def default_options(settings: Settings) -> DecodingOptions:
    """Default options if neither the visitor nor the model sets any."""
    return DecodingOptions(beam_size=min(4, settings.max_beam), no_repeat=4)


def request_from(values: Any, settings: Settings, defaults: DecodingOptions | None = None) -> TranslationRequest:
    """A checked request from names with values, of which `text` must be there.

    `defaults` are the options that count where none is named; a program that names none gets `DecodingOptions()`.
    """
    checked = _checked(values, REQUEST, settings)
    options = {} if defaults is None else {row.name: getattr(defaults, row.name) for row in OPTIONS}
    if checked.get("temperature", 0) > 0:
        options |= {"beam_size": 1}  # sampling and beam search exclude each other
    options |= {row.name: checked.pop(row.name) for row in OPTIONS if row.name in checked}
    beam = options.get("beam_size", 1)
    if options.get("n_best", 1) > beam:
        given = shown(options["n_best"])
        raise PageError("n_best", "not_whole", {"name": "n_best", "low": 1, "high": beam, "given": given})
    try:
        return TranslationRequest(options=DecodingOptions(**options), **checked)
    except ModelError as error:
        raise page_error(error) from error


def selection_from(values: Any, settings: Settings) -> Selection:
    """A checked selection from names with values; what is not named has its default."""
    return replace(Selection(), **_checked(values, SELECTION, settings))


def _checked(values: Any, rows: Sequence[Field], settings: Settings) -> dict[str, Any]:
    if not isinstance(values, Mapping):
        example = '{"text": "Guten Tag."}'
        raise PageError("text", "not_names", {"given": shown(values), "example": example})
    known = {row.name for row in rows}
    for name in values:
        if name not in known:
            given = {"given": shown(name), "choices": ", ".join(row.name for row in rows)}
            raise PageError(name if isinstance(name, str) and name.isidentifier() else "text", "unknown_name", given)
    for row in rows:
        if row.required and row.name not in values:
            raise PageError(row.name, "missing", {"name": row.name})
    return {row.name: row.value.check(row.name, values[row.name], settings) for row in rows if row.name in values}

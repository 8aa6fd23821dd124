"""What a visitor asks and what they look at, checked when a browser or a program sends it.

A `Session` is a request, which decides the answer, and a `Selection`, which decides what of it is on the screen. Both
are frozen. A program that names no option gets none; the page has defaults: `default_options`. The page's address holds
a session, too: the browser writes and reads it, in `widgets/core/link.js`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Literal, get_args

from headlight.model.errors import ModelError
from headlight.model.records import KINDS, DecodingOptions, Kind, TranslationRequest, Words
from headlight.viz.errors import PageError, page_error, shown
from headlight.viz.settings import Settings

Merged = Literal["mean", "max"]
View = Literal["matrix", "lines", "numbers"]
Scale = Literal["linear", "log", "row"]
Palette = Literal["headlight", "cividis", "grey"]
Layer = int | Literal["mean"]
Place = int | Merged

MOST_LAYERS = 1000  # of layers and heads: beyond any model; the page goes to the nearest that there is
MOST_TOKENS = 4096
MOST_IDS = 10_000_000  # of a vocabulary
LONGEST_LANGUAGE = 40  # characters of what a model calls a language


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What one looks at. Every view reads it, and it never decides an answer."""

    kind: Kind = "cross"
    layer: Layer = 0
    head: Place = 0
    row: int | None = None  # the pinned query
    column: int | None = None  # the pinned key
    view: View = "matrix"
    words: bool = False  # whole words instead of sub-words
    special: bool = True  # the sentence's end and the start are shown
    rescale: bool = False  # rows without special tokens are made to sum to one again
    scale: Scale = "linear"
    palette: Palette = "headlight"
    pinned: tuple[Layer, Place] | None = None  # layer and head of the other side of a comparison
    threshold: float = 0.05  # weaker lines are not drawn
    beside: str = ""  # the second of two models; empty: one that reads the same language
    beside_head: tuple[Layer, Place] | None = None  # its layer and head; None: the one most like the first model's
    beside_beam: int | None = None  # None: as wide as the first model's
    beside_same: bool = False  # the second model reads the first one's translation instead of writing its own


@dataclass(frozen=True, kw_only=True)
class Session:
    """All that another visitor needs to see the same."""

    request: TranslationRequest
    selection: Selection = Selection()


def default_options(settings: Settings) -> DecodingOptions:
    """How the page translates where a visitor changes nothing."""
    return DecodingOptions(beam_size=min(4, settings.max_beam), no_repeat=4)


_OPTIONS = (
    "beam_size",
    "length_penalty",
    "n_best",
    "max_length",
    "temperature",
    "top_k",
    "top_p",
    "seed",
    "no_repeat",
)
_SELECTION = tuple(field.name for field in fields(Selection))
_REQUEST = ("text", "model", "target", "prefix", "source_language", "target_language")
NAMES = (*_REQUEST, *_OPTIONS, *_SELECTION)

# ---------------------------------------------------------------- single values


def check_text(name: str, value: Any, *, limit: int) -> str:
    """A text of no more than so many characters, each of them whole."""
    if not isinstance(value, str):
        raise PageError(name, "not_text", {"name": name, "given": shown(value)})
    if len(value) > limit:
        raise PageError(name, "too_long", {"name": name, "given": len(value), "limit": limit})
    for place, letter in enumerate(value):
        if "\ud800" <= letter <= "\udfff":
            raise PageError(name, "half_character", {"name": name, "place": place + 1})
    return value


def _whole(name: str, value: Any, *, low: int, high: int) -> int:
    """A whole number; JavaScript knows but one kind of number, so 2.0 is one, too."""
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole or not low <= value <= high:
        raise PageError(name, "not_whole", {"name": name, "low": low, "high": high, "given": shown(value)})
    return int(value)


def _real(name: str, value: Any, *, low: float, high: float) -> float:
    # Every comparison with NaN is false, so that it fails here like any number out of range.
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise PageError(name, "not_number", {"name": name, "low": low, "high": high, "given": shown(value)})
    return float(value)


def _switch(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise PageError(name, "not_switch", {"name": name, "given": shown(value)})
    return value


def check_choice(name: str, value: Any, *, choices: tuple[str, ...]) -> str:
    """One of a few names."""
    if not isinstance(value, str) or value not in choices:
        raise PageError(name, "not_choice", {"name": name, "choices": ", ".join(choices), "given": shown(value)})
    return value


def check_place(name: str, value: Any, *, count: int, merged: Sequence[str] = ()) -> Any:
    """A layer or head, counted from 0, or one of the names of several of them together."""
    if isinstance(value, str) and value in merged:
        return value
    try:
        return _whole(name, value, low=0, high=count - 1)
    except PageError as error:
        if not merged:
            raise
        choices = ", ".join((f"0 to {count - 1}", *merged))
        raise PageError(name, "not_choice", {"name": name, "choices": choices, "given": shown(value)}) from error


_layer = partial(check_place, count=MOST_LAYERS, merged=("mean",))
_head = partial(check_place, count=MOST_LAYERS, merged=get_args(Merged))


def _pair(name: str, value: Any) -> tuple[Layer, Place]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise PageError(name, "not_choice", {"name": name, "choices": "[layer, head], null", "given": shown(value)})
    return _layer(name, value[0]), _head(name, value[1])


def _words(name: str, value: Any, *, settings: Settings) -> Words | None:
    """A translation or its beginning: text, or the exact ids of tokens. An empty field means none."""
    if isinstance(value, list | tuple):
        if len(value) > settings.max_tokens:
            limit = settings.max_tokens
            raise PageError(name, "too_many_tokens", {"name": name, "given": len(value), "limit": limit})
        return tuple(_token(name, token) for token in value) or None
    if not isinstance(value, str):
        raise PageError(name, "not_words", {"name": name, "given": shown(value)})
    return check_text(name, value, limit=settings.max_characters) or None


def _token(name: str, value: Any) -> int:
    """An id; nobody chose it as a number, so that no limits are told."""
    try:
        return _whole(name, value, low=0, high=MOST_IDS)
    except PageError as error:
        raise PageError(name, "wrong_ids", {"name": name}) from error


def _or_none(check: Callable[[str, Any], Any], name: str, value: Any) -> Any:
    return None if value is None else check(name, value)


def _checks(settings: Settings) -> dict[str, Callable[[str, Any], Any]]:
    """How each value is checked."""
    position = partial(_or_none, partial(_whole, low=0, high=MOST_TOKENS - 1))
    return {
        "text": partial(check_text, limit=settings.max_characters),
        "model": partial(check_text, limit=100),
        "target": partial(_or_none, partial(_words, settings=settings)),
        "prefix": partial(_or_none, partial(_words, settings=settings)),
        "source_language": partial(check_text, limit=LONGEST_LANGUAGE),
        "target_language": partial(check_text, limit=LONGEST_LANGUAGE),
        "beam_size": partial(_whole, low=1, high=settings.max_beam),
        "length_penalty": partial(_real, low=0.0, high=10.0),
        "n_best": partial(_whole, low=1, high=settings.max_beam),
        "max_length": partial(_or_none, partial(_whole, low=1, high=settings.max_tokens)),
        "temperature": partial(_real, low=0.0, high=10.0),
        "top_k": partial(_whole, low=0, high=1_000_000),
        "top_p": partial(_real, low=0.0, high=1.0),
        "seed": partial(_whole, low=0, high=2**53 - 1),  # as far as JavaScript can count
        "no_repeat": partial(_whole, low=0, high=100),
        "kind": partial(check_choice, choices=KINDS),
        "layer": _layer,
        "head": _head,
        "row": position,
        "column": position,
        "view": partial(check_choice, choices=get_args(View)),
        "words": _switch,
        "special": _switch,
        "rescale": _switch,
        "scale": partial(check_choice, choices=get_args(Scale)),
        "palette": partial(check_choice, choices=get_args(Palette)),
        "pinned": partial(_or_none, _pair),
        "threshold": partial(_real, low=0.0, high=1.0),
        "beside": partial(check_text, limit=100),
        "beside_head": partial(_or_none, _pair),
        "beside_beam": partial(_or_none, partial(_whole, low=1, high=settings.max_beam)),
        "beside_same": _switch,
    }


# ---------------------------------------------------------------- from a browser


def session_from(values: Any, settings: Settings, usual: DecodingOptions | None = None) -> Session:
    """A session from whatever a browser sends: names with values, of which `text` must be there.

    `usual` are the options that count where none is named; a program that names none gets the plainest.
    """
    if not isinstance(values, Mapping):
        example = '{"text": "Guten Tag."}'
        raise PageError("text", "not_names", {"given": shown(values), "example": example})
    for name in values:
        if name not in NAMES:
            given = {"given": shown(name), "choices": ", ".join(NAMES)}
            raise PageError(name if isinstance(name, str) and name.isidentifier() else "text", "unknown_name", given)
    if "text" not in values:
        raise PageError("text", "missing", {"name": "text"})
    checked = {name: check(name, values[name]) for name, check in _checks(settings).items() if name in values}
    return _session(checked, usual)


def _session(checked: Mapping[str, Any], usual: DecodingOptions | None = None) -> Session:
    """Single values are sound; do they fit together? `usual` are the options where none is named."""
    options = {} if usual is None else {name: getattr(usual, name) for name in _OPTIONS}
    if checked.get("temperature", 0) > 0:
        options |= {"beam_size": 1}  # chance and search exclude each other
    options |= {name: value for name, value in checked.items() if name in _OPTIONS}
    beam = options.get("beam_size", 1)
    if options.get("n_best", 1) > beam:
        given = shown(options["n_best"])
        raise PageError("n_best", "not_whole", {"name": "n_best", "low": 1, "high": beam, "given": given})
    try:
        request = TranslationRequest(
            text=checked.get("text", ""),
            model=checked.get("model", ""),
            options=DecodingOptions(**options),
            target=checked.get("target"),
            prefix=checked.get("prefix"),
            source_language=checked.get("source_language", ""),
            target_language=checked.get("target_language", ""),
        )
    except ModelError as error:
        raise page_error(error) from error
    chosen = {name: value for name, value in checked.items() if name in _SELECTION}
    return Session(request=request, selection=replace(Selection(), **chosen))

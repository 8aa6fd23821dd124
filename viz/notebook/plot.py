"""`headlight.figure`: any view of `viz/figures` as a `plotly.graph_objects.Figure`."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any, cast

import plotly.graph_objects as go

from headlight.model.recordings.recording import Recording, RecordingError, did_you_mean
from headlight.model.records import AttentionMap, BeamTree, MapKind, Translation
from headlight.viz.figure_phrases import LANGUAGES, figure_words
from headlight.viz.figures import FIGURES
from headlight.viz.notebook.display import record
from headlight.viz.theme import THEMES, head_colour

Heads = list[tuple[int | None, int | None]]  # layer and head; None: the first layer, the mean of the heads


def figure(
    view: str,
    attention: Any,
    *,
    kind: str | None = None,
    layer: int | None = None,
    head: int | None = 0,
    heads: Heads | None = None,
    theme: str = "light",
    language: str = "en",
    **options: Any,
) -> go.Figure:
    """Draw one of `headlight.viz.figures.FIGURES`. `options` are specific to the figure, such as `scale="log"`.

    `attention` is any input of `show`, or an `AttentionMap`. "heatmap" draws one head: `layer` is its number in the
    model, by default the first layer; `head=None` draws the mean of the layer. "lines" and "compare" draw the `heads`,
    listed as (layer, head). "overview" draws all heads. "beam", "probabilities" and "positions" (`kind`: "encoder" or
    "decoder") need a `Translation`. "neurons" needs `(query, key, row, column)`, two vectors of one head and their
    tokens, and `weight=`.
    """
    for name, value, choices in (
        ("view", view, tuple(FIGURES)),
        ("theme", theme, tuple(THEMES)),
        ("language", language, LANGUAGES),
    ):
        if value not in choices:
            raise RecordingError(f"{name} must be one of {', '.join(choices)}, but {value!r} was given.")
    draw_figure = FIGURES[view]
    names = [name for name, option in signature(draw_figure).parameters.items() if option.kind is option.KEYWORD_ONLY]
    names = [name for name in names if name not in ("theme", "words", "numbers")]
    for name in options:
        if name not in names:
            arguments = ("kind", "layer", "head", "heads", "theme", "language", *names)
            raise RecordingError(
                f"The figure {view} has no option {name!r}.{did_you_mean(name, arguments)} "
                f"Its options are {', '.join(names)}."
            )
    style = {"theme": THEMES[cast("Any", theme)], "words": figure_words(view, language), **options}
    selected_heads = heads or [(layer, head)]
    result: go.Figure = _DRAWERS[view](attention, kind, selected_heads, style)
    return result


def _maps(data: Any, kind: str | None, heads: Heads) -> list[AttentionMap]:
    if isinstance(data, AttentionMap):
        return [data]
    if isinstance(data, (list, tuple)) and data and all(isinstance(item, AttentionMap) for item in data):
        return list(data)
    recording = data if isinstance(data, Translation) else record(data)
    map_kind = _kind(recording, kind)
    first_layer = 0 if isinstance(recording, Translation) else recording.of(map_kind).numbers[0]
    return [
        recording.attention_map(cast("Any", map_kind), first_layer if layer is None else layer, head)
        for layer, head in heads
    ]


def _kind(recording: Translation | Recording, kind: str | None) -> MapKind:
    kinds: tuple[MapKind, ...] = (
        ("cross", "encoder", "decoder") if isinstance(recording, Translation) else recording.kinds
    )
    if kind is None:
        return "cross" if "cross" in kinds else kinds[0]
    if kind not in kinds:
        raise RecordingError(f"kind must be one of {', '.join(kinds)}, but {kind!r} was given.")
    return kind


def _heatmap(data: Any, kind: str | None, heads: Heads, style: dict[str, Any]) -> go.Figure:
    return FIGURES["heatmap"](_maps(data, kind, heads)[0], **style)


def _lines(data: Any, kind: str | None, heads: Heads, style: dict[str, Any]) -> go.Figure:
    maps = _maps(data, kind, heads)
    colours = [head_colour(style["theme"], index) for index in range(len(maps))]
    return FIGURES["lines"](list(zip(maps, colours, strict=True)), **style)


def _compare(data: Any, kind: str | None, heads: Heads, style: dict[str, Any]) -> go.Figure:
    maps = _maps(data, kind, heads)
    if len(maps) != 2:
        raise RecordingError("compare draws two heads. Name them: heads=[(0, 0), (0, 1)].")
    return FIGURES["compare"](*maps, **style)


def _overview(data: Any, kind: str | None, _: Heads, style: dict[str, Any]) -> go.Figure:
    recording = data if isinstance(data, Translation) else record(data)
    map_kind = _kind(recording, kind)
    numbers = None if isinstance(recording, Translation) else recording.of(map_kind).numbers
    return FIGURES["overview"](recording, map_kind, numbers=numbers, **style)


def _require_translation(data: Any, view: str) -> Translation:
    if not isinstance(data, Translation):
        raise RecordingError(f"{view} needs a Translation, but {type(data).__name__} was given.")
    return data


def _positions(data: Any, kind: str | None, _: Heads, style: dict[str, Any]) -> go.Figure:
    table = data.positions[kind or "encoder"] if isinstance(data, Translation) else data
    return FIGURES["positions"](table, **style)


def _beam(data: Any, _: str | None, __: Heads, style: dict[str, Any]) -> go.Figure:
    return FIGURES["beam"](data if isinstance(data, BeamTree) else _require_translation(data, "beam").tree, **style)


def _neurons(data: Any, _: str | None, __: Heads, style: dict[str, Any]) -> go.Figure:
    return FIGURES["neurons"](*data, **style)


_DRAWERS: dict[str, Callable[[Any, str | None, Heads, dict[str, Any]], go.Figure]] = {
    "heatmap": _heatmap,
    "overview": _overview,
    "compare": _compare,
    "lines": _lines,
    "positions": _positions,
    "probabilities": lambda data, _, __, style: FIGURES["probabilities"](
        _require_translation(data, "probabilities"), **style
    ),
    "beam": _beam,
    "neurons": _neurons,
}

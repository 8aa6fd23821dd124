"""Figures for print: the current view or all heads, with kind, model and sentence as captions."""

from __future__ import annotations

import json
from typing import Any

import plotly.graph_objects as go

from headlight.model.records import AttentionMap, Translation
from headlight.viz.figure_phrases import figure_words, phrase
from headlight.viz.figures import FIGURES
from headlight.viz.figures.titles import add_title_lines
from headlight.viz.request_fields import Selection
from headlight.viz.theme import THEMES, Theme
from headlight.viz.token_labels import make_visible

MAX_TEXT_CHARACTERS = 400  # characters of a sentence; with a longer one, the figure would be mostly title


def map_figure(
    translation: Translation,
    selection: Selection,
    first: AttentionMap | None,
    second: AttentionMap,
    *,
    model: str,
    theme: str,
    language: str,
    effects: str = "",
) -> Any:
    """Draw the map `second` or its lines, compared with `first` if it is not None.

    `effects`: the caption of a map of effects, see `effect_sentence`; empty for weights.
    """
    colours: Theme = THEMES[theme]  # type: ignore[index]
    style: dict[str, Any] = {"theme": colours, "palette": selection.palette}
    if selection.view == "lines":
        maps = [(second, colours.accent)] if first is None else [(first, colours.head_a), (second, colours.head_b)]
        words = figure_words("lines", language)
        figure = FIGURES["lines"](maps, theme=colours, words=words, threshold=selection.threshold)
    elif effects:  # a comparison shows head B
        words = figure_words("heatmap", language) | {"effect_on": effects}
        figure = FIGURES["heatmap"](second, words=words, scale="effect", **style)
    elif first is not None:
        figure = FIGURES["compare"](first, second, words=figure_words("compare", language), **style)
    else:
        figure = FIGURES["heatmap"](second, words=figure_words("heatmap", language), scale=selection.scale, **style)
    return _prepare_for_print(figure, translation, selection, model, language)


def wall_figure(translation: Translation, selection: Selection, *, model: str, theme: str, language: str) -> Any:
    """Draw all heads of the selected kind, with averages."""
    colours: Theme = THEMES[theme]  # type: ignore[index]
    words = figure_words("overview", language)
    figure = FIGURES["overview"](translation, selection.kind, theme=colours, words=words, palette=selection.palette)
    return _prepare_for_print(figure, translation, selection, model, language)


def _prepare_for_print(
    figure: go.Figure, translation: Translation, selection: Selection, model: str, language: str
) -> Any:
    lines = (
        phrase("picture_source", language, text=_shorten(translation.source_text)),
        phrase("picture_translation", language, text=_shorten(translation.text), model=make_visible(model)),
    )
    add_title_lines(figure, phrase(f"kind_{selection.kind}", language), lines)
    figure.update_traces(hovertext=None, hoverinfo="skip")  # hover texts are useless in print, and most of the size
    return json.loads(figure.to_json())


def _shorten(text: str) -> str:
    visible = make_visible(" ".join(text.split()))
    return visible if len(visible) <= MAX_TEXT_CHARACTERS else visible[: MAX_TEXT_CHARACTERS - 1] + "…"

"""Plotly figures as JSON in the page's colours and language; the page renders the titles."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from headlight.viz.field_values import check_choice
from headlight.viz.figure_phrases import LANGUAGES, figure_words
from headlight.viz.figures import FIGURES
from headlight.viz.figures.titles import header_height
from headlight.viz.theme import THEMES, Theme, ThemeName

TOP_MARGIN = 24  # pixels above an untitled figure, for the labels of its upper axis


@dataclass(frozen=True)
class FigureStyle:
    """Theme and language of a figure."""

    theme: Theme
    language: str


def parse_style(values: Mapping[str, Any]) -> FigureStyle:
    """Validate theme and language of a request."""
    theme = check_choice("theme", values.get("theme"), choices=get_args(ThemeName))
    language = check_choice("language", values.get("language"), choices=LANGUAGES)
    return FigureStyle(THEMES[theme], language)  # type: ignore[index]


def figure_json(name: str, style: FigureStyle, *arguments: Any, **options: Any) -> dict[str, Any]:
    """Return a figure without its title as JSON."""
    figure = FIGURES[name](*arguments, theme=style.theme, words=figure_words(name, style.language), **options)
    header = header_height(figure.layout.title)
    margin = figure.layout.margin.t - header + TOP_MARGIN
    figure.update_layout(title={"text": "", "subtitle": {"text": ""}}, margin={"t": margin})
    figure.update_layout(height=figure.layout.height - header + TOP_MARGIN)
    results: dict[str, Any] = json.loads(figure.to_json())
    return results

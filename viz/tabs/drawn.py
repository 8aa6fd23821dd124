"""Figures as a tab sends them: in the page's colours and language, without the title, which the page says itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from headlight.viz.figures import FIGURES
from headlight.viz.figures.frame import header_height
from headlight.viz.theme import THEMES, Theme, ThemeName
from headlight.viz.values import check_choice
from headlight.viz.words import LANGUAGES, figure_words

ABOVE = 24  # pixels above an untitled figure, for the labels of its upper axis


@dataclass(frozen=True)
class Look:
    """How a figure is to appear."""

    theme: Theme
    language: str


def look_from(values: Mapping[str, Any]) -> Look:
    """Theme and language, from whatever a browser sent."""
    theme = check_choice("theme", values.get("theme"), choices=get_args(ThemeName))
    language = check_choice("language", values.get("language"), choices=LANGUAGES)
    return Look(THEMES[theme], language)  # type: ignore[index]


def drawn(name: str, look: Look, *given: Any, **more: Any) -> dict[str, Any]:
    """A figure as plain JSON."""
    figure = FIGURES[name](*given, theme=look.theme, words=figure_words(name, look.language), **more)
    header = header_height(figure.layout.title)
    margin = figure.layout.margin.t - header + ABOVE
    figure.update_layout(title={"text": "", "subtitle": {"text": ""}}, margin={"t": margin})
    figure.update_layout(height=figure.layout.height - header + ABOVE)
    found: dict[str, Any] = json.loads(figure.to_json())
    return found

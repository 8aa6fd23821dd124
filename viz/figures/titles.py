"""The space around a figure: its title, and captions at its edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import plotly.graph_objects as go

from headlight.viz.theme import CAPTION, Theme
from headlight.viz.token_labels import plotly_text, wrap

TITLE_LINE, SENTENCE_LINE = 30, 20  # pixels


def header_height(title: Mapping[str, Any]) -> float:
    """Pixels from the top to the end of the title's sentence, with room below."""
    lines = str(title["subtitle"]["text"]).count("<br>") + 1
    return 16.0 + TITLE_LINE + SENTENCE_LINE * lines + 20


def caption(text: str, theme: Theme, **place: Any) -> dict[str, Any]:
    """A small grey text; `place` is a Plotly position."""
    return {"text": text, "showarrow": False, "font": {"size": CAPTION, "color": theme.ink_3}, **place}


def add_title_lines(figure: go.Figure, name: str, lines: Sequence[str]) -> None:
    """Put a name before the figure's title and more lines below its sentence; the figure grows by their height."""
    layout = figure.layout
    columns = max(24, int((layout.width - 32) / 7))
    more = [plotly_text(line) for text in lines for line in wrap(text, columns)]
    title, subtitle = layout.title.text, layout.title.subtitle.text
    before = header_height(layout.title)
    figure.update_layout(title={"text": f"{name} · {title}", "subtitle": {"text": "<br>".join([subtitle, *more])}})
    grown = ceil(header_height(layout.title) - before)
    figure.update_layout(height=layout.height + grown, margin={"t": layout.margin.t + grown})


def corner_caption(said: Mapping[str, str], theme: Theme, *, x: str = "x", y: str = "y") -> list[dict[str, Any]]:
    """What columns and rows are, in the corner between their labels."""
    place = {"xref": f"{x} domain", "yref": f"{y} domain", "x": 0, "y": 1, "xanchor": "right", "yanchor": "bottom"}
    return [
        caption(said["looked_at"], theme, **place, xshift=-10, yshift=20),
        caption(said["looking"], theme, **place, xshift=-10, yshift=4),
    ]

"""Titles and captions around a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import plotly.graph_objects as go

from headlight.viz.theme import CAPTION, Theme
from headlight.viz.token_labels import plotly_text, wrap

TITLE_LINE, SENTENCE_LINE = 30, 20  # pixels


def header_height(title: Mapping[str, Any]) -> float:
    """Return the height of the title and its subtitle in pixels, with a margin below."""
    lines = str(title["subtitle"]["text"]).count("<br>") + 1
    return 16.0 + TITLE_LINE + SENTENCE_LINE * lines + 20


def caption(text: str, theme: Theme, **position: Any) -> dict[str, Any]:
    """Return a small grey annotation; `position` are Plotly's position properties."""
    return {"text": text, "showarrow": False, "font": {"size": CAPTION, "color": theme.ink_3}, **position}


def add_title_lines(figure: go.Figure, name: str, lines: Sequence[str]) -> None:
    """Prefix the title with a name and add lines to the subtitle. The figure grows by the height of the lines."""
    layout = figure.layout
    columns = max(24, int((layout.width - 32) / 7))
    wrapped_lines = [plotly_text(line) for text in lines for line in wrap(text, columns)]
    title, subtitle = layout.title.text, layout.title.subtitle.text
    height_before = header_height(layout.title)
    figure.update_layout(
        title={"text": f"{name} · {title}", "subtitle": {"text": "<br>".join([subtitle, *wrapped_lines])}}
    )
    added_height = ceil(header_height(layout.title) - height_before)
    figure.update_layout(height=layout.height + added_height, margin={"t": layout.margin.t + added_height})


def corner_caption(words: Mapping[str, str], theme: Theme, *, x: str = "x", y: str = "y") -> list[dict[str, Any]]:
    """Return the captions of columns and rows, in the corner between their labels."""
    position = {"xref": f"{x} domain", "yref": f"{y} domain", "x": 0, "y": 1, "xanchor": "right", "yanchor": "bottom"}
    return [
        caption(words["looked_at"], theme, **position, xshift=-10, yshift=20),
        caption(words["looking"], theme, **position, xshift=-10, yshift=4),
    ]

"""The space around a figure: its title, and captions at its edges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viz.theme import CAPTION, Theme

TITLE_LINE, SENTENCE_LINE = 30, 20  # pixels


def header_height(title: Mapping[str, Any]) -> float:
    """Pixels from the top to the end of the title's sentence, with room below."""
    lines = str(title["subtitle"]["text"]).count("<br>") + 1
    return 16.0 + TITLE_LINE + SENTENCE_LINE * lines + 20


def caption(text: str, theme: Theme, **place: Any) -> dict[str, Any]:
    """A small grey text; `place` says where, in Plotly's words."""
    return {"text": text, "showarrow": False, "font": {"size": CAPTION, "color": theme.ink_3}, **place}


def corner(said: Mapping[str, str], theme: Theme, *, x: str = "x", y: str = "y") -> list[dict[str, Any]]:
    """What columns and rows are, in the corner between their labels."""
    place = {"xref": f"{x} domain", "yref": f"{y} domain", "x": 0, "y": 1, "xanchor": "right", "yanchor": "bottom"}
    return [
        caption(said["looked_at"], theme, **place, xshift=-10, yshift=20),
        caption(said["looking"], theme, **place, xshift=-10, yshift=4),
    ]

"""Figures: records in, `plotly.graph_objects.Figure` out. Nothing is shown, fetched or kept.

Every function takes `theme` and, for another language, `words`: its module's `WORDS` with other texts.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import plotly.graph_objects as go

from headlight.viz.figures.beam import beam
from headlight.viz.figures.compare import compare
from headlight.viz.figures.confidence import confidence
from headlight.viz.figures.heatmap import heatmap
from headlight.viz.figures.lines import lines
from headlight.viz.figures.neurons import neurons
from headlight.viz.figures.overview import overview
from headlight.viz.figures.positions import positions

FIGURES: dict[str, Callable[..., go.Figure]] = {
    "heatmap": heatmap,
    "overview": overview,
    "compare": compare,
    "lines": lines,
    "positions": positions,
    "confidence": confidence,
    "beam": beam,
    "neurons": neurons,
}
__all__ = [
    "FIGURES",
    "beam",
    "compare",
    "confidence",
    "figure_words",
    "heatmap",
    "lines",
    "neurons",
    "overview",
    "positions",
]


def figure_words() -> dict[str, dict[str, str]]:
    """Every text that figures say of themselves, in English: figure → name → text with {placeholders}."""
    return {name: dict(import_module(f"headlight.viz.figures.{name}").WORDS) for name in FIGURES}

"""Figures: pure functions from records to `plotly.graph_objects.Figure`.

Every function has a parameter `theme` and, for languages other than English, `words` (`figure_words(name, language)`).
"""

from __future__ import annotations

from collections.abc import Callable

import plotly.graph_objects as go

from headlight.viz.figures.beam import beam
from headlight.viz.figures.compare import compare
from headlight.viz.figures.heatmap import heatmap
from headlight.viz.figures.lines import lines
from headlight.viz.figures.neurons import neurons
from headlight.viz.figures.overview import overview
from headlight.viz.figures.positions import positions
from headlight.viz.figures.probabilities import probabilities

FIGURES: dict[str, Callable[..., go.Figure]] = {
    "heatmap": heatmap,
    "overview": overview,
    "compare": compare,
    "lines": lines,
    "positions": positions,
    "probabilities": probabilities,
    "beam": beam,
    "neurons": neurons,
}
__all__ = [
    "FIGURES",
    "beam",
    "compare",
    "heatmap",
    "lines",
    "neurons",
    "overview",
    "positions",
    "probabilities",
]

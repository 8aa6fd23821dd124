"""What the engine needs to draw the pictures of the export menu: colours, Plotly's templates and phrases."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from headlight.viz.figure_phrases import LANGUAGES, figure_words, phrases
from headlight.viz.theme import STOPS, THEMES, colour_scale, plotly_template

FIGURES = ("heatmap", "compare", "lines", "overview")
PREFIXES = ("kind_", "picture_", "export_effect_on_", "title_offline")  # of the phrases around figures


def figure_tables() -> dict[str, Any]:
    """Return the tables of the engine's figures."""
    return {
        "themes": {name: asdict(theme) for name, theme in THEMES.items()},
        "templates": {name: plotly_template(theme).to_plotly_json() for name, theme in THEMES.items()},
        "scales": {name: {scale: colour_scale(scale, theme) for scale in STOPS} for name, theme in THEMES.items()},
        "words": {language: {figure: figure_words(figure, language) for figure in FIGURES} for language in LANGUAGES},
        "phrases": {
            language: {key: text for key, text in phrases(language).items() if key.startswith(PREFIXES)}
            for language in LANGUAGES
        },
    }

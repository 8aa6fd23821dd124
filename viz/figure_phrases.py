"""The phrases of the page and of figures, from one table."""

from __future__ import annotations

from functools import cache

from headlight.model.phrases import LANGUAGES, PHRASES_FOLDER, phrase, phrases, phrases_json

__all__ = ["LANGUAGES", "PHRASES_FOLDER", "figure_words", "phrase", "phrases", "phrases_json"]


@cache
def _figure_words(figure: str, language: str) -> tuple[tuple[str, str], ...]:
    table = phrases(language)
    results: dict[str, str] = {}
    for prefix in ("figure_any_", f"figure_{figure}_"):
        results |= {key.removeprefix(prefix): text for key, text in table.items() if key.startswith(prefix)}
    return tuple(results.items())


def figure_words(figure: str, language: str = "en") -> dict[str, str]:
    """Return the phrases of a figure: the shared ones, overridden by the figure's."""
    return dict(_figure_words(figure, language))

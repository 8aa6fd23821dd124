"""Shared texts of figures: head names, axis descriptions and titles."""

from __future__ import annotations

from collections.abc import Mapping

from headlight.model.records import AttentionMap, MapKind
from headlight.viz.figure_phrases import figure_words
from headlight.viz.token_labels import wrap

MAX_ROW_SUM = 1.001  # one, with a tolerance for rounding


def figure_text(figure: str, words: Mapping[str, str] | None) -> Mapping[str, str]:
    """Return the phrases of a figure, by default in English."""
    return figure_words(figure) | dict(words or {})


def map_name(map: AttentionMap, words: Mapping[str, str], *, has_effects: bool = False) -> str:  # noqa: A002 (the usual term)
    """Return the name of a head, or of the heads that an average or maximum combines. Effects of heads are summed."""
    reduction = "sum" if has_effects else "maximum" if is_maximum(map) else "mean"
    numbers = {"layer": map.layer + 1, "head": 0 if map.head is None else map.head + 1}
    if map.layer < 0:
        return words[f"{reduction}_all" if map.head is None else f"{reduction}_layers"].format(**numbers)
    return words[reduction if map.head is None else "head"].format(**numbers)


def is_maximum(map: AttentionMap) -> bool:  # noqa: A002
    """Whether the map is a maximum over heads. Only then can a row sum to more than one."""
    return bool(map.weights.size) and float(map.weights.sum(axis=1).max()) > MAX_ROW_SUM


def axis_sentence(kind: MapKind, words: Mapping[str, str]) -> str:
    """Return the description of the rows and columns."""
    return words[kind]


def title(name: str, sentence: str, width: int) -> dict[str, object]:
    """Return a title with a sentence below it, wrapped to `width` pixels."""
    lines = wrap(sentence, max(24, int(width / 7)))
    return {
        "text": name,
        "subtitle": {"text": "<br>".join(lines)},
        "x": 0,
        "xref": "container",
        "xanchor": "left",
        "pad": {"l": 16, "t": 16},
        "y": 1,
        "yref": "container",
        "yanchor": "top",
    }

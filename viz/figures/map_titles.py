"""Shared texts of figures: head name and axis description."""

from __future__ import annotations

from collections.abc import Mapping

from headlight.model.records import AttentionMap, MapKind
from headlight.viz.figure_phrases import figure_words
from headlight.viz.token_labels import wrap

MAX_ROW_SUM = 1.001


def figure_text(figure: str, value: Mapping[str, str] | None) -> Mapping[str, str]:
    """The phrases of a figure, by default in English."""
    return figure_words(figure) | dict(value or {})


def map_name(map: AttentionMap, words: Mapping[str, str]) -> str:  # noqa: A002 (the field's own word)
    """Which head this is, or which heads it was made of: an average, or a maximum whose rows sum to more than one."""
    how = "maximum" if is_maximum(map) else "mean"
    numbers = {"layer": map.layer + 1, "head": 0 if map.head is None else map.head + 1}
    if map.layer < 0:
        return words[f"{how}_all" if map.head is None else f"{how}_layers"].format(**numbers)
    return words[how if map.head is None else "head"].format(**numbers)


def is_maximum(map: AttentionMap) -> bool:  # noqa: A002
    """Whether cells are the maxima of several heads: an average's rows sum to one at most."""
    return bool(map.weights.size) and float(map.weights.sum(axis=1).max()) > MAX_ROW_SUM


def axis_sentence(kind: MapKind, words: Mapping[str, str]) -> str:
    """Descriptions of rows and columns."""
    return words[kind]


def title(name: str, sentence: str, width: int) -> dict[str, object]:
    """A title with a sentence below it, in lines that fit this many pixels."""
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

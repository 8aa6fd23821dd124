"""Axis labels of a map: cell size, thinning and orientation.

Axes are numeric because Plotly merges equal labels on a categorical axis. Above 44 tokens, every tenth has a label.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headlight.model.records import AttentionMap, Token
from headlight.viz.theme import LABEL, MIN_FONT_PIXELS, Theme
from headlight.viz.token_labels import TokenLabel, plotly_text, row_labels, text_width, token_labels, vertical_text

DENSE_FROM = 44  # above this number of tokens, only every tenth has a label
LARGEST_CELL, WIDEST_MAP = 38, 680  # pixels
GAP = 10  # between labels and cells
MARGIN = 16  # around the figure


@dataclass(frozen=True)
class AxisLabels:
    """The labels of one axis, with their size and the size of a cell."""

    labels: tuple[TokenLabel, ...]
    cell: float  # pixels per token
    size: float  # font size in pixels

    @property
    def visible_positions(self) -> list[int]:
        """Positions of the visible labels."""
        if len(self.labels) <= DENSE_FROM:
            return list(range(len(self.labels)))
        return list(range(9, len(self.labels), 10))

    @property
    def length(self) -> float:
        """Length of the axis in pixels."""
        return self.cell * len(self.labels)

    @property
    def longest(self) -> float:
        """Width of the longest visible label in pixels."""
        return max((text_width(self.name(position), self.size) for position in self.visible_positions), default=0.0)

    @property
    def extent(self) -> tuple[float, float]:
        """Range of the axis, from the outer edge of the first cell to that of the last."""
        return -0.5, max(1, len(self.labels)) - 0.5

    def name(self, place: int) -> str:
        """Return the name of a visible label; with its number if only every tenth is visible."""
        text = self.labels[place].read + self.labels[place].text
        return text if len(self.labels) <= DENSE_FROM else f"{place + 1} {text}"


def axis_labels(tokens: Sequence[Token], most: float = WIDEST_MAP, largest: float = LARGEST_CELL) -> AxisLabels:
    """Return an axis for the tokens. `most` is its largest length in pixels, `largest` that of a cell."""
    return _edge(token_labels(tokens), len(tokens), most, largest)


def map_axes(
    map: AttentionMap,  # noqa: A002
    most: float = WIDEST_MAP,
    largest: float = LARGEST_CELL,
) -> tuple[AxisLabels, AxisLabels]:
    """Return the row and column axes of a map with square cells, with limits in pixels as in `axis_labels`."""
    longest_side = max(len(map.rows), len(map.columns))
    rows, columns = row_labels(map), token_labels(map.columns)
    return _edge(rows, longest_side, most, largest), _edge(columns, longest_side, most, largest)


def _edge(labels: tuple[TokenLabel, ...], fitting: int, most: float, largest: float) -> AxisLabels:
    cell = min(largest, most / max(1, fitting))
    cell = math.floor(cell) if cell >= 12 else cell
    label_space = cell if len(labels) <= DENSE_FROM else 10 * cell  # one label per ten cells
    size = LABEL if label_space >= 20 else max(MIN_FONT_PIXELS, min(LABEL - 2, label_space - 1))
    return AxisLabels(labels, cell, size)


def rows_axis(edge: AxisLabels, theme: Theme) -> dict[str, Any]:
    """Return the axis of the rows, with the first row on top."""
    low, high = edge.extent
    return {
        "range": [high, low],
        "tickmode": "array",
        "tickvals": edge.visible_positions,
        "ticktext": [_plotly(edge, position) for position in edge.visible_positions],
        "tickfont": {"size": edge.size, "color": theme.ink_2},
        "ticklabelstandoff": GAP - 4,
    }


def columns_axis(edge: AxisLabels, theme: Theme) -> dict[str, Any]:
    """Return the axis of the columns, above the map, with rotated labels. `vertical_labels` returns the others."""
    rotated = [position for position in edge.visible_positions if not _is_vertical(edge, position)]
    return {
        "range": list(edge.extent),
        "side": "top",
        "tickmode": "array",
        "tickvals": rotated,
        "ticktext": [_plotly(edge, position) for position in rotated],
        "tickangle": -90,
        "tickfont": {"size": edge.size, "color": theme.ink_2},
        "ticklabelstandoff": GAP - 4,
    }


def vertical_labels(edge: AxisLabels, theme: Theme, *, x: str = "x", y: str = "y domain") -> list[dict[str, Any]]:
    """Return Chinese, Japanese and Korean column labels, which read from top to bottom without rotation."""
    return [
        {
            "x": position,
            "y": 1,
            "xref": x,
            "yref": y,
            "text": vertical_text(edge.labels[position].text),
            "yanchor": "bottom",
            "yshift": GAP - 4,
            "showarrow": False,
            "font": {"size": edge.size, "color": theme.ink_2},
        }
        for position in edge.visible_positions
        if _is_vertical(edge, position)
    ]


def columns_height(edge: AxisLabels) -> float:
    """Return the height of the column labels in pixels."""
    vertical = [
        1.3 * edge.size * len(edge.labels[position].text)
        for position in edge.visible_positions
        if _is_vertical(edge, position)
    ]
    rotated = [
        text_width(edge.name(position), edge.size)
        for position in edge.visible_positions
        if not _is_vertical(edge, position)
    ]
    return max([*vertical, *rotated], default=0.0) + GAP


def cell_gap(*edges: AxisLabels) -> int:
    """Return the pixels between cells; zero for small cells."""
    return 1 if min(edge.cell for edge in edges) >= 12 else 0


def _is_vertical(edge: AxisLabels, place: int) -> bool:
    return edge.labels[place].is_vertical and len(edge.labels) <= DENSE_FROM


def _plotly(edge: AxisLabels, place: int) -> str:
    label = edge.labels[place]
    text = plotly_text(label.read) + label.plotly
    return text if len(edge.labels) <= DENSE_FROM else f"{place + 1} {text}"

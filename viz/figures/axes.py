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
MAX_CELL_PIXELS, MAX_MAP_PIXELS = 38, 680  # largest side of a cell, and of a map
GAP = 10  # pixels between labels and cells
MARGIN = 16  # pixels around the figure


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
    def max_label_width(self) -> float:
        """Width of the longest visible label in pixels."""
        return max((text_width(self.name(position), self.size) for position in self.visible_positions), default=0.0)

    @property
    def extent(self) -> tuple[float, float]:
        """Range of the axis, from the outer edge of the first cell to that of the last."""
        return -0.5, max(1, len(self.labels)) - 0.5

    def name(self, position: int) -> str:
        """Return the name of a visible label; with its number if only every tenth is visible."""
        text = self.labels[position].read + self.labels[position].text
        return text if len(self.labels) <= DENSE_FROM else f"{position + 1} {text}"


def axis_labels(
    tokens: Sequence[Token], max_length: float = MAX_MAP_PIXELS, max_cell: float = MAX_CELL_PIXELS
) -> AxisLabels:
    """Return an axis for the tokens. `max_length` and `max_cell` limit its length and that of a cell, in pixels."""
    return _fit_labels(token_labels(tokens), len(tokens), max_length, max_cell)


def map_axes(
    map: AttentionMap,  # noqa: A002
    max_length: float = MAX_MAP_PIXELS,
    max_cell: float = MAX_CELL_PIXELS,
) -> tuple[AxisLabels, AxisLabels]:
    """Return the row and column axes of a map with square cells, with limits in pixels as in `axis_labels`."""
    longest_side = max(len(map.rows), len(map.columns))
    rows, columns = row_labels(map), token_labels(map.columns)
    row_axis, column_axis = (_fit_labels(side, longest_side, max_length, max_cell) for side in (rows, columns))
    return row_axis, column_axis


def _fit_labels(labels: tuple[TokenLabel, ...], count: int, max_length: float, max_cell: float) -> AxisLabels:
    cell = min(max_cell, max_length / max(1, count))
    cell = math.floor(cell) if cell >= 12 else cell
    label_space = cell if len(labels) <= DENSE_FROM else 10 * cell  # one label per ten cells
    size = LABEL if label_space >= 20 else max(MIN_FONT_PIXELS, min(LABEL - 2, label_space - 1))
    return AxisLabels(labels, cell, size)


def rows_axis(axis: AxisLabels, theme: Theme) -> dict[str, Any]:
    """Return the axis of the rows, with the first row on top."""
    low, high = axis.extent
    return {
        "range": [high, low],
        "tickmode": "array",
        "tickvals": axis.visible_positions,
        "ticktext": [_tick_text(axis, position) for position in axis.visible_positions],
        "tickfont": {"size": axis.size, "color": theme.ink_2},
        "ticklabelstandoff": GAP - 4,
    }


def columns_axis(axis: AxisLabels, theme: Theme) -> dict[str, Any]:
    """Return the axis of the columns, above the map, with rotated labels. `vertical_labels` returns the others."""
    rotated = [position for position in axis.visible_positions if not _is_vertical(axis, position)]
    return {
        "range": list(axis.extent),
        "side": "top",
        "tickmode": "array",
        "tickvals": rotated,
        "ticktext": [_tick_text(axis, position) for position in rotated],
        "tickangle": -90,
        "tickfont": {"size": axis.size, "color": theme.ink_2},
        "ticklabelstandoff": GAP - 4,
    }


def vertical_labels(axis: AxisLabels, theme: Theme, *, x: str = "x", y: str = "y domain") -> list[dict[str, Any]]:
    """Return Chinese, Japanese and Korean column labels, which read from top to bottom without rotation."""
    return [
        {
            "x": position,
            "y": 1,
            "xref": x,
            "yref": y,
            "text": vertical_text(axis.labels[position].text),
            "yanchor": "bottom",
            "yshift": GAP - 4,
            "showarrow": False,
            "font": {"size": axis.size, "color": theme.ink_2},
        }
        for position in axis.visible_positions
        if _is_vertical(axis, position)
    ]


def columns_height(axis: AxisLabels) -> float:
    """Return the height of the column labels in pixels."""
    vertical = [
        1.3 * axis.size * len(axis.labels[position].text)
        for position in axis.visible_positions
        if _is_vertical(axis, position)
    ]
    rotated = [
        text_width(axis.name(position), axis.size)
        for position in axis.visible_positions
        if not _is_vertical(axis, position)
    ]
    return max([*vertical, *rotated], default=0.0) + GAP


def cell_gap(*axes: AxisLabels) -> int:
    """Return the pixels between cells; zero for small cells."""
    return 1 if min(axis.cell for axis in axes) >= 12 else 0


def _is_vertical(axis: AxisLabels, position: int) -> bool:
    return axis.labels[position].is_vertical and len(axis.labels) <= DENSE_FROM


def _tick_text(axis: AxisLabels, position: int) -> str:
    label = axis.labels[position]
    text = plotly_text(label.read) + label.plotly
    return text if len(axis.labels) <= DENSE_FROM else f"{position + 1} {text}"

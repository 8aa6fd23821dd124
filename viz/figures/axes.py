"""Axis labels of a map: cell size, thinning and orientation.

Axes count 0, 1, 2, … because equal labels merge on an axis of categories. Above 44 tokens every tenth is named.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headlight.model.records import AttentionMap, Token
from headlight.viz.theme import LABEL, MIN_FONT_PIXELS, Theme
from headlight.viz.token_labels import TokenLabel, plotly_text, row_labels, text_width, token_labels, vertical_text

DENSE_FROM = 44  # more tokens than this, and every tenth alone is named
LARGEST_CELL, WIDEST_MAP = 38, 680  # pixels
GAP = 10  # between labels and cells
MARGIN = 16  # around everything


@dataclass(frozen=True)
class AxisLabels:
    """The labels of one axis and their text."""

    labels: tuple[TokenLabel, ...]
    cell: float  # pixels a token
    size: float  # of the letters, in pixels

    @property
    def visible_positions(self) -> list[int]:
        """The places of the labels that are written."""
        if len(self.labels) <= DENSE_FROM:
            return list(range(len(self.labels)))
        return list(range(9, len(self.labels), 10))

    @property
    def length(self) -> float:
        """Pixels from the first token to the last."""
        return self.cell * len(self.labels)

    @property
    def longest(self) -> float:
        """Pixels of the longest written label."""
        return max((text_width(self.name(place), self.size) for place in self.visible_positions), default=0.0)

    @property
    def extent(self) -> tuple[float, float]:
        """From the near edge of the first cell to the far edge of the last."""
        return -0.5, max(1, len(self.labels)) - 0.5

    def name(self, place: int) -> str:
        """One written label, plain; where few are written, with its number."""
        text = self.labels[place].read + self.labels[place].text
        return text if len(self.labels) <= DENSE_FROM else f"{place + 1} {text}"


def axis_labels(tokens: Sequence[Token], most: float = WIDEST_MAP, largest: float = LARGEST_CELL) -> AxisLabels:
    """An axis for these tokens within `pixels`."""
    return _edge(token_labels(tokens), len(tokens), most, largest)


def map_axes(
    map: AttentionMap,  # noqa: A002
    most: float = WIDEST_MAP,
    largest: float = LARGEST_CELL,
) -> tuple[AxisLabels, AxisLabels]:
    """Row and column axes of one map with square cells, within the given pixels."""
    longer = max(len(map.rows), len(map.columns))
    rows, columns = row_labels(map), token_labels(map.columns)
    return _edge(rows, longer, most, largest), _edge(columns, longer, most, largest)


def _edge(labels: tuple[TokenLabel, ...], fitting: int, most: float, largest: float) -> AxisLabels:
    cell = min(largest, most / max(1, fitting))
    cell = math.floor(cell) if cell >= 12 else cell
    room = cell if len(labels) <= DENSE_FROM else 10 * cell  # where few are named, each has the room of ten
    size = LABEL if room >= 20 else max(MIN_FONT_PIXELS, min(LABEL - 2, room - 1))
    return AxisLabels(labels, cell, size)


def rows_axis(edge: AxisLabels, theme: Theme) -> dict[str, Any]:
    """The axis of the rows: the first on top."""
    low, high = edge.extent
    return {
        "range": [high, low],
        "tickmode": "array",
        "tickvals": edge.visible_positions,
        "ticktext": [_plotly(edge, place) for place in edge.visible_positions],
        "tickfont": {"size": edge.size, "color": theme.ink_2},
        "ticklabelstandoff": GAP - 4,
    }


def columns_axis(edge: AxisLabels, theme: Theme) -> dict[str, Any]:
    """The axis of the columns, above the map: turned labels; those that stand upright come by `upright_labels`."""
    turned = [place for place in edge.visible_positions if not _is_vertical(edge, place)]
    return {
        "range": list(edge.extent),
        "side": "top",
        "tickmode": "array",
        "tickvals": turned,
        "ticktext": [_plotly(edge, place) for place in turned],
        "tickangle": -90,
        "tickfont": {"size": edge.size, "color": theme.ink_2},
        "ticklabelstandoff": GAP - 4,
    }


def vertical_labels(edge: AxisLabels, theme: Theme, *, x: str = "x", y: str = "y domain") -> list[dict[str, Any]]:
    """Labels in Chinese, Japanese or Korean: from top to bottom, never turned."""
    return [
        {
            "x": place,
            "y": 1,
            "xref": x,
            "yref": y,
            "text": vertical_text(edge.labels[place].text),
            "yanchor": "bottom",
            "yshift": GAP - 4,
            "showarrow": False,
            "font": {"size": edge.size, "color": theme.ink_2},
        }
        for place in edge.visible_positions
        if _is_vertical(edge, place)
    ]


def columns_height(edge: AxisLabels) -> float:
    """Pixels that the labels of the columns take."""
    upright = [
        1.3 * edge.size * len(edge.labels[place].text) for place in edge.visible_positions if _is_vertical(edge, place)
    ]
    turned = [
        text_width(edge.name(place), edge.size) for place in edge.visible_positions if not _is_vertical(edge, place)
    ]
    return max([*upright, *turned], default=0.0) + GAP


def cell_gap(*edges: AxisLabels) -> int:
    """Pixels between cells; zero for small cells."""
    return 1 if min(edge.cell for edge in edges) >= 12 else 0


def _is_vertical(edge: AxisLabels, place: int) -> bool:
    return edge.labels[place].is_vertical and len(edge.labels) <= DENSE_FROM


def _plotly(edge: AxisLabels, place: int) -> str:
    label = edge.labels[place]
    text = plotly_text(label.read) + label.plotly
    return text if len(edge.labels) <= DENSE_FROM else f"{place + 1} {text}"

"""Overview of all heads of all layers in one figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import numpy as np
import plotly.graph_objects as go

from headlight.model.records import BoolArray, FloatArray, Kind, Translation
from headlight.viz.figures import map_titles
from headlight.viz.figures.cells import colour_bar
from headlight.viz.figures.titles import caption, header_height
from headlight.viz.theme import CAPTION, Theme, colour_scale, plotly_template

MAX_TILE_CELLS = 48  # per side
GAP = 0.12  # between tiles, as a fraction of a tile
AVERAGES_GAP = 0.2  # extra gap before the averages, as a fraction of a tile
TILE = 76  # side of a tile in pixels
TICKS = (0.0, 0.01, 0.1, 0.25, 0.5, 1.0)
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 24, 84  # margins in pixels


def overview(
    translation: Translation,
    kind: Kind,
    *,
    theme: Theme,
    words: Mapping[str, str] | None = None,
    palette: str = "headlight",
    averages: bool = True,
    numbers: Sequence[int] | None = None,
) -> go.Figure:
    """Draw a mosaic of layers × heads, with averages last. Colours show square roots, so small weights are visible.

    `numbers` are those of the layers in their model, from 0, if only some are given.
    """
    texts = map_titles.figure_text("overview", words)
    weights = translation.attention.of(kind)  # [layer, head, query, key]
    layers, heads = weights.shape[:2]
    layer_numbers = range(layers) if numbers is None else numbers
    if averages:
        weights = np.concatenate([weights, weights.mean(axis=1, keepdims=True, dtype=np.float32)], axis=1)
        weights = np.concatenate([weights, weights.mean(axis=0, keepdims=True, dtype=np.float32)], axis=0)
    tiles, allowed, block = _downsample(weights, translation.attention.allowed(kind))
    left, top = _tile_starts(heads, averages), _tile_starts(layers, averages)
    x, y = _edges(left, tiles.shape[3]), _edges(top, tiles.shape[2])
    figure = go.Figure()
    figure.add_heatmap(
        z=np.sqrt(_mosaic(tiles, allowed)),
        x=x,
        y=y,
        zmin=0,
        zmax=1,
        colorscale=colour_scale(palette, theme),
        hoverinfo="skip",
        hoverongaps=False,
        colorbar=colour_bar("linear", texts["weight"], x=0, xanchor="left", y=0, yanchor="top", len=220, ypad=16)
        | {"tickvals": np.sqrt(TICKS).tolist(), "ticktext": [f"{tick:g}" for tick in TICKS]},
    )
    figure.add_trace(_hover_points(left, top, heads, layer_numbers, texts))
    subtitle = texts["says"].format(kind=map_titles.axis_sentence(kind, texts))
    if max(block) > 1:
        subtitle += " " + texts["coarse"].format(rows=block[0], columns=block[1])
    width = max(440, int(LEFT + RIGHT + x[-1] * TILE))
    header = map_titles.title(texts["title"], subtitle, width - 2 * RIGHT)
    top_margin = header_height(header) + TOP
    figure.update_layout(
        template=plotly_template(theme),
        meta={"figure": "overview", "kind": kind, "layers": layers, "heads": heads, "block": list(block)},
        title=header,
        xaxis=_axis(left, range(heads), texts["average"]) | {"side": "top", "range": [0, x[-1]]},
        yaxis=_axis(top, layer_numbers, texts["average"]) | {"range": [y[-1], 0]},
        annotations=[
            caption(texts["heads"], theme, xref="paper", yref="paper", x=0, y=1, xanchor="left", yshift=34),
            caption(
                texts["layers"], theme, xref="paper", yref="paper", x=0, y=1, xanchor="right", xshift=-8, yshift=12
            ),
        ],
        shapes=[
            {
                "type": "rect",
                "layer": "below",
                "x0": x0,
                "x1": x0 + 1,
                "y0": y0,
                "y1": y0 + 1,
                "line": {"width": 0},
                "fillcolor": theme.masked,
            }
            for x0 in left
            for y0 in top
            if not allowed.all()
        ],
        width=width,
        height=ceil(top_margin + y[-1] * TILE + BOTTOM),
        margin={"l": LEFT, "r": width - LEFT - x[-1] * TILE, "t": top_margin, "b": BOTTOM},
        hovermode="closest",
        hoverdistance=-1,  # the whole tile shows the hover text of its centre
    )
    return figure


def _downsample(weights: FloatArray, allowed: BoolArray) -> tuple[FloatArray, BoolArray, tuple[int, int]]:
    """Max-pool weights `[layer, head, query, key]` to `MAX_TILE_CELLS` per side, which preserves thin lines.

    Returns the pooled weights and mask, and the height and width of a pooling block in cells.
    """
    rows, columns = (-(-size // MAX_TILE_CELLS) for size in weights.shape[2:])
    if rows == columns == 1:
        return weights, allowed, (1, 1)
    padding = [(0, -weights.shape[2] % rows), (0, -weights.shape[3] % columns)]
    padded = np.pad(weights, [(0, 0), (0, 0), *padding])
    layers, heads, height, width = padded.shape
    blocks = padded.reshape(layers, heads, height // rows, rows, width // columns, columns)
    allowed_blocks = np.pad(allowed, padding).reshape(height // rows, rows, width // columns, columns)
    return blocks.max(axis=(3, 5)), np.asarray(allowed_blocks.any(axis=(1, 3))), (rows, columns)


def _mosaic(tiles: FloatArray, allowed: BoolArray) -> FloatArray:
    """Join tiles `[layer, head, row, column]` to one array, with an empty row and column between; NaN if masked."""
    layers, heads, height, width = tiles.shape
    canvas = np.full((layers, height + 1, heads, width + 1), np.nan, dtype=np.float32)
    canvas[:, :height, :, :width] = np.where(allowed, tiles, np.float32(np.nan)).transpose(0, 2, 1, 3)
    return canvas.reshape(layers * (height + 1), heads * (width + 1))[:-1, :-1]


def _tile_starts(count: int, averages: bool) -> list[float]:
    """Return the start of each tile, in units of a tile."""
    starts = [number * (1 + GAP) for number in range(count)]
    return [*starts, count * (1 + GAP) + AVERAGES_GAP] if averages else starts


def _edges(starts: list[float], cells: int) -> list[float]:
    """Return the borders of all cells, including the gaps."""
    return [start + cell / cells for start in starts for cell in range(cells + 1)]


def _axis(starts: list[float], numbers: Sequence[int], average: str) -> dict[str, Any]:
    labels = [str(number + 1) for number in numbers] + [average] * (len(starts) - len(numbers))
    return {
        "tickmode": "array",
        "tickvals": [start + 0.5 for start in starts],
        "ticktext": labels,
        "tickfont": {"size": CAPTION},
        "ticklabelstandoff": 4,
    }


def _hover_points(
    left: list[float], top: list[float], heads: int, numbers: Sequence[int], words: Mapping[str, str]
) -> go.Scatter:
    """Return an invisible point at the centre of each tile with its hover text: one text per tile, not per cell."""
    texts = [
        words[_tile_name(layer is not None, head < heads)].format(
            layer=0 if layer is None else layer + 1, head=head + 1
        )
        for layer in [*numbers, *[None] * (len(top) - len(numbers))]
        for head in range(len(left))
    ]
    return go.Scatter(
        x=[start + 0.5 for _ in top for start in left],
        y=[start + 0.5 for start in top for _ in left],
        mode="markers",
        marker={"size": 1, "opacity": 0},
        hovertext=texts,
        hoverinfo="text",
        showlegend=False,
    )


def _tile_name(one_layer: bool, one_head: bool) -> str:
    if one_layer:
        return "head" if one_head else "mean"
    return "mean_layers" if one_head else "mean_all"

"""Heat map of one head or of an average."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

import plotly.graph_objects as go

from headlight.model.records import AttentionMap
from headlight.viz.figures import map_titles
from headlight.viz.figures.axes import (
    MARGIN,
    cell_gap,
    columns_axis,
    columns_height,
    map_axes,
    rows_axis,
    vertical_labels,
)
from headlight.viz.figures.cells import Scale, colour_bar, colour_levels, hatch_shape, hover_texts
from headlight.viz.figures.titles import corner_caption, header_height
from headlight.viz.theme import Theme, colour_scale, plotly_template

MIN_WIDTH = 440  # pixels that a title needs
BOTTOM_MARGIN = 100  # pixels for the legend
LEGEND = {"x": 0, "xanchor": "left", "y": 0, "yanchor": "top", "len": 220, "ypad": 24}


def heatmap(
    map: AttentionMap,  # noqa: A002 (the usual term)
    *,
    theme: Theme,
    words: Mapping[str, str] | None = None,
    scale: Scale = "linear",
    palette: str = "headlight",
    labels: bool = True,
) -> go.Figure:
    """Draw how rows attend to columns. `labels=False` draws only cells.

    Colours always span weights from 0 to 1. On the scale "effect", the map has effects in nats.
    """
    texts = map_titles.figure_text("heatmap", words)
    rows, columns = map_axes(map)
    figure = go.Figure()
    figure.add_heatmap(
        z=colour_levels(map, scale),
        zmin=0,
        zmax=1,
        colorscale=colour_scale("difference" if scale == "effect" else palette, theme),
        hovertext=hover_texts(map.weights, map.allowed, rows, columns, texts) if labels else None,
        hoverinfo="text" if labels else "none",
        hoverongaps=False,
        xgap=cell_gap(rows, columns),
        ygap=cell_gap(rows, columns),
        showscale=labels,
        colorbar=colour_bar(scale, texts["weight" if scale == "linear" else scale], **LEGEND),
    )
    hatching = hatch_shape(map.allowed, theme)
    if hatching is not None:
        figure.add_trace(hatching)
    figure.update_layout(
        template=plotly_template(theme),
        meta={"figure": "heatmap", "kind": map.kind, "layer": map.layer, "head": map.head, "scale": scale},
        xaxis={"range": list(columns.extent)},
        yaxis={"range": list(rows.extent[::-1])},
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        showlegend=False,
    )
    if labels:
        _add_labels(figure, map, texts, theme, has_effects=scale == "effect")
    return figure


def _add_labels(
    figure: go.Figure,
    map: AttentionMap,  # noqa: A002
    words: Mapping[str, str],
    theme: Theme,
    *,
    has_effects: bool,
) -> None:
    rows, columns = map_axes(map)
    left = ceil(max(rows.max_label_width, 84.0) + MARGIN + 12)
    width = max(MIN_WIDTH, int(left + columns.length + MARGIN))
    subtitle = map_titles.axis_sentence(map.kind, words)
    if has_effects:
        subtitle += " " + words["effect_on"]
    elif map_titles.is_maximum(map):
        subtitle += " " + words["not_one"]
    header = map_titles.title(map_titles.map_name(map, words, has_effects=has_effects), subtitle, width - 2 * MARGIN)
    top = ceil(header_height(header) + columns_height(columns))
    figure.update_layout(
        title=header,
        xaxis=columns_axis(columns, theme),
        yaxis=rows_axis(rows, theme),
        annotations=[*vertical_labels(columns, theme), *corner_caption(words, theme)],
        width=width,
        height=top + ceil(rows.length) + BOTTOM_MARGIN,
        margin={"l": left, "r": width - left - columns.length, "t": top, "b": BOTTOM_MARGIN},
    )

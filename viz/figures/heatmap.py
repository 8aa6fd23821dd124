"""Heatmap of one head or of an average."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

import plotly.graph_objects as go

from headlight.model.records import AttentionMap
from headlight.viz.figures import naming
from headlight.viz.figures.axes import SIDE, columns_axis, columns_height, edges_of, gap_of, rows_axis, upright_labels
from headlight.viz.figures.cells import Scale, colour_bar, hatch, hover_texts, levels
from headlight.viz.figures.frame import corner, header_height
from headlight.viz.theme import Theme, colour_scale, template

NARROWEST = 440  # pixels for a title
FOOT = 100  # pixels: the legend
LEGEND = {"x": 0, "xanchor": "left", "y": 0, "yanchor": "top", "len": 220, "ypad": 24}


def heatmap(
    map: AttentionMap,  # noqa: A002 (the field's own word)
    *,
    theme: Theme,
    words: Mapping[str, str] | None = None,
    scale: Scale = "linear",
    palette: str = "headlight",
    labels: bool = True,
) -> go.Figure:
    """Rows look at columns; colour is weight, from 0 to 1 whatever the map. Without `labels`, cells alone."""
    said = naming.wording("heatmap", words)
    rows, columns = edges_of(map)
    figure = go.Figure()
    figure.add_heatmap(
        z=levels(map, scale),
        zmin=0,
        zmax=1,
        colorscale=colour_scale(palette, theme),
        hovertext=hover_texts(map.weights, map.allowed, rows, columns, said) if labels else None,
        hoverinfo="text" if labels else "none",
        hoverongaps=False,
        xgap=gap_of(rows, columns),
        ygap=gap_of(rows, columns),
        showscale=labels,
        colorbar=colour_bar(scale, said["weight" if scale == "linear" else scale], **LEGEND),
    )
    masked = hatch(map.allowed, theme)
    if masked is not None:
        figure.add_trace(masked)
    figure.update_layout(
        template=template(theme),
        meta={"figure": "heatmap", "kind": map.kind, "layer": map.layer, "head": map.head, "scale": scale},
        xaxis={"range": list(columns.reach)},
        yaxis={"range": list(rows.reach[::-1])},
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        showlegend=False,
    )
    if labels:
        _add_labels(figure, map, said, theme)
    return figure


def _add_labels(figure: go.Figure, map: AttentionMap, said: Mapping[str, str], theme: Theme) -> None:  # noqa: A002
    rows, columns = edges_of(map)
    left = ceil(max(rows.longest, 84.0) + SIDE + 12)
    width = max(NARROWEST, int(left + columns.length + SIDE))
    sentence = naming.row_sentence(map.kind, said)
    if naming.is_maximum(map):
        sentence += " " + said["not_one"]
    head = naming.title(naming.map_name(map, said), sentence, width - 2 * SIDE)
    top = ceil(header_height(head) + columns_height(columns))
    figure.update_layout(
        title=head,
        xaxis=columns_axis(columns, theme),
        yaxis=rows_axis(rows, theme),
        annotations=[*upright_labels(columns, theme), *corner(said, theme)],
        width=width,
        height=top + ceil(rows.length) + FOOT,
        margin={"l": left, "r": width - left - columns.length, "t": top, "b": FOOT},
    )

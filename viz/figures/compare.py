"""Comparison of two heads: their maps side by side, and the difference."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

import numpy as np
import plotly.graph_objects as go

from headlight.model.errors import RequestError
from headlight.model.records import AttentionMap, FloatArray
from headlight.viz.figures import map_titles
from headlight.viz.figures.axes import (
    MARGIN,
    AxisLabels,
    cell_gap,
    columns_axis,
    columns_height,
    map_axes,
    rows_axis,
    vertical_labels,
)
from headlight.viz.figures.cells import colour_bar, colour_levels, hatch_shape, hover_texts
from headlight.viz.figures.titles import corner_caption, header_height
from headlight.viz.theme import LABEL, Theme, colour_scale, plotly_template

MAX_MAP_PIXELS = 300  # side of a map
GAP = 40  # pixels between maps
BOTTOM_MARGIN = 100  # pixels for the legends


def compare(
    first: AttentionMap,
    second: AttentionMap,
    *,
    theme: Theme,
    words: Mapping[str, str] | None = None,
    palette: str = "headlight",
) -> go.Figure:
    """Draw A, B and A − B for two maps of one kind and sentence. The difference is coloured from −1 to +1.

    Raises:
        RequestError: the maps have different kinds or shapes.
    """
    if first.kind != second.kind or first.weights.shape != second.weights.shape:
        value = " + ".join(
            f"{attention.kind} {' × '.join(map(str, attention.weights.shape))}" for attention in (first, second)
        )
        raise RequestError("maps_differ", field="kind", given=value)
    texts = map_titles.figure_text("compare", words)
    rows, columns = map_axes(first, MAX_MAP_PIXELS, 32)
    difference = np.where(first.allowed, first.weights - second.weights, np.float32(np.nan)).astype(np.float32)
    mean_difference = float(np.abs(difference[first.allowed]).mean()) if first.allowed.any() else 0.0
    panels = [colour_levels(first, "linear"), colour_levels(second, "linear"), difference]
    width, left, step = _widths(rows, columns)
    figure = go.Figure()
    for number, z in enumerate(panels):
        is_difference = number == 2
        values: FloatArray = (first.weights, second.weights, first.weights - second.weights)[number]
        figure.add_heatmap(
            z=z,
            zmin=-1 if is_difference else 0,
            zmax=1,
            colorscale=colour_scale("difference" if is_difference else palette, theme),
            hovertext=hover_texts(values, first.allowed, rows, columns, texts, "+" if is_difference else ""),
            hoverinfo="text",
            hoverongaps=False,
            xgap=cell_gap(rows, columns),
            ygap=cell_gap(rows, columns),
            showscale=number != 1,
            colorbar=_colour_bar(texts, signed=is_difference, x=number * step / (width - left - MARGIN)),
            **_axis_names(number),
        )
        hatching = hatch_shape(first.allowed, theme, **_axis_names(number))
        if hatching is not None:
            figure.add_trace(hatching)
    names = [map_titles.map_name(attention, texts) for attention in (first, second)]
    subtitle = texts["says"].format(row=map_titles.axis_sentence(first.kind, texts), mean=f"{mean_difference:.4f}")
    header = map_titles.title(texts["title"].format(first=names[0], second=names[1]), subtitle, width - 2 * MARGIN)
    top = ceil(header_height(header) + columns_height(columns) + 36)
    titles = [
        (texts["first"].format(name=names[0]), theme.head_a),
        (texts["second"].format(name=names[1]), theme.head_b),
        (texts["difference"], theme.ink),
    ]
    figure.update_layout(
        template=plotly_template(theme),
        meta={"figure": "compare", "kind": first.kind, "first": _head_name(first), "second": _head_name(second)},
        title=header,
        annotations=[
            *corner_caption(texts, theme),
            *(label for number in range(3) for label in vertical_labels(columns, theme, **_axis_references(number))),
            *(_panel_title(text, colour, number, columns) for number, (text, colour) in enumerate(titles)),
        ],
        width=width,
        height=top + ceil(rows.length) + BOTTOM_MARGIN,
        margin={"l": left, "r": MARGIN, "t": top, "b": BOTTOM_MARGIN},
        showlegend=False,
    )
    plot_width = width - left - MARGIN
    for number in range(3):
        domain = [number * step / plot_width, min(1.0, (number * step + columns.length) / plot_width)]
        suffix = "" if number == 0 else str(number + 1)
        figure.update_layout({f"xaxis{suffix}": columns_axis(columns, theme) | {"domain": domain}})
        figure.update_layout({f"yaxis{suffix}": rows_axis(rows, theme) | {"showticklabels": number == 0}})
        if number:
            figure.update_layout({f"xaxis{suffix}": {"matches": "x", "anchor": f"y{suffix}"}})
            figure.update_layout({f"yaxis{suffix}": {"matches": "y", "anchor": f"x{suffix}"}})
    return figure


def _widths(rows: AxisLabels, columns: AxisLabels) -> tuple[int, float, float]:
    """Return the pixels of the figure's width, of the left margin, and from one map to the next."""
    left = ceil(max(rows.max_label_width, 84.0) + MARGIN + 12)
    step = max(columns.length, 220.0) + GAP
    return int(left + 3 * step - GAP + MARGIN), left, step


def _axis_names(number: int) -> dict[str, str]:
    suffix = "" if number == 0 else str(number + 1)
    return {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}


def _axis_references(number: int) -> dict[str, str]:
    suffix = "" if number == 0 else str(number + 1)
    return {"x": f"x{suffix}", "y": f"y{suffix} domain"}


def _colour_bar(words: Mapping[str, str], *, signed: bool, x: float) -> dict[str, Any]:
    title = words["more"] if signed else words["weight"]
    bar = colour_bar("linear", title, x=x, xanchor="left", y=0, yanchor="top", len=220, ypad=24)
    if signed:
        bar |= {"tickvals": [-1, -0.5, 0, 0.5, 1], "ticktext": ["−1", "−0.5", "0", "+0.5", "+1"]}
    return bar


def _panel_title(text: str, colour: str, number: int, columns: AxisLabels) -> dict[str, Any]:
    refs = _axis_references(number)
    return {
        "text": text,
        "font": {"size": LABEL, "color": colour},
        "xref": f"{refs['x']} domain",
        "yref": refs["y"],
        "x": 0,
        "y": 1,
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": columns_height(columns) + 8,
        "showarrow": False,
    }


def _head_name(map: AttentionMap) -> dict[str, Any]:  # noqa: A002 (the usual term)
    return {"layer": map.layer, "head": map.head}

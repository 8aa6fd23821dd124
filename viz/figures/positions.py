"""Figures of positional encodings: the tables, their dot products, and single waves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from headlight.model.errors import RequestError, range_error
from headlight.model.records import FloatArray
from headlight.viz.figures import map_titles
from headlight.viz.figures.titles import caption, header_height
from headlight.viz.theme import LABEL, Theme, colour_scale, head_colour, plotly_template

MAP_SIZE, WAVE_HEIGHT, GAP = 300, 150, 92  # pixels
LEFT, RIGHT, BOTTOM = 64, 24, 56  # margins in pixels


def positions(
    table: FloatArray, *, theme: Theme, words: Mapping[str, str] | None = None, dimension: int = 0
) -> go.Figure:
    """Draw encodings `[position, width]` and the wave of one dimension, or the bias `[head, query, key]` of one head.

    For a bias, `dimension` is the head.

    Raises:
        RequestError: the table has another shape, or `dimension` is out of range.
    """
    texts = map_titles.figure_text("positions", words)
    table = np.asarray(table, dtype=np.float32)
    if table.ndim not in (2, 3) or (table.ndim == 3 and table.shape[1] != table.shape[2]):
        needed = "[position, width], [head, position, position]"
        raise RequestError("wrong_shape", field="view", given=str(table.shape), needed=needed)
    if not table.size:
        return _empty_figure(theme, texts)
    count = table.shape[0] if table.ndim == 3 else table.shape[1]
    if not 0 <= dimension < count:
        raise range_error("dimension", dimension, 0, count - 1)
    figure = go.Figure()
    captions = (
        _add_bias(figure, table, dimension, texts, theme)
        if table.ndim == 3
        else _add_table(figure, table, dimension, texts, theme)
    )
    maps = 1 if table.ndim == 3 else 2
    width = LEFT + RIGHT + maps * MAP_SIZE + (maps - 1) * GAP + (0 if maps == 2 else 140)
    header = map_titles.title(texts["title"], texts["bias" if table.ndim == 3 else "table"], width - 2 * RIGHT)
    top = header_height(header) + 20
    plot_height = MAP_SIZE + GAP + WAVE_HEIGHT
    wave_share = WAVE_HEIGHT / plot_height
    map_share = MAP_SIZE / (maps * MAP_SIZE + (maps - 1) * GAP) if maps == 2 else MAP_SIZE / (MAP_SIZE + 140)
    position: dict[str, Any] = {"yref": "paper", "xanchor": "left", "yanchor": "bottom", "xref": "paper", "yshift": 8}
    caption_positions = (
        [(0.0, 1.0), (1 - map_share, 1.0), (0.0, wave_share)] if maps == 2 else [(0.0, 1.0), (0.0, wave_share)]
    )
    figure.update_layout(
        template=plotly_template(theme),
        meta={"figure": "positions", "dimension": dimension},
        title=header,
        xaxis={"domain": [0, map_share], "nticks": 8},
        yaxis={"domain": [wave_share + GAP / plot_height, 1], "autorange": "reversed", "nticks": 8},
        xaxis3={"domain": [0, 1], "anchor": "y3", "nticks": 10},
        yaxis3={"domain": [0, wave_share], "anchor": "x3", "zeroline": True, "nticks": 5},
        annotations=[
            caption(text, theme, x=x, y=y, **position) | {"font": {"size": LABEL, "color": theme.ink}}
            for text, (x, y) in zip(captions, caption_positions, strict=True)
        ],
        width=width,
        height=int(top + plot_height + BOTTOM),
        margin={"l": LEFT, "r": RIGHT, "t": top, "b": BOTTOM},
        showlegend=False,
    )
    if maps == 2:
        figure.update_layout(
            xaxis2={"domain": [1 - map_share, 1], "anchor": "y2", "nticks": 8},
            yaxis2={
                "domain": [wave_share + GAP / plot_height, 1],
                "anchor": "x2",
                "autorange": "reversed",
                "nticks": 8,
            },
        )
    return figure


def _add_table(
    figure: go.Figure, table: FloatArray, dimension: int, words: Mapping[str, str], theme: Theme
) -> list[str]:
    """Add the encodings, their dot products and the wave of one dimension. Return the three captions."""
    products = table @ table.T  # [position, position]
    figure.add_heatmap(
        z=table,
        hovertemplate=_hover_template(words["cell"], position="%{y}", dimension="%{x}", value="%{z:.4f}"),
        **_diverging_scale(table, theme),
    )
    figure.add_heatmap(
        z=products,
        hovertemplate=_hover_template(words["product"], first="%{y}", second="%{x}", value="%{z:.4f}"),
        xaxis="x2",
        yaxis="y2",
        **(_sequential_scale(products, theme) if products.min() >= 0 else _diverging_scale(products, theme)),
    )
    figure.add_scatter(
        x=list(range(len(table))),
        y=table[:, dimension],
        mode="lines+markers" if len(table) == 1 else "lines",
        line={"color": theme.accent, "width": 2},
        hovertemplate=_hover_template(words["point"], position="%{x}", value="%{y:.4f}"),
        xaxis="x3",
        yaxis="y3",
    )
    figure.update_layout(
        xaxis={"title": {"text": words["dimension"], "standoff": 6}},
        yaxis={"title": {"text": words["position"], "standoff": 6}},
        xaxis2={"title": {"text": words["position"], "standoff": 6}},
        xaxis3={"title": {"text": words["position"], "standoff": 6}},
    )
    return [words["encodings"], words["products"], words["wave"].format(number=dimension)]


def _add_bias(figure: go.Figure, bias: FloatArray, head: int, words: Mapping[str, str], theme: Theme) -> list[str]:
    """Add one head's bias as a map, and every head's bias by distance. Return the two captions."""
    figure.add_heatmap(
        z=bias[head],
        hovertemplate=_hover_template(words["added"], query="%{y}", key="%{x}", value="%{z:.4f}"),
        **_diverging_scale(bias[head], theme),
    )
    queries, keys = bias.shape[1:]
    for number, head_bias in enumerate(bias):
        distances = np.arange(1 - queries, keys)
        # Each distance once: the last query has all backward distances, the first query all forward ones.
        values = [
            float(head_bias[-1, queries - 1 + distance] if distance < 0 else head_bias[0, distance])
            for distance in distances.tolist()
        ]
        figure.add_scatter(
            x=distances,
            y=values,
            mode="lines",
            line={"color": head_colour(theme, number), "width": 3 if number == head else 1.5},
            opacity=1.0 if number == head else 0.6,
            hovertemplate=_hover_template(words["head"], head=str(number + 1), distance="%{x}", value="%{y:.4f}"),
            xaxis="x3",
            yaxis="y3",
        )
    figure.update_layout(
        xaxis={"title": {"text": words["key"], "standoff": 6}},
        yaxis={"title": {"text": words["query"], "standoff": 6}},
        xaxis3={"title": {"text": words["distance"], "standoff": 6}},
    )
    return [words["bias_map"].format(number=head + 1), words["by_distance"]]


def _diverging_scale(values: FloatArray, theme: Theme) -> dict[str, Any]:
    """Return a diverging colour scale, symmetric around zero: orange below, blue above."""
    max_abs = max(1e-6, float(np.abs(values).max()))
    return {"zmin": -max_abs, "zmax": max_abs, "colorscale": colour_scale("difference", theme), "showscale": False}


def _sequential_scale(values: FloatArray, theme: Theme) -> dict[str, Any]:
    """Return a sequential colour scale from the minimum to the maximum, for values without a sign."""
    low, high = float(values.min()), float(values.max())
    scale = colour_scale("headlight", theme)
    return {"zmin": low, "zmax": max(high, low + 1e-6), "colorscale": scale, "showscale": False}


def _hover_template(text: str, **values: str) -> str:
    return text.format(**values) + "<extra></extra>"


def _empty_figure(theme: Theme, words: Mapping[str, str]) -> go.Figure:
    header = map_titles.title(words["title"], words["none"], 400)
    return go.Figure(
        layout={
            "template": plotly_template(theme),
            "meta": {"figure": "positions", "dimension": None},
            "title": header,
            "xaxis": {"visible": False},
            "yaxis": {"visible": False},
            "width": 440,
            "height": int(header_height(header)) + 40,
        }
    )

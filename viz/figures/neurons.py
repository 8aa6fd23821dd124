"""Derivation of one weight: query times key, dimension by dimension, up to the weight after the softmax."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from headlight.model.errors import RequestError
from headlight.model.records import FloatArray, Token
from headlight.viz.figures import map_titles
from headlight.viz.figures.titles import caption, header_height
from headlight.viz.theme import CAPTION, Theme, colour_scale, plotly_template
from headlight.viz.token_labels import token_labels

STRIP_HEIGHT, SUM_HEIGHT = 34, 180  # pixels
GAP = 32
LEFT, RIGHT, BOTTOM = 112, 24, 44
TOP_LEFT = {"x": 0, "y": 1, "xanchor": "left", "yshift": 14}
MIN_WIDTH, MAX_WIDTH = 560, 960


def neurons(
    query: FloatArray,
    key: FloatArray,
    row: Token,
    column: Token,
    *,
    weight: float,
    theme: Theme,
    words: Mapping[str, str] | None = None,
    bias: float = 0.0,
    divisor: float | None = None,
) -> go.Figure:
    """Draw the product of `query` and `key`, both `[width]`, of one head (after rotation, for rotary positions).

    The score is their dot product divided by `divisor`, by default √width, plus `bias`. `weight` is the result of the
    softmax.

    Raises:
        RequestError: the vectors are empty or have different shapes.
    """
    query, key = np.asarray(query, dtype=np.float32), np.asarray(key, dtype=np.float32)
    if query.ndim != 1 or query.shape != key.shape or not query.size:
        raise RequestError("wrong_shape", field="head", given=f"{query.shape}, {key.shape}", needed="[width], [width]")
    texts = map_titles.figure_text("neurons", words)
    score_divisor = math.sqrt(len(query)) if divisor is None else divisor
    products = query * key
    running_sums = (np.cumsum(products, dtype=np.float64) / score_divisor).astype(np.float32)
    score = float(running_sums[-1]) + bias
    divisor_label = f"{score_divisor:.4f}" if divisor is not None else f"√{len(query)}"
    values = {"sum": f"{float(products.sum(dtype=np.float64)):.4f}", "divisor": divisor_label, "score": f"{score:.4f}"}
    arithmetic = texts["bias" if bias else "sum"].format(**values, bias=f"{bias:.4f}")
    width = min(MAX_WIDTH, max(MIN_WIDTH, LEFT + RIGHT + 12 * len(query)))
    names = [label.plotly_full for label in (*token_labels([row]), *token_labels([column]))]
    header = map_titles.title(
        texts["title"].format(row=names[0], column=names[1]),
        texts["says"].format(sum=arithmetic, weight=f"{weight:.4f}"),
        width - 2 * RIGHT,
    )
    top = header_height(header)
    plot_height = 3 * STRIP_HEIGHT + GAP + SUM_HEIGHT
    figure = go.Figure()
    _add_strips(figure, query, key, products, texts, theme)
    _add_sum(figure, running_sums, texts, theme)
    sum_share = SUM_HEIGHT / plot_height
    figure.update_layout(
        template=plotly_template(theme),
        meta={"figure": "neurons", "score": score, "weight": weight},
        title=header,
        xaxis={"range": [-0.5, len(query) - 0.5], "anchor": "y2", "title": {"text": texts["axis"]}, "nticks": 12},
        yaxis={
            "domain": [sum_share + GAP / plot_height, 1],
            "range": [2.5, -0.5],
            "tickvals": [0, 1, 2],
            "ticktext": [texts["query"], texts["key"], texts["product"]],
            "ticklabelstandoff": 6,
        },
        yaxis2={
            "domain": [0, sum_share],
            "anchor": "x",
            "range": _padded_range(running_sums),
            "zeroline": True,
            "nticks": 5,
            "ticklabelstandoff": 6,
        },
        annotations=[
            caption(texts["running"].format(divisor=divisor_label), theme, xref="paper", yref="y2 domain", **TOP_LEFT),
        ],
        width=width,
        height=int(top + plot_height + BOTTOM),
        margin={"l": LEFT, "r": RIGHT, "t": top, "b": BOTTOM},
        showlegend=False,
    )
    return figure


def _add_strips(
    figure: go.Figure,
    query: FloatArray,
    key: FloatArray,
    products: FloatArray,
    words: Mapping[str, str],
    theme: Theme,
) -> None:
    """Add three strips of signed colours: query and key on one scale, and the product on a separate scale."""
    texts = [
        words["dimension"].format(number=number, query=f"{q:.4f}", key=f"{k:.4f}", product=f"{p:.4f}")
        for number, (q, k, p) in enumerate(zip(query.tolist(), key.tolist(), products.tolist(), strict=True))
    ]
    common: dict[str, Any] = {
        "colorscale": colour_scale("difference", theme),
        "hoverinfo": "text",
        "showscale": False,
        "ygap": 2,
    }
    max_component = _max_abs(np.concatenate([query, key]))
    vectors = np.stack([query, key])
    figure.add_heatmap(z=vectors, y=[0, 1], zmin=-max_component, zmax=max_component, hovertext=[texts] * 2, **common)
    max_product = _max_abs(products)
    figure.add_heatmap(z=products[None], y=[2], zmin=-max_product, zmax=max_product, hovertext=[texts], **common)


def _add_sum(figure: go.Figure, running_sums: FloatArray, words: Mapping[str, str], theme: Theme) -> None:
    """Add the running sum of the score over the dimensions."""
    figure.add_scatter(
        x=list(range(len(running_sums))),
        y=running_sums,
        mode="lines",
        line={"color": theme.accent, "width": 2, "shape": "hvh"},  # constant within a dimension
        hovertext=[
            words["so_far"].format(number=number, sum=f"{value:.4f}")
            for number, value in enumerate(running_sums.tolist())
        ],
        hoverinfo="text",
        yaxis="y2",
        hoverlabel={"font": {"size": CAPTION}},
    )


def _padded_range(values: FloatArray) -> list[float]:
    """Return a range that includes zero and all values, padded so that the line is not clipped."""
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    padding = 0.06 * (high - low) or 1.0
    return [low - padding, high + padding]


def _max_abs(values: FloatArray) -> float:
    return max(1e-6, float(np.abs(values).max()))

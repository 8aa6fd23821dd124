"""Cells of a map: colour levels, hover texts and hatching of masked cells.

A weight of zero has a colour. A masked cell has no value and shows hatching.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from headlight.model.records import AttentionMap, BoolArray, FloatArray
from headlight.viz.figures.axes import AxisLabels
from headlight.viz.theme import Theme

Scale = Literal["linear", "log", "row", "effect"]
SCALES: tuple[Scale, ...] = ("linear", "log", "row", "effect")
LOG_SCALE_MIN = 1e-3  # weight at the lower end of the logarithmic scale
STRONG_EFFECT = 0.4  # nats; the colour is full from here, as in effect-scale.js
TICKS: dict[Scale, tuple[list[float], list[str]]] = {
    "linear": ([0.0, 0.25, 0.5, 0.75, 1.0], ["0", "0.25", "0.5", "0.75", "1"]),
    "log": ([0.0, 1 / 3, 2 / 3, 1.0], ["≤0.001", "0.01", "0.1", "1"]),
    "row": ([0.0, 0.5, 1.0], ["0", "0.5", "1"]),
    "effect": ([0.0, 0.25, 0.5, 0.75, 1.0], ["≤ −0.4", "−0.1", "0", "+0.1", "≥ +0.4"]),
}


def colour_levels(map: AttentionMap, scale: Scale) -> FloatArray:  # noqa: A002 (the usual term)
    """Return colour values, `[rows, columns]`, from 0 to 1; NaN if masked. On the linear scale they are the weights."""
    if scale not in SCALES:
        raise ValueError(f"There is no scale {scale!r}: choose {', '.join(SCALES)}.")
    levels = map.weights.astype(np.float32)
    if scale == "log":
        levels = np.maximum(0, 1 + np.log10(np.maximum(levels, LOG_SCALE_MIN)) / -np.log10(LOG_SCALE_MIN)).astype(
            np.float32
        )
    elif scale == "row" and levels.size:
        row_maxima = levels.max(axis=1, keepdims=True)
        levels = np.divide(levels, row_maxima, out=np.zeros_like(levels), where=row_maxima > 0)
    elif scale == "effect":  # signed: 0.5 is no effect
        strength = np.sqrt(np.minimum(1, np.abs(levels) / STRONG_EFFECT))
        levels = ((1 + np.sign(levels) * strength) / 2).astype(np.float32)
    masked_levels: FloatArray = np.where(map.allowed, levels, np.float32(np.nan)).astype(np.float32)
    return masked_levels


def hover_texts(
    values: FloatArray,
    allowed: BoolArray,
    rows: AxisLabels,
    columns: AxisLabels,
    words: Mapping[str, str],
    sign: str = "",
) -> list[list[str]]:
    """Return hover texts, `[rows][columns]`: "saw → yesterday attends to gestern: 0.8230"; empty if masked."""
    row_names = [label.plotly_row_name for label in rows.labels]
    column_names = [label.plotly_full for label in columns.labels]
    template = words["cell"]
    return [
        [
            template.format(row=row_name, column=column_name, weight=f"{value:{sign}.4f}") if is_allowed else ""
            for column_name, value, is_allowed in zip(column_names, row, row_allowed, strict=True)
        ]
        for row_name, row, row_allowed in zip(row_names, values.tolist(), allowed.tolist(), strict=True)
    ]


def hatch_shape(allowed: BoolArray, theme: Theme, **options: Any) -> go.Scatter | None:
    """Return the hatching of masked cells, one shape per block; None if no cell is masked."""
    x: list[float | None] = []
    y: list[float | None] = []
    for top, bottom, left, right in _masked_blocks(allowed):
        x += [left, right, right, left, left, None]
        y += [top, top, bottom, bottom, top, None]
    if not x:
        return None
    pattern = {"shape": "/", "fgcolor": theme.hatch, "bgcolor": theme.masked, "size": 5, "solidity": 0.25}
    return go.Scatter(
        x=x,
        y=y,
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillpattern=pattern,
        fillcolor=theme.masked,
        hoverinfo="skip",
        showlegend=False,
        **options,
    )


def colour_bar(scale: Scale, title: str, **options: Any) -> dict[str, Any]:
    """Return the colour bar of a map. It shows weights, or effects in nats, on every scale."""
    values, texts = TICKS[scale]
    return {
        "orientation": "h",
        "tickvals": values,
        "ticktext": texts,
        "lenmode": "pixels",
        "thickness": 8,
        "xpad": 0,
        "title": {"text": title, "side": "top"},
        **options,
    }


def _masked_blocks(allowed: BoolArray) -> list[tuple[float, float, float, float]]:
    """Return blocks of masked cells as (top, bottom, left, right). Equal runs in adjacent rows form one block."""
    blocks: list[tuple[float, float, float, float]] = []
    open_runs: dict[tuple[int, int], int] = {}  # run → its first row
    for row in range(len(allowed) + 1):
        runs = _runs(~allowed[row]) if row < len(allowed) else []
        for run in [run for run in open_runs if run not in runs]:
            blocks.append((open_runs.pop(run) - 0.5, row - 0.5, run[0] - 0.5, run[1] - 0.5))
        for run in runs:
            open_runs.setdefault(run, row)
    return blocks


def _runs(masked: BoolArray) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], masked, [False]]).astype(np.int8)))
    return [(int(start), int(end)) for start, end in zip(edges[::2], edges[1::2], strict=True)]

"""Cells of a map: colour levels, hover texts and hatching of masked cells.

Zero is a colour, masked is a pattern: a masked cell has no value, and hatched ground shows in its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from headlight.model.records import AttentionMap, BoolArray, FloatArray
from headlight.viz.figures.axes import AxisLabels
from headlight.viz.theme import Theme

Scale = Literal["linear", "log", "row"]
SCALES: tuple[Scale, ...] = ("linear", "log", "row")
LOG_SCALE_MIN = 1e-3  # the weight at the pale end of the logarithmic scale
TICKS: dict[Scale, tuple[list[float], list[str]]] = {
    "linear": ([0.0, 0.25, 0.5, 0.75, 1.0], ["0", "0.25", "0.5", "0.75", "1"]),
    "log": ([0.0, 1 / 3, 2 / 3, 1.0], ["≤0.001", "0.01", "0.1", "1"]),
    "row": ([0.0, 0.5, 1.0], ["0", "0.5", "1"]),
}


def colour_levels(map: AttentionMap, scale: Scale) -> FloatArray:  # noqa: A002 (the field's own word)
    """Colour values, `[rows, columns]`, 0 to 1; NaN if masked. Linear: the weights themselves."""
    if scale not in SCALES:
        raise ValueError(f"There is no scale {scale!r}: choose {', '.join(SCALES)}.")
    shown = map.weights.astype(np.float32)
    if scale == "log":
        shown = np.maximum(0, 1 + np.log10(np.maximum(shown, LOG_SCALE_MIN)) / -np.log10(LOG_SCALE_MIN)).astype(
            np.float32
        )
    elif scale == "row" and shown.size:
        highest = shown.max(axis=1, keepdims=True)
        shown = np.divide(shown, highest, out=np.zeros_like(shown), where=highest > 0)
    blank: FloatArray = np.where(map.allowed, shown, np.float32(np.nan)).astype(np.float32)
    return blank


def hover_texts(
    values: FloatArray,
    allowed: BoolArray,
    rows: AxisLabels,
    columns: AxisLabels,
    words: Mapping[str, str],
    sign: str = "",
) -> list[list[str]]:
    """Hover text, `[rows][columns]`: "saw → yesterday attends to gestern: 0.8230"; empty if masked."""
    row_names = [label.plotly_row_name for label in rows.labels]
    column_names = [label.plotly_full for label in columns.labels]
    form = words["cell"]
    return [
        [
            form.format(row=row_name, column=column_name, weight=f"{value:{sign}.4f}") if may else ""
            for column_name, value, may in zip(column_names, row, row_allowed, strict=True)
        ]
        for row_name, row, row_allowed in zip(row_names, values.tolist(), allowed.tolist(), strict=True)
    ]


def hatch_shape(allowed: BoolArray, theme: Theme, **place: Any) -> go.Scatter | None:
    """Hatching behind masked cells, one shape per run of cells; None if nothing is masked."""
    across: list[float | None] = []
    down: list[float | None] = []
    for top, bottom, left, right in _masked_blocks(allowed):
        across += [left, right, right, left, left, None]
        down += [top, top, bottom, bottom, top, None]
    if not across:
        return None
    pattern = {"shape": "/", "fgcolor": theme.hatch, "bgcolor": theme.masked, "size": 5, "solidity": 0.25}
    return go.Scatter(
        x=across,
        y=down,
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillpattern=pattern,
        fillcolor=theme.masked,
        hoverinfo="skip",
        showlegend=False,
        **place,
    )


def colour_bar(scale: Scale, title: str, **place: Any) -> dict[str, Any]:
    """The legend of a map's colours: always of weights, whatever the scale."""
    values, texts = TICKS[scale]
    return {
        "orientation": "h",
        "tickvals": values,
        "ticktext": texts,
        "lenmode": "pixels",
        "thickness": 8,
        "xpad": 0,
        "title": {"text": title, "side": "top"},
        **place,
    }


def _masked_blocks(allowed: BoolArray) -> list[tuple[float, float, float, float]]:
    """Masked runs as (top, bottom, left, right); equal runs of neighbouring rows are one."""
    results: list[tuple[float, float, float, float]] = []
    open_runs: dict[tuple[int, int], int] = {}  # run → its first row
    for row in range(len(allowed) + 1):
        runs = _runs(~allowed[row]) if row < len(allowed) else []
        for run in [run for run in open_runs if run not in runs]:
            results.append((open_runs.pop(run) - 0.5, row - 0.5, run[0] - 0.5, run[1] - 0.5))
        for run in runs:
            open_runs.setdefault(run, row)
    return results


def _runs(masked: BoolArray) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], masked, [False]]).astype(np.int8)))
    return [(int(start), int(end)) for start, end in zip(edges[::2], edges[1::2], strict=True)]

"""Line view: query tokens on the left, key tokens on the right, line opacity by weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from headlight.model.errors import RequestError
from headlight.model.records import AttentionMap
from headlight.viz.figures import map_titles
from headlight.viz.figures.axes import MARGIN
from headlight.viz.figures.titles import caption, header_height
from headlight.viz.theme import LABEL, Theme, plotly_template
from headlight.viz.token_labels import TokenLabel, plotly_text, row_labels, text_width, token_labels

OPACITY_STEPS = 20  # shades of a line; a weight is rounded to the nearest
MIDDLE_WIDTH = 280  # pixels between the two sides
ROW_HEIGHT, DENSE_ROW_HEIGHT = 24, 16  # pixels per token; the latter for more than 44 tokens
BOTTOM_MARGIN = 40


def lines(
    maps: Sequence[tuple[AttentionMap, str]],
    *,
    theme: Theme,
    words: Mapping[str, str] | None = None,
    threshold: float = 0.05,
) -> go.Figure:
    """Draw maps of one kind and sentence, each in a colour (`viz.theme.head_colour` assigns one per head).

    Raises:
        RequestError: there are no maps, or they have different kinds or shapes.
    """
    if not maps:
        raise RequestError("no_map", field="head")
    first = maps[0][0]
    if len({(attention.kind, attention.weights.shape) for attention, _ in maps}) > 1:
        raise RequestError(
            "maps_differ", field="kind", given=", ".join(sorted({attention.kind for attention, _ in maps}))
        )
    texts = map_titles.figure_text("lines", words)
    left_labels, right_labels = row_labels(first), token_labels(first.columns)
    figure = go.Figure()
    for map, colour in maps:  # noqa: A001 (the usual term)
        _add_head(figure, map, colour, threshold, left_labels, right_labels, texts)
    rows = max(len(left_labels), len(right_labels), 1)
    row_height = ROW_HEIGHT if rows <= 44 else DENSE_ROW_HEIGHT
    size = LABEL if row_height == ROW_HEIGHT else LABEL - 2
    left, right = (_side_width(side, size) for side in (left_labels, right_labels))
    width = int(left + MIDDLE_WIDTH + right)
    subtitle = texts["says"].format(row=map_titles.axis_sentence(first.kind, texts), threshold=f"{threshold:g}")
    name = map_titles.map_name(first, texts) if len(maps) == 1 else texts["title"]
    header = map_titles.title(name, subtitle, width - 2 * MARGIN)
    top = header_height(header) + 24
    position = {"xref": "paper", "yref": "paper", "y": 1, "yshift": 18}
    figure.update_layout(
        template=plotly_template(theme),
        meta={
            "figure": "lines",
            "kind": first.kind,
            "heads": [[attention.layer, attention.head] for attention, _ in maps],
        },
        title=header,
        xaxis={"range": [0, 1], "visible": False, "fixedrange": True},
        yaxis={"range": [rows - 0.5, -0.5], "visible": False},
        annotations=[
            caption(texts["rows"], theme, x=0, xanchor="right", xshift=-10, **position),
            caption(texts["columns"], theme, x=1, xanchor="left", xshift=10, **position),
            *_side_labels(left_labels, 0, size, theme),
            *_side_labels(right_labels, 1, size, theme),
        ],
        legend={"orientation": "h", "x": 0, "y": 0, "yanchor": "top"},
        showlegend=len(maps) > 1,
        width=width,
        height=int(top + rows * row_height + BOTTOM_MARGIN),
        margin={"l": left, "r": right, "t": top, "b": BOTTOM_MARGIN},
        hovermode="closest",
    )
    return figure


def _add_head(
    figure: go.Figure,
    map: AttentionMap,  # noqa: A002
    colour: str,
    threshold: float,
    rows: Sequence[TokenLabel],
    columns: Sequence[TokenLabel],
    words: Mapping[str, str],
) -> None:
    """Add one trace per shade, because a Plotly trace has one opacity, and an empty trace for the legend."""
    name = map_titles.map_name(map, words)
    visible = (map.weights >= threshold) & (map.weights > 0)
    shades = np.clip(np.rint(map.weights * OPACITY_STEPS), 1, OPACITY_STEPS).astype(int)
    group = f"{map.layer}-{map.head}"
    line = {"color": colour, "width": 2}
    figure.add_scatter(x=[None], y=[None], mode="lines", line=line, name=name, legendgroup=group)
    for shade in np.unique(shades[visible]).tolist():
        x: list[float | None] = []
        y: list[float | None] = []
        texts: list[str] = []
        for row, column in np.argwhere(visible & (shades == shade)).tolist():
            x += [0.0, 1.0, None]
            y += [row, column, None]
            weight = f"{map.weights[row, column]:.4f}"
            cell = words["cell"].format(
                row=rows[row].plotly_row_name, column=columns[column].plotly_full, weight=weight
            )
            texts += [words["look"].format(name=name, cell=cell)] * 2 + [""]
        figure.add_scatter(
            x=x,
            y=y,
            mode="lines",
            line=line,
            opacity=shade / OPACITY_STEPS,
            hovertext=texts,
            hoverinfo="text",
            name=name,
            legendgroup=group,
            showlegend=False,
        )


def _side_width(side: Sequence[TokenLabel], size: int) -> float:
    return max([48.0, *(text_width(label.read + label.text, size) for label in side)]) + MARGIN + 12


def _side_labels(side: Sequence[TokenLabel], x: int, size: int, theme: Theme) -> list[dict[str, object]]:
    """Return the token labels of one side, from top to bottom."""
    return [
        caption(
            plotly_text(label.read) + label.plotly,
            theme,
            xref="paper",
            x=x,
            y=index,
            xanchor="left" if x else "right",
            xshift=10 if x else -10,
        )
        | {"font": {"size": size, "color": theme.ink_3 if label.special else theme.ink}}
        for index, label in enumerate(side)
    ]

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

OPACITY_STEPS = 20  # shades of a line; a weight takes the nearest
MIDDLE_WIDTH = 280  # pixels between both sides
ROW, TIGHT_ROW = 24, 16  # pixels a token, and in sentences of more than 44
BOTTOM_MARGIN = 40


def lines(
    maps: Sequence[tuple[AttentionMap, str]],
    *,
    theme: Theme,
    words: Mapping[str, str] | None = None,
    threshold: float = 0.05,
) -> go.Figure:
    """Maps of one kind and sentence, each with its colour (`viz.theme.head_colour` gives every head one)."""
    if not maps:
        raise RequestError("no_map", field="head")
    first = maps[0][0]
    if len({(each.kind, each.weights.shape) for each, _ in maps}) > 1:
        raise RequestError("maps_differ", field="kind", given=", ".join(sorted({each.kind for each, _ in maps})))
    texts = map_titles.figure_text("lines", words)
    left_labels, right_labels = row_labels(first), token_labels(first.columns)
    figure = go.Figure()
    for map, colour in maps:  # noqa: A001 (the field's own word)
        _add_head(figure, map, colour, threshold, left_labels, right_labels, texts)
    most = max(len(left_labels), len(right_labels), 1)
    row = ROW if most <= 44 else TIGHT_ROW
    size = LABEL if row == ROW else LABEL - 2
    left, right = (_side_width(side, size) for side in (left_labels, right_labels))
    width = int(left + MIDDLE_WIDTH + right)
    says = texts["says"].format(row=map_titles.axis_sentence(first.kind, texts), threshold=f"{threshold:g}")
    name = map_titles.map_name(first, texts) if len(maps) == 1 else texts["title"]
    head = map_titles.title(name, says, width - 2 * MARGIN)
    top = header_height(head) + 24
    sides = {"xref": "paper", "yref": "paper", "y": 1, "yshift": 18}
    figure.update_layout(
        template=plotly_template(theme),
        meta={"figure": "lines", "kind": first.kind, "heads": [[each.layer, each.head] for each, _ in maps]},
        title=head,
        xaxis={"range": [0, 1], "visible": False, "fixedrange": True},
        yaxis={"range": [most - 0.5, -0.5], "visible": False},
        annotations=[
            caption(texts["rows"], theme, x=0, xanchor="right", xshift=-10, **sides),
            caption(texts["columns"], theme, x=1, xanchor="left", xshift=10, **sides),
            *_side(left_labels, 0, size, theme),
            *_side(right_labels, 1, size, theme),
        ],
        legend={"orientation": "h", "x": 0, "y": 0, "yanchor": "top"},
        showlegend=len(maps) > 1,
        width=width,
        height=int(top + most * row + BOTTOM_MARGIN),
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
    said: Mapping[str, str],
) -> None:
    """A trace for each shade: Plotly gives a trace one opacity. The first of them stands in the legend."""
    name = map_titles.map_name(map, said)
    drawn = (map.weights >= threshold) & (map.weights > 0)
    shades = np.clip(np.rint(map.weights * OPACITY_STEPS), 1, OPACITY_STEPS).astype(int)
    group = f"{map.layer}-{map.head}"
    line = {"color": colour, "width": 2}
    figure.add_scatter(x=[None], y=[None], mode="lines", line=line, name=name, legendgroup=group)
    for shade in np.unique(shades[drawn]).tolist():
        across: list[float | None] = []
        down: list[float | None] = []
        texts: list[str] = []
        for row, column in np.argwhere(drawn & (shades == shade)).tolist():
            across += [0.0, 1.0, None]
            down += [row, column, None]
            weight = f"{map.weights[row, column]:.4f}"
            cell = said["cell"].format(row=rows[row].plotly_row_name, column=columns[column].plotly_full, weight=weight)
            texts += [said["look"].format(name=name, cell=cell)] * 2 + [""]
        figure.add_scatter(
            x=across,
            y=down,
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


def _side(side: Sequence[TokenLabel], x: int, size: int, theme: Theme) -> list[dict[str, object]]:
    """The tokens of one side, one below the other."""
    return [
        caption(
            plotly_text(label.read) + label.plotly,
            theme,
            xref="paper",
            x=x,
            y=place,
            xanchor="left" if x else "right",
            xshift=10 if x else -10,
        )
        | {"font": {"size": size, "color": theme.ink_3 if label.special else theme.ink}}
        for place, label in enumerate(side)
    ]

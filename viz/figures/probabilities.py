"""How confident the model is in each token that it wrote, and the best alternatives."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from headlight.model.records import Alternative, Token, Translation
from headlight.viz.figures import naming
from headlight.viz.figures.axes import DENSE, SIDE, edge_of, rows_axis
from headlight.viz.figures.frame import caption, header_height
from headlight.viz.labels import candidate, plotly_text, shorten
from headlight.viz.theme import CAPTION, Theme, template

ROW, TIGHT_ROW = 26, 8  # pixels a token, and in sentences of more than 44
BARS, OTHER = 260, 132  # pixels of the bars and of each column of alternatives
SHOWN = 4  # such columns; all alternatives appear under the pointer
LONGEST = 11  # columns of an alternative's name
FOOT = 44


def probabilities(translation: Translation, *, theme: Theme, words: Mapping[str, str] | None = None) -> go.Figure:
    """A bar for each written token, from 0 to 1, with its best alternatives."""
    said = naming.wording("probabilities", words)
    tokens = translation.target_tokens
    dense = len(tokens) > DENSE
    row = TIGHT_ROW if dense else ROW
    rows = edge_of(tokens, row * max(1, len(tokens)), row)
    figure = go.Figure()
    figure.add_bar(
        x=[token.probability for token in tokens],
        y=list(range(len(tokens))),
        orientation="h",
        width=0.6,
        marker={"color": theme.accent, "line": {"width": 0}},
        hovertext=[_hover(token, label.plotly_full, said) for token, label in zip(tokens, rows.labels, strict=True)],
        hoverinfo="text",
    )
    others = (
        []
        if dense
        else [
            caption(text, theme, xref="paper", x=1, y=place, xanchor="left", xshift=SIDE + OTHER * column)
            for place, token in enumerate(tokens)
            for column, text in enumerate(_beside(token, said))
        ]
    )
    left = max(rows.longest, 48.0) + SIDE + 12
    right = SIDE if dense else SIDE + SHOWN * OTHER
    width = int(left + BARS + right)
    head = naming.title(said["title"], said["says"], width - 2 * SIDE)
    top = header_height(head) + 28
    at_top = {"xref": "paper", "yref": "paper", "y": 1, "yanchor": "bottom"}
    figure.update_layout(
        template=template(theme),
        meta={"figure": "probabilities", "tokens": len(tokens)},
        title=head,
        xaxis={
            "range": [0, 1],
            "side": "top",
            "tickvals": [0, 0.5, 1],
            "ticktext": ["0", "0.5", "1"],
            "showgrid": True,
            "fixedrange": True,
        },
        yaxis=rows_axis(rows, theme),
        annotations=[
            caption(said["probability"], theme, x=0, xanchor="left", yshift=18, **at_top),
            *([] if dense else [caption(said["others"], theme, x=1, xanchor="left", xshift=SIDE, yshift=18, **at_top)]),
            *others,
        ],
        width=width,
        height=int(top + rows.length + FOOT),
        margin={"l": left, "r": right, "t": top, "b": FOOT},
        showlegend=False,
        hoverlabel={"font": {"size": CAPTION}},
    )
    return figure


def _hover(token: Token, label: str, said: Mapping[str, str]) -> str:
    if token.probability is None:
        return said["unknown"].format(token=label)
    first = said["written"].format(token=label, probability=f"{token.probability:.4f}")
    others = [_other(other, said, 4) for other in token.alternatives if other.id != token.id]
    return "<br>".join([first, *others])


def _beside(token: Token, said: Mapping[str, str]) -> list[str]:
    others = [other for other in token.alternatives if other.id != token.id]
    return [_other(other, said, 3) for other in others[:SHOWN]]


def _other(other: Alternative, said: Mapping[str, str], digits: int) -> str:
    label = plotly_text(shorten(candidate(other.text).full, LONGEST))
    return said["other"].format(token=label, probability=f"{other.probability:.{digits}f}")

"""Probabilities of the generated tokens, and the best alternatives."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from headlight.model.records import Alternative, Token, Translation
from headlight.viz.figures import map_titles
from headlight.viz.figures.axes import DENSE_FROM, MARGIN, axis_labels, rows_axis
from headlight.viz.figures.titles import caption, header_height
from headlight.viz.theme import CAPTION, Theme, plotly_template
from headlight.viz.token_labels import candidate_label, plotly_text, truncate

ROW_HEIGHT, DENSE_ROW_HEIGHT = 26, 8  # pixels per token; the latter for more than 44 tokens
BAR_WIDTH, COLUMN_WIDTH = 260, 132  # pixels of the bars and of each column of alternatives
MAX_ALTERNATIVES = 4  # columns of alternatives; a hover text lists all alternatives
MAX_COLUMNS = 11  # text columns of an alternative's label
BOTTOM_MARGIN = 44


def probabilities(translation: Translation, *, theme: Theme, words: Mapping[str, str] | None = None) -> go.Figure:
    """Draw a bar per generated token, from 0 to 1, with its best alternatives."""
    texts = map_titles.figure_text("probabilities", words)
    tokens = translation.target_tokens
    is_dense = len(tokens) > DENSE_FROM
    row_height = DENSE_ROW_HEIGHT if is_dense else ROW_HEIGHT
    rows = axis_labels(tokens, row_height * max(1, len(tokens)), row_height)
    figure = go.Figure()
    figure.add_bar(
        x=[token.probability for token in tokens],
        y=list(range(len(tokens))),
        orientation="h",
        width=0.6,
        marker={"color": theme.accent, "line": {"width": 0}},
        hovertext=[_hover(token, label.plotly_full, texts) for token, label in zip(tokens, rows.labels, strict=True)],
        hoverinfo="text",
    )
    captions = (
        []
        if is_dense
        else [
            caption(text, theme, xref="paper", x=1, y=index, xanchor="left", xshift=MARGIN + COLUMN_WIDTH * column)
            for index, token in enumerate(tokens)
            for column, text in enumerate(_alternatives_text(token, texts))
        ]
    )
    left = max(rows.max_label_width, 48.0) + MARGIN + 12
    right = MARGIN if is_dense else MARGIN + MAX_ALTERNATIVES * COLUMN_WIDTH
    width = int(left + BAR_WIDTH + right)
    header = map_titles.title(texts["title"], texts["says"], width - 2 * MARGIN)
    top = header_height(header) + 28
    top_position = {"xref": "paper", "yref": "paper", "y": 1, "yanchor": "bottom"}
    figure.update_layout(
        template=plotly_template(theme),
        meta={"figure": "probabilities", "tokens": len(tokens)},
        title=header,
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
            caption(texts["probability"], theme, x=0, xanchor="left", yshift=18, **top_position),
            *(
                []
                if is_dense
                else [caption(texts["others"], theme, x=1, xanchor="left", xshift=MARGIN, yshift=18, **top_position)]
            ),
            *captions,
        ],
        width=width,
        height=int(top + rows.length + BOTTOM_MARGIN),
        margin={"l": left, "r": right, "t": top, "b": BOTTOM_MARGIN},
        showlegend=False,
        hoverlabel={"font": {"size": CAPTION}},
    )
    return figure


def _hover(token: Token, label: str, words: Mapping[str, str]) -> str:
    if token.probability is None:
        return words["unknown"].format(token=label)
    text = words["written"].format(token=label, probability=f"{token.probability:.4f}")
    alternatives = [
        _alternative_text(alternative, words, 4) for alternative in token.alternatives if alternative.id != token.id
    ]
    return "<br>".join([text, *alternatives])


def _alternatives_text(token: Token, words: Mapping[str, str]) -> list[str]:
    alternatives = [alternative for alternative in token.alternatives if alternative.id != token.id]
    return [_alternative_text(alternative, words, 3) for alternative in alternatives[:MAX_ALTERNATIVES]]


def _alternative_text(alternative: Alternative, words: Mapping[str, str], digits: int) -> str:
    label = plotly_text(truncate(candidate_label(alternative.text).full, MAX_COLUMNS))
    return words["other"].format(token=label, probability=f"{alternative.probability:.{digits}f}")

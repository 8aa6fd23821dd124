"""The beam search tree: kept, dropped and finished nodes per step."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from headlight.model.records import BeamNode, BeamTree
from headlight.viz.figures import map_titles
from headlight.viz.figures.axes import DENSE_FROM, MARGIN
from headlight.viz.figures.titles import caption, header_height
from headlight.viz.theme import CAPTION, Theme, plotly_template
from headlight.viz.token_labels import candidate_label, plotly_text, truncate

OUTCOMES = ("dropped", "kept", "finished")  # the most important is drawn last, on top
SYMBOLS = {"dropped": "circle", "kept": "circle", "finished": "square"}
STEP_WIDTH, RANK_HEIGHT = 84, 38  # pixels per step and per rank
MAX_COLUMNS = 11  # text columns of a label between two steps
DENSE_STEP_WIDTH = 20  # pixels per step if there are more than `DENSE_FROM`
LEFT, RIGHT, BOTTOM = 40, 48, 56  # margins in pixels


def beam(tree: BeamTree, *, theme: Theme, words: Mapping[str, str] | None = None) -> go.Figure:
    """Draw all nodes of a search by step and rank, with the path of the best finished sentence on top."""
    texts = map_titles.figure_text("beam", words)
    nodes = tree.nodes
    ranks = _ranks(nodes)
    steps = 1 + max((node.step for node in nodes), default=0)
    depth = 1 + max(ranks, default=0)
    is_dense = steps > DENSE_FROM
    best = _best_path(nodes)
    colours = {"dropped": theme.edge, "kept": theme.ink_2, "finished": theme.accent}
    fills = {**colours, "dropped": theme.ground}  # hollow, but hides the edges below
    figure = go.Figure()
    for outcome in OUTCOMES:
        selected = [index for index, node in enumerate(nodes) if node.outcome == outcome]
        _add_edges(figure, nodes, ranks, selected, theme.rule if outcome == "dropped" else theme.edge, 1)
    _add_edges(figure, nodes, ranks, best, theme.accent, 2, texts["best"])
    for outcome in OUTCOMES:
        selected = [index for index, node in enumerate(nodes) if node.outcome == outcome]
        figure.add_scatter(
            x=[nodes[index].step for index in selected],
            y=[ranks[index] for index in selected],
            mode="markers" if is_dense else "markers+text",
            text=[plotly_text(truncate(candidate_label(nodes[index].text).full, MAX_COLUMNS)) for index in selected],
            textposition="top center",
            textfont={"size": CAPTION, "color": theme.ink_3 if outcome == "dropped" else theme.ink},
            marker={
                "size": 7,
                "symbol": SYMBOLS[outcome],
                "color": fills[outcome],
                "line": {"color": colours[outcome], "width": 1},
            },
            hovertext=[_hover(nodes[index], texts) for index in selected],
            hoverinfo="text",
            name=texts[outcome],
            customdata=selected,
            cliponaxis=False,
        )
    step_width = DENSE_STEP_WIDTH if is_dense else STEP_WIDTH
    width = max(440, LEFT + RIGHT + step_width * max(1, steps - 1))
    header = map_titles.title(texts["title"], texts["says"] if nodes else texts["empty"], width - 2 * MARGIN)
    top = header_height(header) + 28
    figure.update_layout(
        template=plotly_template(theme),
        meta={"figure": "beam", "nodes": len(nodes)},
        title=header,
        xaxis={
            "range": [-0.2, max(1, steps - 1) + 0.2],
            "side": "top",
            "tickvals": list(range(9, steps, 10)) if is_dense else list(range(steps)),
            "ticktext": [str(step + 1) for step in (range(9, steps, 10) if is_dense else range(steps))],
            "visible": bool(nodes),
        },
        yaxis={"range": [depth - 0.5, -0.8], "visible": False},
        annotations=[
            caption(
                texts["step"], theme, yref="paper", x=0, y=1, xanchor="right", yanchor="bottom", xshift=-12, yshift=-1
            )
        ]
        if nodes
        else [],
        legend={"orientation": "h", "x": 0, "y": 0, "yanchor": "top", "itemsizing": "constant"},
        showlegend=bool(nodes),
        width=width,
        height=int(top + RANK_HEIGHT * depth + BOTTOM),
        margin={"l": LEFT, "r": RIGHT, "t": top, "b": BOTTOM},
        hovermode="closest",
    )
    return figure


def _ranks(nodes: tuple[BeamNode, ...]) -> list[int]:
    """Return the rank of each node within its step; the best score has rank 0."""
    ranks = [0] * len(nodes)
    indices_by_step: dict[int, list[int]] = {}
    for index, node in enumerate(nodes):
        indices_by_step.setdefault(node.step, []).append(index)
    for indices in indices_by_step.values():
        for rank, index in enumerate(sorted(indices, key=lambda index: -nodes[index].score)):
            ranks[index] = rank
    return ranks


def _best_path(nodes: tuple[BeamNode, ...]) -> list[int]:
    """Return the nodes of the best finished sentence, from the first step to the last."""
    finished = [index for index, node in enumerate(nodes) if node.outcome == "finished"]
    index = max(finished, key=lambda index: nodes[index].score, default=-1)
    path = []
    while index >= 0:
        path.append(index)
        index = nodes[index].parent
    return path[::-1]


def _add_edges(
    figure: go.Figure,
    nodes: tuple[BeamNode, ...],
    ranks: list[int],
    indices: list[int],
    colour: str,
    width: int,
    name: str | None = None,
) -> None:
    """Add lines from the nodes with these indices to their parents."""
    x: list[float | None] = []
    y: list[float | None] = []
    for index in indices:
        parent = nodes[index].parent
        if parent >= 0:
            x += [nodes[parent].step, nodes[index].step, None]
            y += [ranks[parent], ranks[index], None]
    line = {"color": colour, "width": width}
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines",
        line=line,
        hoverinfo="skip",
        name=name,
        showlegend=bool(name and indices),
    )


def _hover(node: BeamNode, words: Mapping[str, str]) -> str:
    return words["node"].format(
        token=candidate_label(node.text).plotly_full,
        outcome=words[node.outcome],
        score=f"{node.score:.4f}",
        log_probability=f"{node.log_probability:.4f}",
    )

"""One number for each head, as a map of layers × heads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from model.errors import RequestError
from model.records import FloatArray
from viz.figures import naming
from viz.figures.frame import caption, header_height
from viz.theme import CAPTION, Theme, colour_scale, template

WORDS = {
    "entropy": "Entropy",
    "entropy_says": "How widely a row spreads, in bits: 0 is one token alone, 3 is eight tokens alike.",
    "relative_entropy": "Relative entropy",
    "relative_entropy_says": "How widely a row spreads of what it could: 0 is one token alone, 1 all tokens alike.",
    "distance": "Distance",
    "distance_says": "How many tokens away a row looks on average: from its own place or, in cross, the straight line.",
    "special": "Special tokens",
    "special_says": "Which share of a row rests on the tokens for start and end.",
    "strongest": "Strongest weight",
    "strongest_says": "The highest weight anywhere in the map.",
    "diagonal": "Straight ahead",
    "diagonal_says": "Which share of a row lies on the straight line from corner to corner.",
    "confidence": "Confidence",
    "confidence_says": "How much a row gives to its strongest token, on average.",
    "cell": "Layer {layer} · Head {head}: {value}",
    "none": "Layer {layer} · Head {head}: nothing to measure",
    "heads": "head",
    "layers": "layer",
}
SHARES = ("relative_entropy", "special", "strongest", "diagonal", "confidence")  # from 0 to 1, whatever the map
CELL = 56  # pixels
LEFT, RIGHT, TOP, FOOT = 64, 16, 24, 56


def statistics(
    values: FloatArray, name: str, *, theme: Theme, words: Mapping[str, str] | None = None, palette: str = "headlight"
) -> go.Figure:
    """A measure of `model.measures.statistics`, `[layer, head]`. Where it is NaN, there was nothing to measure."""
    if f"{name}_says" not in WORDS:
        names = [key.removesuffix("_says") for key in WORDS if key.endswith("_says")]
        raise RequestError(f"There is no measure {name!r}: choose {', '.join(names)}.", field="view")
    said = naming.wording(WORDS, words)
    values = np.asarray(values, dtype=np.float32)
    layers, heads = values.shape
    known = np.isfinite(values)
    highest = 1.0 if name in SHARES else max(1.0, float(values[known].max(initial=0.0)))
    texts, hovers = _texts(values, said)
    figure = go.Figure()
    figure.add_heatmap(
        z=np.where(known, values, np.float32(np.nan)).astype(np.float32),
        zmin=0,
        zmax=highest,
        colorscale=colour_scale(palette, theme),
        text=texts,
        texttemplate="%{text}",
        textfont={"size": CAPTION},
        hovertext=hovers,
        hoverinfo="text",
        hoverongaps=False,
        xgap=1,
        ygap=1,
        colorbar={
            "orientation": "h",
            "thickness": 8,
            "lenmode": "pixels",
            "len": 220,
            "x": 0,
            "xanchor": "left",
            "y": 0,
            "yanchor": "top",
            "ypad": 16,
            "xpad": 0,
            "nticks": 5,
        },
    )
    width = max(440, LEFT + RIGHT + heads * CELL)
    head = naming.title(said[name], said[f"{name}_says"], width - 2 * RIGHT)
    above = header_height(head) + TOP
    figure.update_layout(
        template=template(theme),
        meta={"figure": "statistics", "measure": name},
        title=head,
        xaxis=_axis(heads) | {"side": "top", "range": [-0.5, heads - 0.5]},
        yaxis=_axis(layers) | {"range": [layers - 0.5, -0.5]},
        annotations=[
            caption(said["heads"], theme, xref="paper", yref="paper", x=0, y=1, xanchor="left", yshift=34),
            caption(said["layers"], theme, xref="paper", yref="paper", x=0, y=1, xanchor="right", xshift=-8, yshift=12),
        ],
        width=width,
        height=int(above + layers * CELL * 0.7 + FOOT),
        margin={"l": LEFT, "r": width - LEFT - heads * CELL, "t": above, "b": FOOT},
    )
    return figure


def _axis(count: int) -> dict[str, Any]:
    return {
        "tickmode": "array",
        "tickvals": list(range(count)),
        "ticktext": [str(number + 1) for number in range(count)],
        "ticklabelstandoff": 4,
    }


def _texts(values: FloatArray, said: Mapping[str, str]) -> tuple[list[list[str]], list[list[str]]]:
    """What stands in each cell, and what appears under the pointer."""
    texts, hovers = [], []
    for layer, row in enumerate(values.tolist(), 1):
        texts.append([f"{value:.2f}" if np.isfinite(value) else "" for value in row])
        hovers.append(
            [
                said["cell" if np.isfinite(value) else "none"].format(layer=layer, head=head, value=f"{value:.4f}")
                for head, value in enumerate(row, 1)
            ]
        )
    return texts, hovers

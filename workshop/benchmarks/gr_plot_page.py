"""Baseline page: a `gr.Plot` with a subplot per head, which the server redraws for each selection."""

from __future__ import annotations

import os

import gradio as gr
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from headlight import Translator
from headlight.viz.settings import MODELS
from workshop.benchmarks.page import SENTENCE_30_TOKENS

COLUMNS = 8
HEADS = 48

translator = Translator.load(MODELS / "de-en")
result = translator.translate(SENTENCE_30_TOKENS)
maps = [result.attention.cross[layer, head] for layer in range(3) for head in range(8)]
maps += [result.attention.decoder[layer, head] for layer in range(3) for head in range(8)]


def draw(turn: int) -> tuple[int, go.Figure]:
    """Draw all heads, starting with head `turn`. Return the next turn and the figure."""
    figure = make_subplots(rows=HEADS // COLUMNS, cols=COLUMNS)
    for index in range(HEADS):
        trace = go.Heatmap(z=maps[(index + turn) % HEADS], zmin=0, zmax=1, showscale=False)
        figure.add_trace(trace, row=index // COLUMNS + 1, col=index % COLUMNS + 1)
    figure.update_layout(title=f"head {turn}", height=900)
    return turn + 1, figure


with gr.Blocks() as page:
    turn = gr.State(1)
    plot = gr.Plot(draw(0)[1])
    gr.Button("next").click(draw, turn, [turn, plot])

if __name__ == "__main__":
    page.launch(server_port=int(os.environ["HEADLIGHT_PORT"]))

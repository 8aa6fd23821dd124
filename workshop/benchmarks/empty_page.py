"""Gradio's own page with one line on it: as soon as anything of Gradio can be there, it is."""

from __future__ import annotations

import os

import gradio as gr

with gr.Blocks(analytics_enabled=False) as page:
    gr.HTML('<p id="there">.</p>')

if __name__ == "__main__":
    page.launch(server_port=int(os.environ["HEADLIGHT_PORT"]))

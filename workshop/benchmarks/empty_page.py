"""A Gradio page with one line of text: the baseline of a first visit."""

from __future__ import annotations

import os

import gradio as gr

with gr.Blocks(analytics_enabled=False) as page:
    gr.HTML('<p id="there">.</p>')

if __name__ == "__main__":
    page.launch(server_port=int(os.environ["HEADLIGHT_PORT"]))

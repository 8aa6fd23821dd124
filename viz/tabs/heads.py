"""Every head of every layer: the wall, one head large, comparison. All in the browser; the server only makes files."""

from __future__ import annotations

import gradio as gr

from viz.calls import answering
from viz.export import TakeAway
from viz.service import Service
from viz.widgets import widget


def build(service: Service) -> gr.HTML:
    """Inside a `gr.Blocks`."""
    return widget("heads/explorer", server=[answering(TakeAway(service).take_away)])

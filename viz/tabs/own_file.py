"""Own attention tab: shows a file with the attention of any model. The browser reads it, without the server."""

from __future__ import annotations

import gradio as gr

from headlight.viz.server.calls import CallTable
from headlight.viz.server.widget import widget
from headlight.viz.service.service import Service


def build(_service: Service, _calls: CallTable) -> gr.HTML:
    """Build the tab inside a `gr.Blocks`."""
    return widget("recording/own-file")

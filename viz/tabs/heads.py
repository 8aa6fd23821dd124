"""Every head of every layer: the wall, one head large, comparison. All in the browser; the server only makes files."""

from __future__ import annotations

import gradio as gr

from headlight.viz.answers.kept_roles import roles_of
from headlight.viz.answers.service import Service
from headlight.viz.export.files import Exporter
from headlight.viz.wire.rpc import answering
from headlight.viz.wire.widget import widget


def build(service: Service) -> gr.HTML:
    """Inside a `gr.Blocks`."""
    return widget(
        "heads/explorer", server=[answering(Exporter(service).export), answering(roles_of(service), computes=False)]
    )

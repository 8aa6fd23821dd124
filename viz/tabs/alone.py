"""One tab by itself, with nothing but the sentence above it: `python -m viz.tabs.NAME`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # nothing is reported to anybody

import gradio as gr

from viz.desk import Desk
from viz.fetching import Fetching
from viz.page import launch_page
from viz.service import Service
from viz.settings import Settings, read_settings
from viz.widgets import widget


def page_of(name: str, build: Callable[[Service], object], settings: Settings) -> gr.Blocks:
    """The page with this tab alone, not yet launched."""
    service = Service(settings)
    page: gr.Blocks
    with gr.Blocks(title="Headlight", analytics_enabled=False, fill_width=True) as page:
        widget("frame/header")
        desk = Desk(service)
        desk.build()
        fetching = Fetching(service)
        fetching.build()
        widget("frame/tabs", value=json.dumps([name]))
        with gr.Column(elem_id=f"panel-{name}", elem_classes=["panel"]):
            build(service)
        page.unload(desk.left)
        page.unload(fetching.left)
    return page


def launch_alone(name: str, build: Callable[[Service], object]) -> None:
    """Serve it where the settings say."""
    settings = read_settings()
    launch_page(page_of(name, build, settings), settings)

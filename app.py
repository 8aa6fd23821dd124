"""The front door: reads the settings, builds the page, opens it."""

from __future__ import annotations

import os

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # nothing is reported to anybody

from viz.page import build_page, launch_page

page = build_page()  # Hugging Face Spaces and `gradio app.py` look for it here

if __name__ == "__main__":
    launch_page(page)

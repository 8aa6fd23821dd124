"""Entry point of the app: builds the page from the settings and launches it."""

from __future__ import annotations

import contextlib
import os
import sys

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # no telemetry
with contextlib.suppress(ImportError):
    import spaces  # noqa: F401 (on ZeroGPU it must be imported before torch)

from headlight.model.errors import ModelError
from headlight.viz.page import build_page, launch_page
from headlight.viz.settings import SettingsError

try:
    page = build_page()  # name expected by Hugging Face Spaces and `gradio app.py`
except ModelError as error:
    sys.exit(str(error))

if __name__ == "__main__":
    try:
        launch_page(page)
    except SettingsError as error:
        sys.exit(str(error))

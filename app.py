"""The front door: reads the settings, builds the page, opens it."""

from __future__ import annotations

import contextlib
import os
import sys

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # nothing is reported to anybody
with contextlib.suppress(ImportError):
    import spaces  # noqa: F401 (where GPUs are lent, this must come before torch)

from headlight.model.errors import ModelError
from headlight.viz.page import build_page, launch_page
from headlight.viz.settings import SettingsError

try:
    page = build_page()  # Hugging Face Spaces and `gradio app.py` look for it here
except ModelError as error:
    sys.exit(str(error))

if __name__ == "__main__":
    try:
        launch_page(page)
    except SettingsError as error:
        sys.exit(str(error))

"""Which browser to drive."""

from __future__ import annotations

import os
import shutil

SHELL = "chromium-headless-shell"  # the same engine without windows: a fifth less work
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Chromium keeps its own sandbox from root, and small machines have little shared memory.
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
MISSING = (
    "No Chromium was found, and the page is tried in a real one. Install it (Debian: apt-get install "
    "chromium-headless-shell; Ubuntu: apt-get install chromium; macOS: brew install chromium), "
    "or name one in HEADLIGHT_CHROMIUM."
)


def find_chromium(*, windowless: bool = False) -> str:
    """The path of one, or a complaint that says how to get it; with `windowless`, rather of one without windows."""
    names = (SHELL, *NAMES) if windowless else (*NAMES, SHELL)
    found = os.environ.get("HEADLIGHT_CHROMIUM") or next(filter(None, map(shutil.which, names)), "")
    if not found:
        raise RuntimeError(MISSING)
    return found

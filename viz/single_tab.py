"""A page with a single tab below the translate widget: `python -m headlight.viz.single_tab TAB`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # no telemetry

from headlight.viz.page import build_page, launch_page
from headlight.viz.settings import read_settings
from headlight.viz.tabs import TABS


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve the tab at the configured address."""
    parser = argparse.ArgumentParser(
        prog="python -m headlight.viz.single_tab", description="Run the page with one tab."
    )
    parser.add_argument("tab", choices=TABS)
    tab = parser.parse_args(arguments).tab
    settings = read_settings()
    launch_page(build_page(settings, {tab: TABS[tab]}), settings)


if __name__ == "__main__":
    main()

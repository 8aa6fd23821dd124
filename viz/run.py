"""`headlight run`: start the page. Everything else is set by `HEADLIGHT_*` variables (docs/deploying.md)."""

from __future__ import annotations

import argparse
import os
import runpy


def add(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--host", help="the address to listen at (HEADLIGHT_HOST, else this machine alone)")
    parser.add_argument("--port", type=int, help="the port to listen at (HEADLIGHT_PORT, else the first free one)")


def run(arguments: argparse.Namespace) -> int:
    """Open the front door, which reads its settings from the environment."""
    for name in ("host", "port"):
        given = getattr(arguments, name)
        if given is not None:
            os.environ[f"HEADLIGHT_{name.upper()}"] = str(given)
    runpy.run_module("headlight.app", run_name="__main__")
    return 0

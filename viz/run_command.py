"""`headlight run`: start the page. All other settings are `HEADLIGHT_*` variables (docs/deploying.md)."""

from __future__ import annotations

import argparse
import os
import runpy

from headlight.viz.settings import port_argument


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--host", help="address to listen on (HEADLIGHT_HOST, else localhost)")
    parser.add_argument(
        "--port", type=port_argument, help="port to listen on (HEADLIGHT_PORT, else the first free port)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run `headlight.app`, which reads its settings from the environment."""
    for name in ("host", "port"):
        value = getattr(arguments, name)
        if value is not None:
            os.environ[f"HEADLIGHT_{name.upper()}"] = str(value)
    runpy.run_module("headlight.app", run_name="__main__")
    return 0

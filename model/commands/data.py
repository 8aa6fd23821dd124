"""`python -m model data get NAME`: fetch the public sets that models are trained on."""

from __future__ import annotations

import argparse
from pathlib import Path

from model.training.datasets import SETS
from model.training.download import find_set, get_set


def add(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    actions = parser.add_subparsers(dest="action", required=True)
    get = actions.add_parser("get", help="fetch a public set")
    get.add_argument("name", help=", ".join(SETS))
    get.add_argument("--data", type=Path, default=Path("data"), help="the folder to put it in (data)")
    actions.add_parser("list", help="the public sets, their licence and size")


def run(arguments: argparse.Namespace) -> int:
    """Fetch a public set, or list them."""
    if arguments.action == "list":
        for each in SETS.values():
            print(f"{each.name}: {each.about}; {each.size}; licence: {each.licence}")
        return 0
    get_set(find_set(arguments.name), arguments.data, print)
    return 0

"""`python -m headlight data …`: list or download public datasets."""

from __future__ import annotations

import argparse
from pathlib import Path

from headlight.model.training.datasets import PUBLIC_SETS
from headlight.model.training.download import download_dataset, find_dataset


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    actions = parser.add_subparsers(dest="action", required=True)
    get = actions.add_parser("get", help="download a public dataset")
    get.add_argument("name", help=", ".join(PUBLIC_SETS))
    get.add_argument("--data", type=Path, default=Path("data"), help="output folder (default: data)")
    actions.add_parser("list", help="list the public datasets with licence and size")


def run(arguments: argparse.Namespace) -> int:
    """List the public datasets, or download one."""
    if arguments.action == "list":
        for dataset in PUBLIC_SETS.values():
            print(f"{dataset.name}: {dataset.about}; {dataset.size}; licence: {dataset.licence}")
        return 0
    download_dataset(find_dataset(arguments.name), arguments.data, print)
    return 0

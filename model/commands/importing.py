"""`python -m headlight import FOLDER_OR_ID FOLDER`: convert a third-party model to a Headlight folder.

python -m headlight import Helsinki-NLP/opus-mt-de-en models/opus-de-en
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from headlight.model.checkpoints.storage import Storage
from headlight.model.commands.common import fetch_model, is_id
from headlight.model.errors import CheckpointError
from headlight.model.families.importing import import_folder


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "source", metavar="FOLDER_OR_ID", help="folder of another library's model, or its ID on the Hub"
    )
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="output folder")
    parser.add_argument("--revision", help="branch, tag or commit of a model on the Hub (default: main)")
    parser.add_argument(
        "--storage", choices=get_args(Storage), default="float16", help="storage type of the weights (default: float16)"
    )
    parser.add_argument("--yes", action="store_true", help="download without confirmation")


def run(arguments: argparse.Namespace) -> int:
    """Convert a local folder, or a model of the Hub, which is downloaded first."""
    source, origin, revision = Path(arguments.source), f"the folder {Path(arguments.source).name}", ""
    if not arguments.source or not source.is_dir():
        if not is_id(arguments.source):
            raise CheckpointError(
                f"{arguments.source or repr('')}: there is no such folder, and it is not a model id (owner/name). "
                "Check the path."
            )
        if "@" in arguments.source and arguments.revision:
            raise CheckpointError(f"{arguments.source} names a revision, and so does --revision. Omit one.")
        origin = arguments.source.partition("@")[0]
        source = fetch_model(arguments.source, arguments.revision or "main", without_confirmation=arguments.yes)
        revision = source.name
    import_folder(source, arguments.folder, origin=origin, revision=revision, storage=arguments.storage)
    print(f"{arguments.folder}: written")
    return 0

"""`python -m model import FOLDER_OR_ID FOLDER`: a foreign model → a folder of ours, which gives the same.

python -m model import Helsinki-NLP/opus-mt-de-en models/opus-de-en
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from model.errors import CheckpointError
from model.families.importing import import_folder
from model.storage import Storage

if TYPE_CHECKING:
    from model.hub import Plan, Progress


def add(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("source", metavar="FOLDER_OR_ID", help="a foreign model's folder, or its id on the Hub")
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="the folder to write")
    parser.add_argument("--revision", default="main", help="of a model on the Hub: a branch, tag or commit (main)")
    parser.add_argument("--storage", choices=get_args(Storage), default="float16", help="of the weights (float16)")
    parser.add_argument("--yes", action="store_true", help="fetch without asking")


def run(arguments: argparse.Namespace) -> int:
    """Fetch what is not here, and write the folder."""
    source, origin, revision = Path(arguments.source), f"the folder {Path(arguments.source).name}", ""
    if not source.is_dir():
        if arguments.source.count("/") != 1 or source.is_absolute() or source.exists():
            raise CheckpointError(
                f"{arguments.source}: there is no such folder, and it is no id of a model (owner/name). Check the path."
            )
        from model.hub import fetch, read_id  # known only where something is to be fetched

        wanted = read_id(arguments.source, arguments.revision)
        source = fetch(
            wanted.repository,
            revision=wanted.revision,
            confirm=None if arguments.yes else _confirm,
            on_progress=_show,
        )
        origin, revision = wanted.repository, source.name
    import_folder(source, arguments.folder, origin=origin, revision=revision, storage=arguments.storage)
    print(f"{arguments.folder}: written")
    return 0


def _confirm(plan: Plan) -> bool:
    """Ask whoever sits there; nobody does where standard input is no terminal."""
    terms = f", licence {plan.licence}" if plan.licence else ""
    print(f"{plan.repository}: {-(-plan.missing // 1_000_000):,} MB to fetch{terms}.", file=sys.stderr)
    if not sys.stdin.isatty():
        print("Give --yes to fetch it.", file=sys.stderr)
        return False
    return input("Fetch it? [y/N] ").strip().lower() in ("y", "yes")


def _show(progress: Progress) -> None:
    last = progress.done >= progress.total
    in_place = sys.stderr.isatty()
    if in_place or last:
        print(f"\r{progress}\x1b[K" if in_place else str(progress), end="\n" if last else "", file=sys.stderr)

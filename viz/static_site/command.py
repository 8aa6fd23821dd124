"""`headlight static DIR`: write the page as a folder that any file server can serve (docs/static.md)."""

from __future__ import annotations

import argparse
from pathlib import Path

from headlight.viz.settings import read_settings
from headlight.viz.static_site.files import check_folder, site_files, write_files
from headlight.viz.static_site.page_content import choose_models, read_page

DEFAULT_MODELS = "de-en,en-de,zh-en,en-zh"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "folder", type=Path, metavar="DIR", help="the folder to write: new, empty, or one of this command"
    )
    parser.add_argument(
        "--models",
        default=DEFAULT_MODELS,
        metavar="A,B",
        help=f"translators, the first is the default ({DEFAULT_MODELS})",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the folder."""
    check_folder(arguments.folder)
    settings = read_settings()
    names = choose_models(settings, arguments.models)
    files = site_files(read_page(settings, names))
    total = write_files(arguments.folder, files)
    print(f"{arguments.folder}: {len(files)} files, {total / 1e6:.1f} MB, with {', '.join(names)}.")
    print(f"To look at it: python -m http.server --directory {arguments.folder}")
    return 0

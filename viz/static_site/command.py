"""`headlight static DIR`: write the page as a folder that any file server can serve, and send it to a static Space."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from headlight.model.errors import CommandError
from headlight.viz.settings import read_settings
from headlight.viz.space.rules import faults
from headlight.viz.space.upload import check_space, make_space_url, read_name, upload
from headlight.viz.static_site.files import check_folder, site_files, write_files
from headlight.viz.static_site.page_content import choose_models, read_page
from headlight.viz.static_site.space_card import space_readme

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
    parser.add_argument(
        "--space", metavar="USER/NAME", help="also send the folder to this static Space on Hugging Face"
    )
    parser.add_argument("--private", action="store_true", help="create the Space for yourself alone")
    parser.add_argument("--replace", action="store_true", help="delete the files of another app in the Space")


def run(arguments: argparse.Namespace) -> int:
    """Write the folder."""
    check_folder(arguments.folder)
    space = None if arguments.space is None else read_name(arguments.space)
    if space:
        check_space(space, sdk="static", replace=arguments.replace)  # before the folder is built
    settings = read_settings()
    names = choose_models(settings, arguments.models)
    files = site_files(read_page(settings, names))
    if space:
        files["README.md"] = space_readme()
    total = write_files(arguments.folder, files)
    print(f"{arguments.folder}: {len(files)} files, {total / 1e6:.1f} MB, with {', '.join(names)}.")
    if space:
        send(space, {name: arguments.folder / name for name in files}, arguments)
    else:
        print(f"To look at it: python -m http.server --directory {arguments.folder}")
    return 0


def send(space: str, files: Mapping[str, Path], arguments: argparse.Namespace) -> None:
    """Create or update the Space."""
    if problems := list(faults(files)):
        raise CommandError(f"The Hub would refuse {space}: {' '.join(problems)}")
    is_changed = upload(space, files, sdk="static", private=arguments.private, replace=arguments.replace)
    print(
        f"All files have arrived at {make_space_url(space)}."
        if is_changed
        else f"{make_space_url(space)} has these files already."
    )

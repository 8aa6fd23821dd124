"""`headlight space user/name`: create or update the app as a Space on Hugging Face (docs/deploying.md)."""

from __future__ import annotations

import argparse

from headlight.model.errors import CommandError
from headlight.viz.space.files import find_root, find_space_files
from headlight.viz.space.rules import faults, needs_large_storage
from headlight.viz.space.upload import make_space_url, read_name, upload


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("name", metavar="USER/NAME", help="the Space, user/name or organisation/name")
    parser.add_argument("--dry-run", action="store_true", help="list and check the files without sending anything")
    parser.add_argument("--model", action="append", default=[], help="also send this folder of assets/models")
    parser.add_argument("--private", action="store_true", help="create it for yourself alone")
    parser.add_argument(
        "--hardware", metavar="NAME", help="create it on this hardware; zero-a10g is ZeroGPU (cpu-basic)"
    )
    parser.add_argument("--replace", action="store_true", help="delete the files of another app in the Space")


def run(arguments: argparse.Namespace) -> int:
    """Check the files, then list or upload them."""
    name = read_name(arguments.name)
    files = find_space_files(find_root(), arguments.model)
    problems = list(faults(files, arguments.hardware))
    if arguments.dry_run:
        for path, file in files.items():
            if file.is_file():
                print(f"{file.stat().st_size:>11,}  {'Xet' if needs_large_storage(file) else 'git'}  {path}")
    if problems:
        raise CommandError(f"The Hub would refuse {name}: {' '.join(problems)}")
    large = [file.stat().st_size for file in files.values() if needs_large_storage(file)]
    total = sum(file.stat().st_size for file in files.values())
    print(
        f"{len(files)} files, {total / 1e6:.1f} MB; {len(large)} of them, {sum(large) / 1e6:.1f} MB, are stored by Xet."
    )
    if arguments.dry_run:
        print("The files follow the Hub's rules. Nothing was sent.")
        return 0
    if upload(name, files, private=arguments.private, hardware=arguments.hardware, replace=arguments.replace):
        url = make_space_url(name)
        print(f"All files have arrived. {url} builds them now, which takes some minutes, and shows the log.")
    else:
        print(f"{make_space_url(name)} has these files already.")
    return 0

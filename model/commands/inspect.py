"""`python -m headlight inspect TEXT --output FILE`: every attention map of one sentence, as NPZ, CSV or JSON."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from headlight.model.commands.common import add_decoding, add_model, add_way_back, decoding_options, load, load_way_back
from headlight.model.errors import CommandError
from headlight.model.folders import formats as dumps
from headlight.model.records import Translation


def add(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("text", metavar="TEXT", help="the sentence to translate and look at")
    parser.add_argument("--output", required=True, type=Path, metavar="FILE", help="FILE.npz, FILE.csv or FILE.json")
    parser.add_argument("--target", metavar="TEXT", help="look at this translation instead of the model's own")
    parser.add_argument("--prefix", metavar="TEXT", help="begin the translation so")
    add_model(parser)
    add_decoding(parser)
    add_way_back(parser)


def run(arguments: argparse.Namespace) -> int:
    """Translate, write the file, and print one line about it."""
    write = WRITERS.get(arguments.output.suffix.lower())
    if write is None:
        raise CommandError(f"{arguments.output}: the name must end in {', '.join(WRITERS)}.")
    if not arguments.output.absolute().parent.is_dir():
        raise CommandError(f"{arguments.output}: there is no folder {arguments.output.parent}. Make it first.")
    given = {name: getattr(arguments, name) for name in ("target", "prefix") if getattr(arguments, name) is not None}
    reverse, choosing = load_way_back(arguments)
    translator = load(arguments)
    options = decoding_options(arguments) | choosing
    translation = translator.translate(arguments.text, way_back=reverse, **given, **options)
    arguments.output.write_bytes(write(translation))
    layers, heads, rows, columns = translation.attention.cross.shape
    print(translation.text)
    print(f"{arguments.output}: {layers} × {heads} decoder heads, {rows} tokens written, {columns} read.")
    return 0


WRITERS: dict[str, Callable[[Translation], bytes]] = {
    ".npz": dumps.npz,
    ".csv": dumps.long_csv,
    ".json": dumps.json_text,
}

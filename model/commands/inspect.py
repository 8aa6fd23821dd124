"""`python -m headlight inspect TEXT --output FILE`: write all attention maps of a sentence as NPZ, CSV or JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from headlight.model.checkpoints import formats
from headlight.model.commands.common import (
    add_decoding,
    add_model,
    add_reverse_model,
    decoding_options,
    load,
    load_reverse_model,
)
from headlight.model.errors import CommandError
from headlight.model.files import write_file
from headlight.model.records import KINDS, Translation


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("text", metavar="TEXT", help="the sentence to translate")
    parser.add_argument("--output", required=True, type=Path, metavar="FILE", help="FILE.npz, FILE.csv or FILE.json")
    parser.add_argument("--target", metavar="TEXT", help="use this translation instead of the model's own")
    parser.add_argument("--prefix", metavar="TEXT", help="beginning of the translation")
    parser.add_argument("--json", action="store_true", help="print a JSON object instead of text")
    add_model(parser)
    add_decoding(parser)
    add_reverse_model(parser)


def run(arguments: argparse.Namespace) -> int:
    """Translate, write the file, and print the translation and the sizes of the maps."""
    write = WRITER_BY_SUFFIX.get(arguments.output.suffix.lower())
    if write is None:
        raise CommandError(f"{arguments.output}: the name must end in {', '.join(WRITER_BY_SUFFIX)}.")
    if not arguments.output.absolute().parent.is_dir():
        raise CommandError(f"{arguments.output}: there is no folder {arguments.output.parent}. Create it first.")
    constraints = {
        name: getattr(arguments, name) for name in ("target", "prefix") if getattr(arguments, name) is not None
    }
    reverse, reverse_options = load_reverse_model(arguments)
    translator = load(arguments)
    options = decoding_options(arguments) | reverse_options
    translation = translator.translate(arguments.text, way_back=reverse, **constraints, **options)
    write_file(arguments.output, write(translation))
    print(
        _format_json(translation, arguments.output) if arguments.json else _format_text(translation, arguments.output)
    )
    return 0


def _format_text(translation: Translation, path: Path) -> str:
    layers, heads, rows, columns = translation.attention.cross.shape
    return f"{translation.text}\n{path}: {layers} × {heads} decoder heads, {rows} tokens written, {columns} read."


def _format_json(translation: Translation, path: Path) -> str:
    values = {
        "source": translation.source_text,
        "text": translation.text,
        "file": str(path),
        "shapes": {kind: list(translation.attention.of(kind).shape) for kind in KINDS},
        "source_tokens": [token.text for token in translation.source_tokens],
        "target_tokens": [token.text for token in translation.target_tokens],
    }
    return json.dumps(values, ensure_ascii=False)


WRITER_BY_SUFFIX: dict[str, Callable[[Translation], bytes]] = {
    ".npz": formats.to_npz,
    ".csv": formats.to_long_csv,
    ".json": formats.to_json,
}

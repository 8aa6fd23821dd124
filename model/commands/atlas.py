"""`headlight atlas`: the effect of each head over many sentences, and the words that it attends to most."""

from __future__ import annotations

import argparse
from pathlib import Path

from headlight.model.checkpoints.checksums import weights_digest
from headlight.model.checkpoints.reports import WEIGHTS_KEY
from headlight.model.commands.common import ProgressLine, add_device, model_folder
from headlight.model.commands.steadiness import add_texts, read_texts
from headlight.model.experiments.atlas import head_atlas
from headlight.model.experiments.findings import head_name
from headlight.model.experiments.head_roles import to_json
from headlight.model.files import write_file
from headlight.model.records import KINDS
from headlight.model.translate.translator import Translator

SENTENCES = 100
MAX_LISTED_HEADS = 10


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_texts(parser, SENTENCES)
    parser.add_argument("--output", type=Path, help="output file, e.g. assets/atlas/de-en.json")
    add_device(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the heads with the largest effects; with `--output`, write the atlas."""
    folder = model_folder(arguments.model)
    texts = read_texts(arguments, folder)
    progress = ProgressLine(len(texts))
    result = head_atlas(Translator.load(folder, arguments.device), texts, arguments.texts.name, progress.add)
    heads = [
        (head["effect"], head_name(kind, layer, number), head["reads"])
        for kind in KINDS
        for layer, entries in enumerate(result["heads"][kind])
        for number, head in enumerate(entries)
    ]
    print(f"Mean predicted loss without the head over {len(texts)} sentences, in nats; words with their lift:")
    for effect, name, words in sorted(heads, key=lambda head: -head[0])[:MAX_LISTED_HEADS]:
        print(f"{effect:+7.3f}  {name}: {', '.join(f'{word} {lift}×' for word, lift in words)}")
    if arguments.output is not None:
        write_file(arguments.output, to_json({WEIGHTS_KEY: weights_digest(folder), **result}))
    return 0

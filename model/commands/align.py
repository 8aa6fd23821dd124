"""`headlight align FILE`: word alignments of sentence pairs from one attention head, in Pharaoh format.

An input line has a sentence, a tab, and its translation. An output line has the word links of that pair, such as
`0-0 1-2`, with words counted from 0. The translation is forced, so no search runs.
`text/segmentation.py` segments words.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from headlight.model.checkpoints.alignment_heads import best_head
from headlight.model.commands.common import add_device, model_folder
from headlight.model.errors import CommandError
from headlight.model.files import write_atomically
from headlight.model.measures.alignment import attention_links
from headlight.model.measures.alignment_head import AlignmentHead
from headlight.model.text.gold_links import SegmentedText, parse_segmented
from headlight.model.translate.translator import Translator


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("file", type=Path, help="sentence pairs, one per line: sentence, tab, translation")
    parser.add_argument("--model", required=True, help="a folder, or a name in assets/models")
    parser.add_argument(
        "--head",
        metavar="L.H[.S]",
        help="layer and head, counted from 1; S 1: use the row after the word (default: the model's best head)",
    )
    parser.add_argument("--output", type=Path, help="output file (default: standard output)")
    add_device(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the links, one line per pair."""
    pairs = list(read_pairs(arguments.file))
    folder = model_folder(arguments.model)
    head = parse_head(arguments.head) if arguments.head else load_best_head(folder)
    translator = Translator.load(folder, arguments.device)
    if arguments.output is None:
        _write_links(translator, pairs, head, sys.stdout)
    else:
        write_atomically(arguments.output, lambda part: _write_file(translator, pairs, head, part))
    return 0


def read_pairs(path: Path) -> Iterator[tuple[SegmentedText, SegmentedText]]:
    """Yield the sentence pairs of a file, segmented into words."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path}: cannot be read ({error}). Name a text file in UTF-8.") from error
    for number, line in enumerate(lines, 1):
        source, tab, target = line.partition("\t")
        if not (tab and source.strip() and target.strip()):
            raise CommandError(f"{path}, line {number}: write a sentence, a tab, and its translation.")
        yield parse_segmented(source), parse_segmented(target.partition("\t")[0])


def parse_head(text: str) -> AlignmentHead:
    """Parse `3.7` or `3.7.1`: layer and head, counted from 1, and an optional shift."""
    parts = text.split(".")
    numbers = [int(part) for part in parts if part.isascii() and part.isdecimal()]
    if (
        len(numbers) != len(parts)
        or len(parts) not in (2, 3)
        or min(numbers[:2]) < 1
        or numbers[2:] not in ([], [0], [1])
    ):
        raise CommandError(f"{text!r} is not a head. Write layer and head: 3.7, or 3.7.1 for the row after the word.")
    return AlignmentHead(numbers[0] - 1, numbers[1] - 1, (numbers[2:] or [0])[0])


def load_best_head(folder: Path) -> AlignmentHead:
    """Return the head that aligns words best, as measured by `headlight heads`."""
    result = best_head(folder)
    if result is None:
        raise CommandError(f"{folder} has no measured alignment head. Name one with --head.")
    return result


def format_links(
    translator: Translator, source: SegmentedText, target: SegmentedText, alignment_head: AlignmentHead
) -> str:
    """Return the links of one pair in Pharaoh format."""
    layer, head, shift = alignment_head
    result = translator.translate(source.text, target=target.text)
    layers, heads = result.attention.cross.shape[:2]
    if layer >= layers or head >= heads:
        raise CommandError(f"Head {layer + 1}.{head + 1}: the model has {layers} layers of {heads} heads.")
    weights = result.attention.cross[layer, head]
    links = attention_links(weights, result.target_tokens, target.spans, result.source_tokens, source.spans, shift)
    return " ".join(f"{source_word}-{target_word}" for source_word, target_word in sorted(links))


def _write_file(
    translator: Translator,
    pairs: Iterable[tuple[SegmentedText, SegmentedText]],
    alignment_head: AlignmentHead,
    path: Path,
) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        _write_links(translator, pairs, alignment_head, file)


def _write_links(
    translator: Translator,
    pairs: Iterable[tuple[SegmentedText, SegmentedText]],
    alignment_head: AlignmentHead,
    file: TextIO,
) -> None:
    for source, target in pairs:
        file.write(format_links(translator, source, target, alignment_head) + "\n")

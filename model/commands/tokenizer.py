"""`python -m headlight tokenizer FILE … --size N --output tokenizer.json`: learn a sub-word vocabulary from text.

`--segment zh` learns merges only within the words of a segmenter. `--measure tokenizer.json` counts the boundaries of
these words that are token boundaries, too.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Iterator
from pathlib import Path

from headlight.model.errors import TokenizerError
from headlight.model.text.tokenizer import Tokenizer
from headlight.model.training.segmenters import find_segmenter, measure_boundary_recall


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="UTF-8 text, one sentence per line, may be gzipped (.gz)"
    )
    parser.add_argument("--size", type=int, default=8000, metavar="N", help="vocabulary size (default: 8000)")
    parser.add_argument("--segment", choices=["zh"], help="segment this language into words first")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--output", type=Path, metavar="FILE", help="output file, e.g. tokenizer.json")
    action.add_argument(
        "--measure", type=Path, metavar="FILE", help="vocabulary to measure: how many word boundaries it preserves"
    )


def run(arguments: argparse.Namespace) -> int:
    """Learn a vocabulary, save it and print its size; or measure an existing one."""
    segment = find_segmenter([arguments.segment])
    if arguments.measure:
        if segment is None:
            raise TokenizerError(
                "--measure compares with the words of a segmenter: choose its language with --segment."
            )
        matches, total = measure_boundary_recall(
            Tokenizer.load(arguments.measure), _read_lines(arguments.files), segment
        )
        print(
            f"{arguments.measure}: {matches:,} of {total:,} word boundaries preserved, "
            f"{100 * matches / max(1, total):.2f}%"
        )
        return 0
    tokenizer = Tokenizer.train(_read_lines(arguments.files), arguments.size, segment=segment)
    tokenizer.save(arguments.output)
    print(f"{arguments.output}: {tokenizer.vocabulary_size:,} entries.")
    return 0


def _read_lines(files: list[Path]) -> Iterator[str]:
    for path in files:
        try:
            with (
                gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file
            ):
                for line in file:
                    yield line.rstrip("\n")
        except FileNotFoundError as error:
            raise TokenizerError(f"{path}: there is no such file. Check the path.") from error
        except (EOFError, gzip.BadGzipFile) as error:
            raise TokenizerError(f"{path}: is truncated or not a gzip file ({error}). Download it again.") from error
        except UnicodeDecodeError as error:
            raise TokenizerError(f"{path}: is not UTF-8 text ({error.reason}). Convert it first.") from error

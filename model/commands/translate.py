"""`python -m headlight translate [TEXT …]`: sentences from the command line, or one a line from standard input."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice

from headlight.model.commands.common import (
    ProgressLine,
    add_decoding,
    add_model,
    add_way_back,
    decoding_options,
    load,
    load_way_back,
)
from headlight.model.errors import CommandError, RequestError
from headlight.model.translate.choosing import translate_lines
from headlight.model.translate.translator import Translator

CHUNK = 10_000  # lines that are sorted by length together; standard input may be larger than memory


def add(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "text", nargs="*", metavar="TEXT", help="sentences (without any: one a line from standard input)"
    )
    parser.add_argument(
        "--batch-tokens", type=int, default=3000, metavar="N", help="padded source tokens a batch (3000)"
    )
    add_model(parser)
    add_decoding(parser)
    add_way_back(parser)


def run(arguments: argparse.Namespace) -> int:
    """One translation a line on standard output, in the order of the sentences."""
    if arguments.batch_tokens < 1:
        raise CommandError(f"--batch-tokens is {arguments.batch_tokens}, but must be at least 1.")
    reverse, choosing = load_way_back(arguments)
    translator = load(arguments)
    write = translator.translate_lines if reverse is None else partial(translate_lines, reverse, translator)
    options = decoding_options(arguments) | choosing
    _tell_what_counts(translator, arguments)
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")  # invalid UTF-8 is reported line by line
    if not arguments.text and sys.stdin.isatty():
        print("Type a sentence and press Enter; Ctrl-D ends.", file=sys.stderr)
        chunks: Iterable[list[str]] = ([line] for line in sys.stdin)
    else:
        chunks = _chunks(arguments.text or sys.stdin)
    done = refused = 0
    for chunk in chunks:
        refused += _translate(partial(write, batch_tokens=arguments.batch_tokens, **options), chunk, done)
        done += len(chunk)
    return 1 if refused else 0


def _tell_what_counts(translator: Translator, arguments: argparse.Namespace) -> None:
    """Print the generation defaults that apply, and the generation rules that Headlight does not have."""
    languages, left_out = translator.languages, translator.generation_defaults.left_out
    if languages.target and len(languages.targets) > 1 and arguments.target_language is None:
        count = len(languages.targets)
        print(f"Into {languages.target}, one of {count} languages: name another with --to.", file=sys.stderr)
    if left_out:
        print(f"Rules of its makers are not known here and are left out: {'; '.join(left_out)}.", file=sys.stderr)


def _translate(write: Callable[..., list[str]], lines: list[str], before: int) -> int:
    """Translate some lines and return their number. A line that fails is reported on standard error and stays blank."""
    refused: list[int] = []

    def tell(place: int, error: RequestError) -> None:
        refused.append(place)
        encoding = " Is the text UTF-8?" if any("\ud800" <= character <= "\udfff" for character in lines[place]) else ""
        print(f"Line {before + place + 1} stays blank: {error}{encoding}", file=sys.stderr)

    progress = ProgressLine(sum(bool(line.strip()) for line in lines)) if len(lines) > 20 else None
    translated = write(lines, on_progress=progress.add if progress else None, on_refused=tell)
    sys.stdout.write("".join(f"{one_line(text)}\n" for text in translated))
    sys.stdout.flush()
    return len(refused)


def one_line(text: str) -> str:
    """A translation on one line, without line breaks."""
    return text.replace("\r", " ").replace("\n", " ")


def _chunks(lines: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(lines)
    while chunk := list(islice(rest, CHUNK)):
        yield [line.rstrip("\n") for line in chunk]

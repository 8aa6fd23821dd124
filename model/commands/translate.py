"""`python -m headlight translate [TEXT …]`: sentences from the command line, or one a line from standard input."""

from __future__ import annotations

import argparse
import codecs
import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, BinaryIO

from headlight.model.commands.common import (
    ProgressLine,
    add_decoding,
    add_model,
    add_reverse_model,
    decoding_options,
    load,
    load_reverse_model,
)
from headlight.model.errors import CommandError, RequestError
from headlight.model.records import Hypothesis
from headlight.model.translate.reranking import best_of_lines
from headlight.model.translate.translator import Translator

# Lines that are sorted by length together, and written together: few at first, so that the first come at once, then
# ever more, so that batches have lines of one length.
MIN_CHUNK, MAX_CHUNK = 64, 2048
READ_BYTES = 1 << 18
ENOUGH_FOR_PROGRESS = 20  # lines; fewer finish quickly


def add(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "text", nargs="*", metavar="TEXT", help="sentences (without any: one a line from standard input)"
    )
    parser.add_argument(
        "--batch-tokens", type=int, default=3000, metavar="N", help="padded source tokens a batch (3000)"
    )
    parser.add_argument(
        "--json", action="store_true", help="a JSON object a line: the sentence, its translation, score"
    )
    add_model(parser)
    add_decoding(parser)
    add_reverse_model(parser)


def run(arguments: argparse.Namespace) -> int:
    """One translation a line on standard output, in the order of the sentences, as soon as it is there."""
    if arguments.batch_tokens < 1:
        raise CommandError(f"--batch-tokens is {arguments.batch_tokens}, but must be at least 1.")
    reverse, choosing = load_reverse_model(arguments)
    translator = load(arguments)
    options = decoding_options(arguments) | choosing
    write = partial(best_of_lines, reverse, translator, batch_tokens=arguments.batch_tokens, **options)
    _print_defaults(translator, arguments)
    if not arguments.text and sys.stdin.isatty():
        print("Type a sentence and press Enter; Ctrl-D ends.", file=sys.stderr)
        chunks: Iterable[list[str]] = ([line] for line in sys.stdin)
    else:
        chunks = _chunks(iter([arguments.text]) if arguments.text else _lines_at_hand())
    form = _as_json if arguments.json else _as_text
    shown_as_lines = sys.stdout.isatty() and sys.stderr.isatty()  # the lines themselves are the progress there
    progress = None if shown_as_lines else ProgressLine(None, least=ENOUGH_FOR_PROGRESS)
    done = refused = 0
    for chunk in chunks:
        refused += _translate(write, chunk, done, form, progress)
        done += len(chunk)
    if progress is not None:
        progress.end()
    return 1 if refused else 0


def _print_defaults(translator: Translator, arguments: argparse.Namespace) -> None:
    """Print the generation defaults that apply, and the generation rules that Headlight does not have."""
    languages, left_out = translator.languages, translator.generation_defaults.left_out
    if languages.target and len(languages.targets) > 1 and arguments.target_language is None:
        count = len(languages.targets)
        print(f"Into {languages.target}, one of {count} languages: name another with --to.", file=sys.stderr)
    if left_out:
        print(f"Rules of its makers are not known here and are left out: {'; '.join(left_out)}.", file=sys.stderr)


def _translate(
    write: Callable[..., list[Hypothesis | None]],
    lines: list[str],
    before: int,
    form: Callable[[str, Hypothesis | None, str], str],
    progress: ProgressLine | None,
) -> int:
    """Translate some lines and return how many failed. Each is reported on stderr and leaves a blank line."""
    refused: dict[int, str] = {}

    def tell(place: int, error: RequestError) -> None:
        encoding = " Is the text UTF-8?" if any("\ud800" <= character <= "\udfff" for character in lines[place]) else ""
        refused[place] = f"{error}{encoding}"
        print(f"Line {before + place + 1} stays blank: {refused[place]}", file=sys.stderr)

    result = write(lines, on_progress=progress.add if progress else None, on_refused=tell)
    written = [form(lines[place], best, refused.get(place, "")) for place, best in enumerate(result)]
    sys.stdout.write("".join(f"{line}\n" for line in written))
    sys.stdout.flush()
    return len(refused)


def _as_text(line: str, best: Hypothesis | None, error: str) -> str:
    return join_lines(best.text) if best else ""


def _as_json(line: str, best: Hypothesis | None, error: str) -> str:
    values: dict[str, Any] = {
        "source": line.encode("utf-8", "replace").decode("utf-8"),
        "text": best.text if best else "",
    }
    if best is not None and best.log_probability:  # greedy search adds nothing up
        values |= {"log_probability": round(best.log_probability, 6), "score": round(best.score, 6)}
        values |= {} if best.reverse_score is None else {"back": round(best.reverse_score, 6)}
    return json.dumps(values | ({"error": error} if error else {}), ensure_ascii=False)


def join_lines(text: str) -> str:
    """A translation on one line, without line breaks."""
    return text.replace("\r", " ").replace("\n", " ")


def _chunks(arrivals: Iterator[Sequence[str]]) -> Iterator[list[str]]:
    """The lines in groups that grow. Lines that are there are never kept waiting for others to come."""
    most = MIN_CHUNK
    for lines in arrivals:
        place = 0
        while place < len(lines):
            yield list(lines[place : place + most])
            place += most
            most = min(2 * most, MAX_CHUNK)


def _lines_at_hand() -> Iterator[list[str]]:
    """The lines of standard input, as many at a time as it holds. Invalid UTF-8 is reported line by line."""
    source: BinaryIO | None = getattr(sys.stdin, "buffer", None)
    if source is None:  # standard input was replaced by a text stream
        yield [line.rstrip("\n") for line in sys.stdin]
        return
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")("surrogateescape"), translate=True)
    rest = ""
    while data := source.read1(READ_BYTES):  # type: ignore[attr-defined]
        *lines, rest = (rest + decoder.decode(data)).split("\n")
        if lines:
            yield lines
    if rest := rest + decoder.decode(b"", final=True):
        yield [rest.rstrip("\n")]

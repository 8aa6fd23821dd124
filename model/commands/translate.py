"""`python -m headlight translate [TEXT …]`: translate the given sentences, or each line of standard input."""

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

# Number of lines that are sorted by length and written together. Chunks are small at first, so that output starts
# early, and then grow, so that batches have lines of similar length.
MIN_CHUNK, MAX_CHUNK = 64, 2048
READ_BYTES = 1 << 18
MIN_PROGRESS_LINES = 20  # progress is printed only for more lines


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.description = (
        "Translate a sentence, or every line of standard input: greedily, unlike the page, which follows a beam of 4, "
        "never repeats 4 tokens and reranks by back-translation. --way-back MODEL --no-repeat 4 does as the page."
    )
    parser.add_argument("text", nargs="*", metavar="TEXT", help="sentences (default: one per line from standard input)")
    parser.add_argument(
        "--batch-tokens", type=int, default=3000, metavar="N", help="padded source tokens per batch (default: 3000)"
    )
    parser.add_argument(
        "--json", action="store_true", help="print a JSON object per line: sentence, translation, score"
    )
    add_model(parser)
    add_decoding(parser)
    add_reverse_model(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print one translation per line, in input order. Return 1 if a line failed."""
    if arguments.batch_tokens < 1:
        raise CommandError(f"--batch-tokens is {arguments.batch_tokens}, but must be at least 1.")
    reverse, reverse_options = load_reverse_model(arguments)
    translator = load(arguments)
    options = decoding_options(arguments) | reverse_options
    translate_chunk = partial(best_of_lines, reverse, translator, batch_tokens=arguments.batch_tokens, **options)
    _print_defaults(translator, arguments)
    if not arguments.text and sys.stdin.isatty():
        print("Type a sentence and press Enter; Ctrl-D ends.", file=sys.stderr)
        chunks: Iterable[list[str]] = ([line] for line in sys.stdin)
    else:
        chunks = _group_lines(iter([arguments.text]) if arguments.text else _read_available_lines())
    format_line = _format_json if arguments.json else _format_text
    output_shows_progress = sys.stdout.isatty() and sys.stderr.isatty()  # translations on a terminal
    progress = None if output_shows_progress else ProgressLine(None, min_lines=MIN_PROGRESS_LINES)
    done_count = failure_count = 0
    for chunk in chunks:
        failure_count += _translate(translate_chunk, chunk, done_count, format_line, progress)
        done_count += len(chunk)
    if progress is not None:
        progress.end()
    return 1 if failure_count else 0


def _print_defaults(translator: Translator, arguments: argparse.Namespace) -> None:
    """Print the default target language, and unsupported generation rules of the model, on standard error."""
    languages, left_out = translator.languages, translator.generation_defaults.left_out
    if languages.target and len(languages.targets) > 1 and arguments.target_language is None:
        count = len(languages.targets)
        print(f"Into {languages.target}, one of {count} languages: name another with --to.", file=sys.stderr)
    if left_out:
        print(f"Headlight omits rules of this model that it does not support: {'; '.join(left_out)}.", file=sys.stderr)


def _translate(
    translate_chunk: Callable[..., list[Hypothesis | None]],
    lines: list[str],
    first_number: int,
    format_line: Callable[[str, Hypothesis | None, str], str],
    progress: ProgressLine | None,
) -> int:
    """Translate and print lines, and return the number of failures. A failed line is reported and left blank.

    Args:
        translate_chunk: Returns the best hypothesis of each line.
        lines: The lines.
        first_number: Number of the lines before these.
        format_line: Formats a line from source, hypothesis and error.
        progress: Progress line, if any.
    """
    errors: dict[int, str] = {}

    def report(index: int, error: RequestError) -> None:
        encoding = " Is the text UTF-8?" if any("\ud800" <= character <= "\udfff" for character in lines[index]) else ""
        errors[index] = f"{error}{encoding}"
        print(f"Line {first_number + index + 1} stays blank: {errors[index]}", file=sys.stderr)

    hypotheses = translate_chunk(lines, on_progress=progress.add if progress else None, on_refused=report)
    output_lines = [
        format_line(lines[index], hypothesis, errors.get(index, "")) for index, hypothesis in enumerate(hypotheses)
    ]
    sys.stdout.write("".join(f"{line}\n" for line in output_lines))
    sys.stdout.flush()
    return len(errors)


def _format_text(line: str, best: Hypothesis | None, error: str) -> str:
    return join_lines(best.text) if best else ""


def _format_json(line: str, best: Hypothesis | None, error: str) -> str:
    values: dict[str, Any] = {
        "source": line.encode("utf-8", "replace").decode("utf-8"),
        "text": best.text if best else "",
    }
    if best is not None and best.log_probability:  # greedy search computes no log probability
        values |= {"log_probability": round(best.log_probability, 6), "score": round(best.score, 6)}
        values |= {} if best.reverse_score is None else {"back": round(best.reverse_score, 6)}
    return json.dumps(values | ({"error": error} if error else {}), ensure_ascii=False)


def join_lines(text: str) -> str:
    """Replace the line breaks of a translation by spaces."""
    return text.replace("\r", " ").replace("\n", " ")


def _group_lines(line_batches: Iterator[Sequence[str]]) -> Iterator[list[str]]:
    """Yield the lines in growing groups. Available lines do not wait for more input."""
    size = MIN_CHUNK
    for lines in line_batches:
        start = 0
        while start < len(lines):
            yield list(lines[start : start + size])
            start += size
            size = min(2 * size, MAX_CHUNK)


def _read_available_lines() -> Iterator[list[str]]:
    """Yield the lines of standard input as they arrive. Invalid bytes become surrogates, and such a line fails."""
    source: BinaryIO | None = getattr(sys.stdin, "buffer", None)
    if source is None:  # standard input was replaced by a text stream
        yield [line.rstrip("\n") for line in sys.stdin]
        return
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")("surrogateescape"), translate=True)
    remainder = ""
    while data := source.read1(READ_BYTES):  # type: ignore[attr-defined]
        *lines, remainder = (remainder + decoder.decode(data)).split("\n")
        if lines:
            yield lines
    if remainder := remainder + decoder.decode(b"", final=True):
        yield [remainder.rstrip("\n")]

"""`python -m headlight heads`: the word alignment error of each cross-attention head, against annotated links."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import add as add_counts
from pathlib import Path
from typing import Any, NamedTuple

from headlight.model.checkpoints.checksums import weights_digest
from headlight.model.checkpoints.reports import HEADS, WEIGHTS_KEY
from headlight.model.checkpoints.shipped import ASSETS
from headlight.model.commands.common import add_device, model_folder
from headlight.model.errors import CommandError
from headlight.model.files import write_file
from headlight.model.measures.alignment import AlignmentCounts, count_head_errors, error_bounds
from headlight.model.text.gold_links import LENGTH_BANDS, AlignedPair, read_links
from headlight.model.text.languages import languages_from_name
from headlight.model.training.card_section import refresh_checksums, replace_section
from headlight.model.translate.translator import Translator

BEST_COUNT = 8  # heads in heads.json
CARD_COUNT = 5  # heads in the model card
SECTION = "Heads that show something true"
LATE_READING = """aligns words: where a word has just been
written and the decoder reads it, this head looks at the word it came from. So read the row *after* a word (shift 1)."""
OWN_READING = """aligns words: where a word is
about to be written, this head looks at the word it comes from. So read the row *of* a word (shift 0)."""
LINKS_FOLDER = ASSETS / "corpora" / "links"


class HeadReading(NamedTuple):
    """A cross-attention head, and the row of its map that aligns a word."""

    layer: int
    head: int
    shift: int  # 0: the row that writes the word; 1: the next row


CountsByHead = Mapping[HeadReading, Sequence[AlignmentCounts]]


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--model", required=True, help="a folder, or a name in assets/models")
    parser.add_argument("--links", type=Path, help="table of aligned sentences (default: in assets/corpora/links)")
    parser.add_argument("--source", help="column of the source language (default: from the model's name)")
    parser.add_argument("--target", help="column of the target language (default: from the model's name)")
    add_device(parser)
    parser.add_argument("--output", type=Path, help="output file of the best heads, e.g. heads.json")
    parser.add_argument("--write", action="store_true", help="store the best heads in the model's folder")


def run(arguments: argparse.Namespace) -> int:
    """Print the error rates of all heads, best first. Then choose heads on one half of the pairs, and test them on the
    other half.
    """
    source, target = _languages(arguments)
    path = find_links_table(source, target) if arguments.links is None else arguments.links
    pairs = read_links(path, source, target)
    translator = Translator.load(model_folder(arguments.model), arguments.device)
    counts = count_heads(translator, pairs)
    lengths = [pair.length for pair in pairs]
    print(f"{arguments.model}: {len(pairs)} sentences, alignment error rate of each head, best first;")
    print("95% bootstrap intervals in brackets; then by the number of words on the longer side")
    print(
        "layer  head  shift   AER  bounds        " + "  ".join(f"{low}-{high}".rjust(14) for low, high in LENGTH_BANDS)
    )
    for head in sorted(counts, key=lambda head: sum_counts(counts[head]).rate):
        bands = "  ".join(_format_rate(list(in_length_band(counts[head], lengths, band))) for band in LENGTH_BANDS)
        print(f"{head.layer:5}  {head.head:4}  {head.shift:5}  {_format_rate(counts[head])}  {bands}")
    best = choose_best_heads(counts, lengths)
    print("Chosen on every other sentence, measured on the rest:")
    for entry in best:
        bounds = f"[{entry['low']:.3f} {entry['high']:.3f}]"
        print(f"{entry['layer']:5}  {entry['head']:4}  {entry['shift']:5}  {entry['error_rate']:.3f} {bounds}")
    folder = model_folder(arguments.model)
    text = json.dumps({WEIGHTS_KEY: weights_digest(folder), "heads": best}, indent=1) + "\n"
    if arguments.output is not None:
        write_file(arguments.output, text)
    if arguments.write:
        write_file(folder / HEADS, text)
        replace_section(folder, SECTION, render_section(best, folder.resolve().name, path.name, len(pairs)))
        refresh_checksums(folder)
    return 0


def find_links_table(source: str, target: str) -> Path:
    """Return the path of the shipped links between two languages, in any direction."""
    for path in (LINKS_FOLDER / f"{source}-{target}.tsv", LINKS_FOLDER / f"{target}-{source}.tsv"):
        if path.exists():
            return path
    raise CommandError(
        f"There are no links between {source!r} and {target!r} in {LINKS_FOLDER}. Name a table of links with --links."
    )


def count_heads(translator: Translator, pairs: Iterable[AlignedPair]) -> dict[HeadReading, list[AlignmentCounts]]:
    """Count the errors of each head per sentence. Translations are forced to the references."""
    counts: dict[HeadReading, list[AlignmentCounts]] = {}
    for pair in pairs:
        result = translator.translate(pair.source.text, target=pair.target.text)
        errors_by_head = count_head_errors(
            result.attention.cross,
            result.target_tokens,
            pair.target.spans,
            result.source_tokens,
            pair.source.spans,
            pair.gold,
        )
        for reading, errors in errors_by_head.items():
            counts.setdefault(HeadReading(*reading), []).append(errors)
    return counts


def choose_best_heads(counts: CountsByHead, lengths: Sequence[int], count: int = BEST_COUNT) -> list[dict[str, Any]]:
    """Choose the `count` best heads on every other sentence, and measure them on the remaining sentences."""
    selection_rates = {head: sum_counts(sentences[::2]).rate for head, sentences in counts.items()}
    best = sorted(selection_rates, key=lambda head: selection_rates[head])[:count]
    return [
        head._asdict()
        | {"chosen_by": round(selection_rates[head], 3)}
        | _compute_rate_with_bounds(counts[head][1::2])
        | {"by_words": _measure_aer_by_length(counts[head][1::2], lengths[1::2])}
        for head in best
    ]


def sum_counts(sentences: Iterable[AlignmentCounts]) -> AlignmentCounts:
    """Sum the counts of several sentences."""
    return reduce(add_counts, sentences, AlignmentCounts())


def in_length_band(
    sentences: Sequence[AlignmentCounts], lengths: Sequence[int], band: tuple[int, int]
) -> Iterable[AlignmentCounts]:
    """Return the counts of the sentences whose length is in the band, including its bounds."""
    low, high = band
    return (counts for counts, length in zip(sentences, lengths, strict=True) if low <= length <= high)


def render_section(heads: Sequence[Mapping[str, Any]], model: str, table: str, sentences: int) -> str:
    """Return the section of the model card about the head that aligns words best, and the rates of the best heads."""
    best = heads[0]
    indices = f"counted from 1; `layer {best['layer']}, head {best['head']}` in code"
    reading = LATE_READING if best["shift"] else OWN_READING
    rows = []
    for head in heads[:CARD_COUNT]:
        rates = (head, *head["by_words"].values())
        cells = " | ".join(f"{rate['error_rate']:.2f} ({rate['low']:.2f} to {rate['high']:.2f})" for rate in rates)
        row = "after the word" if head["shift"] else "that writes it"
        rows.append(f"| layer {head['layer'] + 1}, head {head['head'] + 1} | {row} | {cells} |")
    return f"""## {SECTION}

**Layer {best["layer"] + 1}, head {best["head"] + 1} of cross-attention** ({indices}) {reading} No
alignment was taught. Held against links drawn by hand for {sentences} sentences of 8 to 25 words
(`assets/corpora/links/{table}`): every other sentence chose the heads, the rest tell their alignment error rates, with
what 95% of samples of these {sentences // 2} sentences lie between:

| head | row | all | 8-12 words | 13-18 | 19-25 |
| --- | --- | --- | --- | --- | --- |
{chr(10).join(rows)}

The heads of the row that *writes* a word look at the word that is about to be said, and are wrong more often: they show
where a word comes from in short sentences, and hint at it in long ones. All heads, on all sentences:

    python -m headlight heads --model {model}
"""


def _measure_aer_by_length(sentences: Sequence[AlignmentCounts], lengths: Sequence[int]) -> dict[str, dict[str, float]]:
    bands = {f"{low}-{high}": list(in_length_band(sentences, lengths, (low, high))) for low, high in LENGTH_BANDS}
    return {name: _compute_rate_with_bounds(counts) for name, counts in bands.items() if counts}


def _compute_rate_with_bounds(sentences: Sequence[AlignmentCounts]) -> dict[str, float]:
    bounds = error_bounds(sentences)
    rate = sum_counts(sentences).rate
    return {"error_rate": round(rate, 3), "low": round(bounds.low, 3), "high": round(bounds.high, 3)}


def _format_rate(sentences: Sequence[AlignmentCounts]) -> str:
    if not sentences:
        return "             -"
    bounds = error_bounds(sentences)
    return f"{sum_counts(sentences).rate:.3f} [{bounds.low:.2f} {bounds.high:.2f}]"


def _languages(arguments: argparse.Namespace) -> tuple[str, str]:
    """Return the source and the target language, from the arguments or else from the model's name."""
    languages = languages_from_name(Path(arguments.model).name)
    source, target = arguments.source or languages[:1], arguments.target or languages[1:]
    if not (source and target):
        raise CommandError(f"The name {arguments.model!r} does not contain its languages. Add --source and --target.")
    return "".join(source), "".join(target)

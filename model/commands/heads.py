"""`python -m headlight heads`: how plainly each cross-attention head aligns words, against links drawn by hand."""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from headlight.model.commands.common import model_folder
from headlight.model.errors import CommandError
from headlight.model.folders.shipped import ASSETS
from headlight.model.measures.alignment import Errors, count_errors, links_of, parse_gold, words_of
from headlight.model.translate.translator import Translator

KEPT = 8  # heads that a model's folder tells of
CORPORA = ASSETS / "corpora"


class Head(NamedTuple):
    """One head of cross-attention, and which row of its map speaks for a word."""

    layer: int
    head: int
    shift: int


def add(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--model", required=True, help="a folder, or a name in assets/models")
    parser.add_argument("--corpus", type=Path, default=CORPORA / "mini.tsv", help="sentences, one column a language")
    parser.add_argument("--links", type=Path, default=CORPORA / "alignments.tsv", help="line numbers and links")
    parser.add_argument("--source", default="de", help="column (de)")
    parser.add_argument("--target", default="en", help="column (en)")
    parser.add_argument("--reverse", action="store_true", help="the links were drawn from target to source")
    parser.add_argument("--device", help="cuda, mps or cpu (the best there is)")
    parser.add_argument("--output", type=Path, help="where to write the best heads, e.g. heads.json")


def run(arguments: argparse.Namespace) -> int:
    """Print a table, best heads first."""
    translator = Translator.load(model_folder(arguments.model), arguments.device)
    rows = read_gold(arguments.corpus, arguments.links, arguments.source, arguments.target)
    rates = error_rates(translator, rows, reverse=arguments.reverse)
    print(f"{arguments.model}: {len(rows)} sentences, alignment error rate of each head, best first")
    print("layer  head  shift   AER")
    ranked = sorted(rates.items(), key=lambda item: item[1].rate)
    for head, errors in ranked:
        print(f"{head.layer:5}  {head.head:4}  {head.shift:5}  {errors.rate:.3f}")
    if arguments.output is not None:
        best = [head._asdict() | {"error_rate": round(errors.rate, 3)} for head, errors in ranked[:KEPT]]
        arguments.output.write_text(json.dumps(best, indent=1) + "\n", encoding="utf-8")
    return 0


def read_gold(corpus: Path, links: Path, source: str, target: str) -> list[tuple[str, str, str]]:
    """Sentence, translation, links as written."""
    sentences, drawn = _rows(corpus, (source, target)), _rows(links, ("line", "links"))
    found = []
    for row in drawn:
        place = row["line"]
        if not place.isdecimal() or not 2 <= int(place) < len(sentences) + 2:  # line 1 names the columns
            last = len(sentences) + 1
            raise CommandError(f"{links}: line {place!r} is none of {corpus}'s (2 to {last}). Mend it.")
        sentence = sentences[int(place) - 2]
        found.append((sentence[source], sentence[target], row["links"]))
    return found


def error_rates(
    translator: Translator, rows: Sequence[tuple[str, str, str]], *, reverse: bool = False
) -> dict[Head, Errors]:
    """Each sentence is given with its translation: what is looked at is the attention, not the wording."""
    rates: dict[Head, Errors] = {}
    for source, target, written in rows:
        result = translator.translate(source, target=target)
        words = words_of(result.source_tokens), words_of(result.target_tokens)
        gold = parse_gold(written, *(reversed(words) if reverse else words))
        layers, heads = result.attention.cross.shape[:2]
        for place in (Head(layer, head, shift) for layer in range(layers) for head in range(heads) for shift in (0, 1)):
            weights = result.attention.cross[place.layer, place.head]
            links = links_of(weights, result.target_tokens, result.source_tokens, place.shift)
            if reverse:
                links = frozenset((target_word, source_word) for source_word, target_word in links)
            rates[place] = rates.get(place, Errors()) + count_errors(links, gold)
    return rates


def _rows(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """The lines of a table that has these columns, and at least one line."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            rows, names = list(reader), reader.fieldnames or ()
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    for column in columns:
        if column not in names:
            there = ", ".join(names) or "none"
            raise CommandError(f"{path} has no column {column!r}. Its columns are: {there}.")
    if not rows:
        raise CommandError(f"{path} has no lines below its columns. Write some.")
    return rows

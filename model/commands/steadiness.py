"""`headlight steadiness`: measure the role of every head over many sentences, and its stability.

`--write` stores the result in the model's folder: roles.json, a section of the model card, and the checksums.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from pathlib import Path
from typing import Any

from headlight.model.checkpoints.checksums import weights_digest
from headlight.model.checkpoints.reports import WEIGHTS_KEY
from headlight.model.checkpoints.shipped import ASSETS
from headlight.model.commands.common import ProgressLine, add_device, model_folder
from headlight.model.errors import CommandError
from headlight.model.experiments.head_roles import ROLES_FILE, head_roles, to_json
from headlight.model.files import write_file
from headlight.model.measures.roles import NAMES
from headlight.model.records import KINDS
from headlight.model.text.languages import languages_from_name
from headlight.model.training.card_section import refresh_checksums, replace_section
from headlight.model.translate.translator import Translator

TEXTS = ASSETS / "corpora" / "mini.tsv"
SENTENCES = 200


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_texts(parser, SENTENCES)
    parser.add_argument("--write", action="store_true", help="store the roles in the model's folder")
    add_device(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure the roles, and print the number of heads per role; with `--write`, store the roles."""
    folder = model_folder(arguments.model)
    texts = read_texts(arguments, folder)
    progress = ProgressLine(len(texts))
    result = head_roles(Translator.load(folder, arguments.device), texts, arguments.texts.name, progress.add)
    section = card_section(result)
    print(section)
    if arguments.write:
        write_file(folder / ROLES_FILE, to_json({WEIGHTS_KEY: weights_digest(folder), **result}))
        replace_section(folder, "Roles of heads", section)
        refresh_checksums(folder)
    return 0


def add_texts(parser: argparse.ArgumentParser, count: int) -> None:
    """Add the arguments of a measurement over sentences. `count`: default number of sentences."""
    parser.add_argument("--model", required=True, help="a folder, or a name in assets/models")
    parser.add_argument(
        "--texts", type=Path, default=TEXTS, help="table of sentences with one column per language (default: mini.tsv)"
    )
    parser.add_argument("--column", help="column of the table (default: the model's source language)")
    parser.add_argument(
        "--sentences",
        type=int,
        default=count,
        help=f"number of sentences, evenly spaced in the table (default: {count})",
    )


def read_texts(arguments: argparse.Namespace, folder: Path) -> list[str]:
    """Return the sentences that `add_texts` describes, for the model in a folder."""
    column = arguments.column or (*languages_from_name(folder.resolve().name), "")[0]
    return sample_sentences(arguments.texts, column, arguments.sentences)


def sample_sentences(path: Path, column: str, count: int = SENTENCES) -> list[str]:
    """Return `count` evenly spaced sentences of a column, or all if there are fewer."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        if column not in (rows.fieldnames or ()):
            columns = ", ".join(rows.fieldnames or ()) or "none"
            raise CommandError(f"{path} has no column {column!r}. Name one with --column: {columns}.")
        texts = [row[column] for row in rows]
    if count < 1:
        raise CommandError(f"--sentences must be at least 1, not {count}.")
    count = min(count, len(texts))
    return [texts[index * len(texts) // count] for index in range(count)]


def card_section(values: dict[str, Any]) -> str:
    """Return the section of the model card: the number of heads per role and kind, and their stability."""
    rows = []
    for name in NAMES:
        heads = [[head for layer in values["heads"][kind] for head in layer if head["role"] == name] for kind in KINDS]
        if any(heads):
            stabilities = [head["held"] for kind_heads in heads for head in kind_heads]
            counts = " | ".join(str(len(kind_heads)) for kind_heads in heads)
            rows.append(f"| {name} | {counts} | {sum(stabilities) / len(stabilities):.2f} |")
    role_counts = Counter(head["role"] for kind in KINDS for layer in values["heads"][kind] for head in layer)
    name, count = role_counts.most_common(1)[0]
    return f"""## Roles of heads

What each head does over {values["sentences"]} sentences of {values["corpus"]}, each translated greedily, by the rules
of `model/measures/roles.py`; `steady` is the mean share of sentences in which such a head has its role by itself.
{count} of {role_counts.total()} heads are `{name}`, the most common role. `roles.json` has every head.

| role | {" | ".join(KINDS)} | steady |
| --- | {" | ".join("---:" for _ in KINDS)} | ---: |
{chr(10).join(rows)}
"""

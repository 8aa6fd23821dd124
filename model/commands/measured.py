"""`headlight measured`: repeat the reports that were measured on other weights, each with its own command.

A report is current if its `weights` are the digest of the folder's weights (`checkpoints/reports.py`); it is then kept.
After new weights: links, roles, pruning, faithfulness, reliability, in this order, since faithfulness reads which head
aligns words. `make measured` then updates the page's first answer.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from headlight.model.checkpoints.reports import HEADS, PRUNING, RELIABILITY, ROLES, is_current
from headlight.model.checkpoints.shipped import ASSETS, MODELS, shipped_models
from headlight.model.commands import faithfulness, heads, importance, reliability, steadiness
from headlight.model.commands.common import model_folder
from headlight.model.errors import CommandError
from headlight.model.text.languages import languages_from_name

FAITHFULNESS = ASSETS / "faithfulness"
CURVE = ("--sentences", "200", "--ranked-on", "50", "--beam", "1")


class Report(NamedTuple):
    """One report of a model, and the command that updates it; `lacks` names the missing input."""

    path: Path
    command: str
    arguments: tuple[str, ...]
    lacks: str = ""


COMMANDS = {
    "heads": heads,
    "steadiness": steadiness,
    "importance": importance,
    "faithfulness": faithfulness,
    "reliability": reliability,
}


def add(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--model", nargs="+", metavar="NAME", help="folders, or names (every shipped translator)")
    parser.add_argument("--data", type=Path, help="a folder of texts, by which reliability is fitted")
    parser.add_argument("--texts", type=Path, help="a table of sentences for languages that mini.tsv lacks")
    parser.add_argument("--again", action="store_true", help="measure what is current, too")
    parser.add_argument("--list", action="store_true", help="say what would be measured, and measure nothing")


def run(arguments: argparse.Namespace) -> int:
    """Update stale reports. Returns 1 if one stays stale because its texts are missing."""
    left = 0
    for name in arguments.model or [each for each in shipped_models() if languages_from_name(each)]:
        folder = model_folder(name).resolve()
        for report in list_reports(folder, arguments.data, arguments.texts):
            about = f"{folder.name}: {report.path.name if report.path.parent == folder else report.command}"
            if not arguments.again and is_up_to_date(report.path, folder):
                print(f"{about}: current")
                continue
            if report.lacks or arguments.list:
                left += 1
                print(f"{about}: stale{report.lacks and ', '}{report.lacks}")
                continue
            print(f"{about}: headlight {report.command} {' '.join(report.arguments)}", flush=True)
            began = time.monotonic()
            _run(report)
            print(f"{about}: measured in {time.monotonic() - began:,.0f} s", flush=True)
    return int(left > 0)


def list_reports(folder: Path, data: Path | None = None, texts: Path | None = None) -> Iterator[Report]:
    """Every report that a translator's folder has or can have."""
    source, target = (*languages_from_name(folder.name), "", "")[:2]
    if not target:
        raise CommandError(f"{folder}: the name says no two languages, as de-en does. Measure it command by command.")
    chosen = ("--model", str(folder) if folder.parent != MODELS else folder.name)
    try:
        heads.links_table(source, target)
    except CommandError:
        pass  # no links exist for this pair
    else:
        yield Report(folder / HEADS, "heads", (*chosen, "--write"))
    table = texts or steadiness.TEXTS
    lacks = "" if {source, target} <= read_columns(table) else f"{table.name} has not both languages: give --texts"
    yield Report(folder / ROLES, "steadiness", (*chosen, "--texts", str(table), "--write"), lacks)
    curve = (*chosen, "--curve", str(table), "--languages", f"{source}-{target}", *CURVE, "--write")
    yield Report(folder / PRUNING, "importance", curve, lacks)
    path = FAITHFULNESS / f"{folder.name}.json" if folder.parent == MODELS else folder / "faithfulness.json"
    command = (*chosen, "--file", str(table), "--column", source, "--output", str(path))
    yield Report(path, "faithfulness", command, lacks)
    fitted = (*chosen, "--data", str(data), "--write")
    yield Report(folder / RELIABILITY, "reliability", fitted, "" if data else "give --data")


def is_up_to_date(path: Path, folder: Path) -> bool:
    """Whether a report is there, and speaks of the weights that the folder holds."""
    return path.exists() and is_current(json.loads(path.read_text(encoding="utf-8")), folder)


def read_columns(table: Path) -> set[str]:
    """The columns of a table of sentences."""
    with table.open(encoding="utf-8", newline="") as file:
        return set(next(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE), []))


def _run(report: Report) -> None:
    module = COMMANDS[report.command]
    parser = argparse.ArgumentParser(prog=f"headlight {report.command}")
    module.add(parser)
    act: Callable[[argparse.Namespace], int] = module.run
    act(parser.parse_args(list(report.arguments)))

"""`headlight measured`: rerun reports whose weights have changed.

A report is current, and is skipped, if its `weights` equal the digest of the folder's weights
(`checkpoints/reports.py`). The order is heads, roles, atlas, pruning, faithfulness, reliability, because faithfulness
needs the best alignment head. `make measured` then updates the page's first answer.
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
from headlight.model.commands import atlas, faithfulness, heads, importance, reliability, steadiness
from headlight.model.commands.common import model_folder
from headlight.model.errors import CommandError
from headlight.model.text.languages import languages_from_name

FAITHFULNESS = ASSETS / "faithfulness"
ATLAS = ASSETS / "atlas"
CURVE = ("--sentences", "200", "--ranked-on", "50", "--beam", "1")


class Report(NamedTuple):
    """A report of a model, and the command that updates it."""

    path: Path
    command: str
    arguments: tuple[str, ...]
    missing_input: str = ""  # clause about input without which the command cannot run


COMMANDS = {
    "heads": heads,
    "steadiness": steadiness,
    "atlas": atlas,
    "importance": importance,
    "faithfulness": faithfulness,
    "reliability": reliability,
}


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--model", nargs="+", metavar="NAME", help="folders or names (default: all bundled translators)"
    )
    parser.add_argument("--data", type=Path, help="folder of texts to fit reliability")
    parser.add_argument("--texts", type=Path, help="table of sentences for languages that are not in mini.tsv")
    parser.add_argument("--again", action="store_true", help="repeat current measurements, too")
    parser.add_argument("--list", action="store_true", help="list the pending measurements without running them")


def run(arguments: argparse.Namespace) -> int:
    """Update stale reports. Return 1 if a report remains stale, because of missing input or of `--list`."""
    stale = 0
    for name in arguments.model or [model for model in shipped_models() if languages_from_name(model)]:
        folder = model_folder(name).resolve()
        for report in list_reports(folder, arguments.data, arguments.texts):
            label = f"{folder.name}: {report.path.name if report.path.parent == folder else report.command}"
            if not arguments.again and is_up_to_date(report.path, folder):
                print(f"{label}: current")
                continue
            if report.missing_input or arguments.list:
                stale += 1
                print(f"{label}: stale{report.missing_input and ', '}{report.missing_input}")
                continue
            print(f"{label}: headlight {report.command} {' '.join(report.arguments)}", flush=True)
            started = time.monotonic()
            _run(report)
            print(f"{label}: measured in {time.monotonic() - started:,.0f} s", flush=True)
    return int(stale > 0)


def list_reports(folder: Path, data: Path | None = None, texts: Path | None = None) -> Iterator[Report]:
    """Yield all reports of a translator's folder, whether they exist or not."""
    source, target = (*languages_from_name(folder.name), "", "")[:2]
    if not target:
        raise CommandError(
            f"{folder}: the name does not contain a language pair such as de-en. Run each command by hand."
        )
    model_options = ("--model", str(folder) if folder.parent != MODELS else folder.name)
    try:
        heads.find_links_table(source, target)
    except CommandError:
        pass  # no links exist for this pair
    else:
        yield Report(folder / HEADS, "heads", (*model_options, "--write"))
    table = texts or steadiness.TEXTS
    missing_input = (
        "" if {source, target} <= read_columns(table) else f"{table.name} lacks one of the languages: add --texts"
    )
    yield Report(folder / ROLES, "steadiness", (*model_options, "--texts", str(table), "--write"), missing_input)
    atlas_path = ATLAS / f"{folder.name}.json" if folder.parent == MODELS else folder / "atlas.json"
    atlas_options = (*model_options, "--texts", str(table), "--column", source, "--output", str(atlas_path))
    yield Report(atlas_path, "atlas", atlas_options, missing_input)
    curve_options = (*model_options, "--curve", str(table), "--languages", f"{source}-{target}", *CURVE, "--write")
    yield Report(folder / PRUNING, "importance", curve_options, missing_input)
    path = FAITHFULNESS / f"{folder.name}.json" if folder.parent == MODELS else folder / "faithfulness.json"
    faithfulness_options = (*model_options, "--file", str(table), "--column", source, "--output", str(path))
    yield Report(path, "faithfulness", faithfulness_options, missing_input)
    options = (*model_options, "--data", str(data), "--write")
    yield Report(folder / RELIABILITY, "reliability", options, "" if data else "add --data")


def is_up_to_date(path: Path, folder: Path) -> bool:
    """Whether a report exists and was measured on the folder's weights."""
    return path.exists() and is_current(json.loads(path.read_text(encoding="utf-8")), folder)


def read_columns(table: Path) -> set[str]:
    """Return the column names of a table of sentences."""
    with table.open(encoding="utf-8", newline="") as file:
        return set(next(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE), []))


def _run(report: Report) -> None:
    module = COMMANDS[report.command]
    parser = argparse.ArgumentParser(prog=f"headlight {report.command}")
    module.add(parser)
    run_command: Callable[[argparse.Namespace], int] = module.run
    run_command(parser.parse_args(list(report.arguments)))

"""`headlight survey FILE`, `headlight survey find DIR`, `headlight survey report DIR`: all heads on a corpus."""

from __future__ import annotations

import argparse
from pathlib import Path

from headlight.model.commands.common import DEFAULT_MODEL, ProgressLine, add_device, model_folder
from headlight.model.errors import CommandError
from headlight.model.experiments.survey import DEFAULT_MEASURES, check_measures
from headlight.model.experiments.survey_cluster import survey_on_cluster
from headlight.model.experiments.survey_files import make_plan, polars, read_plan, run_survey, start_survey
from headlight.model.experiments.survey_search import find_looks
from headlight.model.files import write_file
from headlight.viz.backends.ray_cluster import join_or_start
from headlight.viz.export.survey_report import survey_report_page

REPORT = "report.html"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("source", metavar="FILE|find|report", help="sentences, one per line: [⇥ translation [⇥ links]]")
    parser.add_argument("folder", type=Path, nargs="?", metavar="DIR", help="the survey to search or to draw")
    parser.add_argument(
        "--model", default=DEFAULT_MODEL, help=f"a folder, or a name in assets/models ({DEFAULT_MODEL})"
    )
    parser.add_argument(
        "--measure",
        default=",".join(DEFAULT_MEASURES),
        metavar="A,B",
        help=f"measures or groups ({','.join(DEFAULT_MEASURES)})",
    )
    parser.add_argument("--output", type=Path, metavar="DIR", help="output folder; an unfinished survey is resumed")
    parser.add_argument("--workers", type=int, metavar="N", help="number of processes (1; in a cluster: one per core)")
    parser.add_argument("--cluster", action="store_true", help="use the running Ray cluster, or start one")
    add_device(parser)
    parser.add_argument("--from", dest="start", metavar="WORD", help="find: the word of the row")
    parser.add_argument("--to", dest="end", metavar="WORD", help="find: the word with the row's largest weight")
    parser.add_argument("--least", type=float, default=0.3, metavar="X", help="find: minimum weight (0.3)")
    parser.add_argument("--top", type=int, default=10, metavar="N", help="find: number of heads (10)")


def run(arguments: argparse.Namespace) -> int:
    """Measure a corpus, search a survey or write its report. Returns the exit code."""
    polars()  # fail before measuring if polars is missing
    if arguments.source in ("find", "report") and arguments.folder is None:
        raise CommandError(f"Name the folder of a survey: headlight survey {arguments.source} DIR.")
    if arguments.source == "find":
        return _find(arguments)
    if arguments.source == "report":
        path = arguments.folder / REPORT
        write_file(path, survey_report_page(arguments.folder))
        print(path)
        return 0
    return _survey(arguments)


def _survey(arguments: argparse.Namespace) -> int:
    if arguments.output is None:
        raise CommandError("Name a folder for the survey: --output DIR.")
    if arguments.workers is not None and arguments.workers < 1:
        raise CommandError(f"--workers must be at least 1, not {arguments.workers}.")
    file, model = Path(arguments.source), model_folder(arguments.model)
    measures = [name.strip() for name in arguments.measure.split(",") if name.strip()]
    plan = make_plan(model, file, check_measures(measures))
    start_survey(arguments.output, plan)
    options = {"device": arguments.device, "on_progress": ProgressLine(plan.lines).add}
    if arguments.cluster:
        _join_cluster()
        survey_on_cluster(arguments.output, model, file, workers=arguments.workers, **options)
    else:
        run_survey(arguments.output, model, file, workers=arguments.workers or 1, **options)
    print(f"{plan.lines:,} lines in {plan.parts} parts: {arguments.output}")
    return 0


def _join_cluster() -> None:
    try:
        join_or_start("data", start_local=False)
    except CommandError:
        join_or_start("data", start_local=True)  # raises if Ray is missing


def _find(arguments: argparse.Namespace) -> int:
    if not (arguments.start and arguments.end):
        raise CommandError("Name the words to search for: --from WORD --to WORD.")
    plan = read_plan(arguments.folder)
    matches = find_looks(arguments.folder, arguments.start, arguments.end, arguments.least)
    if not matches:
        print(f"No head of {plan.model} looks from {arguments.start!r} to {arguments.end!r} with {arguments.least:g}.")
    for match in matches[: arguments.top]:
        kind, layer, head = match.head
        mean = match.weight / match.looks
        print(f"{kind} layer {layer + 1} head {head + 1}: {match.looks} of {match.total} rows, {mean:.2f}")
        for weight, number, source, target in match.examples:
            print(f"    {weight:.2f}  line {number + 1}: {source} → {target}")
    return 0

"""`python -m workshop.benchmarks SECTION`: one of `SECTIONS`, or `all`."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

SECTIONS = (
    "decode", "probes", "lines", "memory", "importance", "effects", "training", "gpu", "page", "paint", "visit",
    "static", "static_visits", "live", "class", "watched", "scale",
)  # fmt: skip
NUMBERS = "benchmarks.json"


def main(arguments: list[str]) -> int:
    """Measure the selected sections, print them, and merge them into the stored results."""
    options = _parse_options(arguments)
    # These sections need a browser, many visitors or a cluster.
    separate = ("page", "paint", "visit", "class", "scale")
    names = tuple(name for name in SECTIONS if name not in separate) if options.section == "all" else (options.section,)
    results = _read_results(options.output)
    from workshop.benchmarks.decode import find_disagreements
    from workshop.benchmarks.environment import describe_environment
    from workshop.benchmarks.report import render, render_section

    environment = describe_environment(options.date, " ".join(["python -m workshop.benchmarks", *arguments]))
    for name in names:
        results[name] = _measure(name, options) | {"about": environment}
        print(f"\n{render_section(name, results[name])}", flush=True)
        if options.output is not None:  # after each section, because a later one may fail
            options.output.mkdir(parents=True, exist_ok=True)
            (options.output / NUMBERS).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
            (options.output / "benchmarks.md").write_text(render(results), encoding="utf-8")
    complaints = [
        complaint for name in names if "cases" in results[name] for complaint in find_disagreements(results[name])
    ]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


def _read_results(folder: Path | None) -> dict[str, Any]:
    if folder is None or not (folder / NUMBERS).exists():
        return {}
    results: dict[str, Any] = json.loads((folder / NUMBERS).read_text(encoding="utf-8"))
    return results


def _parse_options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m workshop.benchmarks", description=__doc__)
    parser.add_argument("section", choices=[*SECTIONS, "all"])
    parser.add_argument(
        "--quick", action="store_true", help="a quick trial: few repetitions of small cases, and nothing is written"
    )
    parser.add_argument(
        "--repetitions", type=int, default=None, help="of each case (default 11, lines 7, effects 31; quick: 2)"
    )
    parser.add_argument("--threads", type=int, default=2, help="of every engine (default 2)")
    parser.add_argument("--visitors", type=int, default=None, help="who type in `live` (default 30; quick: 5)")
    parser.add_argument(
        "--seconds", type=float, default=None, help="of typing in `live` (30; quick: 6); of asking in `scale` (20; 3)"
    )
    parser.add_argument("--date", default=datetime.date.today().isoformat(), help="date in the report")
    parser.add_argument("--output", type=Path, help="folder of benchmarks.md (default docs; quick: none)")
    options = parser.parse_args(arguments)
    if options.output is None and not options.quick:
        options.output = Path("docs")
    return options


def _measure(name: str, options: argparse.Namespace) -> dict[str, Any]:
    from workshop.benchmarks import (
        classroom,
        decode,
        effects,
        first_visit,
        gpu,
        importance,
        lines,
        live,
        memory,
        page,
        paint_delay,
        probes,
        scale,
        static_page,
        training,
        training_load,
    )  # fmt: skip
    from workshop.benchmarks.engines import CPU_ENGINES
    from workshop.benchmarks.shapes import BASE, CASES, QUICK_CASES, SMALL

    quick, threads = options.quick, options.threads
    cases = QUICK_CASES if quick else CASES
    repetitions = options.repetitions or (2 if quick else 11)
    log = _log
    measures: dict[str, Callable[[], dict[str, Any]]] = {
        "decode": lambda: decode.measure(cases, CPU_ENGINES, repetitions, threads, log),
        "probes": lambda: probes.measure(20 if quick else 400),
        "lines": lambda: lines.measure(200 if quick else 2_000, min(repetitions, 7), threads, log),
        "memory": lambda: memory.measure([SMALL] if quick else [SMALL, BASE]),
        "importance": lambda: importance.measure(repetitions, threads, log),
        "effects": lambda: effects.measure(
            3 if quick else 24, 20 if quick else 500, options.repetitions or (2 if quick else 31), log
        ),
        "training": lambda: training.measure(min(repetitions, 5), 2.0 if quick else 8.0, threads, log),
        "gpu": lambda: gpu.measure(cases, repetitions, threads, log),
        "page": lambda: page.measure(repetitions, log),
        "paint": lambda: paint_delay.measure(repetitions, log),
        "visit": lambda: first_visit.measure(repetitions, log),
        "static": lambda: static_page.measure(2 if quick else 200, log),
        "static_visits": lambda: static_page.measure_visits(repetitions, log),
        "live": lambda: live.measure(
            options.visitors or (5 if quick else 30), options.seconds or (6.0 if quick else 30.0), log
        ),
        "class": lambda: classroom.measure(
            ((5, 1), (5, 2)) if quick else classroom.LESSONS, 20 if quick else classroom.HOSTILE_REQUESTS, log=log
        ),
        "watched": lambda: training_load.measure(repetitions, log),
        "scale": lambda: scale.measure(
            options.seconds or (3.0 if quick else 20.0), scale.WORKER_COUNTS[: 2 if quick else 4], log
        ),
    }
    return measures[name]()


def _log(message: str) -> None:
    print(f"\r{message:<70}", end="" if sys.stderr.isatty() else "\n", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

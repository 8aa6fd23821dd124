"""`make trust`, or `python -m workshop.trust [PART …] [--quick]`: try every part, and write the table.

The command exits with 1 if a bound does not hold. A quick run writes nothing without `--write`. Parts that do
not run keep their rows.

Parts that compare times run first, each alone. The others run at once, since the soak leaves much of the machine free.
"""

from __future__ import annotations

import argparse
import datetime
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from workshop.trust import chaos, fuzz, load, mutants, soak
from workshop.trust.checks import Check, Options, Part, render_row, render_table, write_block

PARTS: dict[str, Part] = {
    "fuzz": fuzz.check,
    "load": load.check,
    "chaos": chaos.check,
    "soak": soak.check,
    "mutants": mutants.check,
}
CONCURRENT_PARTS = (
    "fuzz",
    "soak",
    "mutants",
)  # parts whose bounds hold on a busy machine; the first runs in the main thread


def main(arguments: list[str]) -> int:
    """Run the parts, print the table, and write it if all parts ran."""
    parsed = parse(arguments)
    options = Options(
        quick=parsed.quick,
        cases=parsed.cases or (1_000 if parsed.quick else 10_000),
        soak_minutes=parsed.soak or (0.5 if parsed.quick else 30.0),
        mutants=parsed.mutants or (12 if parsed.quick else 10_000),
        workers=parsed.workers,
        seed=parsed.seed,
    )
    start = time.monotonic()
    checks, runs = run_parts([name for name in PARTS if name in (parsed.parts or PARTS)], options, parsed.date)
    print(render_table([render_row(check) for check in checks]))
    print(runs)
    if parsed.write or not parsed.quick:
        write_block(checks, runs)
    failed = [check for check in checks if check.holds is False]
    for check in failed:
        print(f"This bound does not hold: {check.tried}: {check.measured} ({check.bound})", file=sys.stderr)
    log(f"{len(checks)} checks in {(time.monotonic() - start) / 60:.0f} minutes")
    return 1 if failed else 0


def run_parts(names: Sequence[str], options: Options, date: str) -> tuple[list[Check], dict[str, str]]:
    """Run the parts. Return their checks, and for each part when and how it ran."""
    runs: dict[str, str] = {}

    def run(name: str) -> list[Check]:
        start = time.monotonic()
        checks = list(PARTS[name](options, log))
        runs[name] = describe_run(options, date, (time.monotonic() - start) / 60)
        return checks

    checks = [check for name in names if name not in CONCURRENT_PARTS for check in run(name)]
    concurrent_names = [name for name in names if name in CONCURRENT_PARTS]
    with ThreadPoolExecutor() as threads:
        others = [threads.submit(run, name) for name in concurrent_names[1:]]
        checks += [check for name in concurrent_names[:1] for check in run(name)]
        return checks + [check for other in others for check in other.result()], runs


def parse(arguments: list[str]) -> argparse.Namespace:
    """Parse the arguments."""
    parser = argparse.ArgumentParser(prog="python -m workshop.trust", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"one or more of {', '.join(PARTS)} (all)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the cases and visitors: five minutes")
    parser.add_argument("--write", action="store_true", help="write the table also after a quick run")
    parser.add_argument("--cases", type=int, help="number of random cases (10,000; quick: 1,000)")
    parser.add_argument("--soak", type=float, metavar="MINUTES", help="length of the soak (30; quick: 0.5)")
    parser.add_argument("--mutants", type=int, help="number of mutants, the first of the list (all; quick: 12)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes that test mutants (cores)")
    parser.add_argument("--seed", type=int, default=39, help="seed of all random cases (39)")
    parser.add_argument("--date", default=datetime.date.today().isoformat(), help="date in the table")
    parsed = parser.parse_args(arguments)
    unknown = set(parsed.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown part {', '.join(sorted(unknown))}. Choose from {', '.join(PARTS)}.")
    return parsed


def describe_run(options: Options, date: str, minutes: float) -> str:
    """Describe when and how a part ran. The load of the machine explains high ratios."""
    cores, busy = os.cpu_count(), os.getloadavg()[1]
    mode = "quick run, " if options.quick else ""
    return f"{date}, {mode}seed {options.seed}, {minutes:.1f} minutes, {cores} cores, load average {busy:.0f}"


def log(message: str) -> None:
    """Print progress."""
    print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

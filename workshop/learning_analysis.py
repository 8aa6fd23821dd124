"""Estimates what a lesson adds to the score of the quiz: `python -m workshop.learning_analysis FILE.csv …`.

Each file has one row for each participant with the columns `group`, `before` and `after`, such as the files that the
quiz saves. The score after the lessons is compared between the two groups, adjusted for the score before (ANCOVA): the
least squares fit of `after = a + b·before + effect·(group is the second)`. `docs/teaching.md` has the protocol.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

NEEDED = ("group", "before", "after")
CONFIDENCE = 0.95
MIN_PER_GROUP = 3


class DataError(Exception):
    """A file that cannot be analysed. The message names the problem and what to change."""


@dataclass(frozen=True)
class Effect:
    """The adjusted difference between two groups, in questions, with its confidence interval.

    `d` and its interval: the same divided by the standard deviation of the scores before, over all participants of both
    groups. `p`: two-sided, of no difference. `slope`: of the score after on the score before.
    """

    difference: float
    low: float
    high: float
    d: float
    d_low: float
    d_high: float
    p: float
    slope: float
    counts: tuple[int, int]


def ancova(before: Sequence[float], after: Sequence[float], is_second: Sequence[bool]) -> Effect:
    """Fit the scores after the lessons. The three sequences have one entry for each participant."""
    import numpy as np

    x, y, second = np.asarray(before, float), np.asarray(after, float), np.asarray(is_second, bool)
    counts = int((~second).sum()), int(second.sum())
    if min(counts) < MIN_PER_GROUP:
        raise DataError(f"The groups have {counts[0]} and {counts[1]} participants; {MIN_PER_GROUP} are the least.")
    spread = float(x.std(ddof=1))
    if spread == 0:
        raise DataError("All scores before the lessons are equal, so they cannot be adjusted for. Check the column.")
    design = np.column_stack([np.ones(len(x)), x, second])
    coefficients, *_ = np.linalg.lstsq(design, y, rcond=None)
    freedom = len(y) - design.shape[1]
    variance = float(((y - design @ coefficients) ** 2).sum()) / freedom
    error = math.sqrt(variance * np.linalg.inv(design.T @ design)[2, 2])
    difference, slope = float(coefficients[2]), float(coefficients[1])
    margin = t_quantile((1 + CONFIDENCE) / 2, freedom) * error
    p = 2 * (1 - t_distribution(abs(difference) / error, freedom)) if error else float(difference == 0)
    low, high = difference - margin, difference + margin
    return Effect(difference, low, high, difference / spread, low / spread, high / spread, p, slope, counts)


def t_distribution(value: float, freedom: int) -> float:
    """Return the probability that Student's t is below a value, with a whole number of degrees of freedom.

    The finite sums for odd and even degrees: Abramowitz and Stegun, 26.7.3 and 26.7.4.
    """
    angle = math.atan(value / math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    if freedom % 2:
        term, total = cosine, 0.0
        for step in range(1, freedom, 2):
            total += term
            term *= cosine**2 * (step + 1) / (step + 2)
        return 0.5 + (angle + sine * total) / math.pi
    term, total = 1.0, 0.0
    for step in range(0, freedom, 2):
        total += term
        term *= cosine**2 * (step + 1) / (step + 2)
    return 0.5 + sine * total / 2


def t_quantile(probability: float, freedom: int) -> float:
    """Return the value of Student's t below which this probability lies, by bisection."""
    low, high = -1e6, 1e6
    while high - low > 1e-9 * max(1.0, abs(low)):
        middle = (low + high) / 2
        low, high = (middle, high) if t_distribution(middle, freedom) < probability else (low, middle)
    return (low + high) / 2


@dataclass(frozen=True)
class Participants:
    """The scores of the participants with both, and the number of rows that were left out."""

    groups: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    incomplete: int


def read_rows(paths: Sequence[Path]) -> Participants:
    """Read the rows of all files. Raise a `DataError` for a missing column, or a score that is no number."""
    groups, before, after, incomplete = [], [], [], 0
    for path in paths:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            missing = [name for name in NEEDED if name not in (reader.fieldnames or ())]
            if missing:
                raise DataError(f"{path}: the column {missing[0]!r} is missing. Needed are {', '.join(NEEDED)}.")
            for number, row in enumerate(reader, 2):
                scores = [_score(path, number, name, row[name]) for name in ("before", "after")]
                if None in scores:
                    incomplete += 1
                    continue
                groups.append((row["group"] or "").strip())
                before.append(scores[0])
                after.append(scores[1])
    return Participants(tuple(groups), tuple(before), tuple(after), incomplete)  # type: ignore[arg-type]


def _score(path: Path, number: int, name: str, text: str | None) -> float | None:
    if not (text or "").strip():
        return None
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"{path}, line {number}: {name} is {text!r}, not a number. Correct it or leave it empty.")
    return value


def report(rows: Participants, control: str = "") -> str:
    """Return the estimate in words. `control`: the group without the lessons, by default the first in the alphabet."""
    names = sorted(set(rows.groups))
    if len(names) != 2:
        raise DataError(f"There must be two groups, but the column has {len(names)}: {', '.join(map(repr, names))}.")
    if control and control not in names:
        raise DataError(f"No group is called {control!r}. The groups are {names[0]!r} and {names[1]!r}.")
    first = control or names[0]
    (second,) = (name for name in names if name != first)
    effect = ancova(rows.before, rows.after, [group == second for group in rows.groups])
    return "\n".join(
        [
            f"{effect.counts[0]} in group {first}, {effect.counts[1]} in group {second}; "
            f"{rows.incomplete} left out without both scores.",
            f"Difference after the lessons, adjusted for the score before: {effect.difference:+.2f} questions "
            f"(95% interval {effect.low:+.2f} to {effect.high:+.2f}), p = {effect.p:.3f}.",
            f"d = {effect.d:+.2f} ({effect.d_low:+.2f} to {effect.d_high:+.2f}), in standard deviations of the score "
            "before.",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Estimate what a lesson adds to the score of the quiz.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE.csv", help="rows with group, before and after")
    parser.add_argument("--control", default="", help="the group without the lessons; default: the first by name")
    options = parser.parse_args(arguments)
    try:
        sys.stdout.write(report(read_rows(options.files), options.control) + "\n")
    except (DataError, OSError, UnicodeDecodeError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

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

REQUIRED_COLUMNS = ("group", "before", "after")
CONFIDENCE = 0.95
MIN_PER_GROUP = 3


class DataError(Exception):
    """A file that cannot be analysed. The message names the problem and what to change."""


@dataclass(frozen=True)
class Effect:
    """The adjusted difference between two groups, in questions, with its confidence interval.

    `d`, `d_low` and `d_high` are `difference`, `low` and `high` divided by the standard deviation of all scores before.
    `p` is two-sided, for the hypothesis of no difference. `slope` is the regression coefficient of the score before.
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


def fit_ancova(before: Sequence[float], after: Sequence[float], is_second: Sequence[bool]) -> Effect:
    """Estimate the effect by analysis of covariance. The three sequences have one entry for each participant."""
    import numpy as np

    x, y, second = np.asarray(before, float), np.asarray(after, float), np.asarray(is_second, bool)
    counts = int((~second).sum()), int(second.sum())
    if min(counts) < MIN_PER_GROUP:
        raise DataError(f"The groups have {counts[0]} and {counts[1]} participants; {MIN_PER_GROUP} are the least.")
    std = float(x.std(ddof=1))
    if std == 0:
        raise DataError("All scores before the lessons are equal, so they cannot be adjusted for. Check the column.")
    design = np.column_stack([np.ones(len(x)), x, second])
    coefficients, *_ = np.linalg.lstsq(design, y, rcond=None)
    degrees_of_freedom = len(y) - design.shape[1]
    variance = float(((y - design @ coefficients) ** 2).sum()) / degrees_of_freedom
    standard_error = math.sqrt(variance * np.linalg.inv(design.T @ design)[2, 2])
    difference, slope = float(coefficients[2]), float(coefficients[1])
    margin = find_t_quantile((1 + CONFIDENCE) / 2, degrees_of_freedom) * standard_error
    p = (
        2 * (1 - compute_t_cdf(abs(difference) / standard_error, degrees_of_freedom))
        if standard_error
        else float(difference == 0)
    )
    low, high = difference - margin, difference + margin
    return Effect(difference, low, high, difference / std, low / std, high / std, p, slope, counts)


def compute_t_cdf(value: float, degrees_of_freedom: int) -> float:
    """Return the cumulative distribution function of Student's t for an integer number of degrees of freedom.

    Computed by the finite sums for odd and even degrees in Abramowitz and Stegun, 26.7.3 and 26.7.4.
    """
    angle = math.atan(value / math.sqrt(degrees_of_freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    if degrees_of_freedom % 2:
        term, total = cosine, 0.0
        for step in range(1, degrees_of_freedom, 2):
            total += term
            term *= cosine**2 * (step + 1) / (step + 2)
        return 0.5 + (angle + sine * total) / math.pi
    term, total = 1.0, 0.0
    for step in range(0, degrees_of_freedom, 2):
        total += term
        term *= cosine**2 * (step + 1) / (step + 2)
    return 0.5 + sine * total / 2


def find_t_quantile(probability: float, degrees_of_freedom: int) -> float:
    """Return the quantile of Student's t at a probability, found by bisection."""
    low, high = -1e6, 1e6
    while high - low > 1e-9 * max(1.0, abs(low)):
        middle = (low + high) / 2
        low, high = (middle, high) if compute_t_cdf(middle, degrees_of_freedom) < probability else (low, middle)
    return (low + high) / 2


@dataclass(frozen=True)
class Participants:
    """Groups and scores of the participants who have both scores, and the number of rows without both."""

    groups: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    incomplete: int


def read_rows(paths: Sequence[Path]) -> Participants:
    """Read the rows of all files. Raise a `DataError` for a missing column, or a score that is not a number."""
    groups, before, after, incomplete = [], [], [], 0
    for path in paths:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            missing = [name for name in REQUIRED_COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise DataError(
                    f"{path}: the column {missing[0]!r} is missing. Needed are {', '.join(REQUIRED_COLUMNS)}."
                )
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


def format_report(rows: Participants, control: str = "") -> str:
    """Describe the estimate in three lines. `control`: the group without the lessons, by default the first by name."""
    names = sorted(set(rows.groups))
    if len(names) != 2:
        raise DataError(f"There must be two groups, but the column has {len(names)}: {', '.join(map(repr, names))}.")
    if control and control not in names:
        raise DataError(f"No group is called {control!r}. The groups are {names[0]!r} and {names[1]!r}.")
    first = control or names[0]
    (second,) = (name for name in names if name != first)
    effect = fit_ancova(rows.before, rows.after, [group == second for group in rows.groups])
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
        sys.stdout.write(format_report(read_rows(options.files), options.control) + "\n")
    except (DataError, OSError, UnicodeDecodeError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

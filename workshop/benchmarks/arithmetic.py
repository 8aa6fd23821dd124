"""Statistics and formatting of measurements."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence


def summary(seconds: Sequence[float]) -> dict[str, float]:
    """Median and quartiles of repeated measurements."""
    low, _, high = statistics.quantiles(seconds, n=4, method="inclusive") if len(seconds) > 1 else [seconds[0]] * 3
    return {"median": statistics.median(seconds), "low": low, "high": high}


def paired_ratio(ours: Sequence[float], others: Sequence[float]) -> dict[str, float]:
    """The median of the paired ratios ours / theirs, with its 95% confidence interval.

    Pairs are neighbours in time, so a machine that slows down for a while slows both. The bounds are order statistics:
    the number of pairs above the true median is binomial, whatever their distribution.
    """
    ratios = sorted(our / other for our, other in zip(ours, others, strict=True))
    reach = 0.98 * math.sqrt(len(ratios))
    middle = (len(ratios) - 1) / 2
    low, high = math.floor(middle - reach), math.ceil(middle + reach)
    return {
        "median": statistics.median(ratios),
        "low": ratios[max(low, 0)],
        "high": ratios[min(high, len(ratios) - 1)],
        "pairs": len(ratios),
    }


def token_agreement(sentences: Sequence[Sequence[int]], others: Sequence[Sequence[int]]) -> float:
    """How many of the tokens are the same at the same place."""
    same = sum(a == b for one, two in zip(sentences, others, strict=True) for a, b in zip(one, two, strict=False))
    most = sum(max(len(one), len(two)) for one, two in zip(sentences, others, strict=True))
    return same / most if most else 1.0


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """Half and 95% of some times; how many there were."""
    ordered = sorted(seconds) or [math.nan]
    last = len(ordered) - 1
    return {
        "p50": ordered[len(ordered) // 2],
        "p95": ordered[min(last, int(0.95 * len(ordered)))],
        "count": len(seconds),
    }


# ------------------------------------------------------------ in words


def format_milliseconds(seconds: float) -> str:
    """`8.31`, `41.2`, `1,098`: three digits that mean something."""
    thousandths = 1000 * seconds
    if thousandths >= 100:
        return f"{thousandths:,.0f}"
    return f"{thousandths:.1f}" if thousandths >= 10 else f"{thousandths:.2f}"


def format_megabytes(count: float) -> str:
    """`61.3 MB`."""
    return f"{count / 1e6:,.1f} MB"


def goal_mark(met: bool) -> str:
    """Table mark for a goal."""
    return "met" if met else "**not met**"

"""Statistics and formatting of measurements."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence


def summarise_quartiles(seconds: Sequence[float]) -> dict[str, float]:
    """Return the median and quartiles of repeated measurements."""
    low, _, high = statistics.quantiles(seconds, n=4, method="inclusive") if len(seconds) > 1 else [seconds[0]] * 3
    return {"median": statistics.median(seconds), "low": low, "high": high}


def compute_paired_ratio(ours: Sequence[float], others: Sequence[float]) -> dict[str, float]:
    """Return the median of the paired ratios `ours / others`, with its 95% confidence interval.

    The two measurements of a pair are adjacent in time, so a temporary slowdown of the machine affects both. The bounds
    are order statistics: the number of ratios above the true median is binomial for any distribution.
    """
    ratios = sorted(our_time / other_time for our_time, other_time in zip(ours, others, strict=True))
    half_width = 0.98 * math.sqrt(len(ratios))
    middle = (len(ratios) - 1) / 2
    low, high = math.floor(middle - half_width), math.ceil(middle + half_width)
    return {
        "median": statistics.median(ratios),
        "low": ratios[max(low, 0)],
        "high": ratios[min(high, len(ratios) - 1)],
        "pairs": len(ratios),
    }


def compute_token_agreement(sentences: Sequence[Sequence[int]], others: Sequence[Sequence[int]]) -> float:
    """Return the share of tokens that are equal at the same position."""
    equal = sum(
        token == other_token
        for sentence, other_sentence in zip(sentences, others, strict=True)
        for token, other_token in zip(sentence, other_sentence, strict=False)
    )
    total = sum(
        max(len(sentence), len(other_sentence)) for sentence, other_sentence in zip(sentences, others, strict=True)
    )
    return equal / total if total else 1.0


def summarise_percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """Return the median, the 95th percentile and the count of some times."""
    ordered = sorted(seconds) or [math.nan]
    last = len(ordered) - 1
    return {
        "p50": ordered[len(ordered) // 2],
        "p95": ordered[min(last, int(0.95 * len(ordered)))],
        "count": len(seconds),
    }


# ------------------------------------------------------------ formatting


def format_milliseconds(seconds: float) -> str:
    """Format seconds as milliseconds with three significant digits: `8.31`, `41.2`, `1,098`."""
    milliseconds = 1000 * seconds
    if milliseconds >= 100:
        return f"{milliseconds:,.0f}"
    return f"{milliseconds:.1f}" if milliseconds >= 10 else f"{milliseconds:.2f}"


def format_megabytes(count: float) -> str:
    """Format bytes as megabytes: `61.3 MB`."""
    return f"{count / 1e6:,.1f} MB"


def format_goal(met: bool) -> str:
    """Return the mark of a goal in a table."""
    return "met" if met else "**not met**"

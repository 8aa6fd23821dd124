"""Agreement of rankings, and the area between curves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headlight.model.measures.trace_records import Numbers


def kendall_tau(first: Sequence[float], second: Sequence[float]) -> float:
    """Kendall's τ-b: concordant minus discordant pairs, over the untied ones. NaN without any.

    Kendall 1945, "The treatment of ties in ranking problems", https://doi.org/10.1093/biomet/33.3.239
    """
    one, other = (np.asarray(each, dtype=np.float64) for each in (first, second))
    above = np.triu_indices(len(one), 1)
    signs, others = (np.sign(each[:, None] - each[None, :])[above] for each in (one, other))
    pairs = np.sqrt(np.abs(signs).sum() * np.abs(others).sum())
    return float((signs * others).sum() / pairs) if pairs else float("nan")


def rank_order(scores: Sequence[float]) -> list[int]:
    """The places from the highest score to the lowest; of equal ones the earlier first."""
    return sorted(range(len(scores)), key=lambda place: (-scores[place], place))


def top_overlap(first: Sequence[float], second: Sequence[float], count: int = 3) -> float:
    """The share of the highest `count` that both name."""
    count = min(count, len(first))
    return len({*rank_order(first)[:count]} & {*rank_order(second)[:count]}) / count if count else float("nan")


def area_between(curve: Sequence[float], other: Sequence[float]) -> float:
    """The mean height of `other` above `curve` from the first point to the last, by trapezoids."""
    gaps = np.asarray(other, dtype=np.float64) - np.asarray(curve, dtype=np.float64)
    return float((gaps[:-1] + gaps[1:]).mean() / 2) if len(gaps) > 1 else 0.0


def resample(curve: Sequence[float], points: int) -> Numbers:
    """The curve at `count` evenly spaced positions."""
    value = np.asarray(curve, dtype=np.float64)
    return np.interp(np.linspace(0, len(value) - 1, points), np.arange(len(value)), value)

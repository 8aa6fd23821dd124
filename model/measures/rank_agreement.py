"""Agreement of rankings, and the area between curves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headlight.model.measures.trace_records import Float64Array


def kendall_tau(first: Sequence[float], second: Sequence[float]) -> float:
    """Compute Kendall's τ-b: concordant minus discordant pairs, relative to the untied ones. NaN if all pairs are tied.

    Kendall 1945, "The treatment of ties in ranking problems", https://doi.org/10.1093/biomet/33.3.239
    """
    left, right = (np.asarray(scores, dtype=np.float64) for scores in (first, second))
    above = np.triu_indices(len(left), 1)
    left_signs, right_signs = (np.sign(scores[:, None] - scores[None, :])[above] for scores in (left, right))
    pairs = np.sqrt(np.abs(left_signs).sum() * np.abs(right_signs).sum())
    return float((left_signs * right_signs).sum() / pairs) if pairs else float("nan")


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Compute Spearman's rank correlation; equal values share the mean of their ranks. NaN if a ranking is constant."""
    left, right = (_mean_ranks(scores) for scores in (first, second))
    if not len(left) or np.ptp(left) == 0 or np.ptp(right) == 0:
        return float("nan")
    return float(np.corrcoef(left, right)[0, 1])


def _mean_ranks(scores: Sequence[float]) -> Float64Array:
    values = np.asarray(scores, dtype=np.float64)
    sorted_values = np.sort(values)
    ranks: Float64Array = (
        np.searchsorted(sorted_values, values) + np.searchsorted(sorted_values, values, side="right")
    ) / 2
    return ranks


def rank_order(scores: Sequence[float]) -> list[int]:
    """Return the indices from the highest score to the lowest; equal scores stay in order."""
    return sorted(range(len(scores)), key=lambda index: (-scores[index], index))


def top_overlap(first: Sequence[float], second: Sequence[float], count: int = 3) -> float:
    """Return the share of the top `count` that both rankings have in common."""
    count = min(count, len(first))
    return len({*rank_order(first)[:count]} & {*rank_order(second)[:count]}) / count if count else float("nan")


def area_between(curve: Sequence[float], other: Sequence[float]) -> float:
    """Return the mean height of `other` above `curve` from the first point to the last, by the trapezoidal rule."""
    gaps = np.asarray(other, dtype=np.float64) - np.asarray(curve, dtype=np.float64)
    return float((gaps[:-1] + gaps[1:]).mean() / 2) if len(gaps) > 1 else 0.0


def resample(curve: Sequence[float], points: int) -> Float64Array:
    """Interpolate a curve at `points` evenly spaced positions."""
    values = np.asarray(curve, dtype=np.float64)
    return np.interp(np.linspace(0, len(values) - 1, points), np.arange(len(values)), values)

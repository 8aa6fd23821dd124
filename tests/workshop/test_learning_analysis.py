"""The analysis of quiz scores finds a planted effect, and rarely one without it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from workshop.learning_analysis import (
    DataError,
    compute_t_cdf,
    find_t_quantile,
    fit_ancova,
    format_report,
    main,
    read_rows,
)

PER_GROUP, CLASSES = 64, 600
MEAN, SPREAD, CORRELATION, QUESTIONS = 6.0, 2.0, 0.6, 12  # of the scores before and after


def simulate(random: np.random.Generator, d: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    """Whole scores of a class with two groups; the second has `d` standard deviations more after the lessons."""
    second = np.repeat([False, True], PER_GROUP)
    before, noise = random.standard_normal((2, 2 * PER_GROUP))
    after = CORRELATION * before + np.sqrt(1 - CORRELATION**2) * noise + d * second
    scores = [np.clip(np.round(MEAN + SPREAD * values), 0, QUESTIONS) for values in (before, after)]
    return scores[0], scores[1], second


def t_test(after: np.ndarray, second: np.ndarray) -> float:  # type: ignore[type-arg]
    """The p of a plain t-test of the scores after the lessons."""
    one, other = after[~second], after[second]
    pooled = (one.var(ddof=1) + other.var(ddof=1)) / 2
    value = abs(other.mean() - one.mean()) / np.sqrt(pooled * 2 / PER_GROUP)
    return 2 * (1 - compute_t_cdf(float(value), 2 * PER_GROUP - 2))


@pytest.fixture(scope="module")
def rates() -> dict[tuple[str, float], float]:
    """The share of simulated classes with p < 0.05, and that whose interval has the planted effect."""
    random, result = np.random.default_rng(20), {}
    for d in (0.0, 0.5):
        classes = [simulate(random, d) for _ in range(CLASSES)]
        effects = [fit_ancova(*scores) for scores in classes]
        result["ancova", d] = np.mean([effect.p < 0.05 for effect in effects])
        result["plain", d] = np.mean([t_test(after, second) < 0.05 for _, after, second in classes])
        result["covered", d] = np.mean([effect.d_low <= d <= effect.d_high for effect in effects])
        result["mean", d] = np.mean([effect.d for effect in effects])
    return result


def test_a_planted_effect_is_found_in_most_classes(rates: dict[tuple[str, float], float]) -> None:
    assert rates["ancova", 0.5] >= 0.8
    assert rates["ancova", 0.5] > rates["plain", 0.5]  # the plain test has about 80%
    assert rates["mean", 0.5] == pytest.approx(0.5, abs=0.04)
    assert rates["covered", 0.5] == pytest.approx(0.95, abs=0.03)


def test_no_effect_is_reported_in_one_class_of_twenty(rates: dict[tuple[str, float], float]) -> None:
    for name in ("ancova", "plain"):
        assert rates[name, 0.0] == pytest.approx(0.05, abs=0.03)
    assert rates["covered", 0.0] == pytest.approx(0.95, abs=0.03)


def test_the_fit_equals_the_difference_of_means_of_residuals() -> None:
    """By hand: the slope within groups, then the difference of the adjusted means."""
    before, after, second = simulate(np.random.default_rng(3), 0.3)
    inside = [values - np.where(second, values[second].mean(), values[~second].mean()) for values in (before, after)]
    slope = (inside[0] * inside[1]).sum() / (inside[0] ** 2).sum()
    adjusted = after - slope * before
    effect = fit_ancova(before, after, second)
    assert effect.slope == pytest.approx(slope)
    assert effect.difference == pytest.approx(adjusted[second].mean() - adjusted[~second].mean())
    residual = inside[1] - slope * inside[0]
    variance = (residual**2).sum() / (len(before) - 3)
    gap = before[second].mean() - before[~second].mean()
    error = np.sqrt(variance * (2 / PER_GROUP + gap**2 / (inside[0] ** 2).sum()))
    assert effect.high - effect.difference == pytest.approx(1.9791 * error, rel=1e-3)  # t of 125 degrees of freedom


@pytest.mark.parametrize(("freedom", "value"), [(1, 12.7062), (2, 4.3027), (5, 2.5706), (30, 2.0423), (125, 1.9791)])
def test_quantiles_are_those_of_printed_tables(freedom: int, value: float) -> None:
    assert find_t_quantile(0.975, freedom) == pytest.approx(value, abs=1e-4)
    assert compute_t_cdf(-value, freedom) == pytest.approx(0.025, abs=1e-5)


def write_rows(folder: Path, *lines: str) -> Path:
    path = folder / "scores.csv"
    path.write_text(
        "group,first_form,before,after,again\r\n" + "".join(f"{line}\r\n" for line in lines), encoding="utf-8"
    )
    return path


def test_files_of_the_page_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        f"{group},A,{before},{before + gain},1"
        for group, gain in (("BBBBB", 1), ("CCCCC", 3))
        for before in range(2, 8)
    ]
    path = write_rows(tmp_path, *lines, "BBBBB,B,4,,")
    assert read_rows([path]).incomplete == 1
    assert main([str(path)]) == 0
    printed = capsys.readouterr().out
    assert "6 in group BBBBB, 6 in group CCCCC; 1 left out" in printed
    assert "+2.00 questions" in printed
    assert "-2.00 questions" in format_report(read_rows([path]), control="CCCCC")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["B,A,5,six,"], "line 2: after is 'six'"),
        (["B,A,5,6,"], "two groups, but the column has 1"),
        (["B,A,5,6,", "C,A,5,6,"], "1 and 1 participants"),
        ([f"{group},A,5,{after}," for group in "BC" for after in (4, 5, 6)], "before the lessons are equal"),
    ],
)
def test_bad_files_say_what_to_change(lines: list[str], message: str, tmp_path: Path) -> None:
    path = write_rows(tmp_path, *lines)
    with pytest.raises(DataError, match=message):
        format_report(read_rows([path]))
    assert main([str(path)]) == 1


def test_missing_columns_and_groups_are_named(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("group,before\nB,1\n", encoding="utf-8")
    with pytest.raises(DataError, match="'after' is missing"):
        read_rows([path])
    rows = read_rows([write_rows(tmp_path, "B,A,5,6,", "C,A,5,6,")])
    with pytest.raises(DataError, match="No group is called 'D'"):
        format_report(rows, control="D")

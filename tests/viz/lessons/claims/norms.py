"""The lesson on batch norm and layer norm: its numbers."""

from __future__ import annotations

import re

import numpy as np
import torch

from headlight.model.experiments.normalisation import EPSILON, NORMS, batch_norm, layer_norm, normalise, rms_norm
from headlight.model.records import FloatArray
from headlight.viz.lessons.batch_sentences import MAX_BATCH
from headlight.viz.lessons.norms import EQUAL_TOLERANCE, NAMES, SHOWN_DIMENSIONS
from headlight.viz.lessons.result_figures import BarChart, Heatmap, Phrase, Table
from headlight.viz.lessons.worked_figures import format_fixed
from tests.viz.lessons.asked import Asked, pictures, step_variant
from tests.viz.lessons.claims.positions import filled

BATCH = torch.randn(7, 5, generator=torch.Generator().manual_seed(0)) * 3 + 1  # [tokens, width]


def heats(asked: Asked, norm: str) -> tuple[FloatArray, FloatArray]:
    before, after = (
        each.numbers for each in pictures(asked.run_experiment("norms", "axes", norm=norm)) if isinstance(each, Heatmap)
    )
    return before, after


def number(asked: Asked, step: str, name: str, **values: object) -> float:
    return float(str(asked.run_experiment("norms", step, **values).numbers[name]))


def layer_norm_centres_rows(asked: Asked) -> None:
    mean, spread = BATCH.mean(1, keepdim=True), BATCH.var(1, correction=0, keepdim=True)
    torch.testing.assert_close(layer_norm(BATCH), (BATCH - mean) / (spread + EPSILON).sqrt(), atol=1e-5, rtol=0)
    for name, expected in (("mean_after", 0.0), ("spread_after", 1.0)):
        np.testing.assert_allclose(number(asked, "axes", name), expected, atol=1e-3)
    # The visitor's sentence is first: its values are those without a batch.
    last = asked.config.encoder_layers - 1
    own = asked.tensor(f"encoder.layers.{last}.around_feed_forward.carried")
    before, _ = heats(asked, "layer")
    np.testing.assert_allclose(before[: len(own)], own[:, :SHOWN_DIMENSIONS], atol=1e-3)


def batch_norm_centres_columns(asked: Asked) -> None:
    theirs = torch.nn.BatchNorm1d(5, eps=EPSILON, affine=False).train()
    torch.testing.assert_close(batch_norm(BATCH), theirs(BATCH), atol=1e-5, rtol=0)
    before, after = heats(asked, "batch")
    np.testing.assert_allclose(after.mean(axis=0), 0.0, atol=1e-4)
    np.testing.assert_allclose(after.std(axis=0), 1.0, atol=1e-2)
    np.testing.assert_allclose(number(asked, "axes", "column_mean", norm="batch"), before[:, 0].mean(), atol=1e-4)
    assert number(asked, "axes", "count") == len(before)


def rms_norm_leaves_the_mean(asked: Asked) -> None:
    expected = BATCH / (BATCH.square().mean(1, keepdim=True) + EPSILON).sqrt()
    torch.testing.assert_close(rms_norm(BATCH), expected, atol=1e-5, rtol=0)
    size = (number(asked, "axes", "mean") ** 2 + number(asked, "axes", "spread") ** 2) ** 0.5
    divided = number(asked, "axes", "mean") / size
    np.testing.assert_allclose(number(asked, "axes", "mean_after", norm="rms"), divided, atol=1e-4)


def only_batch_norm_depends_on_other_sentences(asked: Asked) -> None:
    result = asked.run_experiment("norms", "company")
    assert result.correct_option == "batch"
    assert float(str(result.numbers["batch"])) > 0.1
    assert max(float(str(result.numbers[name])) for name in ("layer", "rms")) < EQUAL_TOLERANCE
    assert all(number(asked, "company", name, size=MAX_BATCH) == 0.0 for name in NAMES)


def batch_norm_of_one_token_is_zero(asked: Asked) -> None:
    assert number(asked, "company", "alone") == 0.0
    assert np.abs(normalise(BATCH[:1].numpy(), "layer")).max() > 0.5


def only_batch_norm_depends_on_padding(asked: Asked) -> None:
    result = asked.run_experiment("norms", "padding")
    numbers = {name: float(str(value)) for name, value in result.numbers.items() if name != "token"}
    assert numbers["tokens"] + numbers["padded"] == numbers["places"]
    assert numbers["padded"] > 0
    assert numbers["batch"] > 0.05
    assert max(numbers["layer"], numbers["rms"]) < EQUAL_TOLERANCE
    masked = asked.run_experiment("norms", "padding", counts=False)
    (bars,) = (each for each in pictures(masked) if isinstance(each, BarChart))
    assert not any(bars.values)
    assert (result.facts, masked.facts) == (("counted",), ("masked",))


def each_norm_has_its_invariants(asked: Asked) -> None:
    (table,) = (each for each in pictures(asked.run_experiment("norms", "differences")) if isinstance(each, Table))
    cells = {
        row[0].name.removeprefix("is_"): dict(zip(NAMES, map(float, row[1:]), strict=True))  # type: ignore[arg-type]
        for row in table.rows
        if isinstance(row[0], Phrase)
    }
    zero = {
        "row_mean": {"layer"}, "row_spread": {"layer"}, "column_mean": {"batch"}, "column_spread": {"batch"},
        "company": {"layer", "rms"}, "padding": {"layer", "rms"}, "alone": {"batch"}, "shift": {"layer", "batch"},
        "times": set(NORMS),
    }  # fmt: skip
    assert set(cells) == set(zero)
    for name, norms in cells.items():
        for norm, value in norms.items():
            if norm in zero[name]:
                assert value < 0.02, (name, norm, value)
            elif not (norm == "rms" and name.startswith("row_")):  # rows whose mean is near 0 already
                assert value > 0.02, (name, norm, value)


def twelve_numbers_can_be_normalised_by_hand(asked: Asked) -> None:
    for norm, axis in (("layer", 1), ("rms", 1), ("batch", 0)):
        for cell in (0, 5, 11):
            result = asked.run_experiment("norms", "hand", norm=norm, cell=cell)
            before, after = (
                np.array([[float(str(value).replace("−", "-")) for value in row[1:5]] for row in each.rows[:3]])
                for each in pictures(result)
                if isinstance(each, Table)
            )
            mean = before.mean(axis=axis, keepdims=True) if norm != "rms" else 0
            root = np.sqrt(((before - mean) ** 2).mean(axis=axis, keepdims=True))
            exact = (before - mean) / root
            np.testing.assert_allclose(after, exact, atol=6e-3)  # two decimals
            *_, last = step_variant("norms", "hand", result).numbers
            line = filled(last, result.numbers).replace("−", "-")
            numbers = [float(number) for number in re.findall(r"-?\d+(?:\.\d+)?", line.replace(" - ", " "))]
            x, *rest, y = numbers
            by_hand = (x - rest[0]) / rest[1] if norm != "rms" else x / rest[0]
            assert abs(by_hand - y) < 1e-3
            np.testing.assert_allclose(y, exact.flat[cell], atol=6e-4)


def without_residuals_the_gradient_vanishes(asked: Asked) -> None:
    for seed in range(3):
        results = [asked.run_experiment("norms", "residual", depth=depth, seed=seed) for depth in (3, 12, 24)]
        without = [float(str(each.numbers["without"])) for each in results]
        assert without[0] > 100 * without[1] > 10_000 * without[2] > 0
        assert all(0.5 < float(str(each.numbers["with"])) < 5 for each in results)
        assert results[1].correct_option == "million"
        assert results[0].correct_option in ("ten", "thousand")


def a_norm_saves_part_of_it(asked: Asked) -> None:
    for seed in range(3):
        bare, normed = (
            asked.run_experiment("norms", "residual", depth=24, inside=inside, seed=seed)
            for inside in ("bare", "normed")
        )
        lost, saved = (float(str(each.numbers["without"])) for each in (bare, normed))
        assert 1000 * lost < saved < float(str(normed.numbers["with"])) / 2


def rounded_zero_has_no_sign(asked: Asked) -> None:
    for norm in NAMES:
        result = asked.run_experiment("norms", "axes", norm=norm)
        (table,) = (each for each in pictures(result) if isinstance(each, Table))
        assert not any(re.fullmatch(r"−0\.0+", str(cell)) for row in table.rows for cell in row)
    assert format_fixed(-1e-9, 3) == "0.000"

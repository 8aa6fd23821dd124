"""The lesson on batch norm and layer norm: its numbers."""

from __future__ import annotations

import numpy as np
import torch

from headlight.model.experiments.normalisation import EPSILON, NORMS, batch_norm, layer_norm, normalise, rms_norm
from headlight.model.records import FloatArray
from headlight.viz.lessons.batch_sentences import MAX_BATCH
from headlight.viz.lessons.norms import EQUAL_TOLERANCE, NAMES, SHOWN_DIMENSIONS
from headlight.viz.lessons.result_figures import BarChart, Heatmap, Phrase, Table
from tests.viz.lessons.asked import Asked, pictures

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


def only_batch_norm_feels_other_sentences(asked: Asked) -> None:
    result = asked.run_experiment("norms", "company")
    assert result.correct_option == "batch"
    assert float(str(result.numbers["batch"])) > 0.1
    assert max(float(str(result.numbers[name])) for name in ("layer", "rms")) < EQUAL_TOLERANCE
    assert all(number(asked, "company", name, size=MAX_BATCH) == 0.0 for name in NAMES)


def batch_norm_of_one_token_is_zero(asked: Asked) -> None:
    assert number(asked, "company", "alone") == 0.0
    assert np.abs(normalise(BATCH[:1].numpy(), "layer")).max() > 0.5


def only_batch_norm_feels_padding(asked: Asked) -> None:
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


def every_cell_of_the_table_is_so(asked: Asked) -> None:
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

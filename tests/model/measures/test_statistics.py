"""Measures per head against manual tables and a plain loop over rows."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from headlight.model.errors import RequestError
from headlight.model.measures.statistics import (
    STATISTICS,
    MapGeometry,
    _share,
    expected_column,
    map_geometry,
    measure,
    measure_all,
    measure_weights,
)
from headlight.model.records import KINDS, Kind, Token, Translation
from tests.viz.figures_examples import HEADS, LAYERS, make_tokens, make_translation

# One layer of two heads, three queries and four keys: two words, a full stop and a special token.
WEIGHTS = np.array(
    [
        [
            [[0.5, 0.5, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25], [0.0, 0.0, 1.0, 0.0]],
            [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.5, 0.5], [0.0, 0.75, 0.25, 0.0]],
        ]
    ],
    dtype=np.float32,
)
COLUMNS = make_tokens(("a", "b", "."))
UNMASKED = MapGeometry("encoder", np.ones((3, 4), dtype=np.bool_), COLUMNS)
QUARTER_ENTROPY = -(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25))
FIRST_DISTANCES = (0.5 * 0 + 0.5 * 1, 0.25 * 1 + 0.25 * 0 + 0.25 * 1 + 0.25 * 2, 0)  # of the first head's rows
SECOND_DISTANCES = (3, 0.5 * 1 + 0.5 * 2, 0.75 * 1)
FARTHEST = (3, 2, 2)
TABLE = {
    "entropy": [(1 + 2 + 0) / 3, (0 + 1 + QUARTER_ENTROPY) / 3],
    "relative_entropy": [(1 + 2 + 0) / 2 / 3, (0 + 1 + QUARTER_ENTROPY) / 2 / 3],
    "peak": [(0.5 + 0.25 + 1) / 3, (1 + 0.5 + 0.75) / 3],
    "distance": [sum(FIRST_DISTANCES) / 3, sum(SECOND_DISTANCES) / 3],
    "diagonality": [
        sum(1 - far / farthest for far, farthest in zip(rows, FARTHEST, strict=True)) / 3
        for rows in (FIRST_DISTANCES, SECOND_DISTANCES)
    ],
    "same": [(0.5 + 0.25 + 1) / 3, (0 + 0 + 0.25) / 3],
    "previous": [(0.25 + 0) / 2, (0 + 0.75) / 2],  # not defined for the first row
    "next": [(0.5 + 0.25 + 0) / 3, (0 + 0.5 + 0) / 3],
    "first": [(0.5 + 0.25 + 0) / 3, 0],
    "last": [(0 + 0.25 + 0) / 3, (1 + 0.5 + 0) / 3],
    "punctuation": [(0 + 0.25 + 1) / 3, (0 + 0.5 + 0.25) / 3],
    "special": [(0 + 0.25 + 0) / 3, (1 + 0.5 + 0) / 3],
}


@pytest.mark.parametrize("name", STATISTICS)
def test_measures_by_hand(name: str) -> None:
    np.testing.assert_allclose(STATISTICS[name].function(WEIGHTS, UNMASKED), [TABLE[name]], atol=1e-6)


def test_every_measure_has_expected_values_and_a_paper() -> None:
    assert TABLE.keys() == STATISTICS.keys()
    assert all(statistic.paper.startswith("https://") for statistic in STATISTICS.values())


# ---------------------------------------------------------------- plain loop


def looped(name: str, weights: np.ndarray, kind: Kind, allowed: np.ndarray, columns: tuple[Token, ...]) -> float:
    """One measure of one map, row by row and key by key."""
    queries, keys = weights.shape
    values = []
    for row in range(queries):
        allowed_keys = [key for key in range(keys) if allowed[row, key]]
        if len(allowed_keys) < 2:
            continue
        center = row * (keys - 1) / (queries - 1) if kind == "cross" and queries > 1 else row
        if kind == "cross" and queries == 1:
            center = (keys - 1) / 2
        bits = -sum(weights[row, key] * math.log2(weights[row, key]) for key in allowed_keys if weights[row, key] > 0)
        mean_distance = sum(weights[row, key] * abs(key - center) for key in allowed_keys)
        role_keys = {
            "same": [key for key in allowed_keys if -0.5 <= key - center <= 0.5],
            "previous": [key for key in allowed_keys if -1.5 <= key - center < -0.5],
            "next": [key for key in allowed_keys if 0.5 < key - center <= 1.5],
            "first": [key for key in allowed_keys if key == 0],
            "last": [key for key in allowed_keys if key == keys - 1],
            "punctuation": [key for key in allowed_keys if columns[key].text in (".", ",")],
            "special": [key for key in allowed_keys if columns[key].special],
        }
        if name in role_keys:
            if role_keys[name]:
                values.append(sum(weights[row, key] for key in role_keys[name]))
            continue
        values.append(
            {
                "entropy": bits,
                "relative_entropy": bits / math.log2(len(allowed_keys)),
                "peak": max(weights[row]),
                "distance": mean_distance,
                "diagonality": 1 - mean_distance / max(abs(key - center) for key in allowed_keys),
            }[name]
        )
    return float(np.mean(values)) if values else math.nan


EXAMPLES = (
    make_translation(("a", ",", "b", "c", "."), ("d", "e", "f")),
    make_translation(("a",), ("d", ",", "e", ".")),
    make_translation(("a", "b"), ()),
)


@pytest.mark.parametrize("translation", EXAMPLES)
@pytest.mark.parametrize("kind", KINDS)
def test_measures_match_plain_loop(translation: Translation, kind: Kind) -> None:
    results, geometry = measure_all(translation, kind), map_geometry(translation, kind)
    assert results.keys() == STATISTICS.keys()
    for name, statistic in STATISTICS.items():
        assert results[name].shape == (LAYERS, HEADS)
        np.testing.assert_array_equal(measure(translation, kind, name), results[name])
        if kind not in statistic.kinds:
            assert np.isnan(results[name]).all()
            continue
        for layer in range(LAYERS):
            for head in range(HEADS):
                weights = translation.attention.of(kind)[layer, head]
                expected = looped(name, weights, kind, geometry.allowed, geometry.columns)
                assert results[name][layer, head] == pytest.approx(expected, abs=1e-5, nan_ok=True), (name, layer, head)


# ---------------------------------------------------------------- which rows count


def test_rows_with_one_allowed_key_are_excluded() -> None:
    weights = np.array([[[[1.0, 0.0], [0.5, 0.5]]]], dtype=np.float32)
    geometry = MapGeometry("decoder", np.tril(np.ones((2, 2), dtype=np.bool_)), make_tokens(("a", "b"), end=False))
    expected = {"relative_entropy": 1, "entropy": 1, "peak": 0.5, "same": 0.5, "distance": 0.5}
    results = {name: STATISTICS[name].function(weights, geometry).item() for name in expected}
    assert results == pytest.approx(expected)


def test_share_leaves_out_masked_cells() -> None:
    weights = np.array([[[[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.125, 0.25, 0.625]]]], dtype=np.float32)
    allowed = np.array([[True, True, False], [True, True, False], [True, True, True]])
    cells = np.array([[True, False, True], [False, False, True], [False, False, True]])
    geometry = MapGeometry("encoder", allowed, make_tokens(("a", "b")))
    # The third cell of the first row is masked, as is the only cell of the second row.
    assert _share(weights, geometry, cells).item() == pytest.approx((0.5 + 0.625) / 2)


def test_relative_entropy_uses_number_of_allowed_keys() -> None:
    """The second of three rows has two allowed keys, so its maximum entropy is one bit."""
    weights = np.array([[[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.25, 0.5, 0.25]]]], dtype=np.float32)
    geometry = MapGeometry("decoder", np.tril(np.ones((3, 3), dtype=np.bool_)), make_tokens(("a", "b", "c"), end=False))
    expected = (1 / math.log2(2) + 1.5 / math.log2(3)) / 2
    assert STATISTICS["relative_entropy"].function(weights, geometry).item() == pytest.approx(expected)


def test_fully_masked_rows_are_excluded() -> None:
    weights = np.array([[[[0.0, 0.0], [0.5, 0.5]]]], dtype=np.float32)
    allowed = np.array([[False, False], [True, True]])
    geometry = MapGeometry("encoder", allowed, make_tokens(("a",)))
    assert STATISTICS["special"].function(weights, geometry).item() == 0.5
    assert STATISTICS["entropy"].function(weights, geometry).item() == 1


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("shape", [(2, 3), (2, 1), (0, 3), (0, 0)])
def test_empty_or_fully_masked_maps_give_nan(name: str, shape: tuple[int, int]) -> None:
    geometry = MapGeometry("cross", np.zeros(shape, dtype=np.bool_), make_tokens(("a", "b"))[: shape[1]])
    assert np.isnan(STATISTICS[name].function(np.zeros((5, 7, *shape), dtype=np.float32), geometry)).all()


def test_punctuation_share_without_punctuation_is_nan() -> None:
    assert np.isnan(measure(make_translation(("a", "b"), ("c",)), "encoder", "punctuation")).all()


def test_special_token_of_a_source_is_its_end_token() -> None:
    results = measure_all(make_translation(("a", "b", "c", "d"), ("e", "f")), "cross")
    np.testing.assert_array_equal(results["special"], results["last"])


@pytest.mark.parametrize("kind", KINDS)
def test_steeper_rows_have_less_entropy_and_more_peak(kind: Kind) -> None:
    """Squared and normalised weights are steeper."""
    translation = EXAMPLES[0]
    weights, geometry = translation.attention.of(kind), map_geometry(translation, kind)
    steps = [weights**power / (weights**power).sum(axis=-1, keepdims=True) for power in (1, 2, 4)]
    for flat, steep in pairwise(steps):
        assert (STATISTICS["entropy"].function(steep, geometry) <= STATISTICS["entropy"].function(flat, geometry)).all()
        assert (STATISTICS["peak"].function(steep, geometry) >= STATISTICS["peak"].function(flat, geometry)).all()


def test_cross_attention_diagonal_runs_from_corner_to_corner() -> None:
    np.testing.assert_allclose(expected_column("cross", 3, 7), [0, 3, 6])
    np.testing.assert_allclose(expected_column("encoder", 3, 3), [0, 1, 2])
    np.testing.assert_allclose(expected_column("cross", 1, 5), [2])


def test_special_keys_of_the_decoder_are_its_inputs() -> None:
    translation = make_translation(("a",), ("b", "c"))
    assert map_geometry(translation, "decoder").special.tolist() == [True, False, False]
    assert map_geometry(translation, "cross").special.tolist() == [False, True]


def test_unknown_measure_raises() -> None:
    with pytest.raises(RequestError, match=r'one of entropy, relative_entropy.*, but "speed" was given'):
        measure(make_translation(("a",), ("b",)), "cross", "speed")


def test_later_keys_have_no_measure_in_the_decoder() -> None:
    translation = EXAMPLES[0]
    names = {
        kind: set(measure_weights(translation.attention.of(kind), map_geometry(translation, kind))) for kind in KINDS
    }
    assert names["encoder"] == names["cross"] == set(STATISTICS)
    assert names["encoder"] - names["decoder"] == {"next", "last"}

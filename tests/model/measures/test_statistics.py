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
)
from headlight.model.records import KINDS, Kind, Token, Translation
from tests.viz.figures_examples import HEADS, LAYERS, tokens_of, translation_of

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
COLUMNS = tokens_of(("a", "b", "."))
EVERYWHERE = MapGeometry("encoder", np.ones((3, 4), dtype=np.bool_), COLUMNS)
QUARTERS = -(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25))
FIRST_FAR = (0.5 * 0 + 0.5 * 1, 0.25 * 1 + 0.25 * 0 + 0.25 * 1 + 0.25 * 2, 0)  # of the first head's rows
SECOND_FAR = (3, 0.5 * 1 + 0.5 * 2, 0.75 * 1)
FARTHEST = (3, 2, 2)
TABLE = {
    "entropy": [(1 + 2 + 0) / 3, (0 + 1 + QUARTERS) / 3],
    "relative_entropy": [(1 + 2 + 0) / 2 / 3, (0 + 1 + QUARTERS) / 2 / 3],
    "peak": [(0.5 + 0.25 + 1) / 3, (1 + 0.5 + 0.75) / 3],
    "distance": [sum(FIRST_FAR) / 3, sum(SECOND_FAR) / 3],
    "diagonality": [
        sum(1 - far / farthest for far, farthest in zip(rows, FARTHEST, strict=True)) / 3
        for rows in (FIRST_FAR, SECOND_FAR)
    ],
    "same": [(0.5 + 0.25 + 1) / 3, (0 + 0 + 0.25) / 3],
    "previous": [(0.25 + 0) / 2, (0 + 0.75) / 2],  # the first row has none
    "next": [(0.5 + 0.25 + 0) / 3, (0 + 0.5 + 0) / 3],
    "first": [(0.5 + 0.25 + 0) / 3, 0],
    "last": [(0 + 0.25 + 0) / 3, (1 + 0.5 + 0) / 3],
    "punctuation": [(0 + 0.25 + 1) / 3, (0 + 0.5 + 0.25) / 3],
    "special": [(0 + 0.25 + 0) / 3, (1 + 0.5 + 0) / 3],
}


@pytest.mark.parametrize("name", STATISTICS)
def test_a_measure_gives_what_the_hand_gives(name: str) -> None:
    np.testing.assert_allclose(STATISTICS[name].function(WEIGHTS, EVERYWHERE), [TABLE[name]], atol=1e-6)


def test_every_measure_has_its_table_and_its_paper() -> None:
    assert TABLE.keys() == STATISTICS.keys()
    assert all(statistic.paper.startswith("https://") for statistic in STATISTICS.values())


# ---------------------------------------------------------------- the same by a plain loop


def looped(name: str, weights: np.ndarray, kind: Kind, allowed: np.ndarray, columns: tuple[Token, ...]) -> float:
    """One measure of one map, row by row and key by key."""
    queries, keys = weights.shape
    found = []
    for row in range(queries):
        may = [key for key in range(keys) if allowed[row, key]]
        if len(may) < 2:
            continue
        own = row * (keys - 1) / (queries - 1) if kind == "cross" and queries > 1 else row
        if kind == "cross" and queries == 1:
            own = (keys - 1) / 2
        bits = -sum(weights[row, key] * math.log2(weights[row, key]) for key in may if weights[row, key] > 0)
        mean_far = sum(weights[row, key] * abs(key - own) for key in may)
        looked_at = {
            "same": [key for key in may if -0.5 <= key - own <= 0.5],
            "previous": [key for key in may if -1.5 <= key - own < -0.5],
            "next": [key for key in may if 0.5 < key - own <= 1.5],
            "first": [key for key in may if key == 0],
            "last": [key for key in may if key == keys - 1],
            "punctuation": [key for key in may if columns[key].text in (".", ",")],
            "special": [key for key in may if columns[key].special],
        }
        if name in looked_at:
            if looked_at[name]:
                found.append(sum(weights[row, key] for key in looked_at[name]))
            continue
        found.append(
            {
                "entropy": bits,
                "relative_entropy": bits / math.log2(len(may)),
                "peak": max(weights[row]),
                "distance": mean_far,
                "diagonality": 1 - mean_far / max(abs(key - own) for key in may),
            }[name]
        )
    return float(np.mean(found)) if found else math.nan


EXAMPLES = (
    translation_of(("a", ",", "b", "c", "."), ("d", "e", "f")),
    translation_of(("a",), ("d", ",", "e", ".")),
    translation_of(("a", "b"), ()),
)


@pytest.mark.parametrize("translation", EXAMPLES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_plain_loop_gives_the_same(translation: Translation, kind: Kind) -> None:
    found, place = measure_all(translation, kind), map_geometry(translation, kind)
    assert found.keys() == STATISTICS.keys()
    for name, statistic in STATISTICS.items():
        assert found[name].shape == (LAYERS, HEADS)
        np.testing.assert_array_equal(measure(translation, kind, name), found[name])
        if kind not in statistic.kinds:
            assert np.isnan(found[name]).all()
            continue
        for layer in range(LAYERS):
            for head in range(HEADS):
                weights = translation.attention.of(kind)[layer, head]
                expected = looped(name, weights, kind, place.allowed, place.columns)
                assert found[name][layer, head] == pytest.approx(expected, abs=1e-5, nan_ok=True), (name, layer, head)


# ---------------------------------------------------------------- which rows count


def test_rows_without_a_choice_do_not_count() -> None:
    weights = np.array([[[[1.0, 0.0], [0.5, 0.5]]]], dtype=np.float32)
    place = MapGeometry("decoder", np.tril(np.ones((2, 2), dtype=np.bool_)), tokens_of(("a", "b"), end=False))
    expected = {"relative_entropy": 1, "entropy": 1, "peak": 0.5, "same": 0.5, "distance": 0.5}
    found = {name: STATISTICS[name].function(weights, place).item() for name in expected}
    assert found == pytest.approx(expected)


def test_share_leaves_out_hidden_cells() -> None:
    weights = np.array([[[[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.125, 0.25, 0.625]]]], dtype=np.float32)
    allowed = np.array([[True, True, False], [True, True, False], [True, True, True]])
    cells = np.array([[True, False, True], [False, False, True], [False, False, True]])
    place = MapGeometry("encoder", allowed, tokens_of(("a", "b")))
    # The third cell of the first row is hidden, and so is all that the second row could count.
    assert _share(weights, place, cells).item() == pytest.approx((0.5 + 0.625) / 2)


def test_relative_entropy_compares_a_row_with_what_its_own_keys_allow() -> None:
    """Of three keys in all, the second row may choose between two: halves are all that it can do."""
    weights = np.array([[[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.25, 0.5, 0.25]]]], dtype=np.float32)
    place = MapGeometry("decoder", np.tril(np.ones((3, 3), dtype=np.bool_)), tokens_of(("a", "b", "c"), end=False))
    expected = (1 / math.log2(2) + 1.5 / math.log2(3)) / 2
    assert STATISTICS["relative_entropy"].function(weights, place).item() == pytest.approx(expected)


def test_rows_that_may_look_nowhere_count_in_no_mean() -> None:
    weights = np.array([[[[0.0, 0.0], [0.5, 0.5]]]], dtype=np.float32)
    allowed = np.array([[False, False], [True, True]])
    place = MapGeometry("encoder", allowed, tokens_of(("a",)))
    assert STATISTICS["special"].function(weights, place).item() == 0.5
    assert STATISTICS["entropy"].function(weights, place).item() == 1


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("shape", [(2, 3), (2, 1), (0, 3), (0, 0)])
def test_where_nothing_can_be_measured_there_is_no_number(name: str, shape: tuple[int, int]) -> None:
    place = MapGeometry("cross", np.zeros(shape, dtype=np.bool_), tokens_of(("a", "b"))[: shape[1]])
    assert np.isnan(STATISTICS[name].function(np.zeros((5, 7, *shape), dtype=np.float32), place)).all()


def test_a_sentence_without_punctuation_has_no_share_of_it() -> None:
    assert np.isnan(measure(translation_of(("a", "b"), ("c",)), "encoder", "punctuation")).all()


def test_the_end_token_is_the_only_special_one_of_a_source() -> None:
    found = measure_all(translation_of(("a", "b", "c", "d"), ("e", "f")), "cross")
    np.testing.assert_array_equal(found["special"], found["last"])


@pytest.mark.parametrize("kind", KINDS)
def test_steeper_rows_have_less_entropy_and_more_peak(kind: Kind) -> None:
    """Weights squared and rescaled are steeper: order of heads and rows stays."""
    translation = EXAMPLES[0]
    weights, place = translation.attention.of(kind), map_geometry(translation, kind)
    steps = [weights**power / (weights**power).sum(axis=-1, keepdims=True) for power in (1, 2, 4)]
    for flat, steep in pairwise(steps):
        assert (STATISTICS["entropy"].function(steep, place) <= STATISTICS["entropy"].function(flat, place)).all()
        assert (STATISTICS["peak"].function(steep, place) >= STATISTICS["peak"].function(flat, place)).all()


def test_the_straight_line_of_cross_attention_runs_from_corner_to_corner() -> None:
    np.testing.assert_allclose(expected_column("cross", 3, 7), [0, 3, 6])
    np.testing.assert_allclose(expected_column("encoder", 3, 3), [0, 1, 2])
    np.testing.assert_allclose(expected_column("cross", 1, 5), [2])


def test_the_special_keys_of_the_decoder_are_those_that_it_read() -> None:
    translation = translation_of(("a",), ("b", "c"))
    assert map_geometry(translation, "decoder").special.tolist() == [True, False, False]
    assert map_geometry(translation, "cross").special.tolist() == [False, True]


def test_an_unknown_measure_is_refused_by_name() -> None:
    with pytest.raises(RequestError, match=r'one of entropy, relative_entropy.*, but "speed" was given'):
        measure(translation_of(("a",), ("b",)), "cross", "speed")

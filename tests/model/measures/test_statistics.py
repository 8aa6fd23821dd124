"""What a head does in one number: tables worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from headlight.model.errors import RequestError
from headlight.model.measures.statistics import STATISTICS, Place, measure, place_of, straight_line
from tests.viz.figures_examples import HEADS, LAYERS, translation_of

# One layer of two heads, three queries and four keys, the last of which is special.
WEIGHTS = np.array(
    [
        [
            [[0.5, 0.5, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25], [0.0, 0.0, 1.0, 0.0]],
            [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.5, 0.5], [0.0, 0.75, 0.25, 0.0]],
        ]
    ],
    dtype=np.float32,
)
EVERYWHERE = Place(
    allowed=np.ones((3, 4), dtype=np.bool_),
    special=np.array([False, False, False, True]),
    line=np.arange(3, dtype=np.float32),
)
QUARTERS = -(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25))
TABLE = {
    "entropy": [(1 + 2 + 0) / 3, (0 + 1 + QUARTERS) / 3],
    "relative_entropy": [(1 + 2 + 0) / 2 / 3, (0 + 1 + QUARTERS) / 2 / 3],
    "distance": [
        ((0.5 * 0 + 0.5 * 1) + (0.25 * 1 + 0.25 * 0 + 0.25 * 1 + 0.25 * 2) + 0) / 3,
        (3 + (0.5 * 1 + 0.5 * 2) + 0.75 * 1) / 3,
    ],
    "special": [(0 + 0.25 + 0) / 3, (1 + 0.5 + 0) / 3],
    "strongest": [1.0, 1.0],
    "diagonal": [(0.5 + 0.25 + 1) / 3, (0 + 0 + 0.25) / 3],
    "confidence": [(0.5 + 0.25 + 1) / 3, (1 + 0.5 + 0.75) / 3],
}


@pytest.mark.parametrize("name", STATISTICS)
def test_a_measure_gives_what_the_hand_gives(name: str) -> None:
    np.testing.assert_allclose(STATISTICS[name](WEIGHTS, EVERYWHERE), [TABLE[name]], atol=1e-6)


def test_every_measure_has_its_table() -> None:
    assert TABLE.keys() == STATISTICS.keys()


def test_rows_without_a_choice_have_no_say_in_relative_entropy_and_the_strongest_weight() -> None:
    weights = np.array([[[[1.0, 0.0], [0.5, 0.5]]]], dtype=np.float32)
    place = Place(np.tril(np.ones((2, 2), dtype=np.bool_)), np.zeros(2, dtype=np.bool_), np.arange(2, dtype=np.float32))
    assert STATISTICS["relative_entropy"](weights, place).item() == pytest.approx(1)
    assert STATISTICS["strongest"](weights, place).item() == 0.5
    assert STATISTICS["entropy"](weights, place).item() == pytest.approx((0 + 1) / 2)


def test_relative_entropy_compares_a_row_with_what_its_own_keys_allow() -> None:
    """Of three keys in all, the second row may choose between two: halves are all that it can do."""
    weights = np.array([[[[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.25, 0.5, 0.25]]]], dtype=np.float32)
    nothing_special = np.zeros(3, dtype=np.bool_)
    place = Place(np.tril(np.ones((3, 3), dtype=np.bool_)), nothing_special, np.arange(3, dtype=np.float32))
    expected = (1 / math.log2(2) + 1.5 / math.log2(3)) / 2  # the first row has no choice
    assert STATISTICS["relative_entropy"](weights, place).item() == pytest.approx(expected)


def test_rows_that_may_look_nowhere_count_in_no_mean() -> None:
    weights = np.array([[[[0.0, 0.0], [0.5, 0.5]]]], dtype=np.float32)
    allowed = np.array([[False, False], [True, True]])
    place = Place(allowed, np.array([True, False]), np.arange(2, dtype=np.float32))
    assert STATISTICS["special"](weights, place).item() == 0.5
    assert STATISTICS["entropy"](weights, place).item() == 1


@pytest.mark.parametrize("name", STATISTICS)
def test_where_nothing_can_be_measured_there_is_no_number(name: str) -> None:
    place = Place(np.zeros((2, 3), dtype=np.bool_), np.zeros(3, dtype=np.bool_), np.arange(2, dtype=np.float32))
    assert np.isnan(STATISTICS[name](np.zeros((5, 7, 2, 3), dtype=np.float32), place)).all()


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_a_translation_is_measured_head_by_head(name: str, kind: str) -> None:
    values = measure(translation_of(("a", "b", "c"), ("d", "e")), kind, name)  # type: ignore[arg-type]
    assert values.shape == (LAYERS, HEADS)
    assert (values >= 0).all()


def test_the_straight_line_of_cross_attention_runs_from_corner_to_corner() -> None:
    np.testing.assert_allclose(straight_line("cross", 3, 7), [0, 3, 6])
    np.testing.assert_allclose(straight_line("encoder", 3, 3), [0, 1, 2])
    np.testing.assert_allclose(straight_line("cross", 1, 5), [2])


def test_the_special_keys_of_the_decoder_are_those_that_it_read() -> None:
    translation = translation_of(("a",), ("b", "c"))
    assert place_of(translation, "decoder").special.tolist() == [True, False, False]
    assert place_of(translation, "cross").special.tolist() == [False, True]


def test_an_unknown_measure_is_refused_by_name() -> None:
    with pytest.raises(RequestError, match=r'one of entropy, relative_entropy.*, but "speed" was given'):
        measure(translation_of(("a",), ("b",)), "cross", "speed")

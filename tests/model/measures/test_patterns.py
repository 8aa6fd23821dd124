"""One honest name for what a head does: maps drawn by hand, and maps that say nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest

from headlight.model.measures.patterns import NAMES, pattern, patterns
from headlight.model.records import AttentionMap, Kind, Token
from tests.viz.figures_examples import HEADS, LAYERS, tokens_of, translation_of

START = Token("<s>", 1, 0, 0, special=True)
WORDS = ("der", "alte", "Hund", ",", "schläft", "tief", ".")  # with the end token, eight


def attention_map(weights: np.ndarray, kind: Kind, columns: tuple[Token, ...] | None = None) -> AttentionMap:
    queries, keys = weights.shape
    source = columns or tokens_of(WORDS[: keys - 1])
    target = tokens_of(tuple("abcdefghijkl"[: queries - 1]))
    if kind == "decoder":
        source = (START, *target[:-1])
    rows = source if kind == "encoder" else target
    ones = np.ones(weights.shape, dtype=np.bool_)
    allowed = np.tril(ones) if kind == "decoder" else ones
    return AttentionMap(weights.astype(np.float32), allowed, rows, source, rows, kind, 0, 0)


def mostly(cells: np.ndarray, share: float = 0.8) -> np.ndarray:
    """Rows that give this share to the marked cells, evenly, and the rest to the others; rows without any: even."""
    weights = np.zeros(cells.shape)
    for row, marked in enumerate(cells):
        if marked.all() or not marked.any():
            weights[row] = 1 / len(marked)
        else:
            weights[row, marked] = share / marked.sum()
            weights[row, ~marked] = (1 - share) / (~marked).sum()
    return weights


def causal(weights: np.ndarray) -> np.ndarray:
    """The same without what lies ahead; rows sum to one again."""
    low = np.tril(weights)
    return low / low.sum(axis=1, keepdims=True)


EIGHT = np.eye(8, dtype=np.bool_)


@pytest.mark.parametrize(
    ("name", "cells"),
    [("same", EIGHT), ("previous", np.eye(8, k=-1) > 0), ("next", np.eye(8, k=1) > 0)],
)
def test_an_encoder_head_is_named_by_its_neighbour(name: str, cells: np.ndarray) -> None:
    found = pattern(attention_map(mostly(cells), "encoder"))
    assert found.name == name
    assert found.share == pytest.approx(0.8)


def test_a_decoder_head_looks_at_the_word_just_written() -> None:
    weights = causal(np.eye(7) * 9 + np.ones((7, 7)))  # row r: 10 of 10 + r
    found = pattern(attention_map(weights, "decoder"))
    assert found.name == "just_written"
    assert found.share == pytest.approx(np.mean([10 / (10 + row) for row in range(1, 7)]))


def test_a_decoder_head_looks_two_words_back() -> None:
    found = pattern(attention_map(causal(np.eye(7, k=-1) * 99 + np.ones((7, 7))), "decoder"))
    assert found.name == "back_two"


def test_a_head_rests_on_the_start() -> None:
    cells = np.zeros((7, 7), dtype=np.bool_)
    cells[:, 0] = True
    assert pattern(attention_map(causal(mostly(cells, 0.9)), "decoder")).name == "start"


@pytest.mark.parametrize("kind", ["encoder", "cross"])
def test_a_head_rests_on_the_end(kind: Kind) -> None:
    cells = np.zeros((8, 8), dtype=np.bool_)
    cells[:, 7] = True
    found = pattern(attention_map(mostly(cells, 0.75), kind))
    assert found.name == "end"
    assert found.share == pytest.approx(0.75)


@pytest.mark.parametrize("kind", ["encoder", "cross"])
def test_a_head_looks_at_punctuation(kind: Kind) -> None:
    cells = np.zeros((8, 8), dtype=np.bool_)
    cells[:, [3, 6]] = True  # the comma and the full stop
    assert pattern(attention_map(mostly(cells), kind)).name == "punctuation"


def test_a_cross_head_follows_the_straight_line() -> None:
    cells = np.zeros((5, 8), dtype=np.bool_)
    cells[range(5), [0, 2, 4, 5, 7]] = True  # the line is at 0, 1.75, 3.5, 5.25, 7
    assert pattern(attention_map(mostly(cells), "cross")).name == "diagonal"


def test_a_cross_head_picks_one_word_a_row_in_another_order() -> None:
    cells = np.zeros((6, 8), dtype=np.bool_)
    cells[range(6), [5, 4, 6, 1, 0, 2]] = True
    found = pattern(attention_map(mostly(cells, 0.7), "cross"))
    assert found.name == "one_word"
    assert found.share == pytest.approx(0.7)


def test_a_word_in_two_tokens_is_still_one_word() -> None:
    columns = (
        *(Token("x", 1, place, place + 1, word=place // 2) for place in range(8)),
        Token("</s>", 2, 8, 8, special=True),
    )
    weights = np.full((4, 9), 0.1 / 7)
    for row, word in enumerate([3, 2, 1, 0]):
        weights[row, 2 * word : 2 * word + 2] = 0.45
    found = pattern(attention_map(weights, "cross", columns))
    assert found.name == "one_word"
    assert found.share == pytest.approx(0.9)


def test_a_head_that_always_looks_at_the_same_word_picks_none() -> None:
    cells = np.zeros((6, 8), dtype=np.bool_)
    cells[:, 2] = True
    assert pattern(attention_map(mostly(cells), "cross")).name == "unclear"


@pytest.mark.parametrize(
    ("picked", "name"),
    [
        ([2, 2, 2, 2, 5, 0], "unclear"),  # two thirds of the rows
        ([2, 2, 2, 5, 0, 1], "one_word"),  # half of them
        ([5, 5, 0], "unclear"),
        ([5, 0, 3], "one_word"),
        ([5, 5], "unclear"),
        ([4], "one_word"),  # a single row cannot repeat itself
    ],
)
def test_no_word_may_have_more_than_half_of_the_rows(picked: list[int], name: str) -> None:
    cells = np.zeros((len(picked), 8), dtype=np.bool_)
    cells[range(len(picked)), picked] = True
    map_of_one = attention_map(mostly(cells, 0.7), "cross")
    assert pattern(map_of_one).name == name


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 13, 61])
def test_a_head_that_looks_everywhere_alike_is_unclear(kind: Kind, size: int) -> None:
    weights = np.full((size, size), 1 / size)
    columns = tokens_of(tuple(f"w{number}" for number in range(size - 1)))
    target = causal(weights) if kind == "decoder" else weights
    rows = columns if kind != "decoder" else (START, *columns[:-1])
    ones = np.ones((size, size), dtype=np.bool_)
    allowed = np.tril(ones) if kind == "decoder" else ones
    found = pattern(AttentionMap(target.astype(np.float32), allowed, columns, rows, rows, kind, 0, 0))
    assert found.name == "unclear"
    expected = np.mean(range(1, size + 1)) if kind == "decoder" else size
    assert found.spread == pytest.approx(expected, rel=1e-4)


def test_half_of_the_weight_is_not_enough_where_chance_gives_much() -> None:
    # Of two keys, chance gives half to each: 0.7 leaves 0.2 of 0.5 explained, 0.8 leaves 0.3.
    assert pattern(attention_map(mostly(EIGHT[:2, :2], 0.7), "encoder")).name == "unclear"
    assert pattern(attention_map(mostly(EIGHT[:2, :2], 0.8), "encoder")).name == "same"


def test_less_than_half_is_never_mostly() -> None:
    assert pattern(attention_map(mostly(EIGHT, 0.49), "encoder")).name == "unclear"
    assert pattern(attention_map(mostly(EIGHT, 0.57), "encoder")).name == "same"


def test_the_unclear_tell_how_near_they_came() -> None:
    assert pattern(attention_map(mostly(EIGHT, 0.4), "encoder")).share == pytest.approx(0.4)


def test_the_largest_excess_gives_the_name() -> None:
    columns = tokens_of(("a", "."))  # the full stop, and the end
    weights = np.array([[0.02, 0.9, 0.08], [0.02, 0.9, 0.08], [0.02, 0.9, 0.08]])
    assert pattern(attention_map(weights, "encoder", columns)).name == "punctuation"


def test_the_spread_is_the_mean_number_of_tokens() -> None:
    weights = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3]])
    assert pattern(attention_map(weights, "encoder")).spread == pytest.approx((2 + 1 + 3) / 3)
    skew = np.array([[0.75, 0.25], [0.75, 0.25]])
    nats = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert pattern(attention_map(skew, "encoder")).spread == pytest.approx(math.exp(nats))


def test_a_map_that_may_look_nowhere_is_unclear() -> None:
    nothing = np.zeros((2, 2), dtype=np.float32)
    tokens = tokens_of(("a",))
    found = pattern(AttentionMap(nothing, nothing > 0, tokens, tokens, tokens, "encoder", 0, 0))
    assert (found.name, found.share, found.spread) == ("unclear", 0.0, 0.0)


def test_all_heads_of_a_translation_are_named_with_their_averages_last() -> None:
    translation = translation_of(("a", "b", ".", "c"), ("d", "e"))
    found = patterns(translation)
    assert found.keys() == {"encoder", "decoder", "cross"}
    for layers in found.values():
        assert [len(layer) for layer in layers] == [HEADS + 1] * (LAYERS + 1)
        assert {each.name for layer in layers for each in layer} <= set(NAMES)
    for layer, head in ((1, 3), (2, None)):
        one = pattern(translation.attention_map("cross", layer, head))
        place = found["cross"][layer][HEADS if head is None else head]
        assert (one.name, one.share, one.spread) == (
            place.name,
            pytest.approx(place.share),
            pytest.approx(place.spread),
        )
    whole = translation.attention.decoder.mean(axis=(0, 1), dtype=np.float32)
    given = translation.attention_map("decoder", 0)
    mean = AttentionMap(whole, given.allowed, given.rows, given.columns, given.after, "decoder", 0, None)
    assert found["decoder"][LAYERS][HEADS].spread == pytest.approx(pattern(mean).spread, rel=1e-5)

"""Word maps, hidden special tokens and averages, against manually computed values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headlight.model.errors import RequestError
from headlight.model.measures.map_reduction import (
    drop_special,
    group_tokens,
    maximum,
    mean_map,
    merge_characters,
    merge_words,
)
from headlight.model.records import AttentionMap, Kind, Token

SOURCE = (
    Token("Mat", 5, 0, 3, word=0),
    Token("rat", 6, 3, 6, word=0),
    Token("ze", 7, 6, 8, word=0),
    Token(".", 8, 8, 9, word=1),
    Token("</s>", 2, 9, 9, special=True),
)
START = Token("<s>", 1, 0, 0, special=True)
TARGET = (
    Token("m", 5, 0, 1, word=0, probability=0.5),
    Token("at", 6, 1, 3, word=0, probability=0.25),
    Token("</s>", 2, 3, 3, special=True, probability=0.75),
)


def attention_map(
    weights: list[list[float]], kind: Kind = "cross", layer: int = 2, head: int | None = 4
) -> AttentionMap:
    table = np.array(weights, dtype=np.float32)
    allowed = (
        np.tril(np.ones(table.shape, dtype=np.bool_)) if kind == "decoder" else np.ones(table.shape, dtype=np.bool_)
    )
    return AttentionMap(
        weights=table,
        allowed=allowed,
        rows=SOURCE if kind == "encoder" else TARGET,
        columns=(START, *TARGET[:-1]) if kind == "decoder" else SOURCE,
        previous_tokens=SOURCE if kind == "encoder" else (START, *TARGET[:-1]),
        kind=kind,
        layer=layer,
        head=head,
    )


CROSS = attention_map([[0.1, 0.2, 0.3, 0.4, 0.0], [0.3, 0.1, 0.0, 0.2, 0.4], [0.0, 0.0, 0.1, 0.1, 0.8]])
DECODER = attention_map([[1.0, 0.0, 0.0], [0.25, 0.75, 0.0], [0.2, 0.3, 0.5]], "decoder")


def test_word_map_sums_over_keys_and_averages_over_queries() -> None:
    merged = merge_words(CROSS)
    expected = [
        [((0.1 + 0.2 + 0.3) + (0.3 + 0.1 + 0.0)) / 2, (0.4 + 0.2) / 2, (0.0 + 0.4) / 2],
        [0.0 + 0.0 + 0.1, 0.1, 0.8],
    ]
    np.testing.assert_allclose(merged.weights, expected, atol=1e-6)
    np.testing.assert_allclose(merged.weights.sum(axis=1), 1, atol=1e-6)
    assert [token.text for token in merged.columns] == ["Matratze", ".", "</s>"]
    assert [token.text for token in merged.rows] == ["mat", "</s>"]
    assert (merged.kind, merged.layer, merged.head) == ("cross", 2, 4)
    assert merged.weights.dtype == np.float32
    assert not merged.weights.flags.writeable


def test_word_spans_its_tokens_and_multiplies_probabilities() -> None:
    word = merge_words(CROSS).rows[0]
    assert (word.start, word.end, word.word, word.special) == (0, 3, 0, False)
    assert word.probability == 0.5 * 0.25
    assert merge_words(CROSS).columns[0].probability is None


def test_single_token_words_are_unchanged() -> None:
    merged = merge_words(CROSS)
    assert merged.rows[1] is TARGET[2]
    assert merged.columns[1] is SOURCE[3]


def test_word_mask_allows_keys_of_any_token() -> None:
    merged = merge_words(DECODER)
    np.testing.assert_array_equal(merged.allowed, [[True, True], [True, True]])
    np.testing.assert_allclose(merged.weights, [[(1 + 0.25) / 2, (0 + 0.75) / 2], [0.2, 0.3 + 0.5]], atol=1e-6)


def test_masked_word_cells_are_zero() -> None:
    single = tuple(Token(text, 5, index, index + 1, word=index) for index, text in enumerate("ab"))
    rows = (*single, TARGET[2])
    weights = np.array([[1, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]], dtype=np.float32)
    decoder_inputs = (START, *single)
    merged = merge_words(
        AttentionMap(
            weights, np.tril(np.ones((3, 3), dtype=np.bool_)), rows, decoder_inputs, decoder_inputs, "decoder", 0, 0
        )
    )
    assert not merged.allowed[0, 1:].any()
    assert (merged.weights[~merged.allowed] == 0).all()


def test_previous_token_of_a_word_precedes_its_first_token() -> None:
    assert [token.text for token in merge_words(DECODER).previous_tokens] == ["<s>", "mat"]
    encoder = attention_map(np.full((5, 5), 0.2).tolist(), "encoder")
    assert [token.text for token in merge_words(encoder).previous_tokens] == ["Matratze", ".", "</s>"]


def test_pieces_of_a_character_are_merged_but_not_words() -> None:
    pieces = tuple(Token("翻", 9, 0, 1, word=0, piece=number, pieces=3) for number in range(3))
    rows = (*pieces, Token("译", 4, 1, 2, word=0))
    weights = np.array([[0.1, 0.2, 0.3, 0.4]] * 4, dtype=np.float32)
    merged = merge_characters(AttentionMap(weights, weights > 0, rows, rows, rows, "encoder", 0, 0))
    assert [token.text for token in merged.rows] == ["翻", "译"]
    np.testing.assert_allclose(merged.weights, [[0.6, 0.4]] * 2, atol=1e-6)


def test_dropping_special_tokens_returns_hidden_share() -> None:
    reduced, hidden = drop_special(CROSS, rescale=False)
    assert reduced.weights.shape == (2, 4)
    np.testing.assert_allclose(reduced.weights, CROSS.weights[:2, :4])
    assert hidden == pytest.approx((0.0 + 0.4) / 2)
    assert [token.text for token in reduced.columns] == ["Mat", "rat", "ze", "."]
    assert [token.text for token in reduced.previous_tokens] == ["<s>", "m"]


def test_rescaled_rows_sum_to_one_again() -> None:
    reduced, hidden = drop_special(CROSS, rescale=True)
    np.testing.assert_allclose(reduced.weights[1], [0.3 / 0.6, 0.1 / 0.6, 0, 0.2 / 0.6], atol=1e-6)
    assert hidden == pytest.approx(0.2)


def test_row_without_remaining_weight_is_zero() -> None:
    reduced, hidden = drop_special(DECODER, rescale=True)
    np.testing.assert_allclose(reduced.weights, [[0, 0], [1, 0]])
    np.testing.assert_array_equal(reduced.allowed, [[False, False], [True, False]])
    assert hidden == pytest.approx((1 + 0.25) / 2)


def test_map_of_only_special_tokens_becomes_empty() -> None:
    end = (TARGET[2],)
    one = np.ones((1, 1), dtype=np.float32)
    reduced, hidden = drop_special(AttentionMap(one, one > 0, end, end, end, "encoder", 0, 0), rescale=True)
    assert (reduced.weights.shape, reduced.rows, hidden) == ((0, 0), (), 0.0)


def test_mean_and_maximum_are_cell_wise() -> None:
    other = attention_map([[0.3, 0.2, 0.1, 0.0, 0.4], [0.1] * 4 + [0.6], [1.0, 0, 0, 0, 0]], layer=2, head=5)
    mean = mean_map([CROSS, other])
    np.testing.assert_allclose(mean.weights[0], [0.2, 0.2, 0.2, 0.2, 0.2], atol=1e-6)
    assert (mean.layer, mean.head) == (2, None)
    np.testing.assert_allclose(maximum([CROSS, other]).weights[0], [0.3, 0.2, 0.3, 0.4, 0.4])


def test_mean_over_layers_has_no_layer() -> None:
    other = attention_map(CROSS.weights.tolist(), layer=0, head=4)
    assert (mean_map([CROSS, other]).layer, mean_map([CROSS, other]).head) == (-1, 4)


def test_mean_of_different_kinds_or_no_maps_raises() -> None:
    with pytest.raises(RequestError, match="cross 3 × 5, decoder 3 × 3"):
        mean_map([CROSS, DECODER])
    with pytest.raises(RequestError, match="Give one or more"):
        maximum([])


def test_groups_are_runs_of_adjacent_tokens() -> None:
    runs = group_tokens(SOURCE, lambda left, right: left.word is not None and left.word == right.word)
    assert runs == (range(3), range(3, 4), range(4, 5))
    assert group_tokens((), lambda left, right: True) == ()


def test_special_tokens_side_by_side_stay_separate() -> None:
    columns = (Token(">>en<<", 3, 0, 0, special=True), Token("<s>", 1, 0, 0, special=True), *SOURCE[:3])
    merged = merge_words(replace(CROSS, columns=columns))
    assert [token.text for token in merged.columns] == [">>en<<", "<s>", "Matratze"]
    np.testing.assert_array_equal(merged.weights[1, :2], CROSS.weights[2, :2])

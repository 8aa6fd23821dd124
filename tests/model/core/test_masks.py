"""Masks: True if a query may attend to a key."""

from __future__ import annotations

import math

import pytest
import torch

from headlight.model.core.masks import causal_mask, combine_masks, pad_sequences, padding_mask, split_mask
from tests.sizes import BATCH, KEYS, QUERIES


def test_causal_mask_allows_current_and_earlier_keys() -> None:
    mask = causal_mask(QUERIES)
    assert mask.dtype == torch.bool
    assert mask.tolist() == [[key <= query for key in range(QUERIES)] for query in range(QUERIES)]


def test_causal_mask_with_more_keys_aligns_queries_to_the_end() -> None:
    assert torch.equal(causal_mask(QUERIES, KEYS), causal_mask(KEYS)[KEYS - QUERIES :])


def test_padding_mask_hides_padding() -> None:
    ids = torch.tensor([[7, 5, 0], [7, 0, 0]])
    mask = padding_mask(ids, 0)
    assert mask.shape == (2, 1, 1, 3)
    assert mask[:, 0, 0].tolist() == [[True, True, False], [True, False, False]]
    assert padding_mask(ids, 7)[:, 0, 0].tolist() == [[False, True, True], [False, True, True]]


def test_rows_are_padded_at_their_ends() -> None:
    assert pad_sequences([[5, 7, 9], [3], []], 1).tolist() == [[5, 7, 9], [3, 1, 1], [1, 1, 1]]


def test_combined_mask_is_logical_and() -> None:
    causal, padding = causal_mask(KEYS), torch.rand(BATCH, 1, 1, KEYS) > 0.3
    assert combine_masks(None, None) is None
    assert combine_masks(causal, None) is causal
    assert combine_masks(None, padding) is padding
    joined = combine_masks(causal, padding)
    assert joined is not None
    assert torch.equal(joined, causal.logical_and(padding))
    assert joined.shape == (BATCH, 1, KEYS, KEYS)


def test_boolean_mask_has_no_additive_part() -> None:
    mask = causal_mask(3)
    allowed, added = split_mask(mask)
    assert allowed is mask
    assert added is None
    assert split_mask(None) == (None, None)


def test_additive_mask_is_split_at_minus_infinity() -> None:
    allowed, added = split_mask(torch.tensor([[0.0, -math.inf, 2.5, -1e9]]))
    assert allowed is not None
    assert added is not None
    assert allowed.tolist() == [[True, False, True, True]]
    assert added.tolist() == [[0.0, 0.0, 2.5, -1e9]]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int64])
def test_byte_and_integer_masks_raise(dtype: torch.dtype) -> None:
    with pytest.raises(TypeError, match=f"must be boolean .*, not {dtype}"):
        split_mask(torch.ones(3, 3, dtype=dtype))

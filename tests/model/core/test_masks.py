"""Masks: True if a query may attend to a key."""

from __future__ import annotations

import math

import pytest
import torch

from headlight.model.core.masks import causal_mask, combine_masks, padding_mask, split_mask
from tests.sizes import BATCH, KEYS, QUERIES


def test_causal_mask_lets_a_query_see_itself_and_what_came_before() -> None:
    mask = causal_mask(QUERIES)
    assert mask.dtype == torch.bool
    assert mask.tolist() == [[key <= query for key in range(QUERIES)] for query in range(QUERIES)]


def test_causal_mask_of_more_keys_takes_the_queries_as_the_last() -> None:
    assert torch.equal(causal_mask(QUERIES, KEYS), causal_mask(KEYS)[KEYS - QUERIES :])


def test_padding_mask_hides_padding_from_every_head_and_query() -> None:
    ids = torch.tensor([[7, 5, 0], [7, 0, 0]])
    mask = padding_mask(ids, 0)
    assert mask.shape == (2, 1, 1, 3)
    assert mask[:, 0, 0].tolist() == [[True, True, False], [True, False, False]]
    assert padding_mask(ids, 7)[:, 0, 0].tolist() == [[False, True, True], [False, True, True]]


def test_both_is_what_two_masks_allow() -> None:
    causal, padding = causal_mask(KEYS), torch.rand(BATCH, 1, 1, KEYS) > 0.3
    assert combine_masks(None, None) is None
    assert combine_masks(causal, None) is causal
    assert combine_masks(None, padding) is padding
    joined = combine_masks(causal, padding)
    assert joined is not None
    assert torch.equal(joined, causal.logical_and(padding))
    assert joined.shape == (BATCH, 1, KEYS, KEYS)


def test_a_boolean_mask_adds_nothing() -> None:
    mask = causal_mask(3)
    allowed, added = split_mask(mask)
    assert allowed is mask
    assert added is None
    assert split_mask(None) == (None, None)


def test_an_additive_mask_forbids_by_minus_infinity_and_adds_all_else() -> None:
    allowed, added = split_mask(torch.tensor([[0.0, -math.inf, 2.5, -1e9]]))
    assert allowed is not None
    assert added is not None
    assert allowed.tolist() == [[True, False, True, True]]
    assert added.tolist() == [[0.0, 0.0, 2.5, -1e9]]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int64])
def test_masks_of_bytes_or_integers_are_refused(dtype: torch.dtype) -> None:
    with pytest.raises(TypeError, match=f"must be boolean .*, not {dtype}"):
        split_mask(torch.ones(3, 3, dtype=dtype))

"""Attention matches PyTorch's with the same weights on both paths, and handles fully masked rows."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from headlight.model.core.attention import (
    KeyValueCache,
    KeyValues,
    MultiHeadAttention,
    attention_scores,
    attention_weights,
    fused_attention,
    masked_softmax,
)
from headlight.model.core.masks import causal_mask, padding_mask
from headlight.model.core.probes import Watched, watch
from tests.compare import assert_close
from tests.reference import assert_same_gradients, attention_pairs, attention_reference
from tests.sizes import BATCH, D_MODEL, HEAD_WIDTH, HEADS, KEYS, QUERIES

MASKS = ("no mask", "causal", "key padding", "boolean", "additive")
KINDS = ("self", "cross")


def make_attention(**options: Any) -> MultiHeadAttention:
    """Attention with nonzero biases; PyTorch initialises them to zero."""
    attention = MultiHeadAttention(D_MODEL, HEADS, **options)
    for parameter in attention.parameters():
        nn.init.normal_(parameter, std=0.1)
    return attention.eval()


def make_mask(name: str, queries: int, keys: int) -> tuple[Tensor | None, dict[str, Tensor]]:
    """The same mask for us and for PyTorch, where True forbids."""
    if name == "no mask":
        return None, {}
    if name == "causal":
        mask = causal_mask(queries, keys)
        return mask, {"attn_mask": ~mask}
    if name == "key padding":
        ids = torch.arange(keys).expand(BATCH, keys) < torch.tensor([[keys], [1], [5], [8], [keys - 1]])
        return padding_mask(ids.long(), 0), {"key_padding_mask": ~ids}
    mask = torch.rand(BATCH, HEADS, queries, keys) < 0.6
    mask[..., 3] = True  # PyTorch returns NaN for fully masked rows
    if name == "additive":
        mask = torch.randn(mask.shape).masked_fill(~mask, -math.inf)
    theirs = mask if name == "additive" else ~mask
    return mask, {"attn_mask": theirs.flatten(0, 1)}


def run(
    attention: MultiHeadAttention, x: Tensor, memory: Tensor | None, mask: Tensor | None, *, watched: bool
) -> tuple[Tensor, Watched | None]:
    """The output of either path, and the watched tensors of the explicit path."""
    looked_at = None if memory is None else attention.project_memory(memory)
    if not watched:
        return attention(x, looked_at, mask=mask), None
    with watch(attention, "weights") as seen:
        return attention(x, looked_at, mask=mask), seen


def inputs(kind: str, **options: Any) -> tuple[Tensor, Tensor | None]:
    x = torch.randn(BATCH, QUERIES, D_MODEL, **options)
    return x, torch.randn(BATCH, KEYS, D_MODEL, **options) if kind == "cross" else None


# ---------------------------------------------------------------- hand-worked


def test_softmax_of_zero_and_one() -> None:
    query, key = torch.tensor([[[[1.0]]]]), torch.tensor([[[[0.0], [1.0]]]])
    value = torch.tensor([[[[10.0], [20.0]]]])
    expected = torch.tensor([[[[1, math.e]]]]) / (1 + math.e)
    assert_close(attention_weights(query, key), expected, tolerance=1e-7)
    mixture = torch.tensor([[[[(10 + 20 * math.e) / (1 + math.e)]]]])
    assert_close(fused_attention(query, key, value), mixture, tolerance=1e-6)


def test_scores_are_scaled_products() -> None:
    query = torch.tensor([[[[1.0, 2.0, 3.0, 4.0]]]])
    key = torch.tensor([[[[4.0, 3.0, 2.0, 1.0], [1.0, 0.0, 0.0, 0.0]]]])
    assert attention_scores(query, key).tolist() == [[[[(4 + 6 + 6 + 4) / 2, 1 / 2]]]]
    assert attention_scores(query, key, scale=1.0).tolist() == [[[[20.0, 1.0]]]]
    bias = torch.tensor([[[0.5, -1.0]]])
    assert attention_scores(query, key, bias).tolist() == [[[[10 + 0.5, 1 / 2 - 1]]]]


def test_masked_keys_have_zero_weight_and_rows_sum_to_one() -> None:
    scores = torch.tensor([[0.0, 1.0, 2.0], [5.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    weights = masked_softmax(scores, causal_mask(3))
    e = math.e
    expected = torch.tensor([[1, 0, 0], [e**5 / (e**5 + 1), 1 / (e**5 + 1), 0], [1 / 3, 1 / 3, 1 / 3]])
    assert_close(weights, expected, tolerance=1e-7)
    assert (weights[~causal_mask(3)] == 0.0).all()


def test_additive_mask_shifts_scores() -> None:
    query, key = torch.zeros(1, 1, 1, 1), torch.zeros(1, 1, 3, 1)
    weights = attention_weights(query, key, torch.tensor([[0.0, 1.0, -math.inf]]))
    assert_close(weights, torch.tensor([[[[1, math.e, 0]]]]) / (1 + math.e), tolerance=1e-7)


# ---------------------------------------------------------------- against PyTorch


@pytest.mark.parametrize("averaged", [False, True], ids=["each head", "averaged"])
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("mask_name", MASKS)
@pytest.mark.parametrize("kind", KINDS)
def test_attention_matches_pytorch(kind: str, mask_name: str, bias: bool, averaged: bool, device: str) -> None:
    ours = make_attention(bias=bias).to(device)
    x, memory = inputs(kind, device=device)
    looked_at = x if memory is None else memory
    mask, theirs = make_mask(mask_name, QUERIES, looked_at.shape[1])
    theirs = {name: tensor.to(device) for name, tensor in theirs.items()}
    expected, expected_weights = attention_reference(ours)(
        x, looked_at, looked_at, average_attn_weights=averaged, **theirs
    )
    mask = None if mask is None else mask.to(device)

    unwatched, _ = run(ours, x, memory, mask, watched=False)
    watched, seen = run(ours, x, memory, mask, watched=True)
    assert seen is not None
    weights = seen["weights"].mean(dim=1) if averaged else seen["weights"]
    assert_close(unwatched, expected, of="output of the fused kernel")
    assert_close(watched, expected, of="output of the explicit formula")
    assert_close(weights, expected_weights, of="weights")


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-11)], ids=str)
@pytest.mark.parametrize("mask_name", MASKS)
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_match_pytorch(kind: str, mask_name: str, dtype: torch.dtype, tolerance: float) -> None:
    ours = make_attention().to(dtype).train()
    theirs = attention_reference(ours)
    x, memory = inputs(kind, dtype=dtype)
    mask, their_mask = make_mask(mask_name, QUERIES, QUERIES if memory is None else KEYS)
    if mask is not None and mask.is_floating_point():
        mask, their_mask = mask.to(dtype), {"attn_mask": their_mask["attn_mask"].to(dtype)}
    aim = torch.randn(BATCH, QUERIES, D_MODEL, dtype=dtype)

    (run(ours, x, memory, mask, watched=False)[0] * aim).sum().backward()
    looked_at = x if memory is None else memory
    (theirs(x, looked_at, looked_at, **their_mask)[0] * aim).sum().backward()
    assert_same_gradients(attention_pairs("attention", ours, theirs), tolerance=tolerance)


@pytest.mark.parametrize("watched", [True, False])
@pytest.mark.parametrize("mask_name", MASKS)
@pytest.mark.parametrize("kind", KINDS)
def test_bfloat16_is_close_to_float32(kind: str, mask_name: str, watched: bool) -> None:
    ours = make_attention().bfloat16()
    x, memory = inputs(kind, dtype=torch.bfloat16)
    looked_at = x if memory is None else memory
    mask, theirs = make_mask(mask_name, QUERIES, looked_at.shape[1])
    reference = attention_reference(ours).float()
    expected, expected_weights = reference(
        x.float(), looked_at.float(), looked_at.float(), average_attn_weights=False, **theirs
    )

    output, seen = run(ours, x, memory, mask, watched=watched)
    assert output.dtype == torch.bfloat16
    assert_close(output, expected, tolerance=3e-2)
    if seen is not None:
        assert seen["weights"].dtype == torch.float32
        assert_close(seen["weights"], expected_weights, tolerance=2e-2)


def test_custom_head_width_and_unscaled_scores() -> None:
    ours = make_attention(head_width=3, scale_scores=False)
    x, _ = inputs("self")
    with watch(ours, "*") as seen:
        output = ours(x)
    assert output.shape == x.shape
    assert seen["weights"].shape == (BATCH, HEADS, QUERIES, QUERIES)
    products = torch.einsum("bhqw,bhkw->bhqk", seen["queries"], seen["keys"])
    assert seen["queries"].shape == (BATCH, HEADS, QUERIES, 3)
    assert_close(seen["scores"], products)
    assert_close(seen["mixed"], products.softmax(dim=-1) @ seen["values"])


# ---------------------------------------------------------------- two paths, one result


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("biased", [False, True], ids=["no bias", "position bias"])
@pytest.mark.parametrize("mask_name", MASKS)
def test_explicit_formula_matches_fused_kernel(mask_name: str, biased: bool, dtype: torch.dtype, device: str) -> None:
    query = torch.randn(BATCH, HEADS, QUERIES, HEAD_WIDTH, dtype=dtype, device=device)
    key, value = torch.randn(2, BATCH, HEADS, KEYS, HEAD_WIDTH, dtype=dtype, device=device)
    mask, _ = make_mask(mask_name, QUERIES, KEYS)
    mask = None if mask is None else mask.to(device)
    bias = torch.randn(HEADS, QUERIES, KEYS, device=device) if biased else None
    explicit = attention_weights(query, key, mask, bias) @ value.float()
    tolerance = 1e-5 if dtype == torch.float32 else 2e-2
    assert_close(fused_attention(query, key, value, mask, bias), explicit, tolerance=tolerance)


@pytest.mark.parametrize("watched_name", ["weights", "scores", "queries", "mixed"])
def test_watching_attention_does_not_change_output(watched_name: str) -> None:
    attention, (x, _) = make_attention(), inputs("self")
    plain = attention(x, mask=causal_mask(QUERIES))
    with watch(attention, watched_name):
        assert_close(attention(x, mask=causal_mask(QUERIES)), plain)


@pytest.mark.parametrize("mask_name", MASKS)
def test_attention_rows_sum_to_one_and_masked_cells_are_zero(mask_name: str) -> None:
    attention, (x, memory) = make_attention(), inputs("cross")
    mask, _ = make_mask(mask_name, QUERIES, KEYS)
    _, seen = run(attention, x, memory, mask, watched=True)
    assert seen is not None
    weights = seen["weights"]
    assert weights.shape == (BATCH, HEADS, QUERIES, KEYS)
    assert_close(weights.sum(dim=-1), torch.ones(BATCH, HEADS, QUERIES), tolerance=1e-6)
    if mask is not None:
        forbidden = (mask == -math.inf) if mask.is_floating_point() else ~mask
        assert (weights[forbidden.expand(weights.shape)] == 0.0).all()
        assert (weights[~forbidden.expand(weights.shape)] > 0.0).all()


def test_score_probe_includes_biases_and_masks() -> None:
    attention, (x, memory) = make_attention(), inputs("cross")
    assert memory is not None
    mask, bias = torch.randn(BATCH, HEADS, QUERIES, KEYS), torch.randn(HEADS, QUERIES, KEYS)
    with watch(attention, "*") as seen:
        attention(x, attention.project_memory(memory), mask=mask, bias=bias)
    products = torch.einsum("bhqw,bhkw->bhqk", seen["queries"], seen["keys"]) / math.sqrt(HEAD_WIDTH)
    assert_close(seen["scores"], products + mask + bias)
    assert_close(seen["weights"], seen["scores"].softmax(dim=-1))


@pytest.mark.parametrize("name", ["scores", "weights"])
def test_watching_scores_or_weights_uses_explicit_path(name: str) -> None:
    """The fused kernel does not expose them, so edits would have no effect."""
    attention, (x, _) = make_attention(), inputs("self")
    plain = attention(x)
    with watch(attention, name) as seen:
        attention(x)
    assert list(seen) == [name]
    with watch(attention, name, edit=lambda value, _: value * 0):
        assert not torch.allclose(attention(x), plain)


# ---------------------------------------------------------------- rows that may look nowhere


def blind_mask(form: str) -> Tensor:
    """Query 4 of every sentence and all queries of sentence 2 are fully masked."""
    mask = torch.rand(BATCH, 1, QUERIES, KEYS) < 0.6
    mask[..., 3] = True
    mask[:, :, 4] = False
    mask[2] = False
    return mask if form == "boolean" else torch.zeros(mask.shape).masked_fill(~mask, -math.inf)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("biased", [False, True], ids=["no bias", "position bias"])
@pytest.mark.parametrize("form", ["boolean", "additive"])
@pytest.mark.parametrize("watched", [True, False])
def test_fully_masked_row_is_zero_with_finite_gradients(
    watched: bool, form: str, biased: bool, dtype: torch.dtype, device: str
) -> None:
    attention = make_attention().to(device, dtype)
    x, memory = inputs("cross", device=device, dtype=dtype)
    assert memory is not None
    x.requires_grad_()
    memory.requires_grad_()
    bias = torch.randn(HEADS, QUERIES, KEYS, device=device).requires_grad_() if biased else None
    patterns = ["mixed", "weights"] if watched else ["mixed"]  # the output of heads is available on the fused path
    with watch(attention, *patterns) as seen:
        output = attention(x, attention.project_memory(memory), mask=blind_mask(form).to(device), bias=bias)
    blind = torch.zeros(BATCH, QUERIES, dtype=torch.bool)
    blind[:, 4], blind[2] = True, True
    for name in patterns:
        rows = seen[name].transpose(1, 2).cpu()  # [batch, queries, heads, …]
        assert (rows[blind] == 0.0).all(), name
        assert (rows[~blind].abs().sum(dim=-1) > 0.0).all(), name
    output.float().square().sum().backward()
    assert output.isfinite().all()
    for tensor in (x, memory, *attention.parameters(), *([] if bias is None else [bias])):
        assert tensor.grad is not None
        assert tensor.grad.isfinite().all()


@pytest.mark.parametrize("form", ["boolean", "additive"])
def test_both_paths_have_equal_gradients_with_masked_rows(form: str) -> None:
    gradients = []
    vectors = [torch.randn(BATCH, HEADS, n, HEAD_WIDTH) for n in (QUERIES, KEYS, KEYS)]
    mask, aim = blind_mask(form), torch.randn(BATCH, HEADS, QUERIES, HEAD_WIDTH)
    for fused in (True, False):
        query, key, value = (vector.clone().requires_grad_() for vector in vectors)
        mixed = fused_attention(query, key, value, mask) if fused else attention_weights(query, key, mask) @ value
        (mixed * aim).sum().backward()
        gradients.append([vector.grad for vector in (query, key, value)])
    for fused_gradient, explicit_gradient in zip(*gradients, strict=True):
        assert fused_gradient is not None
        assert explicit_gradient is not None
        assert_close(fused_gradient, explicit_gradient)


# ---------------------------------------------------------------- half precision


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_weights_are_float32_and_normalised(dtype: torch.dtype, device: str) -> None:
    attention = make_attention().to(device, dtype)
    x, memory = inputs("cross", device=device, dtype=dtype)
    output, seen = run(attention, x, memory, None, watched=True)
    assert seen is not None
    assert output.dtype == dtype
    assert seen["weights"].dtype == torch.float32
    assert_close(seen["weights"].sum(dim=-1), torch.ones(BATCH, HEADS, QUERIES), tolerance=1e-6)


def test_large_scores_do_not_overflow_float16() -> None:
    query = torch.full((1, 1, 1, 64), 40.0, dtype=torch.float16)
    key = torch.stack([query[0, 0, 0], query[0, 0, 0] * 0.999])[
        None, None
    ]  # products of 102,400 exceed the maximum of float16, 65,504
    assert attention_scores(query, key).isfinite().all()
    weights = attention_weights(query, key)
    assert weights.isfinite().all()
    value = torch.tensor([[[[1.0], [0.0]]]], dtype=torch.float16).expand(1, 1, 2, 64)
    assert_close(fused_attention(query, key, value)[..., :1], weights[..., :1], tolerance=1e-3)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_large_negative_mask_survives_half_precision(dtype: torch.dtype) -> None:
    """Large finite values do not forbid keys: a row with only such values still has weights that sum to one."""
    query, key = torch.randn(1, 1, 3, 4, dtype=dtype), torch.randn(1, 1, 2, 4, dtype=dtype)
    value = torch.eye(2, 4, dtype=dtype).expand(1, 1, 2, 4)
    mask = torch.full((3, 2), torch.finfo(torch.float32).min)
    fused = fused_attention(query, key, value, mask)[..., :2]
    assert_close(fused.float().sum(dim=-1), torch.ones(1, 1, 3), tolerance=1e-2)
    assert_close(attention_weights(query, key, mask).sum(dim=-1), torch.ones(1, 1, 3), tolerance=1e-6)


@pytest.mark.parametrize("mask_name", MASKS)
def test_autocast_gives_equal_results_on_both_paths(mask_name: str) -> None:
    attention, (x, memory) = make_attention(), inputs("cross")
    mask, _ = make_mask(mask_name, QUERIES, KEYS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        fused, _ = run(attention, x, memory, mask, watched=False)
        explicit, seen = run(attention, x, memory, mask, watched=True)
    assert seen is not None
    assert_close(fused, explicit, tolerance=3e-2)
    assert seen["weights"].dtype == torch.float32
    assert_close(seen["weights"].sum(dim=-1), torch.ones(BATCH, HEADS, QUERIES), tolerance=1e-6)


# ---------------------------------------------------------------- dropout


def dropped_weights(attention: MultiHeadAttention) -> tuple[Tensor, Tensor]:
    """Weights at the probe and after dropout. With the unit matrix as values, the output equals the weights."""
    query = torch.randn(BATCH, HEADS, QUERIES, HEAD_WIDTH)
    keys = torch.randn(BATCH, HEADS, KEYS, HEAD_WIDTH)
    with watch(attention, "weights") as seen:
        after_dropout = attention.weighted_values(query, keys, torch.eye(KEYS), None, None)
    return seen["weights"], after_dropout


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.9])
def test_dropout_zeroes_and_rescales_weights_in_training(probability: float) -> None:
    weights, after_dropout = dropped_weights(make_attention(dropout=probability).train())
    survivors = after_dropout != 0
    assert_close(after_dropout[survivors], weights[survivors] / (1 - probability), tolerance=1e-6)
    share = survivors.float().mean().item()  # 7,735 weights: five standard deviations are below 0.03
    assert abs(share - (1 - probability)) < 0.03
    assert_close(weights.sum(dim=-1), torch.ones(BATCH, HEADS, QUERIES), tolerance=1e-6, of="what a watcher sees")


def test_dropout_is_disabled_in_eval_mode() -> None:
    weights, after_dropout = dropped_weights(make_attention(dropout=0.9))
    assert torch.equal(weights, after_dropout)
    attention, (x, _) = make_attention(dropout=0.9), inputs("self")
    assert torch.equal(attention(x), attention(x))


def test_dropout_applies_without_watch() -> None:
    attention, (x, _) = make_attention(dropout=0.5).train(), inputs("self")
    assert not torch.equal(attention(x), attention(x))
    outputs = torch.stack([attention(x) for _ in range(200)])
    spread = outputs.std(dim=0) / math.sqrt(200)
    mean_gap = (outputs.mean(dim=0) - attention.eval()(x)).abs() / spread  # dropout does not change the expected value
    assert mean_gap.mean().item() < 1.0
    assert mean_gap.max().item() < 6.0


# ---------------------------------------------------------------- cross-attention and caches


def test_cross_attention_uses_memory_for_keys_and_values() -> None:
    attention, (x, memory) = make_attention(), inputs("cross")
    assert memory is not None
    with watch(attention, "*") as seen:
        attention(x, attention.project_memory(memory))
    assert_close(seen["queries"], attention.split_heads(attention.query(x)))
    assert_close(seen["keys"], attention.split_heads(attention.key(memory)))
    assert_close(seen["values"], attention.split_heads(attention.value(memory)))


def test_head_split_and_merge_roundtrip() -> None:
    attention = make_attention()
    vectors = torch.arange(BATCH * QUERIES * D_MODEL).view(BATCH, QUERIES, D_MODEL)
    heads = attention.split_heads(vectors)
    assert heads.shape == (BATCH, HEADS, QUERIES, HEAD_WIDTH)
    assert torch.equal(heads[2, 3, 5], vectors[2, 5, 3 * HEAD_WIDTH : 4 * HEAD_WIDTH])
    assert torch.equal(attention.merge_heads(heads), vectors)


def new_tokens(count: int, rows: int = BATCH) -> KeyValues:
    return KeyValues(*torch.randn(2, rows, HEADS, count, HEAD_WIDTH))


def test_cache_returns_entries_in_order() -> None:
    cache, entries = KeyValueCache(), []
    for count in (1, 3, 1, 29, 1, 67):  # exceeds the initial capacity twice
        entries.append(new_tokens(count))
        cached = cache.update(entries[-1])
    assert cache.length == 102
    assert torch.equal(cached.keys, torch.cat([new.keys for new in entries], dim=2))
    assert torch.equal(cached.values, torch.cat([new.values for new in entries], dim=2))


def test_full_cache_grows_without_loss() -> None:
    """Single tokens fill the initial capacity of 16, then 32, before the cache grows."""
    cache, entries = KeyValueCache(), []
    for _ in range(35):
        entries.append(new_tokens(1))
        cached = cache.update(entries[-1])
        assert torch.equal(cached.keys, torch.cat([new.keys for new in entries], dim=2))
        assert torch.equal(cached.values, torch.cat([new.values for new in entries], dim=2))


def test_cache_selects_rows_in_order() -> None:
    cache, first, second = KeyValueCache(), new_tokens(3), new_tokens(1, rows=3)
    cache.update(first)
    rows = torch.tensor([4, 0, 4])
    cache.select(rows)
    got = cache.update(second)
    assert torch.equal(got.keys, torch.cat([first.keys[rows], second.keys], dim=2))
    assert torch.equal(got.values, torch.cat([first.values[rows], second.values], dim=2))


def test_selecting_from_empty_cache_is_noop() -> None:
    cache = KeyValueCache()
    cache.select(torch.tensor([0]))
    assert cache.length == 0


@pytest.mark.parametrize("chunks", [(1,) * QUERIES, (5, 1, 7), (QUERIES,)], ids=str)
def test_cached_self_attention_matches_full_attention(chunks: tuple[int, ...]) -> None:
    attention, (x, _) = make_attention(), inputs("self")
    whole = attention(x, mask=causal_mask(QUERIES))
    cache, parts = KeyValueCache(), []
    for part in x.split(list(chunks), dim=1):
        mask = causal_mask(part.shape[1], cache.length + part.shape[1])
        parts.append(attention(part, mask=mask, cache=cache))
    assert_close(torch.cat(parts, dim=1), whole)


# ---------------------------------------------------------------- a module like any other


def test_copies_and_pickles_give_equal_output() -> None:
    attention, (x, _) = make_attention(), inputs("self")
    for twin in (copy.deepcopy(attention), pickle.loads(pickle.dumps(attention))):  # noqa: S301 - our own bytes
        assert torch.equal(twin(x), attention(x))
        with watch(twin, "weights") as seen:
            attention(x)
        assert not seen, "the watch on the copy recorded the original"


def test_float64_stays_float64() -> None:
    attention, (x, _) = make_attention().double(), inputs("self", dtype=torch.float64)
    output, seen = run(attention, x, None, None, watched=True)
    assert seen is not None
    assert output.dtype == seen["weights"].dtype == torch.float64
    assert_close(output, attention(x), tolerance=1e-12)

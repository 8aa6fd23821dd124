"""Scaled dot-product attention and multi-head attention.

    Attention(Q, K, V) = softmax(Q Kᵀ / √d) V        (Vaswani et al. 2017, equation 1)

Functions implement the formula. The class projects the vectors, splits them into heads and merges the heads.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headlight.model.core.masks import split_mask
from headlight.model.core.positions import Positions
from headlight.model.core.probes import Probe, Watchable

FUSED_FROM_KEYS = 192  # number of keys above which the fused kernel is faster in training on a CPU


def attention_scores(query: Tensor, key: Tensor, bias: Tensor | None = None, scale: float | None = None) -> Tensor:
    """Compute Q Kᵀ / √d (+ bias), `[batch, heads, queries, keys]`, in at least float32."""
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    # Widen and scale before the product: float16 overflows above 65,504. Autocast may still narrow the result.
    wide = torch.promote_types(query.dtype, torch.float32)
    scores = ((query.to(wide) * scale) @ key.to(wide).transpose(-2, -1)).to(wide)
    return scores if bias is None else scores + bias


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Apply softmax over the unmasked keys: `[batch, heads, queries, keys]`. Masked keys get exactly zero."""
    if mask is None:
        return scores.softmax(dim=-1)
    # Fill with a finite number: with −∞, a fully masked row and its gradient would become NaN.
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


def attention_weights(
    query: Tensor, key: Tensor, mask: Tensor | None = None, bias: Tensor | None = None, scale: float | None = None
) -> Tensor:
    """Compute softmax(Q Kᵀ / √d), `[batch, heads, queries, keys]`. A row sums to one, or to zero if fully masked."""
    boolean_mask, additive_mask = split_mask(mask)
    scores = attention_scores(query, key, bias, scale)
    return masked_softmax(scores if additive_mask is None else scores + additive_mask, boolean_mask)


def weighted_sum(weights: Tensor, value: Tensor) -> Tensor:
    """Return the sums of the values, weighted per query: `[batch, heads, queries, width]`."""
    return weights.to(value.dtype) @ value


def fused_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Compute softmax(Q Kᵀ / √d) V with PyTorch's fused kernel, which does not return the weights."""
    boolean_mask, additive_mask = split_mask(mask)
    if additive_mask is not None:
        bias = additive_mask if bias is None else bias + additive_mask
    if bias is None:
        output = F.scaled_dot_product_attention(query, key, value, attn_mask=boolean_mask, scale=scale)
    else:
        if bias.dtype != query.dtype:  # clamp to the narrower type: −∞ would mask the key
            lowest = max(torch.finfo(query.dtype).min, torch.finfo(bias.dtype).min)
            bias = bias.clamp(min=lowest).to(query.dtype)
        if boolean_mask is not None:
            bias = torch.where(boolean_mask, bias, float("-inf"))
        output = F.scaled_dot_product_attention(query, key, value, attn_mask=bias, scale=scale)
    if boolean_mask is None:
        return output
    # For fully masked rows, kernels return zeros, NaN or the mean, depending on the backend. Return zeros.
    return output.masked_fill(~boolean_mask.any(dim=-1, keepdim=True), 0.0)


class KeyValues(NamedTuple):
    """Keys and values of a batch."""

    keys: Tensor  # [batch, heads, keys, width]
    values: Tensor  # [batch, heads, keys, width]


class KeyValueCache:
    """Key/value cache of the tokens decoded so far. Full buffers double in size."""

    def __init__(self) -> None:
        self.length = 0
        self._keys: Tensor | None = None
        self._values: Tensor | None = None

    def update(self, key_values: KeyValues) -> KeyValues:
        """Append new keys and values, and return all keys and values."""
        start, self.length = self.length, self.length + key_values.keys.shape[2]
        if self._keys is None or self._values is None or self.length > self._keys.shape[2]:
            self._keys = _grow_buffer(self._keys, key_values.keys, self.length)
            self._values = _grow_buffer(self._values, key_values.values, self.length)
        self._keys[:, :, start : self.length] = key_values.keys
        self._values[:, :, start : self.length] = key_values.values
        return KeyValues(self._keys[:, :, : self.length], self._values[:, :, : self.length])

    def select(self, rows: Tensor) -> None:
        """Keep the batch rows with these indices, in this order."""
        if self._keys is not None and self._values is not None:
            self._keys = self._keys.index_select(0, rows)
            self._values = self._values.index_select(0, rows)


def _grow_buffer(buffer: Tensor | None, appended: Tensor, needed_length: int) -> Tensor:
    batch, heads, _, width = appended.shape
    larger = appended.new_empty(batch, heads, max(16, 1 << (needed_length - 1).bit_length()), width)
    if buffer is not None:
        larger[:, :, : buffer.shape[2]] = buffer
    return larger


class MultiHeadAttention(Watchable):
    """Multi-head attention (section 3.2.2 of the paper)."""

    def __init__(
        self,
        d_model: int,
        heads: int,
        *,
        head_width: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        scale_scores: bool = True,
    ) -> None:
        super().__init__()
        if head_width is None and (heads < 1 or d_model % heads):
            raise ValueError(f"{d_model} numbers cannot be split into {heads} equal heads: give head_width.")
        self.heads = heads
        self.head_width = head_width or d_model // heads
        self.scale = 1 / math.sqrt(self.head_width) if scale_scores else 1.0
        self.query = nn.Linear(d_model, heads * self.head_width, bias=bias)
        self.key = nn.Linear(d_model, heads * self.head_width, bias=bias)
        self.value = nn.Linear(d_model, heads * self.head_width, bias=bias)
        self.output = nn.Linear(heads * self.head_width, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

        self.queries = Probe("batch heads queries width")
        self.keys = Probe("batch heads keys width")
        self.values = Probe("batch heads keys width")
        self.allowed = Probe("batch heads queries keys")  # True: not masked
        self.scores = Probe("batch heads queries keys")  # before the softmax, including masked keys
        self.weights = Probe("batch heads queries keys")
        self.mixed = Probe("batch heads queries width")  # output of each head, before the output projection

    def forward(
        self,
        x: Tensor,  # [batch, queries, d_model]
        memory: KeyValues | None = None,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        positions: Positions | None = None,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """Apply self-attention to `x`, which follows the cached tokens, or cross-attention from `x` to `memory`."""
        if memory is None:
            query, keys, values = self.project_qkv(x)
            if positions is not None:
                start = 0 if cache is None else cache.length
                query, keys = positions.rotate(query, start), positions.rotate(keys, start)
            query, keys, values = self.queries(query), self.keys(keys), self.values(values)
            if cache is not None:
                keys, values = cache.update(KeyValues(keys, values))
        else:
            query, (keys, values) = self.queries(self.split_heads(self.query(x))), memory
        return self.join_heads(self.mixed(self.weighted_values(query, keys, values, mask, bias)))

    def weighted_values(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:  # [batch, heads, queries, width]
        """Average the values, with the fused kernel unless a probe is watched or it trains more slowly."""
        # On a CPU, short sentences train faster without the fused kernel, whose backward pass took a quarter of a step.
        explicit = self.training and (self.dropout.p > 0 or not (query.is_cuda or keys.shape[2] > FUSED_FROM_KEYS))
        if not (explicit or self.weights.watched or self.scores.watched or self.allowed.watched):
            return fused_attention(query, keys, values, mask, bias, self.scale)
        allowed, additive_mask = split_mask(mask)
        scores = attention_scores(query, keys, bias, self.scale)
        if self.allowed.watched:
            unmasked = torch.ones_like(scores, dtype=torch.bool)
            allowed = self.allowed(unmasked if allowed is None else allowed & unmasked)
        scores = self.scores(scores if additive_mask is None else scores + additive_mask)
        weights = self.weights(masked_softmax(scores, allowed))
        return weighted_sum(self.dropout(weights), values)

    def project_qkv(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Project a sequence to queries, keys and values, each `[batch, heads, tokens, width]`."""
        return self.split_heads(self.query(x)), self.split_heads(self.key(x)), self.split_heads(self.value(x))

    def project_memory(self, x: Tensor) -> KeyValues:
        """Project encoder output to keys and values for cross-attention, once per sentence."""
        return KeyValues(self.keys(self.split_heads(self.key(x))), self.values(self.split_heads(self.value(x))))

    def split_heads(self, x: Tensor) -> Tensor:
        """Reshape `[batch, tokens, heads × width]` to `[batch, heads, tokens, width]`."""
        batch, tokens, _ = x.shape
        return x.view(batch, tokens, self.heads, self.head_width).transpose(1, 2)

    def join_heads(self, mixed: Tensor) -> Tensor:
        """Concatenate the heads and project them with W_O: `[batch, tokens, d_model]`."""
        output: Tensor = self.output(self.merge_heads(mixed))
        return output

    def merge_heads(self, x: Tensor) -> Tensor:
        """Reshape `[batch, heads, tokens, width]` to `[batch, tokens, heads × width]`."""
        batch, _, tokens, _ = x.shape
        return x.transpose(1, 2).reshape(batch, tokens, self.heads * self.head_width)

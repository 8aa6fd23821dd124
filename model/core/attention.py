"""Scaled dot-product attention and multi-head attention.

    Attention(Q, K, V) = softmax(Q Kᵀ / √d) V        (Vaswani et al. 2017, equation 1)

The formula is two free functions; the class only projects, splits into heads, and merges them.
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

FUSED_FROM_KEYS = 192  # keys from which on the fused kernel trains faster on a CPU, too


def attention_scores(query: Tensor, key: Tensor, bias: Tensor | None = None, scale: float | None = None) -> Tensor:
    """Attention scores Q Kᵀ / √d (+ bias), `[batch, heads, queries, keys]`, in at least float32."""
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    # Widened and scaled before the product, which float16 ends at 65,504; autocast may still narrow what comes out.
    wide = torch.promote_types(query.dtype, torch.float32)
    scores = ((query.to(wide) * scale) @ key.to(wide).transpose(-2, -1)).to(wide)
    return scores if bias is None else scores + bias


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over the unmasked keys. Masked keys get exactly zero; a fully masked row is all zero."""
    if mask is None:
        return scores.softmax(dim=-1)
    # Not −∞: a fully masked row would become NaN, in the gradient too.
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim=-1)
    return weights.masked_fill(~mask, 0.0)


def attention_weights(
    query: Tensor, key: Tensor, mask: Tensor | None = None, bias: Tensor | None = None, scale: float | None = None
) -> Tensor:
    """softmax(Q Kᵀ / √d): `[batch, heads, queries, keys]`. Each row sums to one, or is wholly masked and zero."""
    allowed, added = split_mask(mask)
    scores = attention_scores(query, key, bias, scale)
    return masked_softmax(scores if added is None else scores + added, allowed)


def weighted_sum(weights: Tensor, value: Tensor) -> Tensor:
    """The values of all keys, weighted: `[batch, heads, queries, width]`."""
    return weights.to(value.dtype) @ value


def fused_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """softmax(Q Kᵀ / √d) V with PyTorch's fused kernel, which does not return the weights."""
    allowed, added = split_mask(mask)
    if added is not None:
        bias = added if bias is None else bias + added
    if bias is None:
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=allowed, scale=scale)
    else:
        if bias.dtype != query.dtype:  # clamp to the narrower type: −∞ would mask the key
            lowest = max(torch.finfo(query.dtype).min, torch.finfo(bias.dtype).min)
            bias = bias.clamp(min=lowest).to(query.dtype)
        if allowed is not None:
            bias = torch.where(allowed, bias, float("-inf"))
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=bias, scale=scale)
    if allowed is None:
        return mixed
    # Kernels return zeros, NaN or the mean for fully masked rows; we return zeros.
    return mixed.masked_fill(~allowed.any(dim=-1, keepdim=True), 0.0)


class KeyValues(NamedTuple):
    """Keys and values of one sequence."""

    keys: Tensor  # [batch, heads, keys, width]
    values: Tensor  # [batch, heads, keys, width]


class KeyValueCache:
    """Key/value cache of the tokens decoded so far. The buffers double when they are full."""

    def __init__(self) -> None:
        self.length = 0
        self._keys: Tensor | None = None
        self._values: Tensor | None = None

    def update(self, new: KeyValues) -> KeyValues:
        """Append new keys and values; return all of them."""
        start, self.length = self.length, self.length + new.keys.shape[2]
        if self._keys is None or self._values is None or self.length > self._keys.shape[2]:
            self._keys = _grow_buffer(self._keys, new.keys, self.length)
            self._values = _grow_buffer(self._values, new.values, self.length)
        self._keys[:, :, start : self.length] = new.keys
        self._values[:, :, start : self.length] = new.values
        return KeyValues(self._keys[:, :, : self.length], self._values[:, :, : self.length])

    def select(self, rows: Tensor) -> None:
        """Keep these rows, in this order."""
        if self._keys is not None and self._values is not None:
            self._keys = self._keys.index_select(0, rows)
            self._values = self._values.index_select(0, rows)


def _grow_buffer(buffer: Tensor | None, appended: Tensor, needed_length: int) -> Tensor:
    rows, heads, _, width = appended.shape
    room = appended.new_empty(rows, heads, max(16, 1 << (needed_length - 1).bit_length()), width)
    if buffer is not None:
        room[:, :, : buffer.shape[2]] = buffer
    return room


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
        self.allowed = Probe("batch heads queries keys")  # True: may look
        self.scores = Probe("batch heads queries keys")  # before the softmax; masked ones are here, too
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
        """Self-attention of `x`, which goes on after the tokens in `cache`; with a `memory`, cross-attention to it."""
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
        """Use the explicit formula if a probe is watched, else the fused kernel."""
        # Sentences train faster in the explicit form, too, on a CPU: the fused backward took a quarter of a step.
        trains = self.training and (self.dropout.p > 0 or not (query.is_cuda or keys.shape[2] > FUSED_FROM_KEYS))
        if not (trains or self.weights.watched or self.scores.watched or self.allowed.watched):
            return fused_attention(query, keys, values, mask, bias, self.scale)
        allowed, added = split_mask(mask)
        scores = attention_scores(query, keys, bias, self.scale)
        if self.allowed.watched:
            everywhere = torch.ones_like(scores, dtype=torch.bool)
            allowed = self.allowed(everywhere if allowed is None else allowed & everywhere)
        scores = self.scores(scores if added is None else scores + added)
        weights = self.weights(masked_softmax(scores, allowed))
        return weighted_sum(self.dropout(weights), values)

    def project_qkv(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of one sequence, each `[batch, heads, tokens, width]`."""
        return self.split_heads(self.query(x)), self.split_heads(self.key(x)), self.split_heads(self.value(x))

    def project_memory(self, x: Tensor) -> KeyValues:
        """Keys and values for cross-attention, computed once per sentence."""
        return KeyValues(self.keys(self.split_heads(self.key(x))), self.values(self.split_heads(self.value(x))))

    def split_heads(self, x: Tensor) -> Tensor:
        """`[batch, tokens, heads × width]` → `[batch, heads, tokens, width]`."""
        batch, tokens, _ = x.shape
        return x.view(batch, tokens, self.heads, self.head_width).transpose(1, 2)

    def join_heads(self, mixed: Tensor) -> Tensor:
        """Concatenate the heads, then mix them with W_O: `[batch, tokens, d_model]`."""
        output: Tensor = self.output(self.merge_heads(mixed))
        return output

    def merge_heads(self, x: Tensor) -> Tensor:
        """`[batch, heads, tokens, width]` → `[batch, tokens, heads × width]`."""
        batch, _, tokens, _ = x.shape
        return x.transpose(1, 2).reshape(batch, tokens, self.heads * self.head_width)

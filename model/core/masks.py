"""Attention masks. All masks are boolean: True where a query may attend to a key.

(PyTorch's own `nn.MultiheadAttention` says it the other way round: True is forbidden.)
Masks broadcast to `[batch, heads, queries, keys]`; `None` forbids nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def causal_mask(queries: int, keys: int | None = None, *, device: torch.device | None = None) -> Tensor:
    """Each query attends to itself and to earlier positions: `[queries, keys]`. The queries are the last positions."""
    keys = queries if keys is None else keys
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(diagonal=keys - queries)


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Masks padding: `[batch, keys]` ids → `[batch, 1, 1, keys]`."""
    return (ids != pad_id)[:, None, None, :]


def pad_sequences(rows: Sequence[Sequence[int]], pad_id: int) -> Tensor:
    """Rows of ids, filled up to the longest: `[batch, tokens]`."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[pad_id] * (longest - len(row))] for row in rows])


def combine_masks(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    """The logical and of two masks."""
    if first is None or second is None:
        return second if first is None else first
    return first & second


def split_mask(mask: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    """Split a mask into its boolean part and its additive part (float).

    A boolean mask adds nothing. In an additive mask −∞ forbids, and every other number is added.
    Bytes and integers are refused: read as booleans they would turn one convention silently into the other.
    """
    if mask is None or mask.dtype == torch.bool:
        return mask, None
    if not mask.is_floating_point():
        raise TypeError(f"A mask must be boolean (True: may look) or floating point (added), not {mask.dtype}.")
    forbidden = mask == float("-inf")
    return ~forbidden, mask.masked_fill(forbidden, 0.0)

"""Attention masks. All masks are boolean: True where a query may attend to a key.

(PyTorch's `nn.MultiheadAttention` uses the opposite convention: True means masked.)
Masks broadcast to `[batch, heads, queries, keys]`; `None` masks nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def causal_mask(queries: int, keys: int | None = None, *, device: torch.device | None = None) -> Tensor:
    """Allow the same and earlier positions: `[queries, keys]`. The last query has the position of the last key."""
    keys = queries if keys is None else keys
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(diagonal=keys - queries)


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Map ids `[batch, keys]` to a mask that is False for padding, `[batch, 1, 1, keys]`."""
    return (ids != pad_id)[:, None, None, :]


def pad_sequences(rows: Sequence[Sequence[int]], pad_id: int) -> Tensor:
    """Pad rows of ids to the longest row: `[batch, tokens]`."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[pad_id] * (longest - len(row))] for row in rows])


def combine_masks(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    """Return the logical AND of two masks. `None` masks nothing."""
    if first is None or second is None:
        return second if first is None else first
    return first & second


def split_mask(mask: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    """Split a mask into its boolean part and its additive part (float).

    In an additive mask, −∞ masks a key, and every other number is added to its score.

    Raises:
        TypeError: the mask has integers. Converted to booleans, they would silently invert one of the conventions.
    """
    if mask is None or mask.dtype == torch.bool:
        return mask, None
    if not mask.is_floating_point():
        raise TypeError(f"A mask must be boolean (True: may attend) or floating point (added), not {mask.dtype}.")
    masked = mask == float("-inf")
    return ~masked, mask.masked_fill(masked, 0.0)

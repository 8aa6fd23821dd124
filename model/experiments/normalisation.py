"""A real batch of activations, normalised by token, by dimension over the batch, and by root mean square.

A token's numbers are a row, `d_model` of them; a dimension is a column over all tokens of all sentences. Layer norm and
RMS norm look along rows, batch norm (arXiv:1502.03167) along columns. Learned weights are left out: they come after.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from headlight.model.core.blocks import RMSNorm
from headlight.model.core.masks import pad_sequences, padding_mask
from headlight.model.core.probes import watch
from headlight.model.core.transformer import Transformer
from headlight.model.records import FloatArray

EPSILON = 1e-5


@dataclass(frozen=True)
class Activations:
    """What enters the last feed-forward network of the encoder, for a batch of sentences."""

    values: FloatArray  # [sentences, places, d_model]; padding has values, too
    token_mask: npt.NDArray[np.bool_]  # [sentences, places]: a token, no padding

    @property
    def rows(self) -> FloatArray:
        """All tokens below one another, `[tokens, d_model]`."""
        rows: FloatArray = self.values[self.token_mask]
        return rows

    def first(self, sentences: int) -> Activations:
        """The same of the first sentences."""
        return Activations(self.values[:sentences], self.token_mask[:sentences])


def collect_activations(model: Transformer, rows: Sequence[Sequence[int]]) -> Activations:
    """Read sentences as one padded batch."""
    last = model.config.encoder_layers - 1
    path = f"encoder.layers.{last}.around_feed_forward.carried"
    ids = pad_sequences(rows, model.config.pad_id).to(next(model.parameters()).device)
    with torch.inference_mode(), watch(model, path) as seen:
        model.encoder(ids, padding_mask(ids, model.config.pad_id))
    values = np.asarray(seen[path].float().cpu().numpy(), dtype=np.float32)
    lengths = np.array([len(row) for row in rows])
    return Activations(values, np.arange(values.shape[1])[None] < lengths[:, None])


def layer_norm(x: Tensor) -> Tensor:
    """Layer norm: each row by its own mean and variance, `[tokens, width]`."""
    return nn.LayerNorm(x.shape[-1], eps=EPSILON, elementwise_affine=False)(x)  # type: ignore[no-any-return]


def rms_norm(x: Tensor) -> Tensor:
    """RMS norm: each row by its own root mean square; its mean stays."""
    return RMSNorm(x.shape[-1], EPSILON)(x).detach()  # type: ignore[no-any-return]


def batch_norm(x: Tensor) -> Tensor:
    """Batch norm: each column by its mean and variance over all rows, as in training."""
    mean, variance = x.mean(dim=0), x.var(dim=0, correction=0)  # [width]
    return (x - mean) / torch.sqrt(variance + EPSILON)


NORMS: dict[str, Callable[[Tensor], Tensor]] = {"layer": layer_norm, "batch": batch_norm, "rms": rms_norm}


def normalise(rows: FloatArray, norm: str) -> FloatArray:
    """`[tokens, width]` by one of `NORMS`."""
    return np.asarray(NORMS[norm](torch.from_numpy(np.array(rows))).numpy(), dtype=np.float32)


def normalise_with_padding(batch: Activations, norm: str) -> FloatArray:
    """The tokens' rows where padding counts as if it were tokens."""
    everything = normalise(batch.values.reshape(-1, batch.values.shape[-1]), norm)
    tokens: FloatArray = everything[batch.token_mask.reshape(-1)]
    return tokens


def max_difference(one: FloatArray, other: FloatArray) -> float:
    """The largest difference of any number."""
    return float(np.abs(one - other).max())

"""Layer norm, batch norm and RMS norm of a batch of a model's activations.

A row is a token with `d_model` values; a column is a dimension over all tokens of all sentences. Layer norm and RMS
norm normalise rows, batch norm (arXiv:1502.03167) normalises columns. Learned weights, which scale the normalised
values, are omitted.
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
    """Inputs of the encoder's last feed-forward network, for a batch of sentences."""

    values: FloatArray  # [sentences, padded length, d_model]
    token_mask: npt.NDArray[np.bool_]  # [sentences, padded length]: True for tokens, False for padding

    @property
    def rows(self) -> FloatArray:
        """The vectors of all tokens, `[tokens, d_model]`."""
        rows: FloatArray = self.values[self.token_mask]
        return rows

    def first(self, sentences: int) -> Activations:
        """Return the activations of the first sentences."""
        return Activations(self.values[:sentences], self.token_mask[:sentences])


def collect_activations(model: Transformer, rows: Sequence[Sequence[int]]) -> Activations:
    """Encode sentences as one padded batch, and return the activations."""
    last = model.config.encoder_layers - 1
    path = f"encoder.layers.{last}.around_feed_forward.carried"
    ids = pad_sequences(rows, model.config.pad_id).to(next(model.parameters()).device)
    with torch.inference_mode(), watch(model, path) as activations:
        model.encoder(ids, padding_mask(ids, model.config.pad_id))
    values = np.asarray(activations[path].float().cpu().numpy(), dtype=np.float32)
    lengths = np.array([len(row) for row in rows])
    return Activations(values, np.arange(values.shape[1])[None] < lengths[:, None])


def layer_norm(x: Tensor) -> Tensor:
    """Normalise each row of `[tokens, width]` by its own mean and variance."""
    return nn.LayerNorm(x.shape[-1], eps=EPSILON, elementwise_affine=False)(x)  # type: ignore[no-any-return]


def rms_norm(x: Tensor) -> Tensor:
    """Divide each row by its own root mean square; the mean is not subtracted."""
    return RMSNorm(x.shape[-1], EPSILON)(x).detach()  # type: ignore[no-any-return]


def batch_norm(x: Tensor) -> Tensor:
    """Normalise each column by its mean and variance over all rows, as in training."""
    mean, variance = x.mean(dim=0), x.var(dim=0, correction=0)  # [width]
    return (x - mean) / torch.sqrt(variance + EPSILON)


NORMS: dict[str, Callable[[Tensor], Tensor]] = {"layer": layer_norm, "batch": batch_norm, "rms": rms_norm}


def normalise(rows: FloatArray, norm: str) -> FloatArray:
    """Apply one of `NORMS` to `[tokens, width]`."""
    return np.asarray(NORMS[norm](torch.from_numpy(np.array(rows))).numpy(), dtype=np.float32)


def normalise_with_padding(batch: Activations, norm: str) -> FloatArray:
    """Normalise the batch as if padding were tokens, and return the rows of the tokens."""
    normalised = normalise(batch.values.reshape(-1, batch.values.shape[-1]), norm)
    tokens: FloatArray = normalised[batch.token_mask.reshape(-1)]
    return tokens


def compute_max_difference(first: FloatArray, second: FloatArray) -> float:
    """Return the largest absolute difference between two arrays."""
    return float(np.abs(first - second).max())

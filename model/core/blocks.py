"""The parts around attention: embedding, residual connection with its norm, feed-forward network, output projection."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headlight.model.core.config import TransformerConfig
from headlight.model.core.positions import Positions
from headlight.model.core.probes import Probe, Watchable


class Activation(NamedTuple):
    """Activation of the feed-forward network; `gated`: a gated linear unit (arXiv:2002.05202)."""

    function: Callable[[Tensor], Tensor]
    gated: bool


def _gelu_tanh(x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh")


ACTIVATIONS = {
    "relu": Activation(F.relu, gated=False),
    "gelu": Activation(F.gelu, gated=False),
    "gelu_tanh": Activation(_gelu_tanh, gated=False),
    "silu": Activation(F.silu, gated=False),
    "swiglu": Activation(F.silu, gated=True),
    "geglu": Activation(_gelu_tanh, gated=True),
    "reglu": Activation(F.relu, gated=True),
}


class RMSNorm(nn.Module):
    """RMS norm, x / √(mean x² + ε) · weight: layer norm without subtracting the mean (arXiv:1910.07467)."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        """Normalise the last axis, in at least float32."""
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        normed = wide * torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + self.epsilon)
        return normed.to(x.dtype) * self.weight


def make_norm(config: TransformerConfig) -> nn.Module:
    """Create the norm of the configuration, over the last axis."""
    if config.norm == "rms":
        return RMSNorm(config.d_model, config.norm_epsilon)
    return nn.LayerNorm(config.d_model, eps=config.norm_epsilon)


class Embedding(Watchable):
    """Token embedding: table row × √d_model plus position (sections 3.4, 3.5), followed by a norm in some models.

    If the layers are wider, a linear layer maps the vectors to `width` (ALBERT, arXiv:1909.11942, section 3.1).
    """

    def __init__(
        self, table: nn.Embedding, positions: Positions, config: TransformerConfig, width: int | None = None
    ) -> None:
        super().__init__()
        self.table = table
        self.positions = positions
        self.scale = math.sqrt(config.d_model) if config.scale_embedding else 1.0
        self.norm = make_norm(config) if config.embedding_norm else nn.Identity()
        self.dropout = nn.Dropout(config.dropout)
        self.widen = nn.Identity() if width is None else nn.Linear(config.d_model, width)
        self.embedded = Probe("batch tokens width")  # before positions
        self.positioned = Probe("batch tokens width")
        self.stream = Probe("batch tokens width")  # input of the first layer

    def forward(self, ids: Tensor, start: int = 0) -> Tensor:
        """Map ids `[batch, tokens]` to vectors `[batch, tokens, d_model]`. The first token has position `start`."""
        embedded = self.embedded(self.table(ids) * self.scale)
        positioned = self.positioned(self.positions(embedded, start))
        stream: Tensor = self.stream(self.widen(self.dropout(self.norm(positioned))))
        return stream


class Residual(Watchable):
    """Residual connection with post-norm or pre-norm."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.norm = make_norm(config)
        self.norm_first = config.norm_first
        self.dropout = nn.Dropout(config.dropout)
        self.carried = Probe("batch tokens width")  # the input, which bypasses the sub-layer
        self.stream = Probe("batch tokens width")

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Return norm(x + sublayer(x)) as published, or x + sublayer(norm(x)) with pre-norm."""
        if self.norm_first:
            return self.stream(self.carried(x) + self.dropout(sublayer(self.norm(x))))
        return self.stream(self.norm(self.carried(x) + self.dropout(sublayer(x))))


class FeedForward(Watchable):
    """Position-wise feed-forward network: FFN(x) = max(0, x W₁ + b₁) W₂ + b₂ (equation 2), or another activation."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.activation, gated = ACTIVATIONS[config.activation]
        self.wide = nn.Linear(config.d_model, config.d_ff, bias=config.feed_forward_bias)
        self.gate = nn.Linear(config.d_model, config.d_ff, bias=config.feed_forward_bias) if gated else None
        self.narrow = nn.Linear(config.d_ff, config.d_model, bias=config.feed_forward_bias)
        self.dropout = nn.Dropout(config.dropout)
        self.hidden = Probe("batch tokens width")
        self.output = Probe("batch tokens width")  # output of the network, before the residual sum

    def forward(self, x: Tensor) -> Tensor:
        """Map `[batch, tokens, d_model]` to the same shape."""
        if self.gate is None:
            hidden = self.activation(self.wide(x))
        else:
            hidden = self.activation(self.gate(x)) * self.wide(x)
        narrow: Tensor = self.narrow(self.dropout(self.hidden(hidden)))
        return self.output(narrow)


class OutputProjection(Watchable):
    """Projection of decoder outputs to logits over the vocabulary."""

    def __init__(self, config: TransformerConfig, tied: nn.Embedding | None) -> None:
        super().__init__()
        self.words = nn.Linear(config.d_model, config.target_vocabulary, bias=config.final_logits_bias)
        if tied is not None:
            self.words.weight = tied.weight  # one matrix for embedding and projection
        self.scale = config.d_model**-0.5 if config.scale_output else None
        self.logits = Probe("batch tokens vocabulary")

    def forward(self, x: Tensor) -> Tensor:
        """Map `[batch, tokens, d_model]` to logits `[batch, tokens, vocabulary]`. The loss applies the softmax."""
        return self.logits(self.words(x if self.scale is None else x * self.scale))

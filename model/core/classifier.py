"""Sentiment classifier built from the Transformer's own attention.

    embedding + positions → self-attention, heads of width 16 → average of all tokens → sigmoid

Attention is the only path between two words, so its maps show every interaction. The head is linear in the averaged
vectors, so the log-odds minus the bias are exactly the sum of one contribution per token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import Tensor, nn

from headlight.model.core.blocks import Embedding, Residual
from headlight.model.core.classifier_config import ClassifierConfig, EncoderClassifierConfig
from headlight.model.core.config import TransformerConfig
from headlight.model.core.masks import padding_mask
from headlight.model.core.positions import Positions, make_positions
from headlight.model.core.probes import Probe, Watchable
from headlight.model.core.transformer import make_attention, run_layers

Item = TypeVar("Item")


class Classifier(Watchable):
    """Base of all text classifiers: ids in, log-odds per class out."""

    config: ClassifierConfig | EncoderClassifierConfig
    weights_path = "layers.{}.self_attention.weights"  # the probe of a layer's attention
    normalises_input = False  # True: normalise a text like the training reviews

    def log_odds(self, ids: Tensor) -> Tensor:
        """Map ids `[batch, tokens]` to log-odds `[batch, classes]`: ln p / (1 − p) of each class."""
        raise NotImplementedError

    def parameter_count(self) -> int:
        """Return the number of parameters."""
        return sum(parameter.numel() for parameter in self.parameters())


class ClassifierLayer(nn.Module):
    """Self-attention with a residual connection, without a feed-forward network."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = make_attention(config)
        self.around_self_attention = Residual(config)

    def forward(self, x: Tensor, mask: Tensor | None, bias: Tensor | None, positions: Positions) -> Tensor:
        """Map `[batch, tokens, d_model]` to the same shape."""
        return self.around_self_attention(  # type: ignore[no-any-return]
            x, lambda y: self.self_attention(y, mask=mask, bias=bias, positions=positions)
        )


class SelfAttentionClassifier(Classifier):
    """Self-attention classifier of two classes. Its output is the log-odds of the positive class."""

    config: ClassifierConfig
    normalises_input = True

    def __init__(self, config: ClassifierConfig) -> None:
        super().__init__()
        self.config = config
        blocks = config.block_config
        table = nn.Embedding(config.vocabulary, blocks.embedding_width)
        self.embedding = Embedding(table, make_positions(blocks, causal=False), blocks)
        self.layers = nn.ModuleList(ClassifierLayer(blocks) for _ in range(config.layers))
        self.verdict = nn.Linear(config.d_model, 1)
        self.encoded = Probe("batch tokens width")  # input of the average
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise the weights like those of the Transformer."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=self.config.d_model**-0.5)

    def forward(self, ids: Tensor) -> Tensor:
        """Map ids `[batch, tokens]` to the log-odds of the positive class, `[batch]`."""
        return self.token_contributions(ids).sum(dim=1) + self.verdict.bias

    def log_odds(self, ids: Tensor) -> Tensor:
        """Map ids `[batch, tokens]` to log-odds `[batch, 2]`. Those of the two classes differ only in sign."""
        positive: Tensor = self(ids)
        return torch.stack([-positive, positive], dim=1)

    def token_contributions(self, ids: Tensor) -> Tensor:
        """Split the log-odds into one contribution per token, `[batch, tokens]`. Padding contributes exactly zero."""
        mask = padding_mask(ids, self.config.pad_id)  # [batch, 1, 1, tokens]
        x = self.encode(ids, mask)
        is_token = mask[:, 0, 0].to(x.dtype)  # [batch, tokens]
        # The head is linear, so the score of the average is the average of the scores.
        return (x @ self.verdict.weight[0]) * is_token / is_token.sum(dim=1, keepdim=True).clamp(min=1)

    def encode(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        """Map ids `[batch, tokens]` to vectors `[batch, tokens, d_model]`."""
        encoded: Tensor = self.encoded(run_layers(self.layers, self.embedding(ids), mask, self.embedding.positions))
        return encoded


def classification_loss(log_odds: Tensor, positive: Tensor) -> Tensor:
    """Sum the cross-entropy over texts. `log_odds` and `positive`, the target probabilities, are `[batch]`."""
    return nn.functional.binary_cross_entropy_with_logits(log_odds.float(), positive.float(), reduction="sum")


def truncate_middle(tokens: Sequence[Item], max_tokens: int) -> list[Item]:
    """Remove the middle of a long text, because the end often decides the class."""
    if len(tokens) <= max_tokens:
        return list(tokens)
    first = max_tokens // 4
    return [*tokens[:first], *tokens[len(tokens) - (max_tokens - first) :]]

"""Mistakes that are common in tutorials. A mistake is a wrong version of one part of the model, or of its loss.

A wrong part is a subclass of the right one that overrides one method. `with_mistakes` returns a copy of a model that
shares all weights, but has wrong parts, so the core code needs no switches. `mistake_tests.py` has a test for each
mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from headlight.model.core.attention import KeyValues, MultiHeadAttention, attention_scores
from headlight.model.core.blocks import Embedding, Residual
from headlight.model.core.config import TransformerConfig
from headlight.model.core.masks import split_mask
from headlight.model.core.positions import AddedPositions, SinusoidalPositions
from headlight.model.core.transformer import Decoder, Transformer
from headlight.model.training.batches import Batch
from headlight.model.training.loss import LossModule, LossSums

# ---------------------------------------------------------------- wrong parts


class IntegerDivisionPositions(SinusoidalPositions):
    """Integer division: i // width is 0 for every i below width, so all dimensions have one wavelength."""

    def rows(self, start: int, end: int, like: Tensor) -> Tensor:
        """Return rows of the table, `[positions, width]`."""
        pairs = torch.arange(self.width // 2, dtype=torch.float64)
        wavelengths = 10_000 ** (2 * (pairs // self.width))
        angles = torch.arange(end, dtype=torch.float64)[:, None] / wavelengths
        return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1).to(like)[start:]


class PositionsReplaceEmbedding(AddedPositions):
    """The rows of the table replace the embedding."""

    def forward(self, embedded: Tensor, start: int = 0) -> Tensor:
        """Return `[batch, tokens, d_model]`, which does not depend on the words."""
        rows = self.rows(start + self.offset, start + self.offset + embedded.shape[1], embedded)
        return rows.expand_as(embedded)


class UnscaledEmbedding(Embedding):
    """The factor √d_model is missing."""

    def forward(self, ids: Tensor, start: int = 0) -> Tensor:
        """Map `[batch, tokens]` to `[batch, tokens, d_model]`."""
        embedded = self.embedded(self.table(ids))
        positioned = self.positioned(self.positions(embedded, start))
        stream: Tensor = self.stream(self.dropout(self.norm(positioned)))
        return stream


class SwappedCrossAttention(MultiHeadAttention):
    """Queries come from the source, keys and values from the target."""

    def project_memory(self, x: Tensor) -> KeyValues:
        """Project the source vectors to queries."""
        query = self.split_heads(self.query(x))
        return KeyValues(query, query)

    def forward(self, x: Tensor, memory: KeyValues | None = None, **rest: Any) -> Tensor:
        """Return one vector per source token instead of one per target token."""
        assert memory is not None  # noqa: S101 - always given in cross-attention
        keys, values = self.split_heads(self.key(x)), self.split_heads(self.value(x))
        return self.join_heads(self.weighted_values(memory.keys, keys, values, None, None))


class MaskAfterSoftmax(MultiHeadAttention):
    """Masked keys take part in the softmax and are zeroed afterwards."""

    def weighted_values(
        self, query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:  # [batch, heads, queries, width]
        """Mix the values with weights whose rows do not sum to one."""
        allowed, added = split_mask(mask)
        scores = attention_scores(query, keys, bias, self.scale)
        scores = self.scores(scores if added is None else scores + added)
        all_visible = torch.ones_like(scores, dtype=torch.bool)
        allowed = self.allowed(all_visible if allowed is None else allowed & all_visible)
        weights = self.weights(scores.softmax(dim=-1).masked_fill(~allowed, 0.0))
        dropped_out: Tensor = self.dropout(weights)
        return dropped_out.to(values.dtype) @ values


class NoResidual(Residual):
    """The sub-layer replaces the stream."""

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Return sublayer(norm(x)), or norm(sublayer(x))."""
        self.carried(x)
        if self.norm_first:
            return self.stream(self.dropout(sublayer(self.norm(x))))
        return self.stream(self.norm(self.dropout(sublayer(x))))


class UntrainedNorm(nn.LayerNorm):
    """A norm created in `forward` has untrained parameters that the optimiser never sees."""

    def forward(self, x: Tensor) -> Tensor:
        """Normalise to mean 0 and variance 1, without the learned scale and shift."""
        normalised: Tensor = nn.LayerNorm(x.shape[-1], eps=self.eps, device=x.device)(x)
        return normalised


class OffByOneMask(Decoder):
    """The causal mask is off by one: each word also attends to the next one, which is the word to predict."""

    def attention_mask(self, tokens: int, length: int, device: torch.device) -> Tensor:
        """Return the mask, `[tokens, length]`, with one diagonal too many."""
        return torch.ones(tokens, length, dtype=torch.bool, device=device).tril(diagonal=length - tokens + 1)


class NoCausalMask(Decoder):
    """The causal mask is missing: each word also attends to all following words."""

    def attention_mask(self, tokens: int, length: int, device: torch.device) -> Tensor:
        """Return a mask, `[tokens, length]`, that hides nothing."""
        return torch.ones(tokens, length, dtype=torch.bool, device=device)


class SoftmaxTwice(LossModule):
    """The cross-entropy expects logits, but gets probabilities and applies a second softmax."""

    def forward(self, batch: Batch) -> LossSums:
        """Return the sums over all target tokens."""
        logits = self.model(batch.source, batch.target, batch.source_mask).flatten(0, 1)[batch.word_indices]
        smoothed = compute_loss_of_probabilities(logits, batch.words, self.smoothing)
        return LossSums(smoothed, compute_loss_of_probabilities(logits.detach(), batch.words))


def cross_entropy(logits: Tensor, words: Tensor, smoothing: float = 0.0) -> Tensor:
    """Return the correct loss, summed over words: logits `[words, vocabulary]`, labels `[words]`."""
    return F.cross_entropy(logits, words, label_smoothing=smoothing, reduction="sum")


def compute_loss_of_probabilities(logits: Tensor, words: Tensor, smoothing: float = 0.0) -> Tensor:
    """Return the loss with a wrong softmax before the cross-entropy, summed over words."""
    return F.cross_entropy(logits.softmax(dim=-1), words, label_smoothing=smoothing, reduction="sum")


# ---------------------------------------------------------------- registry and application


@dataclass(frozen=True)
class Mistake:
    """A mistake, which replaces modules of one class."""

    right: type[nn.Module]
    wrong: type[nn.Module]  # subclass of `right`
    method: str  # the method that differs
    paths: str = "*"  # pattern of the paths of the modules to replace
    applies: Callable[[TransformerConfig], bool] = lambda config: True  # whether a model has such modules

    @property
    def in_training(self) -> bool:
        """Whether the mistake is in the training loss, so that a trained model does not contain it."""
        return issubclass(self.wrong, LossModule)


def _adds_positions(config: TransformerConfig) -> bool:
    return config.positions in ("sinusoidal", "sinusoidal_halves", "learned") and not config.position_width


MISTAKES = {
    "exponent": Mistake(
        SinusoidalPositions, IntegerDivisionPositions, "rows",
        applies=lambda config: config.positions == "sinusoidal" and not config.position_width,
    ),
    "replaced": Mistake(AddedPositions, PositionsReplaceEmbedding, "forward", applies=_adds_positions),
    "unscaled": Mistake(Embedding, UnscaledEmbedding, "forward", applies=lambda config: config.scale_embedding),
    "swapped": Mistake(MultiHeadAttention, SwappedCrossAttention, "forward", paths="*.cross_attention"),
    "late_mask": Mistake(MultiHeadAttention, MaskAfterSoftmax, "weighted_values"),
    "residual": Mistake(Residual, NoResidual, "forward"),
    "norm": Mistake(nn.LayerNorm, UntrainedNorm, "forward", applies=lambda config: config.norm == "layer"),
    "ahead": Mistake(Decoder, OffByOneMask, "attention_mask"),
    "unmasked": Mistake(Decoder, NoCausalMask, "attention_mask"),
    "softmax": Mistake(LossModule, SoftmaxTwice, "forward"),
}  # fmt: skip


def apply_mistakes(model: Transformer, names: Iterable[str]) -> None:
    """Apply mistakes to a model in place. Mistakes of the loss are not part of the model."""
    mistakes = [MISTAKES[name] for name in names]
    for path, module in model.named_modules():
        wrong = [mistake for mistake in mistakes if isinstance(module, mistake.right) and fnmatch(path, mistake.paths)]
        if wrong:
            bases = tuple(dict.fromkeys(mistake.wrong for mistake in wrong))
            # The instance keeps its weights and probes, because a wrong part only overrides methods.
            kind = type("And".join(base.__name__ for base in bases), (*bases, type(module)), {})
            module.__class__ = kind


def with_mistakes(model: Transformer, names: Iterable[str]) -> Transformer:
    """Return a copy with these mistakes. It shares the weights of the model, which does not change."""
    with torch.device("meta"):  # no memory is allocated; the weights are assigned below
        copy = Transformer(model.config)
    copy.load_state_dict(model.state_dict(), assign=True)
    copy.train(model.training)
    apply_mistakes(copy, names)
    return copy


def make_loss(model: Transformer, smoothing: float, names: Iterable[str]) -> LossModule:
    """Return the training loss, which may be one of the mistakes."""
    wrong = any(MISTAKES[name].in_training for name in names)
    return (SoftmaxTwice if wrong else LossModule)(model, smoothing)

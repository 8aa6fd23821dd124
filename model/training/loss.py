"""Label-smoothed cross entropy (Szegedy et al. 2015, section 5.4 of the paper)."""

from __future__ import annotations

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from headlight.model.core.blocks import OutputProjection
from headlight.model.core.transformer import Memory, Transformer
from headlight.model.training.batches import Batch


class LossSums(NamedTuple):
    """Sums over all target tokens, so that batches, accumulated steps and processes add up exactly."""

    smoothed: Tensor  # [], with its gradient: what training lowers
    plain: Tensor  # [], without: −log p of the right words, whose mean gives the perplexity


def smoothed_cross_entropy(vectors: Tensor, weight: Tensor, words: Tensor, smoothing: float) -> LossSums:
    """The right word should get 1 − ε, and ε is shared by the whole vocabulary. With z = vectors · weightᵀ:

        loss = log Σ exp(z) − (1 − ε) · z[right] − ε · mean(z)

    `vectors` `[words, d_model]` and `weight` `[vocabulary, d_model]` may be bfloat16: sums are float32.
    """
    smoothed, plain = _SlicedCrossEntropy.apply(vectors, weight, words, smoothing)  # type: ignore[no-untyped-call]
    return LossSums(smoothed, plain)


class _SlicedCrossEntropy(torch.autograd.Function):
    """Projection and loss in slices of a few words, each with its gradient at once, so that no full table of logits,
    the largest tensor of a step, is ever written: a thirtieth of a CPU's step saved, and much memory.
    """

    @staticmethod
    def forward(
        context: torch.autograd.function.FunctionCtx, vectors: Tensor, weight: Tensor, words: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        learns = any(context.needs_input_grad)  # type: ignore[attr-defined]
        table = weight.to(vectors.dtype)
        slope_of_vectors = torch.empty_like(vectors)
        slope_of_weight = torch.zeros_like(weight, dtype=torch.float32) if learns else weight.new_empty(0)
        smoothed, plain = (vectors.new_zeros((), dtype=torch.float32) for _ in range(2))
        rows = 512 if vectors.device.type == "cpu" else 8192
        for start in range(0, len(vectors), rows):
            part = vectors[start : start + rows]
            logits = part @ table.t()  # [rows, vocabulary], then their slope
            sums = _logits_to_gradient_(logits, words[start : start + rows], smoothing)
            smoothed += sums.smoothed
            plain += sums.plain
            if learns:
                slope_of_vectors[start : start + rows] = logits @ table
                slope_of_weight += logits.t() @ part
        context.save_for_backward(slope_of_vectors, slope_of_weight)
        context.mark_non_differentiable(plain)
        return smoothed, plain

    @staticmethod
    def backward(
        context: torch.autograd.function.FunctionCtx, upstream: Tensor, _: Tensor
    ) -> tuple[Tensor, Tensor, None, None]:
        slope_of_vectors, slope_of_weight = context.saved_tensors  # type: ignore[attr-defined]
        return slope_of_vectors.mul_(upstream), slope_of_weight.mul_(upstream), None, None  # once only, so in place


def _logits_to_gradient_(logits: Tensor, words: Tensor, smoothing: float) -> LossSums:
    """The loss of some words; their logits become softmax(z) − (1 − ε) · [right] − ε / vocabulary, in place."""
    losses = LossSums(logits.new_zeros((), dtype=torch.float32), logits.new_zeros((), dtype=torch.float32))
    share = smoothing / logits.shape[-1]
    rows = 32 if logits.device.type == "cpu" else max(1, len(logits))  # float32 that stays in the processor's cache
    for start in range(0, len(logits), rows):
        log_p = logits[start : start + rows].log_softmax(dim=-1, dtype=torch.float32)  # [rows, vocabulary]
        right = words[start : start + rows, None]  # [rows, 1]
        of_right = -log_p.gather(1, right).sum()
        losses.plain.add_(of_right)
        losses.smoothed.add_((1 - smoothing) * of_right - share * log_p.sum())
        slope = log_p.exp_().sub_(share)
        slope.scatter_add_(1, right, slope.new_full(right.shape, smoothing - 1))
        logits[start : start + rows] = slope
    return losses


def translation_losses(model: Transformer, batch: Batch, smoothing: float) -> LossSums:
    """The losses of a batch: vectors of padding are left out before the vocabulary, where most work is."""
    encoder, decoder = model.encoder, model.decoder
    memory = Memory(encoder(batch.source, batch.source_mask), batch.source_mask)
    state = decoder.new_state(memory, cached=False)
    vectors = decoder.run_layers(decoder.embedding(batch.target), state)  # [batch, target, d_model]
    vectors = vectors.flatten(0, 1)[batch.places]  # [words, d_model]
    if torch.is_autocast_enabled(vectors.device.type):  # once here, not again for each slice
        vectors = vectors.to(torch.get_autocast_dtype(vectors.device.type))
    return smoothed_cross_entropy(*_with_bias(decoder.output, vectors), batch.words, smoothing)


def _with_bias(output: OutputProjection, vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Vectors and weight whose product is the logits. A bias is one more column, and each vector gets a 1."""
    vectors = vectors if output.scale is None else vectors * output.scale
    weight, bias = output.words.weight, cast("Tensor | None", output.words.bias)
    if bias is None:
        return vectors, weight
    return torch.cat([vectors, vectors.new_ones(len(vectors), 1)], dim=1), torch.cat([weight, bias[:, None]], dim=1)


class LossModule(nn.Module):
    """Model and loss as one module, as DistributedDataParallel and torch.compile want it.

    Auxiliary losses (guided alignment, distillation) are added here, as sums over target tokens.
    """

    def __init__(self, model: Transformer, smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.smoothing = smoothing

    def forward(self, batch: Batch) -> LossSums:
        """The sums of a batch."""
        return translation_losses(self.model, batch, self.smoothing)

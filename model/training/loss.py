"""Label-smoothed cross entropy (Szegedy et al. 2015, section 5.4 of the paper)."""

from __future__ import annotations

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from headlight.model.core.blocks import OutputProjection
from headlight.model.core.transformer import Memory, Transformer
from headlight.model.training.batches import Batch


class LossSums(NamedTuple):
    """Sums over target tokens. Unlike means, they can be added over batches and processes."""

    smoothed: Tensor  # scalar with gradient: the training objective
    plain: Tensor  # scalar without gradient: −log p of the right words; its mean gives the perplexity


def compute_smoothed_cross_entropy(vectors: Tensor, weight: Tensor, words: Tensor, smoothing: float) -> LossSums:
    """Compute the cross entropy with targets of 1 − ε for the right word, plus ε spread over all words.

        loss = log Σ exp(z) − (1 − ε) · z[right] − ε · mean(z), with z = vectors · weightᵀ

    `vectors`, `[words, d_model]`, and `weight`, `[vocabulary, d_model]`, may be bfloat16; sums are float32.
    """
    smoothed, plain = _SlicedCrossEntropy.apply(vectors, weight, words, smoothing)  # type: ignore[no-untyped-call]
    return LossSums(smoothed, plain)


class _SlicedCrossEntropy(torch.autograd.Function):
    """Projection and loss in slices of a few words.

    The forward pass of a slice also computes its gradient, so the logits of all words, which would be the largest
    tensor of a step, are not stored. This saves memory, and a thirtieth of the time of a step on a CPU.
    """

    @staticmethod
    def forward(
        context: torch.autograd.function.FunctionCtx, vectors: Tensor, weight: Tensor, words: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        needs_gradient = any(context.needs_input_grad)  # type: ignore[attr-defined]
        table = weight.to(vectors.dtype)
        vector_gradient = torch.empty_like(vectors)
        weight_gradient = torch.zeros_like(weight, dtype=torch.float32) if needs_gradient else weight.new_empty(0)
        smoothed, plain = (vectors.new_zeros((), dtype=torch.float32) for _ in range(2))
        rows = 512 if vectors.device.type == "cpu" else 8192
        for start in range(0, len(vectors), rows):
            part = vectors[start : start + rows]
            logits = part @ table.t()  # [rows, vocabulary], then their gradient
            sums = _logits_to_gradient_(logits, words[start : start + rows], smoothing)
            smoothed += sums.smoothed
            plain += sums.plain
            if needs_gradient:
                vector_gradient[start : start + rows] = logits @ table
                weight_gradient += logits.t() @ part
        context.save_for_backward(vector_gradient, weight_gradient)
        context.mark_non_differentiable(plain)
        return smoothed, plain

    @staticmethod
    def backward(
        context: torch.autograd.function.FunctionCtx, upstream: Tensor, _: Tensor
    ) -> tuple[Tensor, Tensor, None, None]:
        vector_gradient, weight_gradient = context.saved_tensors  # type: ignore[attr-defined]
        # In place, because backward runs only once.
        return vector_gradient.mul_(upstream), weight_gradient.mul_(upstream), None, None


def _logits_to_gradient_(logits: Tensor, words: Tensor, smoothing: float) -> LossSums:
    """Return the loss of some words, and overwrite their logits, `[words, vocabulary]`, with the gradient.

    The gradient is softmax(z) − (1 − ε) · [right] − ε / vocabulary.
    """
    losses = LossSums(logits.new_zeros((), dtype=torch.float32), logits.new_zeros((), dtype=torch.float32))
    share = smoothing / logits.shape[-1]
    rows = 32 if logits.device.type == "cpu" else max(1, len(logits))  # float32 rows that fit the processor's cache
    for start in range(0, len(logits), rows):
        log_p = logits[start : start + rows].log_softmax(dim=-1, dtype=torch.float32)  # [rows, vocabulary]
        right_words = words[start : start + rows, None]  # [rows, 1]
        right_loss = -log_p.gather(1, right_words).sum()
        losses.plain.add_(right_loss)
        losses.smoothed.add_((1 - smoothing) * right_loss - share * log_p.sum())
        gradient = log_p.exp_().sub_(share)
        gradient.scatter_add_(1, right_words, gradient.new_full(right_words.shape, smoothing - 1))
        logits[start : start + rows] = gradient
    return losses


def compute_translation_losses(model: Transformer, batch: Batch, smoothing: float) -> LossSums:
    """Compute the losses of a batch. Padding is removed before the projection to the vocabulary, the slowest part."""
    encoder, decoder = model.encoder, model.decoder
    memory = Memory(encoder(batch.source, batch.source_mask), batch.source_mask)
    state = decoder.new_state(memory, cached=False)
    vectors = decoder.run_layers(decoder.embedding(batch.target), state)  # [batch, target, d_model]
    vectors = vectors.flatten(0, 1)[batch.word_indices]  # [words, d_model]
    if torch.is_autocast_enabled(vectors.device.type):  # cast once here instead of per slice
        vectors = vectors.to(torch.get_autocast_dtype(vectors.device.type))
    return compute_smoothed_cross_entropy(*_fold_bias(decoder.output, vectors), batch.words, smoothing)


def _fold_bias(output: OutputProjection, vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Return vectors and weight whose product is the logits. A bias is an additional column of the weight."""
    vectors = vectors if output.scale is None else vectors * output.scale
    weight, bias = output.words.weight, cast("Tensor | None", output.words.bias)
    if bias is None:
        return vectors, weight
    return torch.cat([vectors, vectors.new_ones(len(vectors), 1)], dim=1), torch.cat([weight, bias[:, None]], dim=1)


class LossModule(nn.Module):
    """Model and loss as one module, which DistributedDataParallel and torch.compile require.

    Add auxiliary losses, such as guided alignment or distillation, here as sums over target tokens.
    """

    def __init__(self, model: Transformer, smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.smoothing = smoothing

    def forward(self, batch: Batch) -> LossSums:
        """Return the summed losses of a batch."""
        return compute_translation_losses(self.model, batch, self.smoothing)

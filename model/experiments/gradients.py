"""Gradients of a written word's log probability y, with respect to source embeddings and cross-attention weights.

- Input × gradient, Σ e · ∂y/∂e (Shrikumar et al. 2016, https://arxiv.org/abs/1605.01713).
- Integrated gradients (Sundararajan et al. 2017, https://arxiv.org/abs/1703.01365): input × gradient, with gradients
  averaged over the path from zero embeddings to those of the sentence. They sum to y(sentence) − y(zeros)
  ("completeness").
- Gradient × attention: the positive part of α · ∂y/∂α, averaged over heads and layers (Chefer et al. 2021,
  https://arxiv.org/abs/2103.15679, equation 5).
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from headlight.model.core.probes import watch
from headlight.model.experiments.scoring import choose_gradient_batch_size, compute_forced_logits, log_probabilities
from headlight.model.measures.trace_records import Float64Array
from headlight.model.records import Translation
from headlight.model.translate.translator import Translator

EMBEDDED = "encoder.embedding.embedded"
CROSS = "decoder.layers.*.cross_attention.weights"
INITIAL_INTERVALS = (0.0, 1 / 256, 1 / 32, 1 / 8, 1 / 2, 1.0)
POINTS_PER_INTERVAL = 4  # gradients per interval of the path
MAX_POINTS = 960  # gradients per word
MAX_COMPLETENESS_GAP = 8e-3  # in nats, over all intervals


class IntegratedGradients(NamedTuple):
    """Integrated gradients and their completeness gap."""

    scores: Float64Array  # [source]
    difference: float  # y(sentence) − y(zeros)
    points: int  # number of gradients

    @property
    def completeness_gap(self) -> float:
        """The sum of the scores minus `difference`, in nats."""
        return float(self.scores.sum() - self.difference)


def input_gradient(translator: Translator, translation: Translation, positions: Sequence[int]) -> Float64Array:
    """Return input × gradient of each source token, `[source]`; positive values support the written tokens."""
    embeddings = _embed_source(translator, translation)
    gradient = _compute_gradients(translator, translation, positions, embeddings)
    return _to_array((gradient * embeddings).sum(dim=-1)[0])


def attention_gradient(translator: Translator, translation: Translation, positions: Sequence[int]) -> Float64Array:
    """Return gradient × attention of each source token, `[source]`. Values are not negative."""
    embeddings = _embed_source(translator, translation).requires_grad_()
    with torch.inference_mode(mode=False), torch.enable_grad(), translator.intervention_context(translation.request)():
        with watch(translator.model, CROSS) as activations:
            score = _score(translator, translation, positions, embeddings).sum()
        weights = list(activations.values())
        gradients = torch.autograd.grad(score, weights)
    parts = [(weight * slope).clamp(min=0) for weight, slope in zip(weights, gradients, strict=True)]
    mean = torch.stack(parts).mean(dim=(0, 2))[0]  # [layers, batch, heads, target, source] → [target, source]
    return _to_array(mean[list(positions)].sum(dim=0))


def integrated_gradients(
    translator: Translator,
    translation: Translation,
    positions: Sequence[int],
    seconds: float = math.inf,
    max_points: int = MAX_POINTS,
) -> IntegratedGradients:
    """Integrate along the straight line from zero word embeddings to those of the sentence. Positions do not change.

    The integral over each interval must equal the change of the score. Intervals with an error are split until the
    total error is at most `MAX_COMPLETENESS_GAP`, or `max_points` gradients or `seconds` are used up; the remaining
    error is the `completeness_gap`. Norms make the path steep near zero, so the first intervals are short.
    """
    started = time.perf_counter()
    embeddings = _embed_source(translator, translation)
    endpoint_scores: dict[float, float] = {}  # point of the path → score of the word
    integrals: dict[tuple[float, float], tuple[Tensor, float]] = {}  # interval → integral and error
    intervals, points = list(pairwise(INITIAL_INTERVALS)), 0
    while intervals:
        _score_endpoints(translator, translation, positions, embeddings, intervals, endpoint_scores)
        points += POINTS_PER_INTERVAL * len(intervals)
        for interval, sums in zip(
            intervals, _integrate(translator, translation, positions, embeddings, intervals), strict=True
        ):
            integrals[interval] = (
                sums,
                abs(float(sums.sum()) - (endpoint_scores[interval[1]] - endpoint_scores[interval[0]])),
            )
        gaps = {interval: gap for interval, (_, gap) in integrals.items()}
        if sum(gaps.values()) <= MAX_COMPLETENESS_GAP or points >= max_points:
            break
        inaccurate = [interval for interval, gap in gaps.items() if gap > MAX_COMPLETENESS_GAP / len(gaps)]
        elapsed = time.perf_counter() - started
        # The time of a round is proportional to its points. Skip a round that would exceed the limit.
        if elapsed * (1 + 2 * POINTS_PER_INTERVAL * len(inaccurate) / points) > seconds:
            break
        intervals = [half for start, end in inaccurate for half in pairwise((start, _split_point(start, end), end))]
        for interval in inaccurate:
            del integrals[interval]
    scores = torch.stack([sums for sums, _ in integrals.values()]).sum(dim=0)
    return IntegratedGradients(scores.numpy(), endpoint_scores[1.0] - endpoint_scores[0.0], points)


def _split_point(start: float, end: float) -> float:
    """Return the point at which to split an interval: the geometric mean near zero, where the path is steepest."""
    if start == 0:
        return end / 64
    return math.sqrt(start * end) if end > 4 * start else (start + end) / 2


def _score_endpoints(
    translator: Translator,
    translation: Translation,
    positions: Sequence[int],
    embeddings: Tensor,
    intervals: Sequence[tuple[float, float]],
    scores_by_point: dict[float, float],
) -> None:
    """Score the word at the ends of the intervals, and cache the scores in `scores_by_point`."""
    ends = sorted({end for interval in intervals for end in interval} - set(scores_by_point))
    rows_per_batch = choose_gradient_batch_size(translator, embeddings.shape[1], max(positions) + 1)
    for start in range(0, len(ends), rows_per_batch):
        chunk = ends[start : start + rows_per_batch]
        shares = torch.tensor(chunk, dtype=embeddings.dtype, device=embeddings.device)[:, None, None]
        with torch.inference_mode(mode=False), torch.no_grad(), translator.intervention_context(translation.request)():
            result = _score(translator, translation, positions, shares * embeddings)
        scores_by_point.update(zip(chunk, result.tolist(), strict=True))


def _integrate(
    translator: Translator,
    translation: Translation,
    positions: Sequence[int],
    embeddings: Tensor,
    intervals: Sequence[tuple[float, float]],
) -> Tensor:
    """Integrate over each interval by Gauss-Legendre quadrature, and return `[intervals, source]`."""
    roots, widths = np.polynomial.legendre.leggauss(POINTS_PER_INTERVAL)
    points = [(start + (end - start) * (root + 1) / 2) for start, end in intervals for root in roots]
    shares = torch.tensor(points, dtype=embeddings.dtype, device=embeddings.device)[:, None, None]
    rows_per_batch = choose_gradient_batch_size(translator, embeddings.shape[1], max(positions) + 1)
    sums = []
    for first in range(0, len(points), rows_per_batch):
        gradient = _compute_gradients(
            translator, translation, positions, shares[first : first + rows_per_batch] * embeddings
        )
        sums.append((gradient * embeddings).sum(dim=-1).double().cpu())
    weights = torch.tensor([[(end - start) / 2 * width for width in widths] for start, end in intervals])
    return torch.einsum("pws,pw->ps", torch.cat(sums).view(len(intervals), POINTS_PER_INTERVAL, -1), weights.double())


def _embed_source(translator: Translator, translation: Translation) -> Tensor:
    """Return the source embeddings, `[1, source, width]`."""
    batch = translator.checker.prepare([translation.request])
    with torch.inference_mode(mode=False), torch.no_grad(), watch(translator.model, EMBEDDED) as activations:
        translator.model.encoder.embedding(batch.source_ids)
    return activations[EMBEDDED].detach().clone()


def _compute_gradients(
    translator: Translator, translation: Translation, positions: Sequence[int], embeddings: Tensor
) -> Tensor:
    """Return ∂y/∂e of each row of embeddings, `[rows, source, width]`."""
    embeddings = embeddings.detach().requires_grad_()
    with torch.inference_mode(mode=False), torch.enable_grad(), translator.intervention_context(translation.request)():
        scores = _score(translator, translation, positions, embeddings)
        (gradient,) = torch.autograd.grad(scores.sum(), embeddings)
    return gradient


def _score(translator: Translator, translation: Translation, positions: Sequence[int], embeddings: Tensor) -> Tensor:
    """Return the summed log probability of the tokens at `positions`, given source embeddings, `[rows]`."""
    with watch(translator.model, EMBEDDED, edit=lambda value, name: embeddings):
        logits = compute_forced_logits(translator, translation, max(positions) + 1, len(embeddings))
    return log_probabilities(logits, translation, positions).sum(dim=-1)


def _to_array(tensor: Tensor) -> Float64Array:
    result: Float64Array = tensor.detach().double().cpu().numpy()
    return result

"""Gradients of a written word's log probability: by the embeddings of the source, and by where cross-attention looks.

- Input × gradient, Σ e · ∂y/∂e (Shrikumar et al. 2016, https://arxiv.org/abs/1605.01713).
- Integrated gradients (Sundararajan et al. 2017, https://arxiv.org/abs/1703.01365): the same, averaged on the path from
  nothing to the embedding. They are complete: their sum is y(sentence) − y(nothing).
- Gradient × attention, the positive part of α · ∂y/∂α, the mean over heads and layers (Chefer et al. 2021,
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
from headlight.model.experiments.scoring import decoder_inputs, log_probabilities
from headlight.model.measures.trace_records import Numbers
from headlight.model.records import Translation
from headlight.model.translate.translator import Translator

EMBEDDED = "encoder.embedding.embedded"
CROSS = "decoder.layers.*.cross_attention.weights"
MAX_TOKENS = 1 << 10  # of one batch with gradients, both sides counted: what they keep is some 100 MB at OPUS-MT's size
MAX_LOGITS_PER_BATCH = 1 << 23
INITIAL_INTERVALS = (0.0, 1 / 256, 1 / 32, 1 / 8, 1 / 2, 1.0)
POINTS_PER_INTERVAL = 4  # gradients a piece of the way
MAX_POINTS = 960
MAX_COMPLETENESS_GAP = 8e-3  # nats that all pieces together may lack


class IntegratedGradients(NamedTuple):
    """Integrated gradients and their completeness gap."""

    scores: Numbers  # [source]
    difference: float  # y(sentence) − y(nothing)
    points: int  # gradients taken

    @property
    def completeness_gap(self) -> float:
        """The sum minus the difference, in nats."""
        return float(self.scores.sum() - self.difference)


def input_gradient(translator: Translator, translation: Translation, places: Sequence[int]) -> Numbers:
    """Input × gradient of each source token, `[source]`; positive: it speaks for these written tokens."""
    embedded = _embedded(translator, translation)
    gradient = _gradients(translator, translation, places, embedded)
    return _numbers((gradient * embedded).sum(dim=-1)[0])


def attention_gradient(translator: Translator, translation: Translation, places: Sequence[int]) -> Numbers:
    """Gradient × attention of each source token, `[source]`, never negative."""
    embedded = _embedded(translator, translation).requires_grad_()
    with torch.inference_mode(mode=False), torch.enable_grad(), translator.intervention_context(translation.request)():
        with watch(translator.model, CROSS) as seen:
            score = _scores(translator, translation, places, embedded).sum()
        weights = list(seen.values())
        gradients = torch.autograd.grad(score, weights)
    parts = [(weight * slope).clamp(min=0) for weight, slope in zip(weights, gradients, strict=True)]
    mean = torch.stack(parts).mean(dim=(0, 2))[0]  # of [layers, batch, heads, target, source]
    return _numbers(mean[list(places)].sum(dim=0))


def integrated_gradients(
    translator: Translator,
    translation: Translation,
    places: Sequence[int],
    seconds: float = math.inf,
    most: int = MAX_POINTS,
) -> IntegratedGradients:
    """Integrated gradients from embeddings of zero, positions kept, on the straight line to the sentence.

    Each piece of the way must give what the score gains on it; one that does not is halved, until all together lack
    next to nothing, or the gradients or the `seconds` are used up: then `gap` is the error of the sum. Norms make the
    path steep near zero, so that the first pieces are short.
    """
    started = time.perf_counter()
    embedded = _embedded(translator, translation)
    known: dict[float, float] = {}  # scores of the words at points of the path
    done: dict[tuple[float, float], tuple[Tensor, float]] = {}  # the integral and the error of each piece
    pieces, points = list(pairwise(INITIAL_INTERVALS)), 0
    while pieces:
        _score_endpoints(translator, translation, places, embedded, pieces, known)
        points += POINTS_PER_INTERVAL * len(pieces)
        for piece, sums in zip(pieces, _integrate(translator, translation, places, embedded, pieces), strict=True):
            done[piece] = sums, abs(float(sums.sum()) - (known[piece[1]] - known[piece[0]]))
        gaps = {piece: gap for piece, (_, gap) in done.items()}
        if sum(gaps.values()) <= MAX_COMPLETENESS_GAP or points >= most:
            break
        halved = [piece for piece, gap in gaps.items() if gap > MAX_COMPLETENESS_GAP / len(gaps)]
        spent = time.perf_counter() - started
        # The time of a round grows with its points.
        if spent * (1 + 2 * POINTS_PER_INTERVAL * len(halved) / points) > seconds:
            break
        pieces = [part for start, end in halved for part in pairwise((start, _split_point(start, end), end))]
        for piece in halved:
            del done[piece]
    scores = torch.stack([sums for sums, _ in done.values()]).sum(dim=0)
    return IntegratedGradients(scores.numpy(), known[1.0] - known[0.0], points)


def _split_point(start: float, end: float) -> float:
    """Where to cut a piece: by ratio near zero. Without positions each layer's norm makes the first step steeper."""
    if start == 0:
        return end / 64
    return math.sqrt(start * end) if end > 4 * start else (start + end) / 2


def _score_endpoints(
    translator: Translator,
    translation: Translation,
    places: Sequence[int],
    embedded: Tensor,
    pieces: Sequence[tuple[float, float]],
    known: dict[float, float],
) -> None:
    """Scores of the words at the ends of the pieces, cached."""
    ends = sorted({end for piece in pieces for end in piece} - set(known))
    at_once = _batch_size(translator, embedded, places)
    for start in range(0, len(ends), at_once):
        some = ends[start : start + at_once]
        shares = torch.tensor(some, dtype=embedded.dtype, device=embedded.device)[:, None, None]
        with torch.inference_mode(mode=False), torch.no_grad(), translator.intervention_context(translation.request)():
            result = _scores(translator, translation, places, shares * embedded)
        known.update(zip(some, result.tolist(), strict=True))


def _integrate(
    translator: Translator,
    translation: Translation,
    places: Sequence[int],
    embedded: Tensor,
    pieces: Sequence[tuple[float, float]],
) -> Tensor:
    """The integral over each piece, by Gauss and Legendre, `[pieces, source]`."""
    roots, widths = np.polynomial.legendre.leggauss(POINTS_PER_INTERVAL)
    along = [(start + (end - start) * (root + 1) / 2) for start, end in pieces for root in roots]
    shares = torch.tensor(along, dtype=embedded.dtype, device=embedded.device)[:, None, None]
    at_once = _batch_size(translator, embedded, places)
    sums = []
    for first in range(0, len(along), at_once):
        gradient = _gradients(translator, translation, places, shares[first : first + at_once] * embedded)
        sums.append((gradient * embedded).sum(dim=-1).double().cpu())
    weights = torch.tensor([[(end - start) / 2 * width for width in widths] for start, end in pieces])
    return torch.einsum("pws,pw->ps", torch.cat(sums).view(len(pieces), POINTS_PER_INTERVAL, -1), weights.double())


def _batch_size(translator: Translator, embedded: Tensor, places: Sequence[int]) -> int:
    """How many points one batch has."""
    written = max(places) + 1
    logits = written * translator.model.config.target_vocabulary
    return max(1, min(MAX_TOKENS // (embedded.shape[1] + written), MAX_LOGITS_PER_BATCH // logits))


def _embedded(translator: Translator, translation: Translation) -> Tensor:
    """The embeddings of the source, `[1, source, width]`."""
    batch = translator.checker.prepare([translation.request])
    with torch.inference_mode(mode=False), torch.no_grad(), watch(translator.model, EMBEDDED) as seen:
        translator.model.encoder.embedding(batch.source_ids)
    return seen[EMBEDDED].detach().clone()


def _gradients(translator: Translator, translation: Translation, places: Sequence[int], embedded: Tensor) -> Tensor:
    """∂y/∂e of each row of embeddings, `[rows, source, width]`."""
    embedded = embedded.detach().requires_grad_()
    with torch.inference_mode(mode=False), torch.enable_grad(), translator.intervention_context(translation.request)():
        scores = _scores(translator, translation, places, embedded)
        (gradient,) = torch.autograd.grad(scores.sum(), embedded)
    return gradient


def _scores(translator: Translator, translation: Translation, places: Sequence[int], embedded: Tensor) -> Tensor:
    """The log probability of the written tokens at these places, given the source's embeddings, `[rows]`."""
    model, rows = translator.model, len(embedded)
    batch = translator.checker.prepare([translation.request])
    ids = batch.source_ids.expand(rows, -1)
    mask = None if batch.source_mask is None else batch.source_mask.expand(rows, -1, -1, -1)
    with watch(model, EMBEDDED, edit=lambda value, name: embedded):
        memory = model.encode(ids, mask, padded=batch.padded)
    inputs = decoder_inputs(translator, translation, max(places) + 1, rows)
    logits = model.decoder(inputs, model.decoder.new_state(memory, cached=False))
    return log_probabilities(logits, translation, places).sum(dim=-1)


def _numbers(tensor: Tensor) -> Numbers:
    result: Numbers = tensor.detach().double().cpu().numpy()
    return result

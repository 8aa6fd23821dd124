"""Erasure: log probability lost when source words are masked (Li et al. 2016, https://arxiv.org/abs/1612.08220).

Each set of masked source tokens is one row of a batch. Each row encodes the sentence and scores the same translation,
so its result equals that of a request with these words masked and this translation as target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import torch
from torch import Tensor

from headlight.model.core.masks import padding_mask
from headlight.model.experiments.importance import MAX_ROWS_PER_BATCH
from headlight.model.experiments.scoring import MAX_LOGITS_PER_BATCH, decoder_inputs, log_probabilities
from headlight.model.measures.trace_records import Float64Array
from headlight.model.records import Translation
from headlight.model.translate.translator import Translator

MaskedTokens = tuple[int, ...]  # indices of masked source tokens


def score_with_masked_words(
    translator: Translator, translation: Translation, positions: Sequence[int], sets: Sequence[MaskedTokens]
) -> Iterator[Float64Array]:
    """Yield the log probabilities of the tokens at `positions` under each mask, `[sets, positions]`, batch by batch."""
    length = max(positions) + 1  # later tokens do not affect earlier ones
    rows_per_batch = max(
        1, min(MAX_ROWS_PER_BATCH, MAX_LOGITS_PER_BATCH // (length * translator.model.config.target_vocabulary))
    )
    for start in range(0, len(sets), rows_per_batch):
        yield _score_batch(translator, translation, positions, sets[start : start + rows_per_batch])


def measure_erasure_losses(
    translator: Translator, translation: Translation, positions: Sequence[int], sets: Sequence[MaskedTokens]
) -> list[float]:
    """Return the summed log probability that the tokens at `positions` lose under each mask. Gains are negative."""
    scores = [
        row
        for batch in score_with_masked_words(translator, translation, positions, [(), *sets])
        for row in batch.sum(axis=1)
    ]
    return [float(scores[0] - score) for score in scores[1:]]


def _score_batch(
    translator: Translator, translation: Translation, positions: Sequence[int], sets: Sequence[MaskedTokens]
) -> Float64Array:
    batch = translator.checker.prepare([translation.request])
    config = translator.model.config
    with torch.inference_mode(), translator.intervention_context(translation.request)():
        mask = batch.source_mask
        if mask is None:
            mask = padding_mask(batch.source_ids, config.pad_id)
        mask = _apply_masks(mask, sets)
        memory = translator.passes.encode(batch.source_ids.expand(len(sets), -1), mask)
        inputs = decoder_inputs(translator, translation, max(positions) + 1, len(sets))
        logits = translator.passes.decoder(inputs, translator.passes.decoder.new_state(memory, cached=False))
        result: Float64Array = log_probabilities(logits, translation, positions).double().cpu().numpy()
    return result


def _apply_masks(mask: Tensor, sets: Sequence[MaskedTokens]) -> Tensor:
    rows = mask.expand(len(sets), -1, -1, -1).clone()
    for row, hidden in enumerate(sets):
        rows[row, 0, 0, list(hidden)] = False
    return rows


def list_single_sets(groups: Sequence[MaskedTokens]) -> list[MaskedTokens]:
    """Return one mask per group."""
    return [tuple(group) for group in groups]


def list_cumulative_sets(groups: Sequence[MaskedTokens], order: Sequence[int]) -> list[MaskedTokens]:
    """Return masks that grow by one group at a time, in this order of group indices."""
    return [tuple(chain(*(groups[position] for position in order[: count + 1]))) for count in range(len(order))]

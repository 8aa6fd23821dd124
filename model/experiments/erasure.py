"""Erasure: log probability lost when source words are masked.

https://arxiv.org/abs/1612.08220 (Li et al. 2016). Each set of hidden source tokens is one row of a batch. A row reads
the sentence again and scores the same translation, so that it is what a request with these words masked and this
translation as its target gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import torch
from torch import Tensor

from headlight.model.core.masks import padding_mask
from headlight.model.experiments.importance import MAX_LOGITS_PER_BATCH, MAX_ROWS_PER_BATCH
from headlight.model.experiments.scoring import decoder_inputs, log_probabilities
from headlight.model.measures.trace_records import Numbers
from headlight.model.records import Translation
from headlight.model.translate.translator import Translator

MaskedTokens = tuple[int, ...]  # source tokens that no token may look at


def scores_with_masked_words(
    translator: Translator, translation: Translation, places: Sequence[int], sets: Sequence[MaskedTokens]
) -> Iterator[Numbers]:
    """The log probability of each written token of `places` without each set, `[sets, places]`, a batch at a time."""
    length = max(places) + 1  # what comes later changes nothing before it
    at_once = max(
        1, min(MAX_ROWS_PER_BATCH, MAX_LOGITS_PER_BATCH // (length * translator.model.config.target_vocabulary))
    )
    for start in range(0, len(sets), at_once):
        yield _batch(translator, translation, places, sets[start : start + at_once])


def erasure_losses(
    translator: Translator, translation: Translation, places: Sequence[int], sets: Sequence[MaskedTokens]
) -> list[float]:
    """The log probability that these written tokens lose together without each set; a negative loss is a gain."""
    results = [
        row
        for batch in scores_with_masked_words(translator, translation, places, [(), *sets])
        for row in batch.sum(axis=1)
    ]
    return [float(results[0] - each) for each in results[1:]]


def _batch(
    translator: Translator, translation: Translation, places: Sequence[int], sets: Sequence[MaskedTokens]
) -> Numbers:
    batch = translator.checker.prepare([translation.request])
    config = translator.model.config
    with torch.inference_mode(), translator.intervention_context(translation.request)():
        mask = batch.source_mask
        if mask is None:
            mask = padding_mask(batch.source_ids, config.pad_id)
        mask = _apply_masks(mask, sets)
        memory = translator.passes.encode(batch.source_ids.expand(len(sets), -1), mask)
        inputs = decoder_inputs(translator, translation, max(places) + 1, len(sets))
        logits = translator.passes.decoder(inputs, translator.passes.decoder.new_state(memory, cached=False))
        result: Numbers = log_probabilities(logits, translation, places).double().cpu().numpy()
    return result


def _apply_masks(mask: Tensor, sets: Sequence[MaskedTokens]) -> Tensor:
    rows = mask.expand(len(sets), -1, -1, -1).clone()
    for row, hidden in enumerate(sets):
        rows[row, 0, 0, list(hidden)] = False
    return rows


def single_sets(groups: Sequence[MaskedTokens]) -> list[MaskedTokens]:
    """Each group alone."""
    return [tuple(group) for group in groups]


def cumulative_sets(groups: Sequence[MaskedTokens], order: Sequence[int]) -> list[MaskedTokens]:
    """The first of the order, the first two, and so on to all of them."""
    return [tuple(chain(*(groups[place] for place in order[: count + 1]))) for count in range(len(order))]

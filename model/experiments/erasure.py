"""Erasure: log probability lost when source words are masked.

https://arxiv.org/abs/1612.08220 (Li et al. 2016). Each set of hidden source tokens is one row of a batch. A row reads
the sentence anew and scores the same translation, so that it is what a request with these words masked and this
translation as its target gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import torch
from torch import Tensor

from headlight.model.core.masks import padding_mask
from headlight.model.experiments.importance import MOST_LOGITS, MOST_ROWS
from headlight.model.experiments.scoring import chances_of, inputs_of
from headlight.model.measures.traced import Numbers
from headlight.model.records import Translation
from headlight.model.translate.translator import Translator

Hidden = tuple[int, ...]  # source tokens that no token may look at


def hidden_scores(
    translator: Translator, translation: Translation, places: Sequence[int], sets: Sequence[Hidden]
) -> Iterator[Numbers]:
    """The log probability of each written token of `places` without each set, `[sets, places]`, a batch at a time."""
    length = max(places) + 1  # what comes later changes nothing before it
    at_once = max(1, min(MOST_ROWS, MOST_LOGITS // (length * translator.model.config.target_vocabulary)))
    for start in range(0, len(sets), at_once):
        yield _batch(translator, translation, places, sets[start : start + at_once])


def losses_without(
    translator: Translator, translation: Translation, places: Sequence[int], sets: Sequence[Hidden]
) -> list[float]:
    """The log probability that these written tokens lose together without each set; a negative loss is a gain."""
    found = [row for batch in hidden_scores(translator, translation, places, [(), *sets]) for row in batch.sum(axis=1)]
    return [float(found[0] - each) for each in found[1:]]


def _batch(translator: Translator, translation: Translation, places: Sequence[int], sets: Sequence[Hidden]) -> Numbers:
    batch = translator.checker.prepare([translation.request])
    config = translator.model.config
    with torch.inference_mode(), translator.changing(translation.request)():
        mask = batch.source_mask
        if mask is None:
            mask = padding_mask(batch.source_ids, config.pad_id)
        mask = _without(mask, sets)
        memory = translator.passes.encode(batch.source_ids.expand(len(sets), -1), mask)
        inputs = inputs_of(translator, translation, max(places) + 1, len(sets))
        logits = translator.passes.decoder(inputs, translator.passes.decoder.start(memory, cached=False))
        found: Numbers = chances_of(logits, translation, places).double().cpu().numpy()
    return found


def _without(mask: Tensor, sets: Sequence[Hidden]) -> Tensor:
    rows = mask.expand(len(sets), -1, -1, -1).clone()
    for row, hidden in enumerate(sets):
        rows[row, 0, 0, list(hidden)] = False
    return rows


def one_by_one(groups: Sequence[Hidden]) -> list[Hidden]:
    """Each group alone."""
    return [tuple(group) for group in groups]


def more_and_more(groups: Sequence[Hidden], order: Sequence[int]) -> list[Hidden]:
    """The first of the order, the first two, and so on to all of them."""
    return [tuple(chain(*(groups[place] for place in order[: count + 1]))) for count in range(len(order))]

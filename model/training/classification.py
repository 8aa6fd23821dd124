"""Training of a classifier: labels instead of translations, and accuracy instead of BLEU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from headlight.model.core.classifier import SelfAttentionClassifier, classification_loss, truncate_middle
from headlight.model.core.masks import pad_sequences
from headlight.model.errors import TrainingError
from headlight.model.training.batches import RaggedArray, RowArray, Sentences, SpecialIds, plan_validation_batches
from headlight.model.training.loss import LossSums
from headlight.model.training.prepare import CorpusText, Tokenizers, encode_in_parts
from headlight.model.training.recipe import Recipe
from headlight.model.training.validation import BATCH_TOKENS, HeldOut

LABEL_SCALE = 1000  # a label is stored as a whole number: probability × LABEL_SCALE


class ClassifierBatch(NamedTuple):
    """Inputs of one training step."""

    ids: Tensor  # [batch, tokens]: tokens, end, padding
    positive: Tensor  # [batch]: 0, 1 or the probability of a teacher model

    def to(self, device: torch.device) -> ClassifierBatch:
        """Move the batch to a device."""
        return ClassifierBatch(*(tensor.to(device, non_blocking=True) for tensor in self))


def make_classifier(recipe: Recipe, tokenizers: Tokenizers) -> SelfAttentionClassifier:
    """Create an untrained classifier, sized by recipe and vocabulary."""
    special = tokenizers.special
    return SelfAttentionClassifier(
        recipe.classifier_config(
            vocabulary=tokenizers.source.vocabulary_size, pad_id=special.pad, end_id=special.source_end
        )
    )


def encode(text: CorpusText, tokenizers: Tokenizers, recipe: Recipe) -> Sentences:
    """Encode texts as ids, truncated in the middle, and labels as rows of one whole number."""
    max_length = recipe.classifier_config(vocabulary=tokenizers.source.vocabulary_size).max_length
    untruncated = encode_in_parts([pair.source for pair in text.pairs], tokenizers.source.encode_batch)
    sources = RaggedArray([truncate_middle(row.tolist(), max_length - 1) for row in untruncated])  # plus the end token
    labels = RaggedArray([[round(LABEL_SCALE * parse_probability(pair.target))] for pair in text.pairs])
    return Sentences(sources, labels, np.array(text.corpus, dtype=np.int32), text.weights)


def parse_probability(label: str) -> float:
    """Parse a label as a probability: 0, 1, or the value of a teacher model."""
    try:
        value = float(label)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise TrainingError(
            f"A label is {label!r}, but must be 0 (negative), 1 (positive) or a probability between them. "
            "Check the columns."
        )
    return value


def make_batch(sentences: Sentences, rows: RowArray, special: SpecialIds) -> ClassifierBatch:
    """Create a batch of these rows, with end tokens and padding."""
    ids = pad_sequences([[*sentences.source[row].tolist(), special.source_end] for row in rows], special.pad)
    return ClassifierBatch(ids, torch.tensor([float(sentences.target[row][0]) for row in rows]) / LABEL_SCALE)


class ClassifierLosses(nn.Module):
    """Model and loss as one module, which DistributedDataParallel and torch.compile require."""

    def __init__(self, model: SelfAttentionClassifier, smoothing: float, left_out: float = 0.0) -> None:
        super().__init__()
        self.model = model
        self.smoothing = smoothing
        self.left_out = left_out

    def forward(self, batch: ClassifierBatch) -> LossSums:
        """Return the summed losses of a batch. Smoothing gives the wrong class a target probability of ε / 2."""
        log_odds = self.model(self._drop_tokens(batch.ids))
        targets = batch.positive * (1 - self.smoothing) + self.smoothing / 2
        return LossSums(classification_loss(log_odds, targets), classification_loss(log_odds.detach(), batch.positive))

    def _drop_tokens(self, ids: Tensor) -> Tensor:
        """Replace random tokens by padding, `[batch, tokens]`, so that predictions do not depend on a single word."""
        if not self.left_out:
            return ids
        config = self.model.config
        dropped = (torch.rand(ids.shape, device=ids.device) < self.left_out) & (ids != config.end_id)
        return ids.masked_fill(dropped, config.pad_id)


@torch.no_grad()
def validate(
    model: SelfAttentionClassifier, held_out: Sequence[HeldOut], tokenizers: Tokenizers, device: torch.device
) -> dict[str, float]:
    """Return `loss NAME` and `accuracy NAME` per corpus, and the mean `loss`, which selects the best model."""
    values: dict[str, float] = {}
    for corpus in held_out:
        loss = right = 0.0
        for rows in plan_validation_batches(corpus.sentences, BATCH_TOKENS):
            batch = make_batch(corpus.sentences, rows, tokenizers.special).to(device)
            log_odds = model(batch.ids)
            loss += float(classification_loss(log_odds, batch.positive))
            right += int(((log_odds > 0) == (batch.positive > 0.5)).sum())
        count = len(corpus.sentences.source)
        values[f"loss {corpus.name}"] = loss / count
        values[f"accuracy {corpus.name}"] = 100 * right / count
    return {"loss": sum(values[f"loss {corpus.name}"] for corpus in held_out) / len(held_out), **values}

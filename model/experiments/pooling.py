"""The last steps of a classifier, number by number: the average of the tokens' vectors, and the verdict on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from headlight.model.core.classifier import SelfAttentionClassifier
from headlight.model.core.masks import padding_mask
from headlight.model.experiments.encodings import to_numpy
from headlight.model.records import FloatArray
from headlight.model.translate.judge import Judge


@dataclass(frozen=True, eq=False)
class PooledText:
    """Vectors of a text in a batch with padding, and the weights of the verdict."""

    labels: tuple[str, ...]  # tokens of the text, without padding
    vectors: FloatArray  # [tokens and padding, d_model]
    weight: FloatArray  # [d_model]
    bias: float
    log_odds: float  # the verdict of the model

    @property
    def mean(self) -> FloatArray:
        """The average over the real tokens, which the model uses."""
        return np.asarray(self.vectors[: len(self.labels)].mean(axis=0, dtype=np.float64), dtype=np.float32)

    @property
    def mean_with_padding(self) -> FloatArray:
        """The average over all places."""
        return np.asarray(self.vectors.mean(axis=0, dtype=np.float64), dtype=np.float32)


def pool_text(judge: Judge, text: str, padding: int) -> PooledText:
    """Judge a text that is followed by `padding` places. Padding is masked in attention, but has vectors, too."""
    model = judge.model
    if not isinstance(model, SelfAttentionClassifier):
        raise TypeError("The verdict of this classifier is not an average of its tokens.")
    judgement = judge.judge(text)
    ids = torch.tensor([[token.id for token in judgement.tokens] + [model.config.pad_id] * padding])
    ids = ids.to(judge.choice.device)
    with torch.inference_mode():
        vectors = model.encode(ids, padding_mask(ids, model.config.pad_id))[0]
        log_odds = float(model(ids))
    labels = tuple(token.text for token in judgement.tokens)
    return PooledText(labels, to_numpy(vectors), to_numpy(model.verdict.weight[0]), float(model.verdict.bias), log_odds)

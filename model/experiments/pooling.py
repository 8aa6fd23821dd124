"""The last steps of a classifier: the mean of the tokens' vectors, and the linear layer that maps it to log-odds."""

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
    """The vectors of a padded text, and the linear layer."""

    labels: tuple[str, ...]  # tokens of the text, without padding
    vectors: FloatArray  # [padded length, d_model]
    weight: FloatArray  # [d_model]
    bias: float
    log_odds: float  # the model's output for the text

    @property
    def mean(self) -> FloatArray:
        """The mean over tokens, which the model computes."""
        return np.asarray(self.vectors[: len(self.labels)].mean(axis=0, dtype=np.float64), dtype=np.float32)

    @property
    def mean_with_padding(self) -> FloatArray:
        """The mean over tokens and padding."""
        return np.asarray(self.vectors.mean(axis=0, dtype=np.float64), dtype=np.float32)


def pool_text(judge: Judge, text: str, padding: int) -> PooledText:
    """Classify a text with `padding` padding tokens. Attention masks padding, but padding has vectors, too."""
    model = judge.model
    if not isinstance(model, SelfAttentionClassifier):
        raise TypeError("This classifier does not average the vectors of its tokens.")
    judgement = judge.judge(text)
    ids = torch.tensor([[token.id for token in judgement.tokens] + [model.config.pad_id] * padding])
    ids = ids.to(judge.choice.device)
    with torch.inference_mode():
        vectors = model.encode(ids, padding_mask(ids, model.config.pad_id))[0]
        log_odds = float(model(ids))
    labels = tuple(token.text for token in judgement.tokens)
    return PooledText(labels, to_numpy(vectors), to_numpy(model.verdict.weight[0]), float(model.verdict.bias), log_odds)

"""Classifier on the encoder's first output vector, as in BERT (arXiv:1810.04805).

    start token and text → encoder → vector of the start token → matrix, activation → matrix → one logit per class

The start token is not a word. It attends to all other tokens in every layer, so its last vector can represent the whole
text. The non-linearity between the two matrices means that the logits are not a sum over tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from headlight.model.core.classifier import Classifier
from headlight.model.core.classifier_config import EncoderClassifierConfig
from headlight.model.core.masks import padding_mask
from headlight.model.core.probes import Probe
from headlight.model.core.transformer import Encoder

HEAD_ACTIVATION_FUNCTIONS = {"tanh": torch.tanh, "relu": torch.relu, "gelu": nn.functional.gelu}


class EncoderClassifier(Classifier):
    """Encoder and classifier head: ids to one logit per class."""

    config: EncoderClassifierConfig
    weights_path = "encoder.layers.{}.self_attention.weights"

    def __init__(self, config: EncoderClassifierConfig) -> None:
        super().__init__()
        self.config = config
        blocks = config.block_config
        self.encoder = Encoder(blocks, nn.Embedding(config.vocabulary, blocks.embedding_width))
        self.dense = nn.Linear(config.d_model, config.d_model)
        self.verdict = nn.Linear(config.d_model, len(config.classes))
        self.first = Probe("batch width")  # input of the head

    def forward(self, ids: Tensor) -> Tensor:
        """Map ids `[batch, tokens]` to logits `[batch, classes]`."""
        encoded = self.encoder(ids, padding_mask(ids, self.config.pad_id))  # [batch, tokens, d_model]
        first = self.first(encoded[:, 0])
        logits: Tensor = self.verdict(HEAD_ACTIVATION_FUNCTIONS[self.config.head_activation](self.dense(first)))
        return logits

    def log_odds(self, ids: Tensor) -> Tensor:
        """Map ids `[batch, tokens]` to log-odds `[batch, classes]`."""
        logits: Tensor = self(ids)
        return one_vs_rest_log_odds(logits) if self.config.exclusive else logits


def one_vs_rest_log_odds(logits: Tensor) -> Tensor:
    """Convert logits to the log-odds of each class under softmax, `[batch, classes]`: z − ln Σ exp of the others."""
    log_p = logits.float().log_softmax(dim=-1)
    log_rest = torch.log1p(
        -log_p.exp()
    )  # ln (1 − p), inaccurate for the likeliest class, whose 1 − p may round to zero
    best_class = logits.argmax(dim=-1, keepdim=True)
    others_logsumexp = logits.float().scatter(-1, best_class, float("-inf")).logsumexp(dim=-1, keepdim=True)
    log_rest = log_rest.scatter(-1, best_class, others_logsumexp - logits.float().logsumexp(dim=-1, keepdim=True))
    return log_p - log_rest

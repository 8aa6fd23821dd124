"""Classifier on the encoder's first output vector, as in BERT (arXiv:1810.04805).

    start token and text → encoder → vector of the start token → matrix, activation → matrix → one logit per class

The start token is not a word. It attends to all other tokens in every layer, so its last vector can represent the whole
text. The non-linearity between the two matrices means that the logits are not a sum over tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from headlight.model.core.blocks import Embedding
from headlight.model.core.classifier import Classifier
from headlight.model.core.classifier_config import EncoderClassifierConfig
from headlight.model.core.disentangled import DisentangledAttention, DistanceVectors
from headlight.model.core.masks import padding_mask
from headlight.model.core.positions import make_positions
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
        embedding_config = config.embedding_config
        table = nn.Embedding(config.vocabulary, embedding_config.d_model)
        self.encoder = Encoder(config.block_config, table)
        if config.embedding_width is not None:
            positions = make_positions(embedding_config, causal=False)
            self.encoder.embedding = Embedding(table, positions, embedding_config, width=config.d_model)
        if config.positions == "disentangled":
            self.encoder.embedding.positions = DistanceVectors(config)
            for layer in self.encoder.layers:
                layer.self_attention = DisentangledAttention(config)
        for index, layer in enumerate(self.encoder.layers):
            group = config.weight_group(index)
            first_of_group = next(other for other in range(index + 1) if config.weight_group(other) == group)
            share_weights(self.encoder.layers[first_of_group], layer)
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


def share_weights(source: nn.Module, target: nn.Module) -> None:
    """Let `target` use the weights of `source`. It keeps its own probes, so that each layer can be watched."""
    for path, weight in source.named_parameters():
        parent, _, name = path.rpartition(".")
        setattr(target.get_submodule(parent), name, weight)


def one_vs_rest_log_odds(logits: Tensor) -> Tensor:
    """Convert logits to the log-odds of each class under softmax, `[batch, classes]`: zᵢ − ln Σⱼ≠ᵢ exp zⱼ."""
    log_p = logits.float().log_softmax(dim=-1)
    # ln (1 − p) is inaccurate for the most likely class, whose 1 − p may round to zero. The exact value replaces it.
    log_rest = torch.log1p(-log_p.exp())
    best_class = logits.argmax(dim=-1, keepdim=True)
    others_logsumexp = logits.float().scatter(-1, best_class, float("-inf")).logsumexp(dim=-1, keepdim=True)
    log_rest = log_rest.scatter(-1, best_class, others_logsumexp - logits.float().logsumexp(dim=-1, keepdim=True))
    return log_p - log_rest

"""DistilBERT text classifiers (https://arxiv.org/abs/1910.01108): `DistilBertForSequenceClassification`.

    config.json          sizes, classes; like BERT with half the layers and no segments
    model.safetensors    or its shards, or pytorch_model.bin
    tokenizer.json       or vocab.txt: WordPiece

A linear layer and ReLU transform the vector of [CLS] before the output layer.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headlight.model.checkpoints.reader import FolderReader
from headlight.model.core.classifier_config import EncoderClassifierConfig
from headlight.model.families.bert_family import BertFamilyReader, class_fields
from headlight.model.families.family_reader import ACTIVATIONS
from headlight.model.families.word_pieces import end_ids, read_word_pieces
from headlight.model.text.vocabulary import Vocabulary

DEFAULTS: dict[str, Any] = {
    "vocab_size": 30_522, "dim": 768, "n_layers": 6, "n_heads": 12, "hidden_dim": 3072, "activation": "gelu",
    "max_position_embeddings": 512, "pad_token_id": 0, "num_labels": 2,
}  # fmt: skip
LAYER = {
    "self_attention.query": "attention.q_lin",
    "self_attention.key": "attention.k_lin",
    "self_attention.value": "attention.v_lin",
    "self_attention.output": "attention.out_lin",
    "around_self_attention.norm": "sa_layer_norm",
    "feed_forward.wide": "ffn.lin1",
    "feed_forward.narrow": "ffn.lin2",
    "around_feed_forward.norm": "output_layer_norm",
}


class DistilBert(BertFamilyReader):
    """Folders of `model_type` "distilbert"."""

    tokenizer_classes = ("DistilBertTokenizer", "BertTokenizer")
    architecture = "DistilBertForSequenceClassification"
    tensor_prefix = "distilbert"
    stack = "transformer.layer"
    layer = LAYER
    head_layer = "pre_classifier"
    output_layer = "classifier"

    def map_config(self, folder: Path, values: dict[str, Any]) -> EncoderClassifierConfig:
        fields = self.fields(folder, values, DEFAULTS)
        return EncoderClassifierConfig(
            vocabulary=fields.integer("vocab_size"),
            d_model=fields.integer("dim"),
            heads=fields.integer("n_heads"),
            d_ff=fields.integer("hidden_dim"),
            layers=fields.integer("n_layers"),
            activation=fields.choice("activation", ACTIVATIONS),
            head_activation="relu",
            max_length=fields.integer("max_position_embeddings"),  # the weights have a table for sinusoids, too
            pad_id=fields.token_id("pad_token_id"),
            **class_fields(fields),
            **end_ids(folder),
        )

    def tokenizers(self, folder: Path, config: Any) -> tuple[Vocabulary, Vocabulary]:
        tokenizer = read_word_pieces(folder, config.vocabulary, pad_id=config.pad_id)
        return tokenizer, tokenizer


def reader() -> FolderReader:
    """Return the reader of this family."""
    return DistilBert()

"""BERT text classifiers (https://arxiv.org/abs/1810.04805): `BertForSequenceClassification`.

    config.json          sizes, classes; learned positions, a norm after the embedding, post-norm
    model.safetensors    or its shards, or pytorch_model.bin
    tokenizer.json       or vocab.txt: WordPiece

A text is enclosed in [CLS] and [SEP]. A linear layer and tanh transform the vector of [CLS] before the output layer.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headlight.model.checkpoints.reader import FolderReader
from headlight.model.core.classifier_config import EncoderClassifierConfig
from headlight.model.families.bert_family import BertFamilyReader, class_fields
from headlight.model.families.family_reader import ACTIVATIONS, ConfigFields
from headlight.model.families.word_pieces import end_ids, read_word_pieces
from headlight.model.text.vocabulary import Vocabulary

DEFAULTS: dict[str, Any] = {
    "vocab_size": 30_522, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
    "intermediate_size": 3072, "hidden_act": "gelu", "max_position_embeddings": 512, "layer_norm_eps": 1e-12,
    "pad_token_id": 0, "num_labels": 2,
}  # fmt: skip


def bert_fields(fields: ConfigFields) -> dict[str, Any]:
    """Return the fields that BERT and RoBERTa share: sizes, activation, padding, classes."""
    return {
        "vocabulary": fields.integer("vocab_size"),
        "d_model": fields.integer("hidden_size"),
        "heads": fields.integer("num_attention_heads"),
        "d_ff": fields.integer("intermediate_size"),
        "layers": fields.integer("num_hidden_layers"),
        "activation": fields.choice("hidden_act", ACTIVATIONS),
        "norm_epsilon": fields.number("layer_norm_eps"),
        "pad_id": fields.token_id("pad_token_id"),
        **class_fields(fields),
    }


class Bert(BertFamilyReader):
    """Folders of `model_type` "bert"."""

    tokenizer_classes: tuple[str, ...] = ("BertTokenizer",)
    architecture = "BertForSequenceClassification"
    tensor_prefix = "bert"
    head_layer = "bert.pooler.dense"
    output_layer = "classifier"

    def map_config(self, folder: Path, values: dict[str, Any]) -> EncoderClassifierConfig:
        fields = self.fields(folder, values, DEFAULTS)
        max_length = fields.integer("max_position_embeddings")
        return EncoderClassifierConfig(**bert_fields(fields), max_length=max_length, **end_ids(folder))

    def tokenizers(self, folder: Path, config: Any) -> tuple[Vocabulary, Vocabulary]:
        tokenizer = read_word_pieces(folder, config.vocabulary, pad_id=config.pad_id)
        return tokenizer, tokenizer


def reader() -> FolderReader:
    """Return the reader of this family."""
    return Bert()

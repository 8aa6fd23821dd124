"""BERT (https://arxiv.org/abs/1810.04805) that classifies texts: `BertForSequenceClassification`.

    config.json          sizes, classes; positions that were learnt, a norm after the embedding and after each sum
    model.safetensors    or its shards, or pytorch_model.bin
    tokenizer.json       or vocab.txt: pieces of words

A text stands between [CLS] and [SEP]. The vector of [CLS] goes through a matrix and tanh before it is judged.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headlight.model.core.classifier_config import EncoderClassifierConfig
from headlight.model.folders.reader import FolderReader
from headlight.model.foreign.bert_like import BertLike, of_classes
from headlight.model.foreign.common import ACTIVATIONS, Fields
from headlight.model.foreign.word_pieces import ends_of, read_word_pieces
from headlight.model.text.vocabulary import Vocabulary

DEFAULTS: dict[str, Any] = {
    "vocab_size": 30_522, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
    "intermediate_size": 3072, "hidden_act": "gelu", "max_position_embeddings": 512, "layer_norm_eps": 1e-12,
    "pad_token_id": 0, "num_labels": 2,
}  # fmt: skip


def of_bert(fields: Fields) -> dict[str, Any]:
    """The fields that BERT and RoBERTa share: sizes, activation, padding, classes."""
    return {
        "vocabulary": fields.whole("vocab_size"),
        "d_model": fields.whole("hidden_size"),
        "heads": fields.whole("num_attention_heads"),
        "d_ff": fields.whole("intermediate_size"),
        "layers": fields.whole("num_hidden_layers"),
        "activation": fields.choice("hidden_act", ACTIVATIONS),
        "norm_epsilon": fields.number("layer_norm_eps"),
        "pad_id": fields.token("pad_token_id"),
        **of_classes(fields),
    }


class Bert(BertLike):
    """Folders of `model_type` "bert"."""

    cutters = ("BertTokenizer",)
    architecture = "BertForSequenceClassification"
    base = "bert"
    dense = "bert.pooler.dense"
    verdict = "classifier"

    def mapped(self, folder: Path, values: dict[str, Any]) -> EncoderClassifierConfig:
        fields = self.fields(folder, values, DEFAULTS)
        most = fields.whole("max_position_embeddings")
        return EncoderClassifierConfig(**of_bert(fields), max_length=most, **ends_of(folder))

    def tokenizers(self, folder: Path, config: Any) -> tuple[Vocabulary, Vocabulary]:
        made = read_word_pieces(folder, config.vocabulary, pad_id=config.pad_id)
        return made, made


def reader() -> FolderReader:
    """The reader of this family."""
    return Bert()

"""ELECTRA text classifiers (https://arxiv.org/abs/2003.10555): `ElectraForSequenceClassification`.

    config.json          sizes, classes; like BERT
    model.safetensors    or its shards, or pytorch_model.bin
    tokenizer.json       or vocab.txt: WordPiece

The base and large sizes are read. The small one has embeddings of another width than its layers.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from headlight.model.checkpoints.reader import FolderReader
from headlight.model.core.classifier_config import EncoderClassifierConfig
from headlight.model.families.bert import DEFAULTS, Bert

OWN_DEFAULTS: dict[str, Any] = DEFAULTS | {
    "embedding_size": 128, "hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024,
}  # fmt: skip


class Electra(Bert):
    """Folders of `model_type` "electra"."""

    tokenizer_classes = ("ElectraTokenizer", "BertTokenizer")
    architecture = "ElectraForSequenceClassification"
    tensor_prefix = "electra"
    head_layer = "classifier.dense"
    output_layer = "classifier.out_proj"

    def map_config(self, folder: Path, values: dict[str, Any]) -> EncoderClassifierConfig:
        fields = self.fields(folder, values, OWN_DEFAULTS)
        width, embedding = fields.integer("hidden_size"), fields.integer("embedding_size")
        if width != embedding:
            fields.reject(
                f"embedding_size is {embedding} and hidden_size is {width}, but only models with embeddings of their "
                "layers' width are supported, such as ELECTRA's base and large sizes"
            )
        config = super().map_config(folder, OWN_DEFAULTS | values)
        return replace(config, head_activation="gelu")


def reader() -> FolderReader:
    """Return the reader of this family."""
    return Electra()

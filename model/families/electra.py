"""ELECTRA text classifiers (https://arxiv.org/abs/2003.10555): `ElectraForSequenceClassification`.

    config.json          sizes, classes; like BERT
    model.safetensors    or its shards, or pytorch_model.bin
    tokenizer.json       or vocab.txt: WordPiece

The embeddings of the small size are narrower than its layers, and a linear layer widens them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from headlight.model.checkpoints.reader import FolderReader
from headlight.model.core.classifier_config import EncoderClassifierConfig
from headlight.model.families.bert import DEFAULTS, Bert

ELECTRA_DEFAULTS: dict[str, Any] = DEFAULTS | {
    "embedding_size": 128, "hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024,
}  # fmt: skip


class Electra(Bert):
    """Folders of `model_type` "electra"."""

    tokenizer_classes = ("ElectraTokenizer", "BertTokenizer")
    architecture = "ElectraForSequenceClassification"
    tensor_prefix = "electra"
    embedding_projection = "embeddings_project"
    head_layer = "classifier.dense"
    output_layer = "classifier.out_proj"

    def map_config(self, folder: Path, values: dict[str, Any]) -> EncoderClassifierConfig:
        fields = self.fields(folder, values, ELECTRA_DEFAULTS)
        width, embedding_width = fields.integer("hidden_size"), fields.integer("embedding_size")
        config = super().map_config(folder, ELECTRA_DEFAULTS | values)
        is_narrow = embedding_width != width
        return replace(config, head_activation="gelu", embedding_width=embedding_width if is_narrow else None)


def reader() -> FolderReader:
    """Return the reader of this family."""
    return Electra()

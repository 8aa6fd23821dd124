"""ALBERT text classifiers (https://arxiv.org/abs/1909.11942): `AlbertForSequenceClassification`.

    config.json          sizes, classes; like BERT
    model.safetensors    or its shards, or pytorch_model.bin
    tokenizer.json       or spiece.model: Unigram pieces

The layers of a group share their weights; in published models, all layers are one group. Embeddings are narrower than
the layers, and a linear layer widens them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from torch import Tensor

from headlight.model.checkpoints.reader import CONFIG, FolderReader
from headlight.model.checkpoints.storage import Weights, read_json
from headlight.model.core.classifier_config import EncoderClassifierConfig
from headlight.model.families.bert import DEFAULTS, bert_fields
from headlight.model.families.bert_family import BertFamilyReader
from headlight.model.families.family_reader import TOKENIZER_CONFIG, ConfigFields, read_optional_json
from headlight.model.families.unigram import read_unigram, unigram_end_ids
from headlight.model.text.vocabulary import Vocabulary

PIECES = "spiece.model"
SPECIAL_TOKENS = {
    "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "<pad>", "mask_token": "[MASK]",
    "bos_token": "[CLS]", "eos_token": "[SEP]",
}  # fmt: skip
ALBERT_DEFAULTS: dict[str, Any] = DEFAULTS | {
    "vocab_size": 30_000, "embedding_size": 128, "hidden_size": 4096, "num_attention_heads": 64,
    "intermediate_size": 16_384, "hidden_act": "gelu_new", "num_hidden_groups": 1,
}  # fmt: skip
LAYER = {
    "self_attention.query": "albert_layers.0.attention.query",
    "self_attention.key": "albert_layers.0.attention.key",
    "self_attention.value": "albert_layers.0.attention.value",
    "self_attention.output": "albert_layers.0.attention.dense",
    "around_self_attention.norm": "albert_layers.0.attention.LayerNorm",
    "feed_forward.wide": "albert_layers.0.ffn",
    "feed_forward.narrow": "albert_layers.0.ffn_output",
    "around_feed_forward.norm": "albert_layers.0.full_layer_layer_norm",
}


class Albert(BertFamilyReader):
    """Folders of `model_type` "albert"."""

    tokenizer_classes = ("AlbertTokenizer",)
    architecture = "AlbertForSequenceClassification"
    tensor_prefix = "albert"
    stack = "encoder.albert_layer_groups"
    layer = LAYER
    embedding_projection = "encoder.embedding_hidden_mapping_in"
    head_layer = "albert.pooler"
    output_layer = "classifier"
    optional_tensors = (r".*position_ids", r".*token_type_ids", r"(predictions|sop_classifier)\..*")

    def map_config(self, folder: Path, values: dict[str, Any]) -> EncoderClassifierConfig:
        fields = self.fields(folder, values, ALBERT_DEFAULTS)
        fields.require_neutral(inner_group_num=1)
        return EncoderClassifierConfig(
            **bert_fields(fields),
            **unigram_end_ids(folder, PIECES, SPECIAL_TOKENS),
            layer_groups=fields.integer("num_hidden_groups"),
            embedding_width=fields.integer("embedding_size"),
            max_length=fields.integer("max_position_embeddings"),
        )

    def load_weight(self, store: Weights, name: str) -> Tensor:
        fields = ConfigFields(read_json(store.folder / CONFIG), ALBERT_DEFAULTS, store.folder / CONFIG)
        group_size = fields.integer("num_hidden_layers") / fields.integer("num_hidden_groups")
        return super().load_weight(
            store, re.sub(r"(?<=layers\.)\d+", lambda layer: str(int(int(layer[0]) / group_size)), name)
        )

    def tokenizers(self, folder: Path, config: Any) -> tuple[Vocabulary, Vocabulary]:
        settings = read_optional_json(folder, TOKENIZER_CONFIG)
        steps = ["opening quotes", "closing quotes"]
        steps += [] if settings.get("keep_accents") is True else ["decompose", "strip accents"]
        steps += [] if settings.get("do_lower_case") is False else ["lowercase"]
        tokenizer = read_unigram(
            folder, config.vocabulary, pad_id=config.pad_id, file=PIECES, steps=steps, special_tokens=SPECIAL_TOKENS
        )
        return tokenizer, tokenizer


def reader() -> FolderReader:
    """Return the reader of this family."""
    return Albert()

"""DeBERTa-v2 and -v3 text classifiers (https://arxiv.org/abs/2111.09543): `DebertaV2ForSequenceClassification`.

    config.json          sizes, classes; disentangled attention, whose scores also compare tokens with distances
    model.safetensors    or its shards, or pytorch_model.bin
    tokenizer.json       or spm.model: Unigram pieces

All sizes of version 3 are supported. The large sizes of version 2 are not: they have a convolution after the first
layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from headlight.model.checkpoints.reader import FolderReader
from headlight.model.checkpoints.storage import Weights
from headlight.model.core.classifier_config import EncoderClassifierConfig
from headlight.model.families.bert import DEFAULTS, bert_fields
from headlight.model.families.bert_family import LAYER, SEGMENTS, BertFamilyReader
from headlight.model.families.family_reader import TOKENIZER_CONFIG, ConfigFields, read_optional_json
from headlight.model.families.unigram import read_unigram, unigram_end_ids
from headlight.model.text.vocabulary import Vocabulary

PIECES = "spm.model"
SPECIAL_TOKENS = {
    "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "mask_token": "[MASK]",
    "bos_token": "[CLS]", "eos_token": "[SEP]",
}  # fmt: skip
DEBERTA_DEFAULTS: dict[str, Any] = DEFAULTS | {
    "vocab_size": 128_100, "hidden_size": 1536, "num_hidden_layers": 24, "num_attention_heads": 24,
    "intermediate_size": 6144, "layer_norm_eps": 1e-7, "relative_attention": False, "max_relative_positions": -1,
    "position_buckets": -1, "position_biased_input": True, "share_att_key": False, "norm_rel_ebd": "none",
    "type_vocab_size": 0, "pos_att_type": None, "pooler_hidden_act": "gelu", "conv_kernel_size": 0,
}  # fmt: skip
DEBERTA_LAYER = LAYER | {
    "self_attention.query": "attention.self.query_proj",
    "self_attention.key": "attention.self.key_proj",
    "self_attention.value": "attention.self.value_proj",
    "self_attention.position_key": "attention.self.pos_key_proj",
    "self_attention.position_query": "attention.self.pos_query_proj",
}
POSITION_KEYS, POSITION_QUERIES = "c2p", "p2c"  # content-to-position and position-to-content scores


class DebertaV2(BertFamilyReader):
    """Folders of `model_type` "deberta-v2"."""

    tokenizer_classes = ("DebertaV2Tokenizer",)
    architecture = "DebertaV2ForSequenceClassification"
    tensor_prefix = "deberta"
    layer = DEBERTA_LAYER
    head_layer = "pooler.dense"
    output_layer = "classifier"
    optional_tensors = (
        r".*position_ids",
        r"deberta\.embeddings\.position_embeddings\..*",
        r"(cls|lm_\w+|mask_\w+)\..*",
    )

    def map_config(self, folder: Path, values: dict[str, Any]) -> EncoderClassifierConfig:
        fields = self.fields(folder, values, DEBERTA_DEFAULTS)
        fields.require_neutral(
            relative_attention=True, position_biased_input=False, conv_kernel_size=0, pooler_hidden_act="gelu",
            legacy=True,
        )  # fmt: skip
        width = fields.integer("hidden_size")
        fields.require_neutral(
            embedding_size=width,
            pooler_hidden_size=width,
            attention_head_size=width // fields.integer("num_attention_heads"),
        )
        position_terms = self._position_terms(fields)
        distances, buckets = fields.integer("max_relative_positions"), fields.integer("position_buckets")
        return EncoderClassifierConfig(
            **bert_fields(fields),
            **unigram_end_ids(folder, PIECES, SPECIAL_TOKENS),
            head_activation="gelu",
            positions="disentangled",
            distance_buckets=max(0, buckets),
            max_distance=distances if distances > 0 else fields.integer("max_position_embeddings"),
            distance_norm="layer_norm" in fields.text("norm_rel_ebd").lower(),
            position_keys=POSITION_KEYS in position_terms,
            position_queries=POSITION_QUERIES in position_terms,
            shared_position_weights=fields.boolean("share_att_key"),
            max_length=fields.integer("max_position_embeddings"),
        )

    def _position_terms(self, fields: ConfigFields) -> Sequence[str]:
        value = fields.get("pos_att_type")
        terms = value.lower().split("|") if isinstance(value, str) else value or []
        if not isinstance(terms, list) or not set(terms) <= {POSITION_KEYS, POSITION_QUERIES}:
            fields.reject(f"pos_att_type is {value!r}, but only {POSITION_KEYS} and {POSITION_QUERIES} are supported")
        return [str(term) for term in terms]

    def tensor_names(self, name: str) -> Sequence[str]:
        if name == "encoder.embedding.positions.table":
            return [f"{self.tensor_prefix}.encoder.rel_embeddings.weight"]
        if name.startswith("encoder.embedding.positions.norm."):
            return [f"{self.tensor_prefix}.encoder.LayerNorm.{name.rpartition('.')[2]}"]
        return super().tensor_names(name)

    def load_weight(self, store: Weights, name: str) -> Tensor:
        if name == "encoder.embedding.positions.table":
            return store.read(self.tensor_names(name)[0])
        tensor = super().load_weight(store, name)
        segments = f"{self.tensor_prefix}.embeddings.{SEGMENTS}.weight"
        if name == "encoder.embedding.table.weight" and segments in store:
            return tensor.float() + store.read(segments)[0].float()
        return tensor

    def tokenizers(self, folder: Path, config: Any) -> tuple[Vocabulary, Vocabulary]:
        settings = read_optional_json(folder, TOKENIZER_CONFIG)
        steps = ["lowercase"] if settings.get("do_lower_case") is True else []
        tokenizer = read_unigram(
            folder, config.vocabulary, pad_id=config.pad_id, file=PIECES, steps=steps, special_tokens=SPECIAL_TOKENS
        )
        return tokenizer, tokenizer


def reader() -> FolderReader:
    """Return the reader of this family."""
    return DebertaV2()

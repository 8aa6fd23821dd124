"""Base of the BART family: Marian, M2M100, BART, mBART and Pegasus share field and tensor names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor

from headlight.model.checkpoints.storage import Weights
from headlight.model.core.config import TransformerConfig
from headlight.model.families.family_reader import (
    ACTIVATIONS,
    GENERATION_FILE,
    OUTPUT,
    TABLE,
    TARGET_TABLE,
    ConfigFields,
    FamilyReader,
    read_optional_json,
)

BIAS = "final_logits_bias"
DECODER_START_KEY = "decoder_start_token_id"
POSITIONS = "model.{}.embed_positions.weight"
STORED_POSITIONS = POSITIONS.format("(en|de)coder").replace(".", r"\.")
ATTENTION = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
LAYER = {
    **{f"self_attention.{ours}": f"self_attn.{theirs}" for ours, theirs in ATTENTION.items()},
    **{f"cross_attention.{ours}": f"encoder_attn.{theirs}" for ours, theirs in ATTENTION.items()},
    "around_self_attention.norm": "self_attn_layer_norm",
    "around_cross_attention.norm": "encoder_attn_layer_norm",
    "around_feed_forward.norm": "final_layer_norm",
    "feed_forward.wide": "fc1",
    "feed_forward.narrow": "fc2",
}
_ENCODER, _DECODER, _SHARED = (
    f"model.{part}.weight" for part in ("encoder.embed_tokens", "decoder.embed_tokens", "shared")
)
TABLES = {
    TABLE: (_ENCODER, _SHARED, _DECODER, "lm_head.weight"),
    TARGET_TABLE: (_DECODER, _SHARED, "lm_head.weight", _ENCODER),
    OUTPUT: ("lm_head.weight", _DECODER, _SHARED, _ENCODER),
}


def bart_fields(fields: ConfigFields) -> dict[str, Any]:
    """Return the fields that these families share: sizes, activation, special ids."""
    return {
        "d_model": fields.integer("d_model"),
        "heads": fields.equal("encoder_attention_heads", "decoder_attention_heads"),
        "d_ff": fields.equal("encoder_ffn_dim", "decoder_ffn_dim"),
        "encoder_layers": fields.integer("encoder_layers"),
        "decoder_layers": fields.integer("decoder_layers"),
        "max_length": fields.integer("max_position_embeddings"),
        "activation": fields.choice("activation_function", ACTIVATIONS),
        "scale_embedding": fields.boolean("scale_embedding"),
        "tie_output": fields.boolean("tie_word_embeddings"),
        "dropout": 0.0,
        "pad_id": fields.token_id("pad_token_id"),
        "start_id": fields.token_id("decoder_start_token_id"),
        "end_id": fields.token_ids("eos_token_id")[0],  # `read_generation_defaults` reads additional end tokens
    }


def start_fields(folder: Path) -> dict[str, Any]:
    """Return the decoder start token of `generation_config.json`, if any, which overrides that of `config.json`."""
    values = read_optional_json(folder, GENERATION_FILE)
    return {DECODER_START_KEY: values[DECODER_START_KEY]} if values.get(DECODER_START_KEY) is not None else {}


def bart_tensor_name(name: str) -> str:
    """Map the name of a tensor of our model to BART's name."""
    if name == "decoder.output.words.bias":
        return BIAS
    match = re.fullmatch(r"((?:en|de)coder\.layers\.\d+)\.(.+)\.(weight|bias)", name)
    if match:
        return f"model.{match[1]}.{LAYER[match[2]]}.{match[3]}"
    if name.endswith("embedding.positions.table"):
        return POSITIONS.format(name.partition(".")[0])
    return f"model.{name.replace('embedding.norm', 'layernorm_embedding').replace('final_norm', 'layer_norm')}"


class BartFamilyReader(FamilyReader):
    """Reader of a family with BART's tensor names."""

    embedding_tables = TABLES
    may_have_output_bias = True

    def complete_config(self, config: TransformerConfig, store: Weights) -> TransformerConfig:
        return replace(
            super().complete_config(config, store), final_logits_bias=self.may_have_output_bias and BIAS in store
        )

    def tensor_names(self, name: str) -> Sequence[str]:
        return [bart_tensor_name(name)]

    def load_weight(self, store: Weights, name: str) -> Tensor:
        tensor = super().load_weight(store, name)
        if name == "decoder.output.words.bias" and tensor.ndim == 2 and len(tensor) == 1:
            return tensor[0]  # stored as `[1, vocabulary]`
        return tensor

"""Published configurations of translators: their `config.json` gives our configuration and a model of the same size.

Sources: huggingface.co/NAME/blob/main/config.json of each NAME below; only fields, without weights and vocabularies.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch

from headlight.model.checkpoints.reader import FolderReader
from headlight.model.core.config import TransformerConfig
from headlight.model.core.transformer import Transformer
from headlight.model.families import FAMILIES

LARGE = {
    "d_model": 1024, "encoder_layers": 12, "decoder_layers": 12, "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096,
    "encoder_attention_heads": 16, "decoder_attention_heads": 16, "max_position_embeddings": 1024,
    "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "forced_eos_token_id": 2,
}  # fmt: skip
BART = LARGE | {
    "model_type": "bart", "activation_function": "gelu", "normalize_before": False, "add_final_layer_norm": False,
    "scale_embedding": False, "decoder_start_token_id": 2,
}  # fmt: skip
MBART = LARGE | {
    "model_type": "mbart", "normalize_before": True, "add_final_layer_norm": True, "normalize_embedding": True,
    "add_bias_logits": False, "static_position_embeddings": False, "scale_embedding": True,
}  # fmt: skip
NLLB = {
    "model_type": "m2m_100", "d_model": 1024, "encoder_attention_heads": 16, "decoder_attention_heads": 16,
    "max_position_embeddings": 1024, "activation_function": "relu", "scale_embedding": True, "vocab_size": 256206,
    "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2, "attention_dropout": 0.1,
    "init_std": 0.02, "tokenizer_class": "NllbTokenizer",
}  # fmt: skip
# Name: (fields of config.json, expected fields of our configuration, millions of parameters)
PUBLISHED: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    "facebook/bart-large-cnn": (
        BART | {"vocab_size": 50264, "forced_bos_token_id": 0, "num_beams": 4, "length_penalty": 2.0},
        {"norm_first": False, "final_norm": False, "position_offset": 2, "embedding_norm": True, "activation": "gelu"},
        406,
    ),
    "facebook/bart-base": (
        BART
        | {
            "vocab_size": 50265, "d_model": 768, "encoder_layers": 6, "decoder_layers": 6, "encoder_ffn_dim": 3072,
            "decoder_ffn_dim": 3072, "encoder_attention_heads": 12, "decoder_attention_heads": 12,
        },
        {"d_model": 768, "heads": 12, "positions": "learned", "max_length": 1024},
        139,
    ),
    "facebook/mbart-large-50-many-to-many-mmt": (
        MBART
        | {
            "vocab_size": 250054, "activation_function": "relu", "decoder_start_token_id": 2,
            "tokenizer_class": "MBart50Tokenizer",
        },
        {"norm_first": True, "final_norm": True, "embedding_norm": True, "scale_embedding": True, "activation": "relu"},
        610,
    ),
    "facebook/mbart-large-en-ro": (
        MBART | {"vocab_size": 250027, "activation_function": "gelu", "decoder_start_token_id": 250020},
        {"start_id": 250020, "norm_first": True, "positions": "learned", "activation": "gelu"},
        610,
    ),
    "facebook/nllb-200-distilled-600M": (
        NLLB
        | {"encoder_layers": 12, "decoder_layers": 12, "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096},
        {"norm_first": True, "final_norm": True, "activation": "relu", "scale_embedding": True, "start_id": 2},
        615,
    ),
    "facebook/nllb-200-1.3B": (
        NLLB
        | {"encoder_layers": 24, "decoder_layers": 24, "encoder_ffn_dim": 8192, "decoder_ffn_dim": 8192},
        {"d_ff": 8192, "encoder_layers": 24, "decoder_layers": 24},
        1370,
    ),
    "Helsinki-NLP/opus-mt-tc-big-en-pt": (
        {
            "model_type": "marian", "d_model": 1024, "encoder_layers": 6, "decoder_layers": 6, "encoder_ffn_dim": 4096,
            "decoder_ffn_dim": 4096, "encoder_attention_heads": 16, "decoder_attention_heads": 16,
            "max_position_embeddings": 1024, "activation_function": "relu", "scale_embedding": True,
            "share_encoder_decoder_embeddings": True, "static_position_embeddings": True, "vocab_size": 54776,
            "decoder_vocab_size": 54776, "pad_token_id": 54775, "decoder_start_token_id": 54775, "eos_token_id": 44670,
            "forced_eos_token_id": 44670, "bos_token_id": 0, "normalize_embedding": False,
        },
        {"end_id": 44670, "start_id": 54775, "positions": "sinusoidal_halves", "activation": "relu"},
        232,
    ),
    "google/pegasus-xsum": (
        LARGE
        | {
            "model_type": "pegasus", "vocab_size": 96103, "encoder_layers": 16, "decoder_layers": 16,
            "max_position_embeddings": 512, "activation_function": "relu", "scale_embedding": True,
            "normalize_before": True, "normalize_embedding": False, "add_final_layer_norm": True,
            "static_position_embeddings": True, "add_bias_logits": False, "pad_token_id": 0, "eos_token_id": 1,
            "decoder_start_token_id": 0, "forced_eos_token_id": 1,
        },
        {"norm_first": True, "final_norm": True, "positions": "sinusoidal_halves", "position_offset": 0},
        568,
    ),
    "google/byt5-small": (
        {
            "model_type": "t5", "d_model": 1472, "d_kv": 64, "d_ff": 3584, "num_heads": 6, "num_layers": 12,
            "num_decoder_layers": 4, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False,
            "vocab_size": 384, "relative_attention_num_buckets": 32, "tokenizer_class": "ByT5Tokenizer",
            "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0,
        },
        {"encoder_layers": 12, "decoder_layers": 4, "activation": "geglu", "scale_output": False, "max_length": 1024},
        299,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_config_gives_model_of_same_size(tmp_path: Path, name: str) -> None:
    fields, expected, millions = PUBLISHED[name]
    (tmp_path / "config.json").write_text(json.dumps(fields))
    reader: FolderReader = import_module(FAMILIES[fields["model_type"]]).reader()
    config = reader.config(tmp_path, fields)
    assert isinstance(config, TransformerConfig)
    assert {key: getattr(config, key) for key in expected} == expected
    assert (config.d_model, config.source_vocabulary) == (fields["d_model"], fields["vocab_size"])
    with torch.device("meta"):
        model = Transformer(type(config)(**vars(config) | {"share_embeddings": True}))
    assert model.parameter_count() // 10**6 == millions

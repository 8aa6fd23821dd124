"""BART (https://arxiv.org/abs/1910.13461), fine-tuned for summaries or other text generation.

    config.json          sizes; learned positions, a norm after the embedding, post-norm
    model.safetensors    or its shards, or pytorch_model.bin
    tokenizer.json       or vocab.json and merges.txt: byte-level BPE

The source is enclosed in <s> and </s>.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headlight.model.checkpoints.reader import CONFIG, FolderReader
from headlight.model.core.config import TransformerConfig
from headlight.model.families.bart_family import BIAS, BartFamilyReader, bart_fields, start_fields
from headlight.model.families.byte_level import read_byte_pairs, special_token_id
from headlight.model.families.family_reader import ConfigFields
from headlight.model.text.byte_pairs import BytePairTokenizer
from headlight.model.text.languages import Languages
from headlight.model.text.vocabulary import Vocabulary

POSITION_OFFSET = 2  # unused rows at the start of the position table
DEFAULTS: dict[str, Any] = {
    "vocab_size": 50_265, "d_model": 1024, "max_position_embeddings": 1024, "activation_function": "gelu",
    "encoder_layers": 12, "encoder_ffn_dim": 4096, "encoder_attention_heads": 16,
    "decoder_layers": 12, "decoder_ffn_dim": 4096, "decoder_attention_heads": 16,
    "scale_embedding": False, "tie_word_embeddings": True,
    "decoder_start_token_id": 2, "pad_token_id": 1, "eos_token_id": 2,
}  # fmt: skip


def learnt_position_fields(fields: ConfigFields) -> dict[str, Any]:
    """Return the fields that BART and mBART share: learned positions, and a norm after the embedding."""
    fields.require_neutral(
        static_position_embeddings=False, normalize_embedding=True, add_bias_logits=False,
        extra_pos_embeddings=POSITION_OFFSET, quantization_config=None,
    )  # fmt: skip
    size = fields.integer("vocab_size")
    return {
        "source_vocabulary": size,
        "target_vocabulary": size,
        **bart_fields(fields),
        "positions": "learned",
        "position_offset": POSITION_OFFSET,
        "embedding_norm": True,
    }


class Bart(BartFamilyReader):
    """Folders of `model_type` "bart"."""

    tokenizer_classes = ("BartTokenizer", "RobertaTokenizer")
    optional_tensors = (BIAS,)

    def map_config(self, folder: Path, values: dict[str, Any]) -> TransformerConfig:
        fields = ConfigFields(values | start_fields(folder), DEFAULTS, folder / CONFIG)
        fields.require_neutral(normalize_before=False, add_final_layer_norm=False)
        return TransformerConfig(**learnt_position_fields(fields))

    def tokenizers(self, folder: Path, config: TransformerConfig) -> tuple[Vocabulary, Vocabulary]:
        tokenizer = read_byte_pairs(
            folder, config.source_vocabulary, pad_id=config.pad_id, start_id=config.start_id, end_id=config.end_id
        )
        return tokenizer, tokenizer

    def languages(self, folder: Path, config: TransformerConfig, source: Vocabulary) -> Languages:
        """Return no languages, only the special token with which every source begins."""
        assert isinstance(source, BytePairTokenizer)  # noqa: S101 - from `tokenizers`
        return Languages(before=(special_token_id(folder, source, "cls_token", "<s>"),))


def reader() -> FolderReader:
    """Return the reader of this family."""
    return Bart()

"""BART (https://arxiv.org/abs/1910.13461): summaries, and whatever else it was taught to write.

    config.json          sizes; positions that were learnt, a norm after the embedding, norm after the sum
    model.safetensors    or its shards, or pytorch_model.bin
    tokenizer.json       or vocab.json and merges.txt: bytes and their merges

The source stands between <s> and </s>.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headlight.model.core.config import TransformerConfig
from headlight.model.folders.reader import CONFIG, FolderReader
from headlight.model.foreign.bart_like import BIAS, BartLike, of_bart, of_start
from headlight.model.foreign.byte_level import read_byte_pairs, token_named
from headlight.model.foreign.common import Fields
from headlight.model.text.byte_pairs import BytePairTokenizer
from headlight.model.text.languages import Languages
from headlight.model.text.vocabulary import Vocabulary

OFFSET = 2  # rows of the table of positions that no token takes
DEFAULTS: dict[str, Any] = {
    "vocab_size": 50_265, "d_model": 1024, "max_position_embeddings": 1024, "activation_function": "gelu",
    "encoder_layers": 12, "encoder_ffn_dim": 4096, "encoder_attention_heads": 16,
    "decoder_layers": 12, "decoder_ffn_dim": 4096, "decoder_attention_heads": 16,
    "scale_embedding": False, "tie_word_embeddings": True,
    "decoder_start_token_id": 2, "pad_token_id": 1, "eos_token_id": 2,
}  # fmt: skip


def of_learnt_positions(fields: Fields) -> dict[str, Any]:
    """The fields of BART and mBART, which have one table of positions a side and a norm after the embedding."""
    fields.neutral(
        static_position_embeddings=False, normalize_embedding=True, add_bias_logits=False, extra_pos_embeddings=OFFSET,
        quantization_config=None,
    )  # fmt: skip
    size = fields.whole("vocab_size")
    return {
        "source_vocabulary": size,
        "target_vocabulary": size,
        **of_bart(fields),
        "positions": "learned",
        "position_offset": OFFSET,
        "embedding_norm": True,
    }


class Bart(BartLike):
    """Folders of `model_type` "bart"."""

    cutters = ("BartTokenizer", "RobertaTokenizer")
    spares = (BIAS,)

    def mapped(self, folder: Path, values: dict[str, Any]) -> TransformerConfig:
        fields = Fields(values | of_start(folder), DEFAULTS, folder / CONFIG)
        fields.neutral(normalize_before=False, add_final_layer_norm=False)
        return TransformerConfig(**of_learnt_positions(fields))

    def tokenizers(self, folder: Path, config: TransformerConfig) -> tuple[Vocabulary, Vocabulary]:
        made = read_byte_pairs(
            folder, config.source_vocabulary, pad_id=config.pad_id, start_id=config.start_id, end_id=config.end_id
        )
        return made, made

    def languages(self, folder: Path, config: TransformerConfig, source: Vocabulary) -> Languages:
        """No language tokens: every source begins with the same token."""
        assert isinstance(source, BytePairTokenizer)  # noqa: S101 - made above
        return Languages(before=(token_named(folder, source, "cls_token", "<s>"),))


def reader() -> FolderReader:
    """The reader of this family."""
    return Bart()

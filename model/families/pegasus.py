"""Pegasus (https://arxiv.org/abs/1912.08777), a summarisation model.

config.json          sizes; positions with all sines before all cosines, pre-norm
model.safetensors    or its shards, or pytorch_model.bin
spiece.model         SentencePiece model; its ids follow those of tokens that only pre-training uses
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headlight.model.checkpoints.reader import CONFIG, FolderReader
from headlight.model.core.config import TransformerConfig
from headlight.model.errors import TokenizerError
from headlight.model.families.bart_family import bart_fields, start_fields
from headlight.model.families.family_reader import (
    ADVICE,
    TOKENIZER_CONFIG,
    ConfigFields,
    pad_entries,
    read_optional_json,
    vocabulary_entries,
)
from headlight.model.families.marian import DEFAULTS as MARIAN_DEFAULTS
from headlight.model.families.marian import Marian
from headlight.model.families.unigram import read_pieces
from headlight.model.text.languages import Languages
from headlight.model.text.piece_tokenizer import PieceTokenizer
from headlight.model.text.vocabulary import Vocabulary

PIECES = "spiece.model"
DEFAULT_OFFSET = 103  # number of tokens that only pre-training uses
DEFAULTS: dict[str, Any] = MARIAN_DEFAULTS | {
    "vocab_size": 50_265, "decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1,
}  # fmt: skip


class Pegasus(Marian):
    """Folders of `model_type` "pegasus": Marian with pre-norm and a different vocabulary."""

    tokenizer_classes = ("PegasusTokenizer",)

    def map_config(self, folder: Path, values: dict[str, Any]) -> TransformerConfig:
        fields = ConfigFields(values | start_fields(folder), DEFAULTS, folder / CONFIG)
        fields.require_neutral(
            normalize_before=True, normalize_embedding=False, add_final_layer_norm=True, add_bias_logits=False,
            static_position_embeddings=True, quantization_config=None,
        )  # fmt: skip
        size = fields.integer("vocab_size")
        return TransformerConfig(
            source_vocabulary=size,
            target_vocabulary=size,
            **bart_fields(fields),
            positions="sinusoidal_halves",
            norm_first=True,
            final_norm=True,
        )

    def tokenizers(self, folder: Path, config: TransformerConfig) -> tuple[Vocabulary, Vocabulary]:
        settings = read_optional_json(folder, TOKENIZER_CONFIG)
        model = read_pieces(folder, PIECES)
        offset = settings.get("offset", DEFAULT_OFFSET)
        if type(offset) is not int or not 2 <= offset <= config.source_vocabulary:
            raise TokenizerError(f"{folder}: offset is {offset!r}, but must fit the vocabulary. {ADVICE}")
        texts = [piece.text for piece in model.pieces]
        # Two mask tokens, and `<unk_…>` tokens that only pre-training uses.
        first = ["<pad>", "</s>", "<mask_1>", "<mask_2>", *(f"<unk_{number}>" for number in range(2, offset))]
        first = first[: offset + 2]
        if texts[: len(first)] == first:  # from tokenizer.json, which lists pieces in id order
            all_texts = texts
        elif texts[:3] == ["<pad>", "</s>", "<unk>"]:
            all_texts = [*first, *texts[2:]]
        else:
            raise TokenizerError(f"{folder}: {PIECES} does not begin with this family's special tokens. {ADVICE}")
        tokenizer = PieceTokenizer(
            model,
            pad_entries(vocabulary_entries(model, all_texts, {*first, "<unk>"}), config.source_vocabulary, str(folder)),
            pad_id=config.pad_id,
            start_id=config.start_id,
            end_id=config.end_id,
            unknown_id=offset + 2,
            trims="first",
            cleans=settings.get("clean_up_tokenization_spaces") is True,
        )
        return tokenizer, tokenizer

    def languages(self, folder: Path, config: TransformerConfig, source: Vocabulary) -> Languages:
        """Return no languages: a summary is in the language of its source."""
        return Languages()


def reader() -> FolderReader:
    """Return the reader of this family."""
    return Pegasus()

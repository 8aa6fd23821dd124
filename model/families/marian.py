"""Marian models of OPUS-MT (https://github.com/Helsinki-NLP/Opus-MT).

config.json            sizes; positions with all sines before all cosines, post-norm
model.safetensors      or pytorch_model.bin
vocab.json             piece → id, for both languages unless there is a target_vocab.json
source.spm, target.spm SentencePiece model of each language
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor

from headlight.model.checkpoints.reader import FolderReader
from headlight.model.checkpoints.storage import Weights
from headlight.model.core.config import TransformerConfig
from headlight.model.core.positions import sinusoidal_table
from headlight.model.errors import TokenizerError
from headlight.model.families.bart_family import (
    BIAS,
    DECODER_START_KEY,
    POSITIONS,
    STORED_POSITIONS,
    BartFamilyReader,
    bart_fields,
    start_fields,
)
from headlight.model.families.family_reader import (
    TOKENIZER_CONFIG,
    ConfigFields,
    pad_entries,
    read_numbered_pieces,
    read_optional_json,
    vocabulary_entries,
)
from headlight.model.families.language_codes import default_target
from headlight.model.text.languages import Language, Languages
from headlight.model.text.piece_tokenizer import Entry, PieceTokenizer
from headlight.model.text.sentencepiece import read_sentencepiece
from headlight.model.text.vocabulary import Vocabulary

VOCABULARY, TARGET_VOCABULARY = "vocab.json", "target_vocab.json"
SIDES = ("encoder", "decoder")
SINUSOID_TOLERANCE = 2e-3  # sinusoids may be stored in half precision
DEFAULTS: dict[str, Any] = {
    "vocab_size": 58_101, "d_model": 1024, "max_position_embeddings": 1024, "activation_function": "gelu",
    "encoder_layers": 12, "encoder_ffn_dim": 4096, "encoder_attention_heads": 16,
    "decoder_layers": 12, "decoder_ffn_dim": 4096, "decoder_attention_heads": 16,
    "scale_embedding": False, "share_encoder_decoder_embeddings": True, "tie_word_embeddings": True,
    "decoder_start_token_id": 58_100, "pad_token_id": 58_100, "eos_token_id": 0,
}  # fmt: skip


class Marian(BartFamilyReader):
    """Folders of `model_type` "marian"."""

    tokenizer_classes: Sequence[str] = ("MarianTokenizer", "MarianMTTokenizer")
    optional_tensors = (STORED_POSITIONS, BIAS)

    def map_config(self, folder: Path, values: dict[str, Any]) -> TransformerConfig:
        fields_with_start = values | start_fields(folder)
        if fields_with_start.get(DECODER_START_KEY) is None and fields_with_start.get("pad_token_id") is not None:
            # The oldest folders lack this field; their start token is the padding token.
            fields_with_start[DECODER_START_KEY] = fields_with_start["pad_token_id"]
        fields = ConfigFields(fields_with_start, DEFAULTS, folder / "config.json")
        fields.require_neutral(
            normalize_before=False, normalize_embedding=False, add_final_layer_norm=False, add_bias_logits=False,
            static_position_embeddings=True, quantization_config=None,
        )  # fmt: skip
        source = target = fields.integer("vocab_size")
        if not fields.boolean("share_encoder_decoder_embeddings") and fields.has("decoder_vocab_size"):
            target = fields.integer("decoder_vocab_size")
        return TransformerConfig(
            source_vocabulary=source,
            target_vocabulary=target,
            **bart_fields(fields),
            positions="sinusoidal_halves",
            final_logits_bias=True,
        )

    def complete_config(self, config: TransformerConfig, store: Weights) -> TransformerConfig:
        result = super().complete_config(config, store)
        tables = [store.read(name) for side in SIDES if (name := POSITIONS.format(side)) in store]
        if all(_are_sinusoids(table) for table in tables):
            return result
        return replace(result, positions="learned", max_length=min(map(len, tables)))

    def load_weight(self, store: Weights, name: str) -> Tensor:
        side = name.partition(".")[0]
        if name == f"{side}.embedding.positions.table":  # exists only if the positions of a side are not sinusoids
            return self._position_table(store, side)
        return super().load_weight(store, name)

    def _position_table(self, store: Weights, side: str) -> Tensor:
        """Return the position table of one side in the folder, or sinusoids if only the other side has a table."""
        tables = {side: store.read(name) for side in SIDES if (name := POSITIONS.format(side)) in store}
        length, width = min(map(len, tables.values())), next(iter(tables.values())).shape[1]
        return tables[side][:length] if side in tables else sinusoidal_table(length, width, halves=True)

    def tokenizers(self, folder: Path, config: TransformerConfig) -> tuple[Vocabulary, Vocabulary]:
        settings = read_optional_json(folder, TOKENIZER_CONFIG)
        is_separate = settings.get("separate_vocabs") is True
        source_texts = read_numbered_pieces(folder, VOCABULARY)
        target_texts = read_numbered_pieces(folder, TARGET_VOCABULARY) if is_separate else source_texts
        special = {str(settings.get(f"{name}_token") or f"<{token}>") for name, token in SPECIAL_TOKENS}
        models = [read_sentencepiece(folder / name) for name in ("source.spm", "target.spm")]
        sizes = (config.source_vocabulary, config.target_vocabulary)
        unknown = str(settings.get("unk_token") or "<unk>")
        tokenizers: list[Vocabulary] = []
        for side, (texts, size) in enumerate(zip((source_texts, target_texts), sizes, strict=True)):
            if unknown not in texts:
                raise TokenizerError(f"{folder}: {VOCABULARY} has no {unknown}. Download it again.")
            # In a shared vocabulary, the source's SentencePiece model determines the kinds of entries for both sides.
            entries: list[Entry] = vocabulary_entries(models[side if is_separate else 0], texts, special)
            tokenizers.append(
                PieceTokenizer(
                    models[side],
                    pad_entries(entries, size, str(folder / VOCABULARY)),
                    pad_id=config.pad_id,
                    start_id=config.start_id,
                    end_id=config.end_id,
                    unknown_id=texts.index(unknown),
                    cleans=settings.get("clean_up_tokenization_spaces") is True,
                    codes=True,
                )
            )
        return tokenizers[0], tokenizers[1]

    def languages(self, folder: Path, config: TransformerConfig, source: Vocabulary) -> Languages:
        """Return the target languages, which are entries of the form ">>xxx<<". The model needs one: the default."""
        if not isinstance(source, PieceTokenizer):
            return Languages()
        targets = [
            Language(code=entry.text[2:-2], before=(index,))
            for index, entry in enumerate(source.entries)
            if re.fullmatch(r">>[^<>]+<<", entry.text)
        ]
        settings = read_optional_json(folder, TOKENIZER_CONFIG)
        preferred_target, source_code = (str(settings.get(f"{side}_lang") or "") for side in ("target", "source"))
        return Languages(
            targets=tuple(targets),
            target=default_target(
                [language.code for language in targets], preferred=preferred_target, source=source_code
            ),
        )


def _are_sinusoids(table: Tensor) -> bool:
    """Whether a stored position table equals our sinusoids, up to rounding."""
    if table.ndim != 2 or 0 in table.shape:
        return False
    return bool((table - sinusoidal_table(*table.shape, halves=True)).abs().max() < SINUSOID_TOLERANCE)


SPECIAL_TOKENS = (("eos", "/s"), ("unk", "unk"), ("pad", "pad"))


def reader() -> FolderReader:
    """Return the reader of this family."""
    return Marian()

"""RoBERTa text classifiers (https://arxiv.org/abs/1907.11692): `RobertaForSequenceClassification`.

    config.json          sizes, classes; like BERT
    model.safetensors    or its shards, or pytorch_model.bin
    tokenizer.json       or vocab.json and merges.txt: byte-level BPE

A text is enclosed in <s> and </s>. The position table has unused rows up to the id of the padding token.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headlight.model.checkpoints.reader import CONFIG, FolderReader
from headlight.model.core.classifier_config import EncoderClassifierConfig
from headlight.model.errors import ConfigError
from headlight.model.families.bert import DEFAULTS, bert_fields
from headlight.model.families.bert_family import BertFamilyReader
from headlight.model.families.byte_level import read_byte_pairs, read_special_token_id
from headlight.model.text.byte_pairs import SPECIAL
from headlight.model.text.vocabulary import Vocabulary

ROBERTA_DEFAULTS: dict[str, Any] = DEFAULTS | {"vocab_size": 50_265, "pad_token_id": 1}


class Roberta(BertFamilyReader):
    """Folders of `model_type` "roberta"."""

    tokenizer_classes = ("RobertaTokenizer",)
    architecture = "RobertaForSequenceClassification"
    tensor_prefix = "roberta"
    head_layer = "classifier.dense"
    output_layer = "classifier.out_proj"

    def map_config(self, folder: Path, values: dict[str, Any]) -> EncoderClassifierConfig:
        fields = self.fields(folder, values, ROBERTA_DEFAULTS)
        shared_fields = bert_fields(fields)
        offset = shared_fields["pad_id"] + 1
        return EncoderClassifierConfig(
            **shared_fields,
            position_offset=offset,
            max_length=fields.integer("max_position_embeddings") - offset,
            start_id=read_special_token_id(folder, "cls_token", "<s>"),
            end_id=read_special_token_id(folder, "sep_token", "</s>"),
        )

    def tokenizers(self, folder: Path, config: Any) -> tuple[Vocabulary, Vocabulary]:
        tokenizer = read_byte_pairs(
            folder, config.vocabulary, pad_id=config.pad_id, start_id=config.start_id, end_id=config.end_id
        )
        for name in ("pad_id", "start_id", "end_id"):
            entry = tokenizer.rules.entries[getattr(config, name)]
            if entry.kind != SPECIAL:
                raise ConfigError(
                    f"{folder / CONFIG}: its {name} is {getattr(config, name)}, the token {entry.text!r}, which is not "
                    "special. Choose another model."
                )
        return tokenizer, tokenizer


def reader() -> FolderReader:
    """Return the reader of this family."""
    return Roberta()

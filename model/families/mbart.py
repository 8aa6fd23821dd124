"""mBART (https://arxiv.org/abs/2001.08210) and mBART-50 (https://arxiv.org/abs/2008.00401): 25 and 50 languages.

    config.json               sizes; learned positions, a norm after the embedding, pre-norm
    model.safetensors         or its shards, or pytorch_model.bin
    sentencepiece.bpe.model   SentencePiece model
    tokenizer_config.json     the variant: mBART or mBART-50

In mBART-50, source and translation begin with a language token. In mBART, the source's language token follows the end
token, and the target's language token starts the decoder, so a model has one target language.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headlight.model.checkpoints.reader import CONFIG, FolderReader
from headlight.model.core.config import TransformerConfig
from headlight.model.families.bart import DEFAULTS, learnt_position_fields
from headlight.model.families.bart_family import BIAS, BartFamilyReader, start_fields
from headlight.model.families.fairseq import PIECES, fairseq_entries, language_choices, make_multilingual_tokenizer
from headlight.model.families.family_reader import (
    TOKENIZER_CONFIG,
    ConfigFields,
    read_optional_json,
    tokenizer_class,
)
from headlight.model.families.unigram import read_pieces
from headlight.model.text.languages import Languages
from headlight.model.text.piece_tokenizer import PieceTokenizer
from headlight.model.text.vocabulary import Vocabulary

# Language tokens in the order of their ids, which follow the vocabulary.
CODES_25 = (
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM ne_NP nl_XX "
    "ro_RO ru_RU si_LK tr_TR vi_VN zh_CN"
)
CODES_50 = (
    f"{CODES_25} af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF pt_XX "
    "sv_SE sw_KE ta_IN te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI"
)
MBART_50 = "MBart50Tokenizer"


class MBart(BartFamilyReader):
    """Folders of `model_type` "mbart"."""

    tokenizer_classes = ("MBartTokenizer", MBART_50)
    optional_tensors = (BIAS,)

    def map_config(self, folder: Path, values: dict[str, Any]) -> TransformerConfig:
        fields = ConfigFields(values | start_fields(folder), DEFAULTS, folder / CONFIG)
        fields.require_neutral(normalize_before=True, add_final_layer_norm=True)
        return TransformerConfig(**learnt_position_fields(fields), norm_first=True, final_norm=True)

    def tokenizers(self, folder: Path, config: TransformerConfig) -> tuple[Vocabulary, Vocabulary]:
        codes = _codes(folder)
        model = read_pieces(folder, PIECES)
        first = fairseq_entries(folder, model)
        last = [*codes, "<mask>"]
        cleans = read_optional_json(folder, TOKENIZER_CONFIG).get("clean_up_tokenization_spaces") is True
        tokenizer = make_multilingual_tokenizer(folder, config, model, first, last, codes, trims="first", cleans=cleans)
        return tokenizer, tokenizer

    def languages(self, folder: Path, config: TransformerConfig, source: Vocabulary) -> Languages:
        """Return all languages as sources, and as targets unless a language token starts the decoder."""
        assert isinstance(source, PieceTokenizer)  # noqa: S101 - from `tokenizers`
        ids = {entry.text: index for index, entry in enumerate(source.entries)}
        codes: Mapping[str, int] = {code: ids[code] for code in _codes(folder)}
        fixed_target = next((code for code, token_id in codes.items() if token_id == config.start_id), "")
        follows_end = not _is_mbart_50(folder)
        return language_choices(folder, codes, token_follows_end=follows_end, fixed_target=fixed_target)


def _codes(folder: Path) -> list[str]:
    return (CODES_50 if _is_mbart_50(folder) else CODES_25).split()


def _is_mbart_50(folder: Path) -> bool:
    return tokenizer_class(folder) == MBART_50


def reader() -> FolderReader:
    """Return the reader of this family."""
    return MBart()

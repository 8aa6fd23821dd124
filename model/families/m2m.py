"""M2M100 (https://arxiv.org/abs/2010.11125) and NLLB-200 (https://arxiv.org/abs/2207.04672): many languages, one model.

    config.json               sizes; pre-norm, sinusoids with an offset
    model.safetensors         or its shards, or pytorch_model.bin
    sentencepiece.bpe.model   SentencePiece model
    vocab.json                M2M100: piece → id; an id of NLLB is one more than that of the SentencePiece file
    tokenizer.json            or special_tokens_map.json: the language codes

The source has a token for its language, and the translation begins with a token for the target language.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headlight.model.checkpoints.reader import FolderReader
from headlight.model.core.config import TransformerConfig
from headlight.model.errors import TokenizerError
from headlight.model.families.bart_family import STORED_POSITIONS, BartFamilyReader, bart_fields, start_fields
from headlight.model.families.fairseq import (
    ENGLISH,
    PIECES,
    TARGET_PREFERENCES,
    fairseq_entries,
    language_choices,
    make_multilingual_tokenizer,
)
from headlight.model.families.family_reader import (
    TOKENIZER_CONFIG,
    AddedToken,
    ConfigFields,
    added_tokens,
    read_numbered_pieces,
    read_optional_json,
    tokenizer_class,
)
from headlight.model.families.unigram import read_pieces
from headlight.model.text.languages import Language, Languages
from headlight.model.text.piece_tokenizer import PieceTokenizer
from headlight.model.text.vocabulary import Vocabulary

VOCABULARY = "vocab.json"
DEFAULTS: dict[str, Any] = {
    "vocab_size": 128_112, "d_model": 1024, "max_position_embeddings": 1024, "activation_function": "relu",
    "encoder_layers": 12, "encoder_ffn_dim": 4096, "encoder_attention_heads": 16,
    "decoder_layers": 12, "decoder_ffn_dim": 4096, "decoder_attention_heads": 16,
    "scale_embedding": True, "tie_word_embeddings": True,
    "decoder_start_token_id": 2, "pad_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
# Languages of M2M100 and of the WMT 2021 models, in id order after the vocabulary.
CODES = {
    "m2m100": (
        "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht hu "
        "hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps pt "
        "ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu"
    ),
    "wmt21": "en ha is ja cs ru zh de",
}
# SMaLL-100 (https://arxiv.org/abs/2210.11621) has only a target language token, before the source.
SMALL_100 = "SMALL100Tokenizer"
CODE = re.compile(r"__[a-z]{2,8}__|[a-z]{2,8}(_[A-Za-z0-9]{2,8})*")  # form of a language token


class M2M(BartFamilyReader):
    """Folders of `model_type` "m2m_100"."""

    tokenizer_classes = ("M2M100Tokenizer", "NllbTokenizer", SMALL_100)
    optional_tensors = (f"{STORED_POSITIONS}s",)
    may_have_output_bias = False

    def map_config(self, folder: Path, values: dict[str, Any]) -> TransformerConfig:
        fields = ConfigFields(values | start_fields(folder), DEFAULTS, folder / "config.json")
        fields.require_neutral(quantization_config=None)
        size, pad = fields.integer("vocab_size"), fields.token_id("pad_token_id")
        return TransformerConfig(
            source_vocabulary=size,
            target_vocabulary=size,
            **bart_fields(fields),
            positions="sinusoidal_halves",
            position_offset=pad + 1,
            closed_waves=True,
            norm_first=True,
            final_norm=True,
        )

    def tokenizers(self, folder: Path, config: TransformerConfig) -> tuple[Vocabulary, Vocabulary]:
        settings = read_optional_json(folder, TOKENIZER_CONFIG)
        is_m2m, added = _is_m2m(folder), added_tokens(folder)
        model, codes = read_pieces(folder, PIECES), _language_tokens(folder, settings, added)
        last = codes if is_m2m else [*codes, "<mask>"]
        first = read_numbered_pieces(folder, VOCABULARY) if is_m2m else fairseq_entries(folder, model)
        tokenizer = make_multilingual_tokenizer(
            folder,
            config,
            model,
            first,
            last,
            codes,
            trims="ends" if is_m2m else "first",
            cleans=is_m2m and settings.get("clean_up_tokenization_spaces") is True,
        )
        return tokenizer, tokenizer

    def languages(self, folder: Path, config: TransformerConfig, source: Vocabulary) -> Languages:
        """Return all languages for both sides. Defaults are the folder's, else English to French."""
        settings = read_optional_json(folder, TOKENIZER_CONFIG)
        is_m2m = _is_m2m(folder)
        assert isinstance(source, PieceTokenizer)  # noqa: S101 - from `tokenizers`
        ids = {entry.text: index for index, entry in enumerate(source.entries)}
        codes = {
            code.strip("_") if is_m2m else code: ids[code]
            for code in _language_tokens(folder, settings, added_tokens(folder))
        }
        if tokenizer_class(folder) == SMALL_100:
            preferred_targets = [settings.get("tgt_lang"), *ENGLISH, *TARGET_PREFERENCES, *codes]
            targets = tuple(Language(code=code, before=(token_id,)) for code, token_id in codes.items())
            return Languages(targets=targets, target=next(code for code in preferred_targets if code in codes))
        token_follows_end = not is_m2m and settings.get("legacy_behaviour") is True
        return language_choices(folder, codes, token_follows_end=token_follows_end)


def _is_m2m(folder: Path) -> bool:
    """Whether the vocabulary has the ids of M2M100, by the tokenizer class or else by the files."""
    class_name = tokenizer_class(folder)
    return class_name != "NllbTokenizer" if class_name in M2M.tokenizer_classes else (folder / VOCABULARY).exists()


def _language_tokens(folder: Path, settings: dict[str, Any], added: Mapping[str, AddedToken]) -> list[str]:
    """Return the language tokens: those of the family in id order, then added tokens."""
    added_texts = sorted((token.token_id, text) for text, token in added.items() if token.special)
    added_codes = [text for _, text in added_texts if CODE.fullmatch(text)]
    if _is_m2m(folder):
        table = str(settings.get("language_codes") or "m2m100")
        if table not in CODES:
            raise TokenizerError(f"{folder}: language_codes is {table!r}, but must be one of: {', '.join(CODES)}.")
        codes = [f"__{code}__" for code in CODES[table].split()]
        return [*codes, *(text for text in added_codes if text not in codes)]
    if added_codes and (folder / "tokenizer.json").exists():  # `tokenizer.json` lists all of them
        return added_codes
    names: Any = None
    for name in ("special_tokens_map.json", TOKENIZER_CONFIG):
        values = read_optional_json(folder, name)
        names = names or values.get("additional_special_tokens") or values.get("extra_special_tokens")
    if not isinstance(names, list) or not names:
        if added_codes:
            return added_codes
        raise TokenizerError(
            f"{folder}: no file lists the languages (tokenizer.json or special_tokens_map.json). Download them, too."
        )
    texts = [entry["content"] if isinstance(entry, dict) else str(entry) for entry in names]
    if len(set(texts)) != len(texts):
        raise TokenizerError(f"{folder}: the list of languages has a duplicate. Download it again.")
    return [*texts, *(text for text in added_codes if text not in texts)]


def reader() -> FolderReader:
    """Return the reader of this family."""
    return M2M()

"""Vocabularies with the ids of fairseq (NLLB-200, mBART), and models with one token per language."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Literal

from headlight.model.core.config import TransformerConfig
from headlight.model.errors import TokenizerError
from headlight.model.families.family_reader import (
    GENERATION_FILE,
    TOKENIZER_CONFIG,
    added_tokens,
    pad_entries,
    read_optional_json,
    with_added_texts,
    with_added_tokens,
)
from headlight.model.text.languages import Language, Languages
from headlight.model.text.piece_tokenizer import PieceTokenizer
from headlight.model.text.sentencepiece import SentencePieceModel

PIECES = "sentencepiece.bpe.model"
# First entries of the vocabulary, instead of the first three pieces of the SentencePiece file.
FIRST_TOKENS = ("<s>", "<pad>", "</s>", "<unk>")
SPECIAL = {*FIRST_TOKENS, "<mask>"}
ENGLISH = ("eng_Latn", "en", "en_XX")
TARGET_PREFERENCES = ("fra_Latn", "fr", "fr_XX", "deu_Latn", "de", "de_DE")


def fairseq_entries(folder: Path, model: SentencePieceModel) -> list[str]:
    """Return the texts of the entries in id order: four special tokens, then the file's pieces from the fourth on."""
    texts = [piece.text for piece in model.pieces]
    if tuple(texts[:4]) == FIRST_TOKENS:  # from tokenizer.json, which lists pieces in id order
        return texts
    if texts[:3] != ["<unk>", "<s>", "</s>"]:
        raise TokenizerError(f"{folder}: {PIECES} does not begin with this family's special tokens. Download it again.")
    return [*FIRST_TOKENS, *texts[3:]]


def make_multilingual_tokenizer(
    folder: Path,
    config: TransformerConfig,
    model: SentencePieceModel,
    first: list[str],
    last: list[str],
    codes: Collection[str],
    *,
    trims: Literal["ends", "first"],
    cleans: bool,
) -> PieceTokenizer:
    """Create a tokenizer with one token per language.

    Args:
        folder: The model folder.
        config: Vocabulary size and special ids.
        model: The SentencePiece model.
        first: Texts of the entries before the added tokens.
        last: Texts of the entries after the added tokens.
        codes: Language tokens.
        trims: Whether decoding removes the spaces at both ends, or only the space of the first token.
        cleans: Whether decoding removes spaces before punctuation.
    """
    added = added_tokens(folder)
    entries = with_added_tokens(folder, model, first, last, added, SPECIAL | set(codes), config.source_vocabulary)
    return PieceTokenizer(
        with_added_texts(model, added),
        pad_entries(entries, config.source_vocabulary, str(folder)),
        pad_id=config.pad_id,
        start_id=config.start_id,
        end_id=config.end_id,
        unknown_id=next((index for index, entry in enumerate(entries) if entry.text == "<unk>"), -1),
        trims=trims,
        cleans=cleans,
    )


def language_choices(
    folder: Path, codes: Mapping[str, int], *, token_follows_end: bool, fixed_target: str = ""
) -> Languages:
    """Return all languages with their tokens, as sources and targets. The default pair is the folder's, else en → fr.

    `token_follows_end`: whether the source's language token follows the end token. `fixed_target`: the only target
    language, if its token starts the decoder.
    """
    settings = read_optional_json(folder, TOKENIZER_CONFIG)
    sources = tuple(
        Language(code=code, after=(token_id,)) if token_follows_end else Language(code=code, before=(token_id,))
        for code, token_id in codes.items()
    )
    targets = tuple(Language(code=code, first=(token_id,)) for code, token_id in codes.items())
    if fixed_target:
        targets = (Language(code=fixed_target),)
    target_codes = [target.code for target in targets]
    forced_id = read_optional_json(folder, GENERATION_FILE).get("forced_bos_token_id")
    preferred_targets: list[str] = [
        settings.get("tgt_lang", ""),
        *(code for code, token_id in codes.items() if token_id == forced_id),
    ]
    requested_target = fixed_target or next((code for code in preferred_targets if code in codes), "")
    preferred_sources: list[str] = [
        settings.get("src_lang", ""),
        *(code for code in (*ENGLISH, *TARGET_PREFERENCES, *codes) if code != requested_target),
    ]
    source = next((code for code in preferred_sources if code in codes), requested_target)
    other_targets = [
        code for code in (*ENGLISH, *TARGET_PREFERENCES, *target_codes) if code in target_codes and code != source
    ]
    target = (
        requested_target
        if requested_target and (fixed_target or requested_target != source)
        else next(iter(other_targets), source)
    )
    return Languages(sources=sources, targets=targets, source=source, target=target)

"""Vocabularies as fairseq numbers them (NLLB-200, mBART), and models with a token for each language."""

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
# The vocabulary begins so; the SentencePiece file's own first three stand for the same.
FIRST_TOKENS = ("<s>", "<pad>", "</s>", "<unk>")
SPECIAL = {*FIRST_TOKENS, "<mask>"}
ENGLISH = ("eng_Latn", "en", "en_XX")
TARGET_PREFERENCES = ("fra_Latn", "fr", "fr_XX", "deu_Latn", "de", "de_DE")


def fairseq_ids(folder: Path, model: SentencePieceModel) -> list[str]:
    """Four special tokens, then the pieces after the file's own first three."""
    if [piece.text for piece in model.pieces[:3]] != ["<unk>", "<s>", "</s>"]:
        raise TokenizerError(f"{folder}: {PIECES} does not begin as this family's does. Download it again.")
    return [*FIRST_TOKENS, *(piece.text for piece in model.pieces[3:])]


def tokenizer_of_languages(
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
    """The pieces with a token for each language. `first`, `last`: the entries before and after the added ones."""
    added = added_tokens(folder)
    entries = with_added_tokens(folder, model, first, last, added, SPECIAL | set(codes), config.source_vocabulary)
    return PieceTokenizer(
        with_added_texts(model, added),
        pad_entries(entries, config.source_vocabulary, str(folder)),
        pad_id=config.pad_id,
        start_id=config.start_id,
        end_id=config.end_id,
        unknown_id=next((place for place, entry in enumerate(entries) if entry.text == "<unk>"), -1),
        trims=trims,
        cleans=cleans,
    )


def language_choices(folder: Path, codes: Mapping[str, int], *, behind: bool, fixed: str = "") -> Languages:
    """All codes with their tokens, on both sides. Defaults are the folder's, else English, and French from it.

    `behind`: the source's token follows its end. `fixed`: the one target, with whose token the decoder begins.
    """
    settings = read_optional_json(folder, TOKENIZER_CONFIG)
    sources = tuple(
        Language(code=code, after=(mark,)) if behind else Language(code=code, before=(mark,))
        for code, mark in codes.items()
    )
    targets = tuple(Language(code=code, first=(mark,)) for code, mark in codes.items())
    if fixed:
        targets = (Language(code=fixed),)
    written = [target.code for target in targets]
    forced = read_optional_json(folder, GENERATION_FILE).get("forced_bos_token_id")
    wished: list[str] = [settings.get("tgt_lang", ""), *(code for code, mark in codes.items() if mark == forced)]
    meant = fixed or next((code for code in wished if code in codes), "")
    read: list[str] = [
        settings.get("src_lang", ""),
        *(code for code in (*ENGLISH, *TARGET_PREFERENCES, *codes) if code != meant),
    ]
    source = next((code for code in read if code in codes), meant)
    others = [code for code in (*ENGLISH, *TARGET_PREFERENCES, *written) if code in written and code != source]
    target = meant if meant and (fixed or meant != source) else next(iter(others), source)
    return Languages(sources=sources, targets=targets, source=source, target=target)

"""Folders as today's `save_pretrained` writes them: `tokenizer.json` alone, without the SentencePiece file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import transformers

from headlight.model.errors import ModelError
from tests.model.families.folders import copy_folder, mbart, nllb, pegasus, t5, translator
from tests.model.families.texts import HAN, LATIN, LINES, odd_texts
from tests.model.recordings import families

FAMILIES: dict[str, tuple[Callable[..., Path], dict[str, Any], str, str]] = {
    "t5": (t5, {}, "T5Tokenizer", "spiece.model"),
    "mt5": (t5, {"family": "mt5"}, "T5Tokenizer", "spiece.model"),
    "mbart 50": (mbart, {}, "MBart50Tokenizer", "sentencepiece.bpe.model"),
    "pegasus": (pegasus, {}, "PegasusTokenizer", "spiece.model"),
    "nllb": (nllb, {}, "NllbTokenizer", "sentencepiece.bpe.model"),
}


def saved_again(folder: Path, target: Path, kind: str, file: str) -> Any:
    """Load and save the tokenizer with `transformers`, without the SentencePiece file."""
    tokenizer = getattr(transformers, kind).from_pretrained(folder)
    copy_folder(folder, target)
    (target / file).unlink()
    tokenizer.save_pretrained(target)
    assert not (target / file).exists()
    return tokenizer


@pytest.mark.parametrize("name", FAMILIES)
def test_saved_tokenizer_gives_the_ids_of_the_sentencepiece_file(tmp_path: Path, name: str) -> None:
    make, fields, kind, file = FAMILIES[name]
    folder = make(tmp_path / "model", **fields)
    saved_again(folder, tmp_path / "saved", kind, file)
    before, after = (translator(tmp_path / each).source_tokenizer for each in ("model", "saved"))
    for text in odd_texts(300):
        assert after.encode(text) == before.encode(text), text
        assert after.source_tokens(text) == before.source_tokens(text), text
    for text in LINES:
        ids = before.encode(text)
        assert after.decode(ids) == before.decode(ids)


def test_saved_mbart_has_the_ids_of_transformers(tmp_path: Path) -> None:
    """`transformers` leaves out the normalisation of mBART's SentencePiece file."""
    folder = mbart(tmp_path / "model", of_50=False)
    theirs = saved_again(folder, tmp_path / "saved", "MBartTokenizer", "sentencepiece.bpe.model")
    ours = translator(tmp_path / "saved").source_tokenizer
    for text in LATIN + HAN:
        assert ours.encode(text) == theirs(text, add_special_tokens=False).input_ids


def test_other_rules_of_tokenizer_json_are_an_error(tmp_path: Path) -> None:
    folder = t5(tmp_path / "model")
    saved_again(folder, tmp_path / "saved", "T5Tokenizer", "spiece.model")
    path = tmp_path / "saved" / "tokenizer.json"
    whole = json.loads(path.read_text(encoding="utf-8"))
    for part, value in (
        ("normalizer", {"type": "Lowercase"}),
        ("normalizer", {"type": "Precompiled", "precompiled_charsmap": "no base64!"}),
        ("pre_tokenizer", {"type": "Whitespace"}),
        ("pre_tokenizer", None),
        ("model", {**whole["model"], "byte_fallback": True}),
        ("model", {"type": "WordLevel", "vocab": {}}),
    ):
        path.write_text(json.dumps({**whole, part: value}), encoding="utf-8")
        with pytest.raises(ModelError, match=r"tokenizer\.json (splits text in another way|is damaged)"):
            translator(tmp_path / "saved")


def test_folders_of_other_families_name_what_shows_them(tmp_path: Path) -> None:
    families.t5gemma().save_pretrained(tmp_path / "t5gemma")
    families.classifier("Deberta").save_pretrained(tmp_path / "deberta")
    for name in ("t5gemma", "deberta"):
        with pytest.raises(ModelError, match=rf"is of format '{name}'.*headlight\.show\(model, tokenizer, text\)"):
            translator(tmp_path / name)

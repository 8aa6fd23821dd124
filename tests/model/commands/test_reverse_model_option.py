"""`--way-back`: commands rerank translations with a reverse model, as the page does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from headlight.model.commands.main import main
from headlight.model.commands.reliability import translate_pairs
from headlight.model.phrases import phrases
from headlight.model.translate.back_translation import BACK_TRANSLATION_OPTIONS
from headlight.model.translate.reranking import REVERSE_WEIGHT
from headlight.model.translate.translator import Translator
from tests.chosen import CHOSEN, SENTENCE

MODELS = ("--model", "de-en", "--device", "cpu")
BACK = ("--way-back", "en-de", "--no-repeat", "4")


def test_translate_reranks_with_reverse_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", SENTENCE, *MODELS, "--beam", "4", "--no-repeat", "4"]) == 0
    assert CHOSEN not in capsys.readouterr().out
    assert main(["translate", SENTENCE, "Guten Tag.", *MODELS, *BACK]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert CHOSEN in first
    assert second == "Good day."


def test_inspect_captures_reranked_translation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", SENTENCE, "--output", str(tmp_path / "maps.npz"), *MODELS, *BACK]) == 0
    assert CHOSEN in capsys.readouterr().out
    with np.load(tmp_path / "maps.npz") as maps:
        assert maps["cross"].shape[2] == len(maps["target_tokens"])


def test_evaluate_scores_reranked_translations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sacrebleu")
    (tmp_path / "a.de").write_text(f"{SENTENCE}\n", encoding="utf-8")
    (tmp_path / "a.en").write_text("Moritz plays the violin and Annika the drums.\n", encoding="utf-8")
    arguments = ["evaluate", *MODELS, "--source", str(tmp_path / "a.de"), "--target", str(tmp_path / "a.en")]
    assert main([*arguments, *BACK, "--hypotheses", str(tmp_path / "written")]) == 0
    assert "read back by en-de with weight 0.3" in capsys.readouterr().out
    assert CHOSEN in (tmp_path / "written").read_text(encoding="utf-8")


def test_reverse_model_without_beam_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["translate", "Ja.", *MODELS, *BACK, "--beam", "1"]) == 2
    assert "--beam is 1. Set it to 2 or more." in capsys.readouterr().err


def test_reliability_translates_pairs_with_reverse_model() -> None:
    forward_model, reverse_model = Translator.load("de-en", "cpu"), Translator.load("en-de", "cpu")
    pairs = [(SENTENCE, ""), ("Guten Tag.", "")]
    reranked = translate_pairs(pairs, forward_model, reverse_model)
    assert CHOSEN in reranked[0].translation.text
    assert [each.back is not None for each in reranked] == [True, True]
    plain = translate_pairs(pairs, forward_model, None)
    assert CHOSEN not in plain[0].translation.text


def test_help_begins_with_what_differs_from_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["translate", "--help"])
    description = " ".join(capsys.readouterr().out.split("\n\n")[1].split())
    assert "unlike the page" in description
    beam = BACK_TRANSLATION_OPTIONS["beam_size"]
    assert f"a beam of {beam}" in description
    assert f"beam of {beam}" in phrases("en")["api_translate"]
    assert f"{REVERSE_WEIGHT:g}" in phrases("en")["api_translate"]

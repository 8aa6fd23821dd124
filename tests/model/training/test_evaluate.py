"""Scores are corpus scores of sacreBLEU with signatures; a classifier's errors are counted by class."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from headlight.model.errors import TrainingError
from headlight.model.training.evaluate import (
    evaluate_translations,
    make_confusion_matrix,
    read_test,
    score_translations,
)

REFERENCES = ["The dog sleeps in the garden.", "She drinks a cup of tea.", "We are going home now, aren't we?"]


def test_perfect_translations_score_100_and_are_written(tmp_path: Path) -> None:
    pytest.importorskip("sacrebleu")
    path = tmp_path / "hypotheses.txt"
    scores = evaluate_translations(lambda lines: lines, REFERENCES, REFERENCES, hypotheses_path=path)
    assert (scores.bleu, scores.chrf) == (pytest.approx(100.0), pytest.approx(100.0))
    assert path.read_text(encoding="utf-8") == "".join(f"{line}\n" for line in REFERENCES)
    assert scores.sentences == 3
    assert scores.seconds > 0
    assert '"bleu_signature"' in scores.to_json()
    assert "sentences/s" in str(scores)


def test_signatures_are_cased_and_detokenised() -> None:
    pytest.importorskip("sacrebleu")
    scores = score_translations(["the dog sleeps in the garden."], REFERENCES[:1])
    assert scores.bleu < 100
    assert scores.bleu_signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert scores.chrf_signature.startswith("nrefs:1|case:mixed|eff:yes|nc:6|nw:0|")


def test_unequal_files_and_missing_sacrebleu_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TrainingError, match="2 translations, but 3 references"):
        score_translations(REFERENCES[:2], REFERENCES)
    for name in ("sacrebleu", "sacrebleu.metrics", "sacrebleu.metrics.bleu"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(TrainingError, match=r"pip install -r requirements-train\.txt"):
        score_translations(REFERENCES, REFERENCES)


def test_blank_lines_of_test_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.de").write_text("eins\n\nzwei\n", encoding="utf-8")
    (tmp_path / "a.en").write_text("one\n\ntwo\n", encoding="utf-8")
    assert read_test(tmp_path / "a.de", tmp_path / "a.en") == (["eins", "", "zwei"], ["one", "", "two"])


def test_confusion_matrix_matches_hand_computed_values() -> None:
    result = make_confusion_matrix([0, 0, 0, 1, 1], [0, 0, 1, 1, 0], ["negative", "positive"])
    assert result.confusion.tolist() == [[2, 1], [1, 1]]
    assert result.accuracy == pytest.approx(3 / 5)
    assert "accuracy 60.00% of 5 texts" in str(result)
    with pytest.raises(TrainingError, match="Label 2 is not one of the 2 classes"):
        make_confusion_matrix([2], [0], ["negative", "positive"])
    with pytest.raises(TrainingError, match="2 labels, but 1 predictions"):
        make_confusion_matrix([0, 1], [0], ["negative", "positive"])


def test_chinese_is_scored_by_characters() -> None:
    one_of_six_differs = score_translations(["我喜欢这本书。"], ["我喜欢那本书。"], language="zh")
    assert one_of_six_differs.bleu > 20, "tokenized as one word, the score would be 0"
    assert "tok:zh" in one_of_six_differs.bleu_signature
    assert "tok:13a" in score_translations(["a b c d"], ["a b c d"], language="en").bleu_signature

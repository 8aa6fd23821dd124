"""Vocabularies trained within segmented words, and how many word boundaries they keep."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from headlight.model.commands.main import main
from headlight.model.errors import TrainingError
from headlight.model.text.tokenizer import Tokenizer
from headlight.model.training.segmenters import find_segmenter, measure_boundary_recall
from tests.model.training.examples import make_recipe
from tests.model.training.test_run import make_run

WORDS = ("我们", "的", "那", "本", "书", "在", "桌子", "上", "狗", "孩子", "学习", "，", "。", "Python", " ", "3")
CROSS_WORD_PAIRS = ("的那", "狗在", "在桌", "书在")  # frequent character pairs across word boundaries
REPEATS = 9  # so often that the pairs above are merged before the vocabulary is full
SENTENCES = [
    "我们的那本书在桌子上。",
    "孩子的那本书在桌子上。",
    "我们的那狗在桌子上，孩子在学习。",
    "狗在我们的那本书上。",
] * REPEATS


def segment_words(text: str) -> Iterator[str]:
    """Segment into the words above, the longest match first."""
    while text:
        word = max((word for word in (*WORDS, text[0]) if text.startswith(word)), key=len)
        text = text[len(word) :]
        yield word


@pytest.fixture
def jieba(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = SimpleNamespace(cut=segment_words, setLogLevel=lambda level: None)
    monkeypatch.setitem(sys.modules, "jieba", fake)


def vocabulary_labels(tokenizer: Tokenizer) -> set[str]:
    return {tokenizer.label(token_id) for token_id in range(tokenizer.vocabulary_size)}


@pytest.mark.usefixtures("jieba")
def test_segmented_merges_do_not_cross_word_boundaries() -> None:
    segment = find_segmenter(["zh"])
    assert segment is not None
    plain = Tokenizer.train(SENTENCES, 600)
    segmented = Tokenizer.train(SENTENCES, 600, segment=segment)
    assert vocabulary_labels(plain) & set(CROSS_WORD_PAIRS)
    assert not vocabulary_labels(segmented) & set(CROSS_WORD_PAIRS)
    assert {"我们", "桌子", "孩子", "学习"} <= vocabulary_labels(segmented)
    preserved, total = measure_boundary_recall(segmented, SENTENCES, segment)
    assert preserved == total == REPEATS * (7 + 7 + 8 + 7)  # boundaries at punctuation do not count
    assert measure_boundary_recall(plain, SENTENCES, segment)[0] < total


@pytest.mark.usefixtures("jieba")
def test_trained_vocabulary_needs_no_segmenter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Tokenizer.train(SENTENCES, 600, segment=find_segmenter(["zh"])).save(tmp_path / "tokenizer.json")
    monkeypatch.setitem(sys.modules, "jieba", None)
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    tokens = [token.text for token in loaded.source_tokens("我们在桌子上学习Python 3。") if not token.special]
    assert "".join(tokens).startswith("我们在桌子上学习Python")
    assert {"我们", "在", "桌子", "上", "学习"} <= set(tokens)


def test_languages_with_spaces_need_no_segmenter() -> None:
    assert find_segmenter(["de", "en"]) is None


def test_missing_segmenter_error_names_requirements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jieba", None)
    segment = find_segmenter(["zh"])
    assert segment is not None
    with pytest.raises(TrainingError, match=r"requirements-train\.txt"):
        segment("我们")


@pytest.mark.usefixtures("jieba")
@pytest.mark.parametrize("shared", [True, False])
def test_recipe_can_segment_words(tmp_path: Path, shared: bool) -> None:
    lines = [f"{line}\tThis is sentence {number}.\n" for number, line in enumerate(SENTENCES)]
    (tmp_path / "pairs.tsv").write_text("".join(lines), encoding="utf-8")
    recipe = make_recipe(
        source_language="zh", target_language="en", corpora=[{"source": "pairs.tsv"}], validation=[],
        tokenizer={"vocabulary": 600, "segmented": True, "shared": shared}, steps=1,
    )  # fmt: skip
    run = make_run(recipe, tmp_path, tmp_path / "run")
    assert not vocabulary_labels(run.tokenizers.source) & set(CROSS_WORD_PAIRS)
    assert "桌子" in vocabulary_labels(run.tokenizers.source)


@pytest.mark.usefixtures("jieba")
def test_tokenizer_command_segments_and_measures_boundaries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, output = tmp_path / "text.zh", tmp_path / "tokenizer.json"
    text.write_text("".join(f"{line}\n" for line in SENTENCES), encoding="utf-8")
    assert main(["tokenizer", str(text), "--size", "600", "--segment", "zh", "--output", str(output)]) == 0
    assert main(["tokenizer", str(text), "--segment", "zh", "--measure", str(output)]) == 0
    assert "100.00%" in capsys.readouterr().out
    assert main(["tokenizer", str(text), "--measure", str(output)]) != 0
    assert "--segment" in capsys.readouterr().err

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
from headlight.model.training.segmenters import boundary_recall, find_segmenter
from tests.model.training.examples import make_recipe
from tests.model.training.test_run import make_run

WORDS = ("我们", "的", "那", "本", "书", "在", "桌子", "上", "狗", "孩子", "学习", "，", "。", "Python", " ", "3")
PAIRS = ("的那", "狗在", "在桌", "书在")  # they stand side by side more often than most words do
SENTENCES = [
    "我们的那本书在桌子上。",
    "孩子的那本书在桌子上。",
    "我们的那狗在桌子上，孩子在学习。",
    "狗在我们的那本书上。",
] * 9


def words(text: str) -> Iterator[str]:
    """A segmenter of the words above: the longest first."""
    while text:
        word = max((word for word in (*WORDS, text[0]) if text.startswith(word)), key=len)
        text = text[len(word) :]
        yield word


@pytest.fixture
def jieba(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = SimpleNamespace(cut=words, setLogLevel=lambda level: None)
    monkeypatch.setitem(sys.modules, "jieba", fake)


def entries(tokenizer: Tokenizer) -> set[str]:
    return {tokenizer.label(token_id) for token_id in range(tokenizer.vocabulary_size)}


@pytest.mark.usefixtures("jieba")
def test_merges_learnt_within_words_do_not_cross_their_borders() -> None:
    segment = find_segmenter(["zh"])
    assert segment is not None
    plain = Tokenizer.train(SENTENCES, 600)
    within = Tokenizer.train(SENTENCES, 600, segment=segment)
    assert entries(plain) & set(PAIRS)
    assert not entries(within) & set(PAIRS)
    assert {"我们", "桌子", "孩子", "学习"} <= entries(within)
    kept, there = boundary_recall(within, SENTENCES, segment)
    assert kept == there == 9 * (7 + 7 + 8 + 7)  # no border is counted that a sign shows
    assert boundary_recall(plain, SENTENCES, segment)[0] < there


@pytest.mark.usefixtures("jieba")
def test_the_segmenter_is_not_needed_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Tokenizer.train(SENTENCES, 600, segment=find_segmenter(["zh"])).save(tmp_path / "tokenizer.json")
    monkeypatch.setitem(sys.modules, "jieba", None)
    loaded = Tokenizer.load(tmp_path / "tokenizer.json")
    tokens = [token.text for token in loaded.source_tokens("我们在桌子上学习Python 3。") if not token.special]
    assert "".join(tokens).startswith("我们在桌子上学习Python")
    assert {"我们", "在", "桌子", "上", "学习"} <= set(tokens)


def test_languages_with_spaces_need_no_segmenter() -> None:
    assert find_segmenter(["de", "en"]) is None


def test_a_missing_segmenter_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jieba", None)
    segment = find_segmenter(["zh"])
    assert segment is not None
    with pytest.raises(TrainingError, match=r"requirements-train\.txt"):
        segment("我们")


@pytest.mark.usefixtures("jieba")
@pytest.mark.parametrize("shared", [True, False])
def test_a_recipe_asks_for_words(tmp_path: Path, shared: bool) -> None:
    lines = [f"{line}\tThis is sentence {number}.\n" for number, line in enumerate(SENTENCES)]
    (tmp_path / "pairs.tsv").write_text("".join(lines), encoding="utf-8")
    recipe = make_recipe(
        source_language="zh", target_language="en", corpora=[{"source": "pairs.tsv"}], validation=[],
        tokenizer={"vocabulary": 600, "segmented": True, "shared": shared}, steps=1,
    )  # fmt: skip
    run = make_run(recipe, tmp_path, tmp_path / "run")
    assert not entries(run.tokenizers.source) & set(PAIRS)
    assert "桌子" in entries(run.tokenizers.source)


@pytest.mark.usefixtures("jieba")
def test_the_command_learns_within_words_and_measures_borders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, output = tmp_path / "text.zh", tmp_path / "tokenizer.json"
    text.write_text("".join(f"{line}\n" for line in SENTENCES), encoding="utf-8")
    assert main(["tokenizer", str(text), "--size", "600", "--segment", "zh", "--output", str(output)]) == 0
    assert main(["tokenizer", str(text), "--segment", "zh", "--measure", str(output)]) == 0
    assert "100.00%" in capsys.readouterr().out
    assert main(["tokenizer", str(text), "--measure", str(output)]) != 0
    assert "--segment" in capsys.readouterr().err

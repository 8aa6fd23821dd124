"""The two-sentence lesson: the bundled model translates both exactly, and its recipe reproduces such a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from headlight.model.commands.main import main
from headlight.model.translate.translator import Translator

ROOT = Path(__file__).resolve().parents[3]
LESSON = {"ich mochte ein bier": "i want a beer .", "ich mochte ein cola": "i want a coke ."}


@pytest.mark.parametrize("beam_size", [1, 4])
def test_the_shipped_toy_says_both_sentences_exactly(beam_size: int) -> None:
    translator = Translator.load(ROOT / "assets" / "models" / "toy", "cpu")
    for german, english in LESSON.items():
        answer = translator.translate(german, beam_size=beam_size)
        assert (answer.text, answer.stopped) == (english, "end")


def test_its_recipe_makes_a_toy_that_does(tmp_path: Path) -> None:
    recipe, corpora = ROOT / "assets" / "recipes" / "toy.json", ROOT / "assets" / "corpora"
    run, folder = tmp_path / "run", tmp_path / "toy"
    assert main(["train", str(recipe), "--data", str(corpora), "--run", str(run)]) == 0
    assert main(["export", "--run", str(run), "--to", str(folder), "--weights", "last", "--storage", "float32"]) == 0
    translator = Translator.load(folder, "cpu")
    assert {german: translator.translate(german).text for german in LESSON} == LESSON

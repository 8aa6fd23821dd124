"""The two-sentence lesson: the bundled model translates both exactly, and its recipe reproduces such a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from headlight.model.commands.main import main
from headlight.model.translate.translator import Translator

ROOT = Path(__file__).resolve().parents[3]
SENTENCES = {"ich mochte ein bier": "i want a beer .", "ich mochte ein cola": "i want a coke ."}


@pytest.mark.parametrize("beam_size", [1, 4])
def test_bundled_toy_translates_both_sentences(beam_size: int) -> None:
    translator = Translator.load(ROOT / "assets" / "models" / "toy", "cpu")
    for german, english in SENTENCES.items():
        answer = translator.translate(german, beam_size=beam_size)
        assert (answer.text, answer.stopped) == (english, "end")


def test_toy_recipe_reproduces_translations(tmp_path: Path) -> None:
    recipe, corpora = ROOT / "assets" / "recipes" / "toy.json", ROOT / "assets" / "corpora"
    run, folder = tmp_path / "run", tmp_path / "toy"
    assert main(["train", str(recipe), "--data", str(corpora), "--run", str(run)]) == 0
    assert main(["export", "--run", str(run), "--to", str(folder), "--weights", "last", "--storage", "float32"]) == 0
    translator = Translator.load(folder, "cpu")
    assert {german: translator.translate(german).text for german in SENTENCES} == SENTENCES

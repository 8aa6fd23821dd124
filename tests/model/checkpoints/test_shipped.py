"""Bundled models are loaded by name; existing folders take precedence."""

from __future__ import annotations

from pathlib import Path

import pytest

from headlight.model.checkpoints.shipped import MODELS, find_folder, shipped_models
from headlight.model.errors import CheckpointError
from headlight.model.translate.judge import Judge
from headlight.model.translate.translator import Translator


def test_a_name_is_a_model_that_comes_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert {"toy", "de-en", "sentiment"} <= set(shipped_models())
    assert Translator.load("toy", "cpu").translate("ich mochte ein bier").text == "i want a beer ."
    assert Judge.load("sentiment", "cpu").judge("A quiet film with a warm heart.").verdict == "positive"


def test_a_folder_of_that_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_folder("toy") == MODELS / "toy"
    (tmp_path / "toy").mkdir()
    assert find_folder("toy") == Path("toy")


@pytest.mark.parametrize("name", ["models/toy", "../models/toy", "none", "", ".", "..", str(MODELS / "none")])
def test_anything_else_means_the_place_that_it_names(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_folder(name) == Path(name)
    with pytest.raises(CheckpointError):
        Translator.load(name, "cpu")

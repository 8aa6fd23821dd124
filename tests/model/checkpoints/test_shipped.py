"""Bundled models are loaded by name; existing folders take precedence."""

from __future__ import annotations

from pathlib import Path

import pytest

from headlight.model.checkpoints.shipped import MODELS, find_folder, shipped_models
from headlight.model.errors import CheckpointError
from headlight.model.translate.judge import Judge
from headlight.model.translate.translator import Translator


def test_name_of_a_bundled_model_loads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert {"toy", "de-en", "sentiment"} <= set(shipped_models())
    assert Translator.load("toy", "cpu").translate("ich mochte ein bier").text == "i want a beer ."
    assert Judge.load("sentiment", "cpu").judge("A quiet film with a warm heart.").verdict == "positive"


def test_existing_folder_takes_precedence_over_bundled_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_folder("toy") == MODELS / "toy"
    (tmp_path / "toy").mkdir()
    assert find_folder("toy") == Path("toy")


@pytest.mark.parametrize("name", ["models/toy", "../models/toy", "none", "", ".", "..", str(MODELS / "none")])
def test_other_names_are_paths(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_folder(name) == Path(name)
    with pytest.raises(CheckpointError):
        Translator.load(name, "cpu")

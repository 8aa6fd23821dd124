"""One command regenerates stale reports after new weights and keeps current ones."""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from headlight.model.checkpoints.checksums import weights_digest
from headlight.model.checkpoints.reports import HEADS, PRUNING, RELIABILITY, ROLES
from headlight.model.commands import measured
from headlight.model.commands.main import main
from headlight.viz.settings import MODELS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model of two languages of which nothing is measured."""
    return Path(shutil.copytree(MODELS / "toy", tmp_path / "de-en"))


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, argparse.Namespace]]:
    """Which commands ran, with what they were given."""
    noted: list[tuple[str, argparse.Namespace]] = []

    def noting(name: str, module: object) -> SimpleNamespace:
        return SimpleNamespace(add=module.add, run=lambda arguments: noted.append((name, arguments)))  # type: ignore[attr-defined]

    monkeypatch.setattr(
        measured, "COMMANDS", {name: noting(name, module) for name, module in measured.COMMANDS.items()}
    )
    return noted


def test_every_report_is_made_by_its_command_in_the_order_in_which_they_build_on_each_other(
    folder: Path, tmp_path: Path, ran: list[tuple[str, argparse.Namespace]]
) -> None:
    assert main(["measured", "--model", str(folder), "--data", str(tmp_path)]) == 0
    assert [name for name, _ in ran] == ["heads", "steadiness", "importance", "faithfulness", "reliability"]
    assert {str(given.model) for _, given in ran} == {str(folder)}
    assert all(given.write for name, given in ran if name != "faithfulness")
    assert dict(ran)["faithfulness"].output == folder / "faithfulness.json"


def test_what_is_current_is_left_alone_and_what_cannot_be_measured_is_told(
    folder: Path, ran: list[tuple[str, argparse.Namespace]], capsys: pytest.CaptureFixture[str]
) -> None:
    current = json.dumps({"weights": weights_digest(folder)})
    for name in (HEADS, ROLES, "faithfulness.json"):
        (folder / name).write_text(current, encoding="utf-8")
    (folder / PRUNING).write_text(json.dumps({"weights": "0" * 16}), encoding="utf-8")
    assert main(["measured", "--model", str(folder)]) == 1
    assert [name for name, _ in ran] == ["importance"]
    said = capsys.readouterr().out
    assert f"{ROLES}: current" in said
    assert f"{RELIABILITY}: stale, add --data" in said
    assert main(["measured", "--model", str(folder), "--again", "--list"]) == 1
    assert len(ran) == 1  # a list measures nothing


def test_a_table_that_lacks_a_language_is_told(
    folder: Path, ran: list[tuple[str, argparse.Namespace]], capsys: pytest.CaptureFixture[str]
) -> None:
    french = folder.rename(folder.parent / "fr-en")
    assert main(["measured", "--model", str(french)]) == 1
    assert not ran
    assert "mini.tsv lacks one of the languages: add --texts" in capsys.readouterr().out
    assert main(["measured", "--model", str(french.rename(french.parent / "model"))]) == 2
    assert "does not contain a language pair" in capsys.readouterr().err

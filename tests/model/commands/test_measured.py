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
    """A translation model without reports."""
    return Path(shutil.copytree(MODELS / "toy", tmp_path / "de-en"))


@pytest.fixture
def commands_run(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, argparse.Namespace]]:
    """The commands that ran, with their arguments."""
    calls: list[tuple[str, argparse.Namespace]] = []

    def record_calls(name: str, module: object) -> SimpleNamespace:
        return SimpleNamespace(add=module.add, run=lambda arguments: calls.append((name, arguments)))  # type: ignore[attr-defined]

    monkeypatch.setattr(
        measured, "COMMANDS", {name: record_calls(name, module) for name, module in measured.COMMANDS.items()}
    )
    return calls


def test_reports_are_written_by_their_commands_in_order(
    folder: Path, tmp_path: Path, commands_run: list[tuple[str, argparse.Namespace]]
) -> None:
    assert main(["measured", "--model", str(folder), "--data", str(tmp_path)]) == 0
    names = ["heads", "steadiness", "atlas", "importance", "faithfulness", "reliability"]
    assert [name for name, _ in commands_run] == names
    assert {str(arguments.model) for _, arguments in commands_run} == {str(folder)}
    assert all(arguments.write for name, arguments in commands_run if name not in ("atlas", "faithfulness"))
    assert dict(commands_run)["faithfulness"].output == folder / "faithfulness.json"
    assert dict(commands_run)["atlas"].output == folder / "atlas.json"


def test_current_reports_are_kept_and_missing_data_is_reported(
    folder: Path, commands_run: list[tuple[str, argparse.Namespace]], capsys: pytest.CaptureFixture[str]
) -> None:
    current = json.dumps({"weights": weights_digest(folder)})
    for name in (HEADS, ROLES, "atlas.json", "faithfulness.json"):
        (folder / name).write_text(current, encoding="utf-8")
    (folder / PRUNING).write_text(json.dumps({"weights": "0" * 16}), encoding="utf-8")
    assert main(["measured", "--model", str(folder)]) == 1
    assert [name for name, _ in commands_run] == ["importance"]
    output = capsys.readouterr().out
    assert f"{ROLES}: current" in output
    assert f"{RELIABILITY}: stale, add --data" in output
    assert main(["measured", "--model", str(folder), "--again", "--list"]) == 1
    assert len(commands_run) == 1  # a list measures nothing


def test_table_without_a_language_is_reported(
    folder: Path, commands_run: list[tuple[str, argparse.Namespace]], capsys: pytest.CaptureFixture[str]
) -> None:
    french = folder.rename(folder.parent / "fr-en")
    assert main(["measured", "--model", str(french)]) == 1
    assert not commands_run
    assert "mini.tsv lacks one of the languages: add --texts" in capsys.readouterr().out
    assert main(["measured", "--model", str(french.rename(french.parent / "model"))]) == 2
    assert "does not contain a language pair" in capsys.readouterr().err

"""Selection of new lines for back-translation."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from headlight.model.errors import TrainingError
from workshop.data.__main__ import main
from workshop.data.new_lines import new_lines


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_new_lines_are_unique_and_unknown(tmp_path: Path) -> None:
    first = write(tmp_path / "first", "The cat sleeps.", "A dog barks!", "the CAT sleeps", "", "One")
    second = write(tmp_path / "second", "A dog barks", "Birds sing.", "so many words are far too many here")
    known = tmp_path / "known.gz"
    with gzip.open(known, "wt", encoding="utf-8") as file:
        file.write("Birds\u00a0sing\n")
    assert list(new_lines([first, second], [known], 2, 7)) == ["The cat sleeps.", "A dog barks!"]
    assert list(new_lines([second], [], 2, 8)) == second.read_text(encoding="utf-8").splitlines()


def test_unseen_command_prints_new_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new, known = write(tmp_path / "new", "Good morning.", "Good night."), write(tmp_path / "known", "Good morning")
    assert main(["unseen", str(new), "--known", str(known)]) == 0
    assert capsys.readouterr().out == "Good night.\n"


def test_missing_file_raises(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="does not exist"):
        list(new_lines([tmp_path / "nothing"], [], 2, 80))

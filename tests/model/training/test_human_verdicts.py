"""Labels of translations: their keys, and the bundled ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from headlight.model.commands.reliability import VERDICT_TABLES
from headlight.model.errors import TrainingError
from headlight.model.training.human_verdicts import fingerprint, read_mistakes, read_verdicts

DIRECTIONS = ("de-en", "en-de", "zh-en", "en-zh")


def write_table(path: Path, *rows: tuple[str, ...]) -> Path:
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_verdicts_are_matched_by_text_or_fingerprint(tmp_path: Path) -> None:
    by_text = write_table(
        tmp_path / "texts.tsv",
        ("direction", "verdict", "sentence", "answer"),
        ("de-en", "wrong", "Es ist halb neun.", "It is half nine."),
        ("en-de", "right", "Hello!", "Hallo!"),
    )
    by_fingerprint = write_table(
        tmp_path / "fingerprints.tsv",
        ("direction", "verdict", "fingerprint"),
        ("de-en", "right", fingerprint("Guten Tag!", "Good day!")),
    )
    verdicts = read_verdicts((by_text, by_fingerprint), "de-en")
    assert verdicts[fingerprint("Es ist halb neun.", "It is half nine.")] is False
    assert verdicts[fingerprint("Guten Tag!", "Good day!")] is True
    assert fingerprint("Hello!", "Hallo!") not in verdicts
    assert fingerprint("Es ist halb neun.", "It is half past eight.") not in verdicts
    assert fingerprint("a", "b c") != fingerprint("a b", "c")


def test_invalid_verdict_tables_are_reported(tmp_path: Path) -> None:
    strange = write_table(tmp_path / "t.tsv", ("direction", "verdict", "fingerprint"), ("de-en", "perhaps", "0" * 16))
    with pytest.raises(TrainingError, match="'perhaps'"):
        read_verdicts((strange,), "de-en")
    nameless = write_table(tmp_path / "n.tsv", ("verdict", "fingerprint"), ("right", "0" * 16))
    with pytest.raises(TrainingError, match="needs the columns direction"):
        read_verdicts((nameless,), "de-en")


def test_blank_verdicts_are_ignored(tmp_path: Path) -> None:
    rows = (("verdict", "direction", "fingerprint"), ("", "de-en", "0" * 16), ("wrong", "de-en", "1" * 16))
    assert read_verdicts((write_table(tmp_path / "t.tsv", *rows),), "de-en") == {"1" * 16: False}


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_two_way_translator_has_verdicts(direction: str) -> None:
    plain, others = (read_verdicts((path,), direction) for path in VERDICT_TABLES)
    assert len(plain) == 120
    assert len(others) > 500
    assert not plain.keys() & others.keys()
    assert 0.25 < sum(not right for right in others.values()) / len(others) < 0.4


def test_the_kinds_of_mistakes_are_read_of_wrong_answers(tmp_path: Path) -> None:
    table = write_table(
        tmp_path / "t.tsv",
        ("direction", "verdict", "kind", "sentence", "answer"),
        ("de-en", "wrong", "pronoun", "Er kam.", "It came."),
        ("de-en", "right", "", "Sie kam.", "She came."),
        ("en-de", "wrong", "word", "I came.", "Ich ging."),
    )
    assert read_mistakes(table, "de-en") == {fingerprint("Er kam.", "It came."): "pronoun"}

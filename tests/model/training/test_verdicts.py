"""Labels of translations: their keys, and the bundled ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from headlight.model.commands.reliability import JUDGED
from headlight.model.errors import TrainingError
from headlight.model.training.human_verdicts import fingerprint, read_verdicts

DIRECTIONS = ("de-en", "en-de", "zh-en", "en-zh")


def table(path: Path, *rows: tuple[str, ...]) -> Path:
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_verdicts_are_found_by_sentence_and_answer_in_whichever_table_they_stand(tmp_path: Path) -> None:
    named = table(
        tmp_path / "named.tsv",
        ("direction", "verdict", "sentence", "answer"),
        ("de-en", "wrong", "Es ist halb neun.", "It is half nine."),
        ("en-de", "right", "Hello!", "Hallo!"),
    )
    told = table(
        tmp_path / "told.tsv",
        ("direction", "verdict", "fingerprint"),
        ("de-en", "right", fingerprint("Guten Tag!", "Good day!")),
    )
    found = read_verdicts((named, told), "de-en")
    assert found[fingerprint("Es ist halb neun.", "It is half nine.")] is False
    assert found[fingerprint("Guten Tag!", "Good day!")] is True
    assert fingerprint("Hello!", "Hallo!") not in found
    assert fingerprint("Es ist halb neun.", "It is half past eight.") not in found
    assert fingerprint("a", "b c") != fingerprint("a b", "c")


def test_a_verdict_that_is_none_is_named(tmp_path: Path) -> None:
    strange = table(tmp_path / "t.tsv", ("direction", "verdict", "fingerprint"), ("de-en", "perhaps", "0" * 16))
    with pytest.raises(TrainingError, match="'perhaps'"):
        read_verdicts((strange,), "de-en")
    nameless = table(tmp_path / "n.tsv", ("verdict", "fingerprint"), ("right", "0" * 16))
    with pytest.raises(TrainingError, match="needs the columns direction"):
        read_verdicts((nameless,), "de-en")


def test_what_nobody_has_judged_yet_is_no_verdict(tmp_path: Path) -> None:
    rows = (("verdict", "direction", "fingerprint"), ("", "de-en", "0" * 16), ("wrong", "de-en", "1" * 16))
    assert read_verdicts((table(tmp_path / "t.tsv", *rows),), "de-en") == {"1" * 16: False}


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_answers_of_every_translator_that_goes_both_ways_were_read(direction: str) -> None:
    plain, others = (read_verdicts((path,), direction) for path in JUDGED)
    assert len(plain) == 120
    assert len(others) > 500
    assert not plain.keys() & others.keys()
    assert 0.25 < sum(not right for right in others.values()) / len(others) < 0.4

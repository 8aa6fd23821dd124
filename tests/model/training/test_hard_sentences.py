"""The hard sentences: held out of all texts to learn from, and every translator's answers judged."""

from __future__ import annotations

import csv
import gzip
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from headlight.model.commands.reliability import HARD, HARD_JUDGED, MISTAKES
from headlight.model.training.human_verdicts import read_mistakes, read_verdicts

LANGUAGES = ("de", "en", "zh")


def strip_marks(sentence: str) -> str:
    """The letters and digits of a sentence, without case."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", sentence).casefold()))


def read_rows(path: Path) -> list[dict[str, str]]:
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))


def test_each_pair_of_languages_has_a_hundred_hard_sentences() -> None:
    rows = read_rows(HARD)
    assert Counter((bool(row["de"]), bool(row["zh"])) for row in rows) == {(True, False): 100, (False, True): 100}
    sentences = [row[language] for row in rows for language in LANGUAGES if row[language]]
    assert len(sentences) == len({strip_marks(sentence) for sentence in sentences}) == 400
    long = [row["en"] for row in rows if row["kind"] == "long"]
    assert len(long) == 28
    assert all(len(sentence.split()) >= 28 for sentence in long)


@pytest.mark.parametrize("path", sorted(HARD.parent.glob("everyday*")), ids=lambda path: path.name)
def test_no_text_to_learn_from_has_a_hard_sentence(path: Path) -> None:
    hard = {strip_marks(row[language]) for row in read_rows(HARD) for language in LANGUAGES if row[language]}
    learnt = {strip_marks(row[language]) for row in read_rows(path) for language in LANGUAGES if row.get(language)}
    assert len(learnt) > 5000
    assert not hard & learnt


@pytest.mark.parametrize(
    "name", ["mini.tsv", "plain.tsv", "typed.tsv", "toy.tsv", "order.tsv", "guess.tsv", "attention.tsv"]
)
def test_no_other_table_has_a_hard_sentence(name: str) -> None:
    hard = {strip_marks(row[language]) for row in read_rows(HARD) for language in LANGUAGES if row[language]}
    others = {strip_marks(row[key]) for row in read_rows(HARD.parent / name) for key in LANGUAGES if row.get(key)}
    assert others
    assert not hard & others


@pytest.mark.parametrize("direction", ["de-en", "en-de", "zh-en", "en-zh"])
def test_every_translator_is_judged_on_its_hard_sentences(direction: str) -> None:
    source, target = direction.split("-")
    sentences = {row[source] for row in read_rows(HARD) if row[source] and row[target]}
    judged = [row for row in read_rows(HARD_JUDGED) if row["direction"] == direction]
    assert {row["sentence"] for row in judged} == sentences
    assert all((row["kind"] in MISTAKES) == (row["verdict"] == "wrong") for row in judged)
    verdicts, mistakes = read_verdicts((HARD_JUDGED,), direction), read_mistakes(HARD_JUDGED, direction)
    assert len(verdicts) == 100
    assert {digest for digest, right in verdicts.items() if not right} == mistakes.keys()

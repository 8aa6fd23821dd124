"""Generated reviews: correct labels, unique texts, reproducible, and disjoint from test sets."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from workshop.data.__main__ import main
from workshop.data.new_lines import make_fingerprint
from workshop.data.templates.reviews import (
    DENIED,
    IDIOMS,
    PLAIN,
    SLOT,
    WHOLE,
    WORDS,
    ReviewGenerator,
    review_fingerprints,
    reviews,
)

HELD_OUT = Path(__file__).resolve().parents[2] / "assets" / "corpora" / "reviews.tsv"


def test_every_slot_has_words_for_both_labels() -> None:
    lines = [line.strip() for table in (PLAIN, DENIED, WHOLE) for line in table.strip().splitlines()]
    for line in lines:
        for name, sign in SLOT.findall(line.replace("=}", "+}").replace("!}", "-}")):
            assert name == "clause" or {name + "+", name + "-"} <= WORDS.keys() if sign else name in WORDS, line
    for table in IDIOMS.values():
        assert all(name + sign in WORDS for name, sign in SLOT.findall(table))


def test_positive_and_negative_words_are_disjoint() -> None:
    for name in {name[:-1] for name in WORDS if name[-1] in "+-"}:
        assert not set(WORDS[name + "+"]) & set(WORDS[name + "-"]), name


@pytest.mark.parametrize(
    ("line", "verdict", "words"),
    [
        ("it is {adjective=}", "+", "adjective+"),
        ("it is {adjective=}", "-", "adjective-"),
        ("it is not {adjective!}", "+", "adjective-"),
        ("it is not {adjective!}", "-", "adjective+"),
    ],
)
def test_slot_words_match_the_label(line: str, verdict: str, words: str) -> None:
    start, generator = line[: line.index("{")], ReviewGenerator(1)
    for _ in range(50):
        assert generator._fill(line, verdict).removeprefix(start) in WORDS[words]


def test_articles_agree_with_the_next_word() -> None:
    finished = [ReviewGenerator(seed)._finish("a awful film, an good idea, a utterly dull joke") for seed in range(30)]
    assert {text.rstrip(".!") for text in finished} == {"An awful film, a good idea, an utterly dull joke"}
    assert {text[-1] for text in finished} == {".", "!", "e"}


def test_reviews_are_balanced_unique_and_reproducible() -> None:
    generated = list(reviews(2000, 1))
    assert generated == list(reviews(2000, 1)) != list(reviews(2000, 2))
    assert len({make_fingerprint(text) for text, _ in generated}) == 2000
    assert 900 < Counter(label for _, label in generated)["1"] < 1100
    text, _ = generated[0]
    assert text not in {other for other, _ in islice(reviews(2000, 1, {make_fingerprint(text)}), 2000)}


def test_generated_reviews_are_disjoint_from_test_sets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    held_out = review_fingerprints([HELD_OUT])
    assert make_fingerprint("Not bad at all.") in held_out
    command = ["reviews", "--data", str(tmp_path), "--count", "3000", "--apart", str(HELD_OUT)]
    assert main(command) == 0
    assert "2,700 reviews to train on, 300 to test with" in capsys.readouterr().out
    folder = tmp_path / "templates" / "reviews"
    train, test = review_fingerprints([folder / "train.tsv"]), review_fingerprints([folder / "test.tsv"])
    assert not train & test
    assert not (train | test) & held_out

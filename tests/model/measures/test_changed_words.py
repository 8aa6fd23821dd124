"""Word diffs: unchanged, replaced, inserted and deleted words."""

from __future__ import annotations

import pytest

from headlight.model.measures.word_diff import WordPair, WrittenWord, diff_words, written_words
from headlight.model.records import Token


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a b c", "a b c", [(0, 0), (1, 1), (2, 2)]),
        ("a b c", "a x c", [(0, 0), (1, 1), (2, 2)]),
        ("a b c", "a c", [(0, 0), (1, None), (2, 1)]),
        ("a c", "a b c", [(0, 0), (None, 1), (1, 2)]),
        ("a b c d", "a x d", [(0, 0), (1, 1), (2, None), (3, 2)]),
        ("a b", "c d e", [(0, 0), (1, 1), (None, 2)]),
        ("", "a", [(None, 0)]),
        ("a", "", [(0, None)]),
    ],
)
def test_diff_pairs_equal_and_replaced_words(
    before: str, after: str, expected: list[tuple[int | None, int | None]]
) -> None:
    assert diff_words(before.split(), after.split()) == [WordPair(*each) for each in expected]


def test_every_word_is_in_exactly_one_pair() -> None:
    before, after = ["the", "dog", "the", "cat", "the", "bird"], ["the", "bird", "the", "the", "cow"]
    pairs = diff_words(before, after)
    assert [pair.before for pair in pairs if pair.before is not None] == list(range(6))
    assert [pair.after for pair in pairs if pair.after is not None] == list(range(5))


def test_tokens_are_grouped_by_word() -> None:
    text = "Hello, you"
    tokens = [
        Token("Hel", 5, 0, 3, word=0),
        Token("lo", 6, 3, 5, word=0),
        Token(",", 7, 5, 6, word=1),
        Token(" you", 8, 6, 10, word=2),
        Token("</s>", 2, 10, 10, special=True),
    ]
    assert written_words(tokens, text) == [
        WrittenWord("Hello", (0, 1)),
        WrittenWord(",", (2,)),
        WrittenWord("you", (3,)),
        WrittenWord("</s>", (4,)),
    ]

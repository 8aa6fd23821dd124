"""Token matching of two sentences: manual examples and property-based tests."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headlight.model.measures.matching import MatchedUnit, TokenMatching, match_tokens
from headlight.model.records import Token
from headlight.model.text.segmentation import word_indices

END = "</s>"


def tokenize(
    text: str, *ends: int, special: tuple[str, ...] = (END,), before: tuple[str, ...] = ()
) -> tuple[Token, ...]:
    """Tokens of a text that end at `ends`, without leading spaces, between special tokens."""
    spans = []
    for start, end in zip((0, *ends), (*ends, len(text)), strict=True):
        piece = text[start:end]
        spans.append((start + len(piece) - len(piece.lstrip()), end))
    words = word_indices(text, spans)
    tokens = [
        Token(text[start:end], index, start, end, word=word)
        for index, ((start, end), word) in enumerate(zip(spans, words, strict=True))
    ]
    special_before = [Token(name, 9000, 0, 0, special=True) for name in before]
    return (*special_before, *tokens, *(Token(name, 9001, len(text), len(text), special=True) for name in special))


def match_same_text(text: str, first: tuple[int, ...], second: tuple[int, ...]) -> TokenMatching:
    return match_tokens(tokenize(text, *first), text, tokenize(text, *second), text)


# ---------------------------------------------------------------- one text, two tokenizations


def test_tokens_of_one_text_match_if_they_share_a_character() -> None:
    matching = match_same_text("Haustür zu", (4, 7), (3, 5))  # Haus|tür| zu and Hau|st|ür zu
    assert matching.same_text
    assert matching.pairs == ((0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (3, 3))


def test_unit_is_shortest_span_of_whole_words_on_both_sides() -> None:
    matching = match_same_text("der Hund schläft .", (3, 8, 11, 16), (3, 8, 16))
    assert [(unit.text, unit.first, unit.second) for unit in matching.units] == [
        ("der", (0,), (0,)),
        ("Hund", (1,), (1,)),
        ("schläft", (2, 3), (2,)),
        (".", (4,), (3,)),
        (END, (5,), (4,)),
    ]
    assert [unit.special for unit in matching.units] == [False] * 4 + [True]


def test_token_across_two_words_merges_them() -> None:
    matching = match_same_text("我用编程", (1, 2, 3), (1, 3))  # 我|用|编|程 and 我|用编|程
    assert [(unit.text, unit.first, unit.second) for unit in matching.units][:3] == [
        ("我", (0,), (0,)),
        ("用编", (1, 2), (1,)),
        ("程", (3,), (2,)),
    ]
    assert matching.pairs == ((0, 0), (1, 1), (2, 1), (3, 2), (4, 3))


def test_pieces_of_a_character_match_the_token_that_covers_it() -> None:
    text = "🙂 ja"
    pieces = tuple(Token("🙂", 7 + piece, 0, 1, word=0, piece=piece, pieces=3) for piece in range(3))
    first = (*pieces, Token("ja", 3, 2, 4, word=1), Token(END, 2, 4, 4, special=True))
    matching = match_tokens(first, text, tokenize(text, 1), text)
    assert matching.pairs == ((0, 0), (1, 0), (2, 0), (3, 1), (4, 2))
    assert matching.units[0] == MatchedUnit("🙂", (0, 1, 2), (0,))


def test_empty_token_belongs_to_next_word_without_match() -> None:
    text = "ja nein"
    blank, last = Token(" ", 5, 3, 3), Token(" ", 5, 7, 7)
    first = (Token("ja", 1, 0, 2, word=0), blank, Token("nein", 2, 3, 7, word=1), last)
    matching = match_tokens(first, text, tokenize(text, 2, special=()), text)
    assert matching.units == (MatchedUnit("ja", (0,), (0,)), MatchedUnit("nein", (1, 2, 3), (1,)))
    assert matching.pairs == ((0, 0), (2, 1))


def test_characters_missing_on_one_side_are_unmatched() -> None:
    text = "ja ~ nein"
    second = (Token("ja", 1, 0, 2, word=0), Token("nein", 2, 5, 9, word=1))
    matching = match_tokens(tokenize(text, 2, 4), text, second, text)
    assert [(unit.text, unit.is_matched) for unit in matching.units] == [
        ("ja", True),
        ("~", False),
        ("nein", True),
        (END, False),
    ]


# ---------------------------------------------------------------- special tokens


def test_special_tokens_match_by_text_and_side() -> None:
    text = "ja"
    first, second = tokenize(text, before=("deu",)), tokenize(text, special=(END, "eng"), before=("deu", "x"))
    matching = match_tokens(first, text, second, text)
    assert matching.pairs == ((0, 0), (1, 2), (2, 3))
    assert [(unit.text, unit.first, unit.second) for unit in matching.units] == [
        ("deu", (0,), (0,)),
        ("x", (), (1,)),
        ("ja", (1,), (2,)),
        (END, (2,), (3,)),
        ("eng", (), (4,)),
    ]


def test_truncated_translation_has_no_matching_end_token() -> None:
    matching = match_tokens(tokenize("a dog"), "a dog", tokenize("a dog", special=()), "a dog")
    assert [unit.is_matched for unit in matching.units if unit.special] == [False]


# ---------------------------------------------------------------- two texts


def test_words_of_two_texts_match_in_order_ignoring_case() -> None:
    one, other = "The dog sleeps here .", "A small Dog is sleeping here ."
    matching = match_tokens(tokenize(one, 3, 7, 14, 19), one, tokenize(other, 1, 7, 9, 11, 14, 20, 23, 28), other)
    assert not matching.same_text
    assert [(unit.text, unit.first, unit.second) for unit in matching.units if unit.is_matched] == [
        ("dog", (1,), (2, 3)),  # "D" and "og"
        ("here", (3,), (7,)),
        (".", (4,), (8,)),
        (END, (5,), (9,)),
    ]
    assert matching.pairs == ((1, 2), (1, 3), (3, 7), (4, 8), (5, 9))
    assert [unit.text for unit in matching.units if unit.first and not unit.second] == ["The", "sleeps"]


def test_reordered_words_match_by_longest_common_subsequence() -> None:
    one, other = "a b c d", "d a b c"
    matching = match_tokens(tokenize(one, 1, 3, 5, special=()), one, tokenize(other, 1, 3, 5, special=()), other)
    assert matching.pairs == ((0, 1), (1, 2), (2, 3))


def test_texts_without_common_words_match_only_at_end_token() -> None:
    matching = match_tokens(tokenize("ja doch", 2), "ja doch", tokenize("yes indeed", 3), "yes indeed")
    assert [unit.text for unit in matching.units if unit.is_matched] == [END]


# ---------------------------------------------------------------- properties


@st.composite
def tokenized(draw: st.DrawFn, text: str) -> tuple[Token, ...]:
    ends = sorted(draw(st.sets(st.integers(1, max(1, len(text) - 1)), max_size=7)))
    pieces = [end for end in ends if end < len(text)]
    return tokenize(text, *pieces, special=draw(st.sampled_from([(), (END,), (END, "deu")])))


@settings(max_examples=60, deadline=None)
@given(st.data(), st.text(alphabet="ab .我用🙂-", min_size=1, max_size=13), st.text(alphabet="Ab .我", max_size=11))
def test_units_partition_tokens_and_contain_all_pairs(data: st.DataObject, text: str, other: str) -> None:
    other_text = data.draw(st.sampled_from([text, other or "b"]))
    first, second = data.draw(tokenized(text)), data.draw(tokenized(other_text))
    matching = match_tokens(first, text, second, other_text)
    assert sorted(index for unit in matching.units for index in unit.first) == list(range(len(first)))
    assert sorted(index for unit in matching.units for index in unit.second) == list(range(len(second)))
    within = {(one, two) for unit in matching.units for one in unit.first for two in unit.second}
    assert set(matching.pairs) <= within
    if text == other_text:
        overlapping = {
            (one, two)
            for one, left in enumerate(first)
            for two, right in enumerate(second)
            if not (left.special or right.special) and max(left.start, right.start) < min(left.end, right.end)
        }
        assert {pair for pair in matching.pairs if not first[pair[0]].special} == overlapping


@given(
    st.data(),
    st.text(alphabet="ab .我用", min_size=1, max_size=13),
    st.text(alphabet="ab .我", min_size=1, max_size=11),
)
def test_matching_is_symmetric(data: st.DataObject, text: str, other: str) -> None:
    first, second = data.draw(tokenized(text)), data.draw(tokenized(other))
    forward, backward = match_tokens(first, text, second, other), match_tokens(second, other, first, text)
    assert forward.same_text == backward.same_text
    shared = len([unit for unit in forward.units if unit.is_matched])
    assert shared == len([unit for unit in backward.units if unit.is_matched])
    if forward.same_text:
        assert set(forward.pairs) == {(two, one) for one, two in backward.pairs}


@pytest.mark.parametrize("text", ["Der Hund schläft.", "狗在睡觉。", "E-Mail um 14:30!!"])
def test_text_matches_itself_token_by_token(text: str) -> None:
    tokens = tokenize(text, *range(1, len(text), 3))
    matching = match_tokens(tokens, text, tokens, text)
    assert matching.pairs == tuple((index, index) for index in range(len(tokens)))
    assert all(unit.first == unit.second for unit in matching.units)

"""Token matching of two sentences: manual examples and property-based tests."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headlight.model.measures.matching import MatchedUnit, TokenMatching, match_tokens
from headlight.model.records import Token
from headlight.model.text.segmentation import word_indices

END = "</s>"


def cut(text: str, *ends: int, special: tuple[str, ...] = (END,), before: tuple[str, ...] = ()) -> tuple[Token, ...]:
    """A text cut at these places, without the spaces in front of words, and special tokens around it."""
    spans = []
    for start, end in zip((0, *ends), (*ends, len(text)), strict=True):
        own = text[start:end]
        spans.append((start + len(own) - len(own.lstrip()), end))
    words = word_indices(text, spans)
    tokens = [
        Token(text[start:end], place, start, end, word=word)
        for place, ((start, end), word) in enumerate(zip(spans, words, strict=True))
    ]
    lead = [Token(name, 9000, 0, 0, special=True) for name in before]
    return (*lead, *tokens, *(Token(name, 9001, len(text), len(text), special=True) for name in special))


def of_one_text(text: str, first: tuple[int, ...], second: tuple[int, ...]) -> TokenMatching:
    return match_tokens(cut(text, *first), text, cut(text, *second), text)


# ---------------------------------------------------------------- one text, two cuts


def test_tokens_of_one_text_match_where_they_share_a_character() -> None:
    found = of_one_text("Haustür zu", (4, 7), (3, 5))  # Haus|tür| zu and Hau|st|ür zu
    assert found.same_text
    assert found.pairs == ((0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (3, 3))


def test_a_unit_is_the_shortest_stretch_that_both_sides_cover_with_whole_words() -> None:
    found = of_one_text("der Hund schläft .", (3, 8, 11, 16), (3, 8, 16))
    assert [(unit.text, unit.first, unit.second) for unit in found.units] == [
        ("der", (0,), (0,)),
        ("Hund", (1,), (1,)),
        ("schläft", (2, 3), (2,)),
        (".", (4,), (3,)),
        (END, (5,), (4,)),
    ]
    assert [unit.special for unit in found.units] == [False] * 4 + [True]


def test_a_token_that_reaches_over_two_words_joins_them() -> None:
    found = of_one_text("我用编程", (1, 2, 3), (1, 3))  # 我|用|编|程 and 我|用编|程
    assert [(unit.text, unit.first, unit.second) for unit in found.units][:3] == [
        ("我", (0,), (0,)),
        ("用编", (1, 2), (1,)),
        ("程", (3,), (2,)),
    ]
    assert found.pairs == ((0, 0), (1, 1), (2, 1), (3, 2), (4, 3))


def test_pieces_of_one_character_all_match_what_covers_it() -> None:
    text = "🙂 ja"
    pieces = tuple(Token("🙂", 7 + piece, 0, 1, word=0, piece=piece, pieces=3) for piece in range(3))
    first = (*pieces, Token("ja", 3, 2, 4, word=1), Token(END, 2, 4, 4, special=True))
    found = match_tokens(first, text, cut(text, 1), text)
    assert found.pairs == ((0, 0), (1, 0), (2, 0), (3, 1), (4, 2))
    assert found.units[0] == MatchedUnit("🙂", (0, 1, 2), (0,))


def test_what_covers_no_character_belongs_to_the_word_after_it_and_matches_nothing() -> None:
    text = "ja nein"
    blank, last = Token(" ", 5, 3, 3), Token(" ", 5, 7, 7)
    first = (Token("ja", 1, 0, 2, word=0), blank, Token("nein", 2, 3, 7, word=1), last)
    found = match_tokens(first, text, cut(text, 2, special=()), text)
    assert found.units == (MatchedUnit("ja", (0,), (0,)), MatchedUnit("nein", (1, 2, 3), (1,)))
    assert found.pairs == ((0, 0), (2, 1))


def test_characters_that_one_side_left_out_stay_alone() -> None:
    text = "ja ~ nein"
    second = (Token("ja", 1, 0, 2, word=0), Token("nein", 2, 5, 9, word=1))
    found = match_tokens(cut(text, 2, 4), text, second, text)
    assert [(unit.text, unit.is_matched) for unit in found.units] == [
        ("ja", True),
        ("~", False),
        ("nein", True),
        (END, False),
    ]


# ---------------------------------------------------------------- special tokens


def test_special_tokens_match_by_name_and_keep_their_side_of_the_sentence() -> None:
    text = "ja"
    first, second = cut(text, before=("deu",)), cut(text, special=(END, "eng"), before=("deu", "x"))
    found = match_tokens(first, text, second, text)
    assert found.pairs == ((0, 0), (1, 2), (2, 3))
    assert [(unit.text, unit.first, unit.second) for unit in found.units] == [
        ("deu", (0,), (0,)),
        ("x", (), (1,)),
        ("ja", (1,), (2,)),
        (END, (2,), (3,)),
        ("eng", (), (4,)),
    ]


def test_a_translation_that_was_cut_off_has_no_end_to_match() -> None:
    found = match_tokens(cut("a dog"), "a dog", cut("a dog", special=()), "a dog")
    assert [unit.is_matched for unit in found.units if unit.special] == [False]


# ---------------------------------------------------------------- two texts


def test_words_of_two_texts_match_in_order_case_aside_and_inside_them_characters_do() -> None:
    one, other = "The dog sleeps here .", "A small Dog is sleeping here ."
    found = match_tokens(cut(one, 3, 7, 14, 19), one, cut(other, 1, 7, 9, 11, 14, 20, 23, 28), other)
    assert not found.same_text
    assert [(unit.text, unit.first, unit.second) for unit in found.units if unit.is_matched] == [
        ("dog", (1,), (2, 3)),  # "D" and "og"
        ("here", (3,), (7,)),
        (".", (4,), (8,)),
        (END, (5,), (9,)),
    ]
    assert found.pairs == ((1, 2), (1, 3), (3, 7), (4, 8), (5, 9))
    assert [unit.text for unit in found.units if unit.first and not unit.second] == ["The", "sleeps"]


def test_the_longest_common_series_is_kept_where_words_change_places() -> None:
    one, other = "a b c d", "d a b c"
    found = match_tokens(cut(one, 1, 3, 5, special=()), one, cut(other, 1, 3, 5, special=()), other)
    assert found.pairs == ((0, 1), (1, 2), (2, 3))


def test_texts_without_a_common_word_share_their_end_alone() -> None:
    found = match_tokens(cut("ja doch", 2), "ja doch", cut("yes indeed", 3), "yes indeed")
    assert [unit.text for unit in found.units if unit.is_matched] == [END]


# ---------------------------------------------------------------- whatever comes


@st.composite
def cuts(draw: st.DrawFn, text: str) -> tuple[Token, ...]:
    ends = sorted(draw(st.sets(st.integers(1, max(1, len(text) - 1)), max_size=7)))
    pieces = [end for end in ends if end < len(text)]
    return cut(text, *pieces, special=draw(st.sampled_from([(), (END,), (END, "deu")])))


@settings(max_examples=60, deadline=None)
@given(st.data(), st.text(alphabet="ab .我用🙂-", min_size=1, max_size=13), st.text(alphabet="Ab .我", max_size=11))
def test_units_hold_every_token_once_and_pairs_stay_inside_them(data: st.DataObject, text: str, other: str) -> None:
    other_text = data.draw(st.sampled_from([text, other or "b"]))
    first, second = data.draw(cuts(text)), data.draw(cuts(other_text))
    found = match_tokens(first, text, second, other_text)
    assert sorted(place for unit in found.units for place in unit.first) == list(range(len(first)))
    assert sorted(place for unit in found.units for place in unit.second) == list(range(len(second)))
    within = {(one, two) for unit in found.units for one in unit.first for two in unit.second}
    assert set(found.pairs) <= within
    if text == other_text:
        touching = {
            (one, two)
            for one, left in enumerate(first)
            for two, right in enumerate(second)
            if not (left.special or right.special) and max(left.start, right.start) < min(left.end, right.end)
        }
        assert {pair for pair in found.pairs if not first[pair[0]].special} == touching


@given(
    st.data(),
    st.text(alphabet="ab .我用", min_size=1, max_size=13),
    st.text(alphabet="ab .我", min_size=1, max_size=11),
)
def test_the_other_way_round_nothing_changes_but_the_sides(data: st.DataObject, text: str, other: str) -> None:
    first, second = data.draw(cuts(text)), data.draw(cuts(other))
    there, back = match_tokens(first, text, second, other), match_tokens(second, other, first, text)
    assert there.same_text == back.same_text
    shared = len([unit for unit in there.units if unit.is_matched])
    assert shared == len([unit for unit in back.units if unit.is_matched])
    if there.same_text:
        assert set(there.pairs) == {(two, one) for one, two in back.pairs}


@pytest.mark.parametrize("text", ["Der Hund schläft.", "狗在睡觉。", "E-Mail um 14:30!!"])
def test_a_sentence_matches_itself_token_by_token(text: str) -> None:
    tokens = cut(text, *range(1, len(text), 3))
    found = match_tokens(tokens, text, tokens, text)
    assert found.pairs == tuple((place, place) for place in range(len(tokens)))
    assert all(unit.first == unit.second for unit in found.units)

"""User text is cleaned to one line, or rejected with a message."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headlight.model.errors import RequestError
from headlight.model.text.cleaning import clean_text, is_blank

INVISIBLE = ("\u00ad", "\u200b", "\u2060", "\ufeff", "\x00", "\x07", "\x1b", "\x7f", "\x80", "\x9f")
ANY_TEXT = st.text(st.characters(exclude_categories=()))  # includes lone surrogates
DIFFICULT_TEXT = st.text(
    st.sampled_from("ae\u0301\u030a\u212b \u00a0\u3000\t\n\u200b\u200d\ufeff\u00ad\x00\x85\u1100\u1161")
)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("Ich trinke ein Bier.", "Ich trinke ein Bier."),
        ("  zwei  Leerzeichen ", "zwei Leerzeichen"),
        ("eine\nzweite\r\nZeile\tund\vmehr\f", "eine zweite Zeile und mehr"),
        ("a\u00a0b\u3000c\u2009d\u2028e\x85f\x1cg", "a b c d e f g"),  # white space of all kinds
        ("cafe\u0301", "caf\u00e9"),
        ("\u212bngstr\u00f6m", "\u00c5ngstr\u00f6m"),
        ("\u1112\u1161\u11ab", "\ud55c"),  # Hangul composed from its letters
        ("ﬁ Ａ１ ½", "ﬁ Ａ１ ½"),  # compatibility characters are preserved
        ("e\u200b\u0301", "\u00e9"),  # an invisible character between letter and accent
        ("weich\u00adheit", "weichheit"),
        ("\ufeffAnfang", "Anfang"),
        ("👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"),  # joiners of an emoji are preserved
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("<b>x</b> ${y} \\u0041", "<b>x</b> ${y} \\u0041"),
        ("<pad></s>", "<pad></s>"),
    ],
)
def test_text_is_normalised_to_one_line(typed: str, expected: str) -> None:
    assert clean_text(typed) == expected


@pytest.mark.parametrize("invisible", INVISIBLE, ids=ascii)
def test_invisible_characters_are_removed(invisible: str) -> None:
    assert clean_text(f"{invisible}Gu{invisible}{invisible}ten Tag{invisible}") == "Guten Tag"


@pytest.mark.parametrize(
    "typed",
    [
        *("", " ", "\t\r\n", "\u00a0", "\u3000", "\u2028\u2029", "\x85\x1c\x1d\x1e\x1f", " \u00a0 \u3000 "),
        *INVISIBLE,
        *("\u200b\u200b", "\u200c", "\u200d", "\u200e\u200f", "\u202e", "\u2061\u2064", "\u2066\u2069", "\u061c"),
        *("\u180e", "\U000e0041", "\ufeff\u00a0\u200d \x00"),
    ],
    ids=ascii,
)
def test_blank_text_raises(typed: str) -> None:
    assert is_blank(typed)
    with pytest.raises(RequestError, match=r"There is no text yet\. Type a sentence first\.") as error_info:
        clean_text(typed, field="sentence")
    assert error_info.value.field == "sentence"
    with pytest.raises(RequestError, match=r"target has no word in it\. Write some, or leave it out\."):
        clean_text(typed, field="target")


@pytest.mark.parametrize("typed", ["a", ".", "\u200d.", "我", "🙂", "\u0301", "\ufffd", "\u2800x"], ids=ascii)
def test_single_visible_character_is_accepted(typed: str) -> None:
    assert not is_blank(typed)
    assert clean_text(typed) == typed


@pytest.mark.parametrize(
    ("typed", "position"), [("\ud83d", 1), ("Hallo \ud83d!", 7), ("🙂\udfff", 2), ("\ude00\ud83d", 1)]
)
def test_lone_surrogate_raises_with_position(typed: str, position: int) -> None:
    with pytest.raises(RequestError, match=rf"half a character at position {position}\. Type it again") as error_info:
        clean_text(typed, field="prefix")
    assert error_info.value.field == "prefix"


@pytest.mark.parametrize(
    ("value", "kind"),
    [(None, "null"), (5, "5"), (b"Bier", "a value of type bytes"), (["Bier"], "a list"), (0.5, "0.5")],
)
def test_value_of_another_type_raises(value: Any, kind: str) -> None:
    with pytest.raises(RequestError, match=rf"^text must be text, but {kind} was given\.") as error_info:
        clean_text(value)
    assert error_info.value.field == "text"


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(typed=st.one_of(ANY_TEXT, DIFFICULT_TEXT))
def test_any_text_is_cleaned_or_rejected(typed: str) -> None:
    try:
        line = clean_text(typed)
    except RequestError:
        assert is_blank(typed) or any(unicodedata.category(character) == "Cs" for character in typed)
        return
    assert line
    assert unicodedata.is_normalized("NFC", line)
    assert line == " ".join(line.split())
    assert not set(line) & set(INVISIBLE)
    assert clean_text(line) == line

"""Labels: every character is displayed, and no markup is interpreted."""

from __future__ import annotations

import re
import unicodedata

import pytest

from headlight.model.records import Token
from headlight.viz.token_labels import (
    TokenLabel,
    candidate_label,
    display_width,
    grapheme_clusters,
    make_visible,
    plotly_text,
    token_labels,
    truncate,
    vertical_text,
    wrap,
)
from tests.viz.figures_examples import HOSTILE, SCRIPTS

ENTITY = re.compile(r"&(#\d+|#x[\da-fA-F]+|[a-z]+);")
NAMED = {"amp": "&", "lt": "<", "gt": ">", "nbsp": "\u00a0", "times": "×", "plusmn": "±", "deg": "°", "mu": "μ"}


def shown_by_plotly(text: str) -> str:
    """The text that plotly.js displays for a label without tags: entities are decoded once."""

    def decode(match: re.Match[str]) -> str:
        name = match[1]
        if name.startswith("#x"):
            return chr(int(name[2:], 16))
        return chr(int(name[1:])) if name.startswith("#") else NAMED.get(name, match[0])

    return ENTITY.sub(decode, text).strip("\u2068\u2069")


def pieces(*texts: str, word: int | None = 0, special: bool = False) -> tuple[Token, ...]:
    """Adjacent tokens."""
    place, tokens = 0, []
    for text in texts:
        tokens.append(Token(text, 1, place, place + len(text), word=word, special=special))
        place += len(text)
    return tuple(tokens)


@pytest.mark.parametrize("text", [*HOSTILE, *SCRIPTS])
def test_plotly_texts_are_displayed_literally(text: str) -> None:
    label = token_labels(pieces(text))[0]
    assert shown_by_plotly(label.plotly_full) == label.full
    assert not set("<>$%") & set(label.plotly_full + label.plotly)
    assert "&" not in ENTITY.sub("", label.plotly_full)


def test_plotly_markup_is_escaped() -> None:
    assert plotly_text("<b>&amp;</b> $x$ %{z}") == "&lt;b&gt;&amp;amp;&lt;/b&gt; &#36;x&#36; &#37;{z}"


@pytest.mark.parametrize(
    ("text", "displayed_text"),
    [
        (" ", "␣"),
        ("  ", "␣␣"),
        ("\u3000", "␣"),
        ("", "∅"),
        (" cat", "cat"),
        ("a b", "a b"),
        ("\t", "⇥"),
        ("a\tb", "a⇥b"),
        ("\n", "↵"),
        ("\r\n", "[U+000D]↵"),
        ("\x00", "[U+0000]"),
        ("\u202egnp", "[U+202E]gnp"),
        ("\u200b", "[U+200B]"),
        ("\u200d", "[U+200D]"),
        ("👨\u200d🚀", "👨\u200d🚀"),
        ("می\u200cروم", "می\u200cروم"),
        ("\u0301", "◌\u0301"),
        ("e\u0301", "e\u0301"),
        ("\ue000", "[U+E000]"),
        ("\ud800", "[U+D800]"),
        ("\ufffd", "\ufffd"),
    ],
)
def test_invisible_characters_have_symbols(text: str, displayed_text: str) -> None:
    assert make_visible(text) == displayed_text


def test_continuation_pieces_have_dot() -> None:
    labels = token_labels(pieces("trans", "lat", "ing"))
    assert [label.text for label in labels] == ["trans", "·lat", "·ing"]
    assert [label.continues_word for label in labels] == [False, True, True]


def test_token_after_space_has_no_dot() -> None:
    apart = (Token("the", 1, 0, 3, word=0), Token("cat", 2, 4, 7, word=1))
    assert [(label.text, label.continues_word) for label in token_labels(apart)] == [("the", False), ("cat", False)]
    assert [label.text for label in token_labels(pieces(" ", "ult"))] == ["␣", "ult"]


def test_punctuation_has_no_dot() -> None:
    tokens = (Token("table", 1, 0, 5, word=0), Token(".", 2, 5, 6, word=1), Token("'s", 3, 6, 8, word=1))
    assert [(label.text, label.continues_word) for label in token_labels(tokens)] == [
        ("table", False),
        (".", True),
        ("'s", True),
    ]


def test_adjacent_word_has_no_dot() -> None:
    tokens = (Token("我用", 1, 0, 2, word=0), Token("Py", 2, 2, 4, word=1), Token("thon", 3, 4, 8, word=1))
    assert [label.text for label in token_labels(tokens)] == ["我用", "Py", "·thon"]


@pytest.mark.parametrize("texts", [("翻译", "程序"), ("たべ", "る"), ("한국", "어")])
def test_chinese_characters_have_no_dot(texts: tuple[str, str]) -> None:
    labels = token_labels(pieces(*texts))
    assert [label.text for label in labels] == list(texts)
    assert all(label.is_vertical for label in labels)
    assert labels[1].continues_word


def test_special_tokens_are_never_adjacent() -> None:
    tokens = (*pieces("a"), Token("</s>", 2, 1, 1, special=True))
    assert token_labels(tokens)[1] == TokenLabel("</s>", "</s>", special=True, continues_word=False)
    assert token_labels(tokens)[1].plotly == "&lt;/s&gt;"


def test_split_character_is_shown_once() -> None:
    tokens = tuple(Token("翻", number, 4, 5, word=1, piece=number, pieces=3) for number in range(3))
    labels = token_labels(tokens)
    assert [label.text for label in labels] == ["翻", "翻 2/3", "翻 3/3"]
    assert [label.full for label in labels] == ["翻", "翻 2/3", "翻 3/3"]
    assert [label.continues_word for label in labels] == [False, True, True]


def test_long_labels_are_truncated_with_full_text_kept() -> None:
    long = "Donaudampfschifffahrtsgesellschaft"
    label = token_labels(pieces(long))[0]
    assert (label.text, label.full) == ("Donaudampfschif…", long)
    assert truncate("0123456789abcdef") == "0123456789abcdef"
    assert truncate("翻译程序员在北京") == "翻译程序员在北京"
    assert truncate("翻译程序员在北京上海") == "翻译程序员在北…"


def test_truncation_never_splits_characters() -> None:
    family = "👨\u200d👩\u200d👧\u200d👦"
    assert truncate(family * 9) == family * 7 + "…"
    accents = "e" + "\u0301" * 50
    assert truncate(accents) == "e" + "\u0301" * 4
    assert token_labels(pieces(accents))[0].full == accents


def test_graphemes_are_kept_together() -> None:
    assert grapheme_clusters("e\u0301👍🏽🇩🇪🇫🇷a") == ["e\u0301", "👍🏽", "🇩🇪", "🇫🇷", "a"]
    assert display_width("e\u0301翻👍🏽") == 1 + 2 + 2


def test_right_to_left_text_is_isolated() -> None:
    assert plotly_text("مرحبا") == "\u2068مرحبا\u2069"
    assert plotly_text("cat") == "cat"


def test_upright_label_has_one_character_per_line() -> None:
    assert vertical_text("翻译<") == "翻<br>译<br>&lt;"


def test_candidate_label_shows_continuation() -> None:
    assert [candidate_label(text).text for text in (" cat", "ress", ",", "翻译", "")] == [
        "cat",
        "·ress",
        ",",
        "翻译",
        "∅",
    ]
    assert candidate_label("<b>").plotly == "&lt;b&gt;"


def test_lines_break_at_spaces_and_chinese_but_not_before_comma() -> None:
    assert wrap("each word looks", 9) == ["each word", "looks"]
    assert wrap("每一行是一个词，", 8) == ["每一行是", "一个词，"]
    assert wrap("词词词词，词", 8) == ["词词词", "词，词"]
    assert wrap("unbreakable", 3) == ["unbreakable"]


def test_every_label_is_visible() -> None:
    texts = [chr(code) for code in range(0x300) if unicodedata.category(chr(code)) != "Cn"]
    for label in token_labels(pieces(*texts)):
        assert label.text.strip()
        assert label.text.isprintable()

"""Adaptation of texts: simplified characters, capitals, emoji."""

from __future__ import annotations

import pytest

from headlight.model.text.adaptation import adapt_text, remove_emoji
from headlight.model.text.simplified_characters import SIMPLIFIED, TRADITIONAL


def test_the_table_pairs_characters() -> None:
    assert len(TRADITIONAL) == len(SIMPLIFIED) == len(set(TRADITIONAL))


@pytest.mark.parametrize(
    ("text", "language", "read", "changes"),
    [
        ("我們明天去臺北吃飯。", "zh", "我们明天去台北吃饭。", ("simplified",)),
        ("他看著這本名著。", "zh", "他看着这本名著。", ("simplified",)),
        ("乾隆皇帝是著名的。", "zh", "乾隆皇帝是著名的。", ()),  # these characters are simplified, too
        ("我們明天去", "de", "我們明天去", ()),
        ("ICH BIN MÜDE. WO IST DER BUS?", "de", "Ich bin müde. Wo ist der bus?", ("capitals",)),
        ("CAN I COME?", "en", "Can I come?", ("capitals",)),
        ("买一件T恤，市里把路灯换成LED灯。", "zh", "买一件T恤，市里把路灯换成LED灯。", ()),
        ("WTO", "en", "WTO", ()),
        ("US NAVY", "en", "US NAVY", ()),
    ],
)
def test_texts_are_read_with_equally_many_characters(
    text: str, language: str, read: str, changes: tuple[str, ...]
) -> None:
    assert adapt_text(text, language) == (text, read, changes)
    assert len(text) == len(read)


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("我喜欢你👍！", "我喜欢你！"),
        ("I like it 👍👍.", "I like it."),
        ("Tag!😀 Wie geht's?", "Tag! Wie geht's?"),
        ("yes 👨\u200d👩\u200d👧 👍🏽 no", "yes no"),
        ("🇩🇪 Deutschland", "Deutschland"),
        ("© 2024 ™", "© 2024 ™"),
        ("😀", "😀"),
    ],
)
def test_emoji_are_removed_from_sentences(text: str, without: str) -> None:
    assert remove_emoji(text) == without

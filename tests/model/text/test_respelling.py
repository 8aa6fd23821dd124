"""Respelling of carelessly typed sentences after their back-translations."""

from __future__ import annotations

import pytest

from headlight.model.text.respelling import is_careless, is_slip, respell


@pytest.mark.parametrize(
    ("language", "sentence", "back", "spelt"),
    [
        ("de", "wie heisst die strasse", "Wie heißt die Straße?", "Wie heißt die Straße?"),
        ("de", "fahren wir heute nach muenchen", "Heute fahren wir nach München.", "Fahren wir heute nach München."),
        ("de", "ich hatte gern zwolf eier", "Ich hätte gern zwölf Eier.", "Ich hätte gern zwölf Eier."),
        ("de", "das krankenhaus ist zu", "Die Klinik ist zu.", "Das krankenhaus ist zu."),  # another word
        ("de", "eine kazte und ein regenschimr", "Eine Katze und ein Regenschirm", "Eine Katze und ein Regenschirm"),
        ("de", "Wir wohnen bei Wischnewski.", "Wir wohnen bei Wischnewksi.", "Wir wohnen bei Wischnewski."),  # a name
        ("de", "Haben Sie das Hemd in Blau?", "Haben Sie das Hemd in blau?", "Haben Sie das Hemd in Blau?"),
        ("de", "Draussen schneit es.", "Draußen schneit es.", "Draußen schneit es."),
        ("de", "Er isst Brot.", "Brot isst er.", "Er isst Brot."),  # "Brot" and "Er" keep their capitals
        ("en", "i dont know when im late", "I don't know when I'm late.", "I don't know when I'm late."),
        ("en", "because i'm ill", "I was ill.", "Because I'm ill."),
        ("en", "there are my kesy!", "There are my keys.", "There are my keys!"),
        ("en", "there are thhe keys!", "There are the keys.", "There are thhe keys!"),  # too short to tell
        ("zh", "好久不见 你最近怎么样", "好久不见，你怎么样？", "好久不见，你最近怎么样？"),
        ("zh", "谢谢你的邀请,我们来.", "谢谢。", "谢谢你的邀请，我们来。"),
        ("zh", "T恤 XL", "T恤XL。", "T恤 XL。"),
    ],
)
def test_a_sentence_gets_the_spelling_of_the_same_words(language: str, sentence: str, back: str, spelt: str) -> None:
    assert respell(sentence, back, language) == spelt
    assert respell(spelt, back, language) == spelt


def test_a_well_typed_sentence_stays_whatever_the_back_translation_says() -> None:
    for language, sentence in (("de", "Wie alt ist Frau Öz?"), ("en", "What's your name?"), ("zh", "你叫什么名字？")):
        for back in ("", sentence, "WIE alt", "Frau öz", "my name", "名字", "WHAT'S"):
            assert respell(sentence, back, language) == sentence


@pytest.mark.parametrize(
    ("word", "usual", "slip"),
    [
        ("haev", "have", True), ("neuun", "neun", True), ("neunn", "neun", True), ("famile", "familie", True),
        ("hund", "hunde", False), ("hunde", "hund", False), ("juni", "juli", False), ("tag", "tage", False),
        ("diese", "dieser", False), ("an", "ann", False), ("achtzehn", "achtzig", False), ("", "have", False),
    ],
)  # fmt: skip
def test_slips_are_swapped_doubled_and_lost_letters(word: str, usual: str, slip: bool) -> None:
    assert is_slip(word, usual) is slip


@pytest.mark.parametrize(
    ("language", "sentence", "careless"),
    [
        ("de", "ich komme später.", True), ("de", "Ich komme später", True), ("de", "Ich komme später.", False),
        ("de", "„Komm!“", False), ("en", "3 eggs, please.", False), ("en", "", False),
        ("zh", "我来了", True), ("zh", "我来了.", True), ("zh", "我来了。", False), ("zh", "你好！", False),
    ],
)  # fmt: skip
def test_careless_sentences_begin_small_or_have_no_final_mark(language: str, sentence: str, careless: bool) -> None:
    assert is_careless(sentence, language) is careless

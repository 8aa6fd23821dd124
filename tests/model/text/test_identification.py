"""Language detection on hundreds of sentences, and no result for other text."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headlight.model.text.identification import ENDINGS, FREQUENT, LANGUAGES, LETTERS, MIN_LEAD, identify

MINI = Path(__file__).parents[3] / "assets" / "corpora" / "mini.tsv"
ROWS = [line.split("\t") for line in MINI.read_text(encoding="utf-8").splitlines()]
OTHERS = {
    "ar": "أين تقع محطة القطار من فضلك؟",
    "cs": "Kde je prosím nádraží? Chtěl bych jet do Prahy.",
    "da": "Kan du sige mig, hvor stationen er? Jeg ved det ikke.",
    "el": "Πού είναι ο σταθμός του τρένου;",
    "es": "¿Puede decirme dónde está la estación? No lo sé.",
    "fa": "ایستگاه قطار کجاست؟ من نمی‌دانم.",
    "fi": "Missä rautatieasema on? Minä en tiedä, mutta hän tietää.",
    "fr": "Pouvez-vous me dire où est la gare ? Je ne sais pas.",
    "he": "איפה תחנת הרכבת בבקשה?",
    "hi": "क्या आप मुझे बता सकते हैं कि स्टेशन कहाँ है?",
    "hu": "Hol van az állomás? Nem tudom, hogy merre kell menni.",
    "id": "Di mana stasiun kereta itu? Saya tidak tahu jalan ke sana.",
    "it": "Può dirmi dove è la stazione? Non lo so, ma lei lo sa.",
    "ja": "駅はどこにありますか。教えてください。",
    "ko": "기차역이 어디에 있는지 알려 주시겠어요?",
    "nl": "Kunt u mij zeggen waar het station is? Ik weet het niet.",
    "pl": "Czy może mi pan powiedzieć, gdzie jest dworzec? Nie wiem.",
    "pt": "Você pode me dizer onde fica a estação? Eu não sei.",
    "ro": "Îmi puteți spune unde este gara? Nu știu.",
    "ru": "Скажите, пожалуйста, где находится вокзал?",
    "sv": "Kan du säga mig var stationen är? Jag vet inte.",
    "th": "สถานีรถไฟอยู่ที่ไหน",
    "tr": "Bana istasyonun nerede olduğunu söyler misiniz? Ben bilmiyorum.",
    "uk": "Скажіть, будь ласка, де знаходиться вокзал?",
    "vi": "Xin cho tôi biết nhà ga ở đâu? Tôi không biết.",
}


@pytest.mark.parametrize("language", ["de", "en", "zh"])
def test_most_sentences_are_identified_and_none_wrongly(language: str) -> None:
    column = ROWS[0].index(language)
    languages = [identify(row[column]) for row in ROWS[1:]]
    assert len(languages) >= 300
    assert set(languages) <= {language, None}
    assert languages.count(language) >= 0.97 * len(languages)


@pytest.mark.parametrize("language", OTHERS)
def test_other_languages_are_identified(language: str) -> None:
    assert identify(OTHERS[language]) == language


def test_every_language_is_tested() -> None:
    assert {*OTHERS, "de", "en", "zh"} == set(LANGUAGES)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "12345",
        "?!",
        "Hund",
        "Berlin",
        "😀😀😀",
        "x",
        "Tom Smith",
        "∑ a² = 1",
        "…",
        "Ⅷ",
        "\ud800",
        "qwrtz plmk xxyy",
    ],
)
def test_ambiguous_text_is_not_identified(text: str) -> None:
    assert identify(text) is None


def test_foreign_names_and_quotations_do_not_matter() -> None:
    assert identify("Der Hund heißt The Boss und schläft unter dem Tisch.") == "de"
    assert identify("My friend Jürgen Müller says that the train is late.") == "en"
    assert identify("他说 hello world 然后走了。") == "zh"
    assert identify("日本の「狗」という漢字は何と読みますか。") == "ja"


def test_apostrophes_case_and_normalisation_do_not_matter() -> None:
    assert (
        identify("I don’t think that’s what you’re saying")
        == identify("I don't think that's what you're saying")
        == "en"
    )
    assert identify("WO IST DER BAHNHOF, BITTE?") == "de"
    assert identify("Wir mu\u0308ssen u\u0308ber die Bru\u0308cke") == identify("Wir müssen über die Brücke") == "de"


def test_text_in_two_languages_is_not_identified() -> None:
    assert identify("the dog is in the house und der Hund ist in dem Haus and the cat und die Katze") is None


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(st.text(max_size=80))
def test_any_text_gives_a_known_language_or_none(text: str) -> None:
    assert identify(text) in {None, *LANGUAGES}


def test_tables_have_known_languages_and_unique_words() -> None:
    for language, words in FREQUENT.items():
        assert len(words.split()) == len(set(words.split())), language
    assert {code for codes in (*LETTERS.values(), *ENDINGS.values()) for code in codes.split()} <= set(FREQUENT)
    assert MIN_LEAD > 1

"""Sentences in a wrong language are detected, and a suitable model is named."""

from __future__ import annotations

import pytest

from headlight.model.text.languages import two_letters
from headlight.viz.service.examples import EXAMPLES
from headlight.viz.service.language_hints import hint_in_words, language_hint
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings

SENTENCES = {
    "de": "Der Hund schläft jetzt unter dem Tisch.",
    "en": "The dog is sleeping under the table now.",
    "zh": "狗在桌子底下睡觉。",
    "fr": "Je ne sais pas où est la gare, mais je peux vous aider.",
}
READS = {"de-en": "de", "en-de": "en", "zh-en": "zh", "en-zh": "en", "fr-en": "fr"}


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings())


def hint(service: Service, model: str, text: str) -> dict[str, object] | None:
    return language_hint(service, service.translate(service.check({"text": text, "model": model})))


@pytest.mark.slow(after=8)
@pytest.mark.parametrize("model", READS)
@pytest.mark.parametrize("language", SENTENCES)
def test_other_direction_is_offered_only_for_wrong_language(service: Service, model: str, language: str) -> None:
    found = hint(service, model, SENTENCES[language])
    if READS[model] == language:
        assert found is None
        return
    assert found is not None
    assert (found["language"], found["reads"]) == (language, READS[model])
    offers = {each["model"]: each for each in found["offers"]}
    assert set(offers) == {name for name, reads in READS.items() if reads == language}
    for name, offer in offers.items():
        source, target = name.split("-")
        assert offer == {"model": name, "source_language": "", "source": source, "target": target}
    back = f"{language}-{READS[model]}"
    assert back not in offers or next(iter(offers)) == back, "the way back to what the sentence was taken for is first"


def test_language_without_installed_model_is_named(service: Service) -> None:
    found = hint(service, "de-en", "No sé dónde está la estación, pero puedo ayudarle con las maletas.")
    assert found == {"language": "es", "reads": "de", "offers": []}
    assert (
        hint_in_words(found)
        == "This looks like Spanish. This model reads German; no installed model reads the language you typed."
    )


def test_api_hint_names_model(service: Service) -> None:
    said = hint_in_words(hint(service, "de-en", SENTENCES["en"]))
    assert said == "This looks like English. To translate it as that, use model='en-de' or model='en-zh'."
    assert hint_in_words(None) is None


def test_examples_are_detected_as_their_language(service: Service) -> None:
    for example in EXAMPLES:
        assert hint(service, example.model, example.text) is None, example


def test_model_languages_are_two_letter_codes() -> None:
    assert [two_letters(code) for code in ("de", "deu_Latn", "zho_Hans", "pt-BR", "ENG", "xx")] == [
        "de", "de", "zh", "pt", "en", "xx",
    ]  # fmt: skip

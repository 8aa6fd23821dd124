"""Sentences in a wrong language are detected, and a suitable model is named."""

from __future__ import annotations

import pytest

from headlight.model.text.languages import to_two_letters
from headlight.viz.service.examples import EXAMPLES
from headlight.viz.service.language_hints import find_language_hint, format_hint
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings

SENTENCES = {
    "de": "Der Hund schläft jetzt unter dem Tisch.",
    "en": "The dog is sleeping under the table now.",
    "zh": "狗在桌子底下睡觉。",
    "fr": "Je ne sais pas où est la gare, mais je peux vous aider.",
}
SOURCE_LANGUAGES = {"de-en": "de", "en-de": "en", "zh-en": "zh", "en-zh": "en"}


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings())


def hint(service: Service, model: str, text: str) -> dict[str, object] | None:
    return find_language_hint(service, service.translate(service.check({"text": text, "model": model})))


@pytest.mark.slow(after=8)
@pytest.mark.parametrize("model", SOURCE_LANGUAGES)
@pytest.mark.parametrize("language", SENTENCES)
def test_other_direction_is_offered_only_for_wrong_language(service: Service, model: str, language: str) -> None:
    warning = hint(service, model, SENTENCES[language])
    if SOURCE_LANGUAGES[model] == language:
        assert warning is None
        return
    assert warning is not None
    assert (warning["language"], warning["reads"]) == (language, SOURCE_LANGUAGES[model])
    offers = {each["model"]: each for each in warning["offers"]}
    assert set(offers) == {name for name, reads in SOURCE_LANGUAGES.items() if reads == language}
    for name, offer in offers.items():
        source, target = name.split("-")
        assert offer == {"model": name, "source_language": "", "source": source, "target": target}
    back = f"{language}-{SOURCE_LANGUAGES[model]}"
    assert back not in offers or next(iter(offers)) == back, "the opposite direction is offered first"


def test_language_without_installed_model_is_named(service: Service) -> None:
    warning = hint(service, "de-en", "No sé dónde está la estación, pero puedo ayudarle con las maletas.")
    assert warning == {"language": "es", "reads": "de", "offers": []}
    assert (
        format_hint(warning)
        == "This looks like Spanish. This model reads German; no installed model reads the language you typed."
    )


def test_api_hint_names_model(service: Service) -> None:
    message = format_hint(hint(service, "de-en", SENTENCES["en"]))
    assert message == "This looks like English. To translate it as that, use model='en-de' or model='en-zh'."
    assert format_hint(None) is None


def test_examples_are_detected_as_their_language(service: Service) -> None:
    for example in EXAMPLES:
        assert hint(service, example.model, example.text) is None, example


def test_model_languages_are_two_letter_codes() -> None:
    assert [to_two_letters(code) for code in ("de", "deu_Latn", "zho_Hans", "pt-BR", "ENG", "xx")] == [
        "de", "de", "zh", "pt", "en", "xx",
    ]  # fmt: skip

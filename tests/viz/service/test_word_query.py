"""The rival that a visitor types on the page."""

from __future__ import annotations

from typing import Any

import pytest

from headlight.model.errors import RequestError
from headlight.viz.errors import PageError
from headlight.viz.service.service import Service
from headlight.viz.service.word_query import make_rival_call
from headlight.viz.settings import Settings

REQUEST = {"text": "ich mochte ein bier", "model": "toy"}


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings(model="toy", max_characters=40))


def test_every_word_of_the_vocabulary_can_be_a_rival(service: Service) -> None:
    tokenizer = service.model_info("toy").target_tokenizer
    words = [tokenizer.label(token) for token in range(tokenizer.vocabulary_size)]
    whole = [
        (token, word)
        for token, word in enumerate(words)
        if word.startswith(" ") and word.strip().isalpha() and tokenizer.encode(word.strip()) == [token]
    ]
    assert len(whole) >= 10
    own_id = service.translate(service.check(REQUEST)).target_tokens[2].id
    for token, word in whole:
        if token != own_id:
            answer = make_rival_call(service)({"request": REQUEST, "place": 2, "rival": word})
            assert answer is not None
            assert (answer["id"], answer["label"].strip("␣ ")) == (token, word.strip())


@pytest.mark.parametrize(
    ("text", "message"),
    [("zebra", "is 6 tokens"), ("狗", "has no “狗”"), (" ", "is empty"), ("beer", "the word itself")],
)
def test_message_says_why_a_word_cannot_be_a_rival(service: Service, text: str, message: str) -> None:
    place = [token.text.strip() for token in service.translate(service.check(REQUEST)).target_tokens].index("beer")
    with pytest.raises(RequestError, match=message) as error_info:
        make_rival_call(service)({"request": REQUEST, "place": place, "rival": text})
    assert error_info.value.field == "rival"


@pytest.mark.parametrize(
    "wrong", [{"rival": 5}, {"rival": None}, {"rival": "x" * 41}, {"place": 99}, {"rival": "\ud83d"}]
)
def test_invalid_rivals_are_rejected(service: Service, wrong: dict[str, Any]) -> None:
    with pytest.raises(PageError):
        make_rival_call(service)({"request": REQUEST, "place": 2, "rival": "beer"} | wrong)

"""The Sentiment tab: what it sends adds up to the verdict, and every head's numbers are the model's."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from headlight.viz.answers.service import REVIEW, Service
from headlight.viz.errors import PageError
from headlight.viz.settings import Settings
from headlight.viz.tabs.sentiment import MOST_TOKENS, REVIEWS, ask, judgement_values
from headlight.viz.words import LANGUAGES, words
from tests.letters import NEAR, decoded

TEXT = "The story is dull, but the music is wonderful."


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings(model="toy"))


def answer_to(service: Service, text: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(json.dumps(judgement_values(*ask(service, {"text": text})), allow_nan=False))
    return values


def test_shares_and_bias_sum_to_the_log_odds(service: Service) -> None:
    answer = answer_to(service, TEXT)
    assert len(answer["shares"]) == len(answer["tokens"])
    assert sum(answer["shares"]) + answer["bias"] == pytest.approx(answer["log_odds"], abs=1e-4)
    assert answer["probability"] == pytest.approx(1 / (1 + np.exp(-answer["log_odds"])), abs=1e-5)
    assert answer["verdict"] == answer["classes"][answer["probability"] > 0.5]


def test_a_word_did_what_the_judge_says_less_without_it(service: Service) -> None:
    answer = answer_to(service, TEXT)
    assert answer["erased"][-1] == 0  # the end belongs to no word
    (place,) = (number for number, token in enumerate(answer["tokens"]) if token["text"].strip() == "wonderful")
    without = answer_to(service, TEXT.replace("wonderful", ""))
    assert answer["erased"][place] == pytest.approx(answer["log_odds"] - without["log_odds"], abs=1e-4)
    assert answer["erased"][place] > 0.1


def test_tokens_stand_where_the_text_has_them(service: Service) -> None:
    answer = answer_to(service, TEXT)
    for token in answer["tokens"][:-1]:
        assert answer["text"][token["start"] : token["end"]].strip() == token["text"].strip()
    assert answer["tokens"][-1]["special"] is True


def test_short_reviews_come_with_every_weight(service: Service) -> None:
    answer = answer_to(service, TEXT)
    attention = service.judge(TEXT).attention
    assert answer["attention"]["shape"] == list(attention.shape)
    np.testing.assert_allclose(decoded(answer["attention"]), attention, atol=NEAR)


def test_what_a_head_looks_at_on_average_is_the_mean_of_its_rows(service: Service) -> None:
    answer = answer_to(service, TEXT)
    attention = service.judge(TEXT).attention
    received = np.array(answer["received"])
    assert answer["shape"] == list(attention.shape[:2])
    np.testing.assert_allclose(received, attention.mean(axis=-2), atol=1e-6)
    np.testing.assert_allclose(received.sum(axis=-1), 1, atol=1e-4)


def test_long_reviews_come_with_averages_alone(service: Service) -> None:
    few, many = ("dull " * count for count in (MOST_TOKENS - 1, MOST_TOKENS))
    short, long = answer_to(service, few), answer_to(service, many)
    assert len(short["tokens"]) == MOST_TOKENS
    assert short["attention"] is not None
    assert long["attention"] is None
    assert (short["erased"] is None, long["erased"]) == (False, None)
    assert len(long["received"][0][0]) == MOST_TOKENS + 1
    assert len(json.dumps(long)) < 100_000


def test_a_text_too_long_to_read_whole_says_so(service: Service) -> None:
    assert answer_to(service, "dull " * 700)["shortened"] is True
    assert answer_to(service, TEXT)["shortened"] is False


@pytest.mark.parametrize("review", REVIEWS, ids=lambda review: str(review.name))
def test_every_example_is_read_whole_and_has_a_name(service: Service, review: Any) -> None:
    assert answer_to(service, review.text)["shortened"] is False
    assert all(f"sentiment_example_{review.name}" in words(language) for language in LANGUAGES)


def test_the_negation_among_the_examples_is_one_that_the_model_gets_wrong(service: Service) -> None:
    text = next(review.text for review in REVIEWS if review.name == "negation")
    assert answer_to(service, text)["verdict"] == "positive"


def test_every_class_has_words_in_every_language(service: Service) -> None:
    for name in service.judge(TEXT).classes:
        for language in LANGUAGES:
            assert {f"sentiment_class_{name}", f"sentiment_toward_{name}"} <= set(words(language))


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({}, "missing"),
        ({"text": None}, "not_text"),
        ({"text": 7}, "not_text"),
        ({"text": ["good"]}, "not_text"),
        ({"text": " \u200b\t"}, "blank_text"),
        ({"text": "\ud800"}, "half_character"),
        ({"text": "x" * (REVIEW * Settings().max_characters + 1)}, "too_long"),
    ],
)
def test_what_a_browser_sends_is_checked(service: Service, values: dict[str, Any], word: str) -> None:
    with pytest.raises(PageError) as caught:
        ask(service, values)
    assert (caught.value.field, caught.value.word) == ("text", word)


def test_hostile_text_comes_back_as_text(service: Service) -> None:
    answer = answer_to(service, "<img src=x onerror=alert(1)> ${alert(1)} {{this}}")
    assert "<img src=x onerror=alert(1)>" in answer["text"]

"""The Sentiment tab: contributions sum to the log-odds, and heads match the model."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from headlight.model.experiments.queries import ErasureEffects
from headlight.model.translate.judge import Judge
from headlight.viz.errors import PageError
from headlight.viz.figure_phrases import LANGUAGES, phrases
from headlight.viz.service.model_json import classifiers
from headlight.viz.service.service import REVIEW_FACTOR, Service
from headlight.viz.settings import MODELS, Settings
from headlight.viz.tabs.classifier import (
    MAX_ERASURE_WORK,
    MAX_TOKENS,
    REVIEWS,
    erasure_json,
    judgement_json,
    parse_and_classify,
)
from tests.letters import NEAR, decoded
from tests.model.families.classifier_folders import bert, roberta

TEXT = "The story is dull, but the music is wonderful."


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings(model="toy"))


def answer_to(service: Service, text: str, model: str = "") -> dict[str, Any]:
    values: dict[str, Any] = json.loads(
        json.dumps(judgement_json(*parse_and_classify(service, {"text": text, "model": model})), allow_nan=False)
    )
    return values


def test_contributions_and_bias_sum_to_log_odds(service: Service) -> None:
    answer = answer_to(service, TEXT)
    assert len(answer["contributions"]) == len(answer["tokens"])
    odds, probability = answer["log_odds"][1], answer["probabilities"][1]
    assert sum(answer["contributions"]) + answer["bias"] == pytest.approx(odds, abs=1e-4)
    assert probability == pytest.approx(1 / (1 + np.exp(-odds)), abs=1e-5)
    assert answer["log_odds"][0] == -odds
    assert answer["probabilities"][0] == pytest.approx(1 - probability, abs=1e-5)
    assert service.classify(TEXT).verdict == answer["classes"][probability > 0.5]


def test_erasure_effect_is_log_odds_lost_without_word(service: Service) -> None:
    answer = answer_to(service, TEXT)
    negative, positive = answer["erased"]
    assert positive[-1] == 0  # the end belongs to no word
    assert negative == [-change for change in positive]
    (place,) = (number for number, token in enumerate(answer["tokens"]) if token["text"].strip() == "wonderful")
    without = answer_to(service, TEXT.replace("wonderful", ""))
    assert positive[place] == pytest.approx(answer["log_odds"][1] - without["log_odds"][1], abs=1e-4)
    assert positive[place] > 0.1


def test_token_offsets_match_text(service: Service) -> None:
    answer = answer_to(service, TEXT)
    for token in answer["tokens"][:-1]:
        assert answer["text"][token["start"] : token["end"]].strip() == token["text"].strip()
    assert answer["tokens"][-1]["special"] is True


def test_short_reviews_include_all_weights(service: Service) -> None:
    answer = answer_to(service, TEXT)
    attention = service.classify(TEXT).attention
    assert answer["attention"]["shape"] == list(attention.shape)
    np.testing.assert_allclose(decoded(answer["attention"]), attention, atol=NEAR)


def test_average_attention_is_mean_of_rows(service: Service) -> None:
    answer = answer_to(service, TEXT)
    attention = service.classify(TEXT).attention
    received = np.array(answer["received"])
    assert answer["shape"] == list(attention.shape[:2])
    np.testing.assert_allclose(received, attention.mean(axis=-2), atol=1e-6)
    np.testing.assert_allclose(received.sum(axis=-1), 1, atol=1e-4)


def test_long_reviews_include_only_averages(service: Service) -> None:
    few, many = ("dull " * count for count in (MAX_TOKENS - 1, MAX_TOKENS))
    short, long = answer_to(service, few), answer_to(service, many)
    assert len(short["tokens"]) == MAX_TOKENS
    assert short["attention"] is not None
    assert long["attention"] is None
    assert (short["erased"] is None, long["erased"]) == (False, None)
    assert (short["erasable"], long["erasable"]) == (True, False)
    assert len(long["received"][0][0]) == MAX_TOKENS + 1
    assert len(json.dumps(long)) < 100_000


def test_truncated_text_is_reported(service: Service) -> None:
    assert answer_to(service, "dull " * 700)["truncated"] is True
    assert answer_to(service, TEXT)["truncated"] is False


@pytest.mark.parametrize("review", REVIEWS, ids=lambda review: str(review.name))
def test_examples_are_not_truncated_and_have_names(service: Service, review: Any) -> None:
    assert answer_to(service, review.text)["truncated"] is False
    assert all(f"sentiment_example_{review.name}" in phrases(language) for language in LANGUAGES)


def test_negation_example_is_misclassified(service: Service) -> None:
    text = next(review.text for review in REVIEWS if review.name == "negation")
    assert service.classify(text).verdict == "positive"


def test_every_class_has_phrases_in_every_language(service: Service) -> None:
    for name in service.classify(TEXT).classes:
        for language in LANGUAGES:
            assert {f"sentiment_class_{name}", f"sentiment_toward_{name}"} <= set(phrases(language))


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({}, "missing"),
        ({"text": None}, "not_text"),
        ({"text": 7}, "not_text"),
        ({"text": ["good"]}, "not_text"),
        ({"text": " \u200b\t"}, "blank_text"),
        ({"text": "\ud800"}, "half_character"),
        ({"text": "x" * (REVIEW_FACTOR * Settings().max_characters + 1)}, "too_long"),
        ({"text": "good", "model": 7}, "not_text"),
        ({"text": "good", "model": "toy"}, "unknown_model"),
        ({"text": "good", "model": "../sentiment"}, "unknown_model"),
    ],
)
def test_browser_values_are_validated(service: Service, values: dict[str, Any], word: str) -> None:
    with pytest.raises(PageError) as error_info:
        parse_and_classify(service, values)
    assert (error_info.value.field, error_info.value.word) == ("model" if "model" in values else "text", word)


def test_hostile_text_is_returned_as_text(service: Service) -> None:
    answer = answer_to(service, "<img src=x onerror=alert(1)> ${alert(1)} {{this}}")
    assert "<img src=x onerror=alert(1)>" in answer["text"]


# ---------------------------------------------------------------- classifiers of other makers


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Service:
    """The shipped classifier, and two others: of three classes, and of five that are asked one by one."""
    folder = tmp_path_factory.mktemp("models")
    for name in ("toy", "sentiment"):
        (folder / name).symlink_to(MODELS / name)
    bert(folder / "feelings", classes=3)
    roberta(folder / "moods", classes=5, problem_type="multi_label_classification")
    (folder / "words").mkdir()  # no classifier
    (folder / "words" / "config.json").write_text('{"model_type": "bert", "architectures": ["BertForMaskedLM"]}')
    return Service(Settings(model="toy", models_folder=folder))


def model_name(judge: Judge) -> str:
    return judge.name


def test_classifiers_are_listed_with_bundled_one_as_default(several: Service) -> None:
    assert [(each["name"], each["linear"], each["downloaded"]) for each in classifiers(several)] == [
        ("sentiment", True, True),
        ("feelings", False, True),
        ("moods", False, True),
    ]
    assert answer_to(several, TEXT)["classes"] == ["negative", "positive"]
    assert several.run_on_classifier(model_name, linear=True) == "sentiment"


@pytest.mark.parametrize(("model", "count"), [("feelings", 3), ("moods", 5)])
def test_any_number_of_classes_is_supported(several: Service, model: str, count: int) -> None:
    values = {"text": TEXT, "model": model}
    answer = json.loads(json.dumps(judgement_json(*parse_and_classify(several, values)), allow_nan=False))
    judgement = several.classify(TEXT, model)
    assert (answer["contributions"], answer["exclusive"], len(answer["classes"])) == (None, model == "feelings", count)
    np.testing.assert_allclose(answer["probabilities"], judgement.probabilities, atol=1e-6)
    if answer["exclusive"]:
        assert sum(answer["probabilities"]) == pytest.approx(1, abs=1e-5)
    assert np.shape(answer["erased"]) == (count, len(answer["tokens"]))
    np.testing.assert_allclose(decoded(answer["attention"]), judgement.attention, atol=NEAR)
    for token in answer["tokens"][1:-1]:  # as typed: case and accents go only for the model
        assert TEXT[token["start"] : token["end"]].strip() == token["text"].strip()


def test_unknown_words_are_reported_by_position(several: Service) -> None:
    text = "The film was 龘 lovely ☃."
    answer = answer_to(several, text, "feelings")
    assert [answer["tokens"][place]["text"] for place in answer["unknown"]] == ["龘", "☃"]
    (unknown,) = {answer["tokens"][place]["id"] for place in answer["unknown"]}
    assert several.run_on_classifier(token_label, unknown, name="feelings") == "[UNK]"
    assert answer_to(several, TEXT, "feelings")["unknown"] == []
    for model in ("", "moods"):  # vocabularies of bytes, which can write anything
        assert answer_to(several, text, model)["unknown"] == []


def token_label(judge: Judge, token_id: int) -> str:
    return judge.tokenizer.label(token_id)


def test_expensive_erasure_needs_second_call(several: Service) -> None:
    values = {"text": TEXT, "model": "feelings"}
    judgement, erased = parse_and_classify(several, values, max_work=0)
    answer = judgement_json(judgement, erased)
    assert (answer["erased"], answer["erasable"]) == (None, True)
    later = erasure_json(parse_and_classify(several, values, max_work=MAX_ERASURE_WORK)[1])
    assert later == judgement_json(*parse_and_classify(several, values))["erased"]
    assert judgement_json(judgement, ErasureEffects(None, 2 * MAX_ERASURE_WORK))["erasable"] is False


def test_text_beyond_position_limit_keeps_both_ends(several: Service) -> None:
    first, last = "wonderful " * 30, "dull " * 30
    judgement = several.classify(f"{first}{last}".strip(), "feelings")
    most = 61  # positions
    assert judgement.truncated
    assert len(judgement.tokens) == most
    assert "…" in judgement.text
    ends = [token for token in judgement.tokens if not token.special]
    assert judgement.text[ends[0].start :].startswith("wonderful")
    assert judgement.text[: ends[-1].end].endswith("dull")
    assert all(judgement.text[token.start : token.end] == token.text for token in ends)

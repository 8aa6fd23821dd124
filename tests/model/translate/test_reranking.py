"""Reranking: the reverse model's requests, the combined score, and unchanged other output."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from headlight.model.errors import RequestError
from headlight.model.records import Hypothesis, Translation, TranslationRequest
from headlight.model.translate.back_translation import BACK_TRANSLATION_OPTIONS
from headlight.model.translate.reranking import (
    REVERSE_WEIGHT,
    best_of_lines,
    can_rerank,
    rank_hypotheses,
    rerank,
    rerank_batch,
    reverse_scores,
    reverse_scores_batch,
    translate_lines,
    visible_text,
    with_hypothesis,
)
from headlight.model.translate.translator import Translator
from tests.chosen import CHOSEN, SENTENCE

SENTENCES = (
    SENTENCE,
    "Guten Tag.",
    "Heute Morgen lag dichter Nebel über dem See.",
    "Bei diesem Wind macht Radfahren keinen Spaß.",
)


@cache
def model(name: str) -> Translator:
    return Translator.load(name, "cpu")


def beam_search(text: str, **options: Any) -> Translation:
    """The result of the beam search before reranking."""
    request = model("de-en").checker.request(text, **{"back_weight": REVERSE_WEIGHT, **options})
    return model("de-en").translate(request)


@pytest.fixture(scope="module")
def translations() -> list[Translation]:
    return [beam_search(text, **BACK_TRANSLATION_OPTIONS) for text in SENTENCES]


def hypothesis(text: str, score: float) -> Hypothesis:
    return Hypothesis(text, (len(text), 2), score, 2 * score)


# ---------------------------------------------------------------- scores of the reverse model


def test_reverse_score_is_mean_log_probability_of_source(translations: list[Translation]) -> None:
    sentence, texts = SENTENCES[0], [each.text for each in translations[0].hypotheses]
    scores = reverse_scores(model("en-de"), sentence, texts)
    for text, score in zip(texts, scores, strict=True):
        scored = model("en-de").translate(text, target=sentence)
        assert score == pytest.approx(scored.log_probability / len(scored.target_tokens), abs=1e-4)


def test_reverse_scores_do_not_depend_on_batches(
    translations: list[Translation], monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [(each.source_text, other.text) for each in translations for other in each.hypotheses]
    together = reverse_scores_batch(model("en-de"), pairs)
    monkeypatch.setattr("headlight.model.translate.reranking.BATCH_TOKENS", 40)
    assert reverse_scores_batch(model("en-de"), pairs) == pytest.approx(together, abs=1e-4)
    assert reverse_scores_batch(model("en-de"), []) == []


def test_blank_and_too_long_texts_have_no_reverse_score() -> None:
    most = model("en-de").model.config.max_length
    scores = reverse_scores(model("en-de"), "Ja.", ["", "  ", "word " * (most + 1), "Yes."])
    assert [score is None for score in scores] == [True, True, True, False]


# ---------------------------------------------------------------- ranking


def test_hypotheses_are_ranked_by_weighted_sum() -> None:
    hypotheses = [hypothesis("tomorrow", -0.2), hypothesis("the day after", -0.3), hypothesis("soon", -0.4)]
    best = rank_hypotheses(hypotheses, [-3.0, -1.0, -0.9], 0.3)
    assert [each.text for each in best] == ["the day after", "soon", "tomorrow"]
    assert [each.reverse_score for each in best] == [-1.0, -0.9, -3.0]
    assert [replace(each, reverse_score=None) for each in best] == [hypotheses[1], hypotheses[2], hypotheses[0]]
    assert [each.text for each in rank_hypotheses(hypotheses, [-3.0, -1.0, -0.9], 0.01)] == [
        each.text for each in hypotheses
    ]


def test_unfinished_hypotheses_rank_after_finished_ones() -> None:
    hypotheses = [hypothesis("ended", -0.9), replace(hypothesis("cut", -0.1), ended=False)]
    assert [each.text for each in rank_hypotheses(hypotheses, [-9.0, -0.1], 0.3)] == ["ended", "cut"]
    cut = beam_search(SENTENCES[3], **BACK_TRANSLATION_OPTIONS, max_length=10)
    assert {each.ended for each in cut.hypotheses} == {True, False}
    reranked = rerank(model("en-de"), model("de-en"), cut)
    assert (reranked.stopped, reranked.hypotheses[0].ended) == ("end", True)


def test_masked_words_are_not_scored() -> None:
    plain = beam_search("Der Hund schläft nicht.", beam_size=2)
    assert visible_text(plain) == "Der Hund schläft nicht."
    masked = beam_search(
        "Der Hund schläft nicht.",
        beam_size=2,
        interventions=[{"action": "mask", "start": 4, "end": 8}],
    )
    assert masked.source_text == "Der Hund schläft nicht."
    assert visible_text(masked) == "Der schläft nicht."


def test_unscored_hypotheses_rank_last_and_ties_keep_order() -> None:
    hypotheses = [hypothesis("…", -0.1), hypothesis("b", -0.5), hypothesis("cc", -0.5)]
    assert [each.text for each in rank_hypotheses(hypotheses, [None, -1.0, -1.0], 0.3)] == ["b", "cc", "…"]
    assert [each.text for each in rank_hypotheses(hypotheses, [None, None, None], 0.3)] == ["…", "b", "cc"]


def test_reranking_needs_beam_and_weight_without_target(translations: list[Translation]) -> None:
    assert can_rerank(translations[0])
    for options in (
        {"beam_size": 4, "back_weight": 0.0},
        {"beam_size": 1},
        {"beam_size": 4, "target": "Day."},
    ):
        assert not can_rerank(beam_search(SENTENCES[1], **options))


# ---------------------------------------------------------------- the selected translation


def test_selected_hypothesis_is_best_and_captured(translations: list[Translation]) -> None:
    changed = 0
    for first, reranked in zip(translations, rerank_batch(model("en-de"), model("de-en"), translations), strict=True):
        sums = [each.score + REVERSE_WEIGHT * (each.reverse_score or -math.inf) for each in reranked.hypotheses]
        assert sums == sorted(sums, reverse=True)
        assert tuple(token.id for token in reranked.target_tokens) == reranked.hypotheses[0].ids
        assert reranked.text == reranked.hypotheses[0].text
        assert {each.ids for each in reranked.hypotheses} == {each.ids for each in first.hypotheses}
        assert (reranked.request, reranked.tree, reranked.stopped) == (first.request, first.tree, "end")
        changed += reranked.text != first.text
        forced = model("de-en").translate(first.source_text, target=reranked.hypotheses[0].ids)
        np.testing.assert_allclose(reranked.attention.cross, forced.attention.cross, atol=1e-5)
        assert reranked.log_probability == pytest.approx(forced.log_probability, abs=1e-4)
    assert 0 < changed < len(translations)  # reranking changes some translations


def test_reranking_recovers_lost_word() -> None:
    first = beam_search(SENTENCES[0], **BACK_TRANSLATION_OPTIONS)
    assert CHOSEN not in first.text
    assert CHOSEN in rerank(model("en-de"), model("de-en"), first).text


def test_translator_reranks_with_way_back(translations: list[Translation]) -> None:
    reranked = rerank_batch(model("en-de"), model("de-en"), translations)
    alone = model("de-en").translate(SENTENCES[0], way_back=model("en-de"), no_repeat=4)
    assert CHOSEN in alone.text
    assert (alone.text, alone.request, alone.hypotheses) == (
        reranked[0].text,
        reranked[0].request,
        reranked[0].hypotheses,
    )
    several = model("de-en").translate_batch(
        SENTENCES, way_back=model("en-de"), **BACK_TRANSLATION_OPTIONS, back_weight=REVERSE_WEIGHT
    )
    assert [each.text for each in several] == [each.text for each in reranked]


def test_ineffective_back_weight_is_rejected() -> None:
    forth, back = model("de-en"), model("en-de")
    for ask in (forth.translate, forth.stream):
        with pytest.raises(RequestError, match=r"back_weight is 0\.3, but there is no reverse model\. .* way_back="):
            list(ask("Ja.", beam_size=4, back_weight=REVERSE_WEIGHT))  # type: ignore[arg-type]
    for several in (forth.translate_batch, forth.translate_lines):
        with pytest.raises(RequestError, match="way_back="):
            several(["Ja."], beam_size=4, back_weight=REVERSE_WEIGHT)
    with pytest.raises(RequestError, match="way_back="):
        best_of_lines(None, forth, ["Ja."], beam_size=4, back_weight=REVERSE_WEIGHT)
    for options in ({"beam_size": 1}, {"target": "Yes."}):
        with pytest.raises(RequestError, match="Set beam_size to 2 or more"):
            forth.translate("Ja.", way_back=back, **options)


def test_translation_without_back_weight_is_unchanged() -> None:
    plain = model("de-en").translate(SENTENCES[0], **BACK_TRANSLATION_OPTIONS)
    assert rerank(model("en-de"), model("de-en"), plain) is plain


def test_unchanged_best_hypothesis_reuses_attention(translations: list[Translation]) -> None:
    def capture(request: TranslationRequest) -> Translation:
        raise AssertionError(request)

    first = translations[0]
    translation = with_hypothesis(first, [-1.0, *(-9.0 for _ in first.hypotheses[1:])], capture)
    assert translation.attention is first.attention
    assert translation.hypotheses[0].reverse_score == -1.0


def test_reranking_keeps_interventions_and_prefix() -> None:
    change = {"action": "remove", "kind": "cross", "layer": 0, "head": 3}
    first = beam_search(SENTENCES[0], **BACK_TRANSLATION_OPTIONS, interventions=[change], prefix="I have")
    other = replace(first.hypotheses[-1])
    scores = [*(-9.0 for _ in first.hypotheses[1:]), -0.01]
    translation = with_hypothesis(first, scores, model("de-en").translate)
    assert (translation.text, translation.request) == (other.text, first.request)
    assert translation.text.startswith("I have")
    assert not translation.attention.cross[0, 3].any()


# ---------------------------------------------------------------- lines


def test_lines_are_reranked_like_sentences(translations: list[Translation]) -> None:
    lines = [SENTENCES[0], "", *SENTENCES[1:]]
    texts = translate_lines(
        model("en-de"), model("de-en"), lines, **BACK_TRANSLATION_OPTIONS, back_weight=REVERSE_WEIGHT
    )
    reranked = [each.text for each in rerank_batch(model("en-de"), model("de-en"), translations)]
    assert texts == [reranked[0], "", *reranked[1:]]
    plain = model("de-en").translate_lines(lines, **BACK_TRANSLATION_OPTIONS)
    assert translate_lines(model("en-de"), model("de-en"), lines, **BACK_TRANSLATION_OPTIONS) == plain
    assert plain != texts


def test_forced_targets_are_scored_without_attention() -> None:
    requests = [
        TranslationRequest(text=text, target=target) for text, target in (("Ja.", "Yes."), ("Guten Tag.", "Hello!"))
    ]
    for request, log_probabilities in zip(requests, model("de-en").score(requests), strict=True):
        scored = model("de-en").translate(request)
        assert len(log_probabilities) == len(scored.target_tokens)
        assert sum(log_probabilities) == pytest.approx(scored.log_probability, abs=1e-4)

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


def searched_for(text: str, **options: Any) -> Translation:
    """What the search alone finds, where the way back is still to choose."""
    request = model("de-en").checker.request(text, **{"back_weight": REVERSE_WEIGHT, **options})
    return model("de-en").translate(request)


@pytest.fixture(scope="module")
def searched() -> list[Translation]:
    return [searched_for(text, **BACK_TRANSLATION_OPTIONS) for text in SENTENCES]


def hypothesis(text: str, score: float) -> Hypothesis:
    return Hypothesis(text, (len(text), 2), score, 2 * score)


# ---------------------------------------------------------------- what the way back is asked


def test_a_guess_is_what_the_way_back_thinks_of_the_sentence(searched: list[Translation]) -> None:
    sentence, texts = SENTENCES[0], [each.text for each in searched[0].hypotheses]
    guesses = reverse_scores(model("en-de"), sentence, texts)
    for text, guess in zip(texts, guesses, strict=True):
        scored = model("en-de").translate(text, target=sentence)
        assert guess == pytest.approx(scored.log_probability / len(scored.target_tokens), abs=1e-4)


def test_many_are_guessed_as_one_by_one_in_whatever_batches(
    searched: list[Translation], monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [(each.source_text, other.text) for each in searched for other in each.hypotheses]
    together = reverse_scores_batch(model("en-de"), pairs)
    monkeypatch.setattr("headlight.model.translate.reranking.BATCH_TOKENS", 40)
    assert reverse_scores_batch(model("en-de"), pairs) == pytest.approx(together, abs=1e-4)
    assert reverse_scores_batch(model("en-de"), []) == []


def test_what_cannot_be_read_is_not_guessed_from() -> None:
    most = model("en-de").model.config.max_length
    guesses = reverse_scores(model("en-de"), "Ja.", ["", "  ", "word " * (most + 1), "Yes."])
    assert [guess is None for guess in guesses] == [True, True, True, False]


# ---------------------------------------------------------------- how both rank


def test_the_weighed_sum_ranks_and_nothing_is_lost() -> None:
    found = [hypothesis("tomorrow", -0.2), hypothesis("the day after", -0.3), hypothesis("soon", -0.4)]
    best = rank_hypotheses(found, [-3.0, -1.0, -0.9], 0.3)
    assert [each.text for each in best] == ["the day after", "soon", "tomorrow"]
    assert [each.reverse_score for each in best] == [-1.0, -0.9, -3.0]
    assert [replace(each, reverse_score=None) for each in best] == [found[1], found[2], found[0]]
    assert [each.text for each in rank_hypotheses(found, [-3.0, -1.0, -0.9], 0.01)] == [each.text for each in found]


def test_what_was_cut_off_stands_behind_what_ended_however_well_it_is_guessed_from() -> None:
    found = [hypothesis("ended", -0.9), replace(hypothesis("cut", -0.1), ended=False)]
    assert [each.text for each in rank_hypotheses(found, [-9.0, -0.1], 0.3)] == ["ended", "cut"]
    cut = searched_for(SENTENCES[3], **BACK_TRANSLATION_OPTIONS, max_length=10)
    assert {each.ended for each in cut.hypotheses} == {True, False}
    chosen = rerank(model("en-de"), model("de-en"), cut)
    assert (chosen.stopped, chosen.hypotheses[0].ended) == ("end", True)


def test_a_hidden_word_is_no_part_of_the_sentence_that_is_guessed() -> None:
    plain = searched_for("Der Hund schläft nicht.", beam_size=2)
    assert visible_text(plain) == "Der Hund schläft nicht."
    masked = searched_for(
        "Der Hund schläft nicht.",
        beam_size=2,
        interventions=[{"action": "mask", "start": 4, "end": 8}],
    )
    assert masked.source_text == "Der Hund schläft nicht."
    assert visible_text(masked) == "Der schläft nicht."


def test_what_nobody_could_guess_from_comes_last_and_equals_keep_their_order() -> None:
    found = [hypothesis("…", -0.1), hypothesis("b", -0.5), hypothesis("cc", -0.5)]
    assert [each.text for each in rank_hypotheses(found, [None, -1.0, -1.0], 0.3)] == ["b", "cc", "…"]
    assert [each.text for each in rank_hypotheses(found, [None, None, None], 0.3)] == ["…", "b", "cc"]


def test_only_a_beam_of_which_a_weight_is_wanted_has_a_choice(searched: list[Translation]) -> None:
    assert can_rerank(searched[0])
    for options in (
        {"beam_size": 4, "back_weight": 0.0},
        {"beam_size": 1},
        {"beam_size": 4, "target": "Day."},
    ):
        assert not can_rerank(searched_for(SENTENCES[1], **options))


# ---------------------------------------------------------------- the translation that was chosen


def test_the_choice_is_the_best_sum_and_is_captured_as_itself(searched: list[Translation]) -> None:
    changed = 0
    for first, found in zip(searched, rerank_batch(model("en-de"), model("de-en"), searched), strict=True):
        sums = [each.score + REVERSE_WEIGHT * (each.reverse_score or -math.inf) for each in found.hypotheses]
        assert sums == sorted(sums, reverse=True)
        assert tuple(token.id for token in found.target_tokens) == found.hypotheses[0].ids
        assert found.text == found.hypotheses[0].text
        assert {each.ids for each in found.hypotheses} == {each.ids for each in first.hypotheses}
        assert (found.request, found.tree, found.stopped) == (first.request, first.tree, "end")
        changed += found.text != first.text
        given = model("de-en").translate(first.source_text, target=found.hypotheses[0].ids)
        np.testing.assert_allclose(found.attention.cross, given.attention.cross, atol=1e-5)
        assert found.log_probability == pytest.approx(given.log_probability, abs=1e-4)
    assert 0 < changed < len(searched)  # else nothing was tried


def test_a_word_that_the_likeliest_translation_loses_comes_back() -> None:
    first = searched_for(SENTENCES[0], **BACK_TRANSLATION_OPTIONS)
    assert CHOSEN not in first.text
    assert CHOSEN in rerank(model("en-de"), model("de-en"), first).text


def test_a_translator_asks_the_way_back_itself(searched: list[Translation]) -> None:
    chosen = rerank_batch(model("en-de"), model("de-en"), searched)
    alone = model("de-en").translate(SENTENCES[0], way_back=model("en-de"), no_repeat=4)
    assert CHOSEN in alone.text
    assert (alone.text, alone.request, alone.hypotheses) == (chosen[0].text, chosen[0].request, chosen[0].hypotheses)
    several = model("de-en").translate_batch(
        SENTENCES, way_back=model("en-de"), **BACK_TRANSLATION_OPTIONS, back_weight=REVERSE_WEIGHT
    )
    assert [each.text for each in several] == [each.text for each in chosen]


def test_a_weight_that_would_do_nothing_is_refused_with_advice() -> None:
    forth, back = model("de-en"), model("en-de")
    for ask in (forth.translate, forth.stream):
        with pytest.raises(RequestError, match=r"back_weight is 0\.3, but no model is here .* way_back="):
            list(ask("Ja.", beam_size=4, back_weight=REVERSE_WEIGHT))  # type: ignore[arg-type]
    for several in (forth.translate_batch, forth.translate_lines):
        with pytest.raises(RequestError, match="way_back="):
            several(["Ja."], beam_size=4, back_weight=REVERSE_WEIGHT)
    for options in ({"beam_size": 1}, {"target": "Yes."}):
        with pytest.raises(RequestError, match="Set beam_size to 2 or more"):
            forth.translate("Ja.", way_back=back, **options)


def test_a_translation_without_a_choice_stays_what_it_is() -> None:
    plain = model("de-en").translate(SENTENCES[0], **BACK_TRANSLATION_OPTIONS)
    assert rerank(model("en-de"), model("de-en"), plain) is plain


def test_nothing_is_captured_anew_where_the_first_one_stays(searched: list[Translation]) -> None:
    def capture(request: TranslationRequest) -> Translation:
        raise AssertionError(request)

    first = searched[0]
    found = with_hypothesis(first, [-1.0, *(-9.0 for _ in first.hypotheses[1:])], capture)
    assert found.attention is first.attention
    assert found.hypotheses[0].reverse_score == -1.0


def test_interventions_stay_and_the_beginning_is_part_of_the_choice() -> None:
    change = {"action": "remove", "kind": "cross", "layer": 0, "head": 3}
    first = searched_for(SENTENCES[0], **BACK_TRANSLATION_OPTIONS, interventions=[change], prefix="I have")
    other = replace(first.hypotheses[-1])
    guesses = [*(-9.0 for _ in first.hypotheses[1:]), -0.01]
    found = with_hypothesis(first, guesses, model("de-en").translate)
    assert (found.text, found.request) == (other.text, first.request)
    assert found.text.startswith("I have")
    assert not found.attention.cross[0, 3].any()


# ---------------------------------------------------------------- lines


def test_lines_are_chosen_as_sentences_are(searched: list[Translation]) -> None:
    lines = [SENTENCES[0], "", *SENTENCES[1:]]
    texts = translate_lines(
        model("en-de"), model("de-en"), lines, **BACK_TRANSLATION_OPTIONS, back_weight=REVERSE_WEIGHT
    )
    chosen = [each.text for each in rerank_batch(model("en-de"), model("de-en"), searched)]
    assert texts == [chosen[0], "", *chosen[1:]]
    plain = model("de-en").translate_lines(lines, **BACK_TRANSLATION_OPTIONS)
    assert translate_lines(model("en-de"), model("de-en"), lines, **BACK_TRANSLATION_OPTIONS) == plain
    assert plain != texts


def test_given_translations_are_scored_without_being_looked_at() -> None:
    requests = [
        TranslationRequest(text=text, target=target) for text, target in (("Ja.", "Yes."), ("Guten Tag.", "Hello!"))
    ]
    for request, gained in zip(requests, model("de-en").score(requests), strict=True):
        scored = model("de-en").translate(request)
        assert len(gained) == len(scored.target_tokens)
        assert sum(gained) == pytest.approx(scored.log_probability, abs=1e-4)

"""The way back chooses what the page answers: by default, where its model is here, and in no other case."""

from __future__ import annotations

from dataclasses import replace
from threading import Event
from typing import Any

import pytest

from headlight.model.translate.choosing import WEIGHT
from headlight.viz.answers.model_values import default_request, translators
from headlight.viz.answers.service import Service
from headlight.viz.answers.stored import pack_translation, unpack_translation
from headlight.viz.api.endpoints import Endpoints
from headlight.viz.errors import PageError
from headlight.viz.settings import Settings
from headlight.viz.tabs.decoding import search_of

SENTENCE = "Übermorgen habe ich um 14:15 Uhr einen Termin beim Zahnarzt."
CHOSEN = "the day after tomorrow"
PAGE = {"text": SENTENCE, "model": "de-en", "beam_size": 4, "no_repeat": 4, "way_back": WEIGHT}


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings())


def test_it_counts_by_default_where_its_model_is_here(service: Service) -> None:
    weights = {each["name"]: each["defaults"]["way_back"] for each in translators(service)}
    assert {name: weights[name] for name in ("de-en", "en-de", "zh-en", "en-zh")} == dict.fromkeys(
        ("de-en", "en-de", "zh-en", "en-zh"), WEIGHT
    )
    assert weights["fr-en"] == weights["toy"] == 0.0
    assert default_request(service)["way_back"] == WEIGHT


def test_without_a_beam_there_is_nothing_to_choose_by_default() -> None:
    alone = Service(Settings(max_beam=1))
    assert alone.translate(alone.check({"text": "Ja."}, model_defaults=True)).request.options.way_back == 0.0


def test_the_answer_is_the_chosen_one_and_a_program_that_wants_none_gets_the_first(service: Service) -> None:
    asked = service.check({"text": SENTENCE, "model": "de-en"}, model_defaults=True)
    found = service.translate(asked)
    assert CHOSEN in found.text
    assert found.request == asked
    assert CHOSEN not in service.translate(service.check({**PAGE, "way_back": 0})).text


def test_a_stream_ends_with_the_chosen_one(service: Service) -> None:
    fresh = Service(Settings())
    *_, last = fresh.stream(fresh.check(PAGE), Event())
    assert last.translation is not None
    assert CHOSEN in last.translation.text
    assert last.text == last.translation.text
    assert last.tokens == last.translation.target_tokens
    *_, again = fresh.stream(fresh.check(PAGE), Event())
    assert again.translation is last.translation  # it is kept as it was chosen


def test_a_model_without_a_way_back_answers_as_ever(service: Service) -> None:
    values = {"text": "Il fait beau aujourd'hui.", "model": "fr-en", "beam_size": 4}
    found = service.translate(service.check({**values, "way_back": WEIGHT}))
    assert found.text == service.translate(service.check(values)).text
    assert all(each.back is None for each in found.hypotheses)


def test_what_read_back_says_is_kept_with_the_answer(service: Service) -> None:
    found = service.translate(service.check(PAGE))
    again = unpack_translation(pack_translation(found), found.rule)
    assert again.hypotheses == found.hypotheses
    assert found.hypotheses[0].back is not None


def test_decoding_tells_how_it_was_chosen(service: Service) -> None:
    found = search_of(service)({"request": PAGE, "theme": "light", "language": "en"})
    nodes, ends, backs = found["nodes"], found["finished"], found["backs"]
    assert found["way_back"] == WEIGHT
    sums = [nodes[node][7] + WEIGHT * back for node, back in zip(ends, backs, strict=True) if back is not None]
    assert len(sums) == 4
    assert sums == sorted(sums, reverse=True)
    scores = [nodes[node][7] for node in ends]
    assert scores != sorted(scores, reverse=True)  # the search alone would have chosen another
    plain = search_of(service)({"request": {**PAGE, "way_back": 0.0}, "theme": "light", "language": "en"})
    assert set(plain["backs"]) == {None}


def test_programs_may_ask_for_it(service: Service) -> None:
    endpoints = Endpoints(service)
    asked: dict[str, Any] = {"text": SENTENCE, "model": "de-en", "beam_size": 4}
    assert CHOSEN in endpoints.translate({**asked, "way_back": WEIGHT})["text"]
    assert CHOSEN not in endpoints.translate(asked)["text"]


@pytest.mark.parametrize("given", [-0.1, 10.5, "much", True, None])
def test_a_weight_that_is_none_is_refused(service: Service, given: Any) -> None:
    with pytest.raises(PageError) as caught:
        service.check({**PAGE, "way_back": given})
    assert caught.value.field == "way_back"


def test_who_types_is_answered_without_it(service: Service) -> None:
    from headlight.viz.tabs.translate import LIVE

    asked = service.check({**PAGE, **LIVE}, model_defaults=True)
    assert replace(asked.options, no_repeat=0) == replace(asked.options, no_repeat=0, beam_size=1, way_back=0.0)

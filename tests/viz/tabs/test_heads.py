"""Alignment of the pairs of a gold file by all heads, as requested by the page."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from headlight.model.experiments.effects import LIKELIEST, make_effect_maps, summarise_effects, word_effects
from headlight.model.records import KINDS, Kind
from headlight.viz.errors import PageError
from headlight.viz.lessons.lesson_session import decode_array
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from headlight.viz.tabs.heads import (
    MAX_LISTED_HEADS,
    make_effect_maps_call,
    make_effects_call,
    make_links_call,
    make_measured_effect_call,
)
from headlight.viz.token_labels import make_visible

PAIR = ["ich mochte ein bier", "i want a beer .", "0-0 1-1 2-2 3?3"]


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings(model="toy"))


def test_gold_links_are_counted_for_every_head_and_shift(service: Service) -> None:
    response = make_links_call(service)({"model": "toy", "rows": [PAIR, PAIR]})
    assert {tuple(head[:3]) for head in response["heads"]} == {
        (layer, head, shift) for layer in range(2) for head in range(4) for shift in (0, 1)
    }
    for *_, pairs in response["heads"]:
        assert pairs[0] == pairs[1]
        linked, sure, right_and_sure, right = pairs[0]
        assert (linked, sure) == (5, 3)  # each written word has one link
        assert 0 <= right_and_sure <= right <= 4


def test_gold_table_of_other_direction_is_reversed(service: Service) -> None:
    english = [PAIR[1], PAIR[0], "0-0 1-1 2-2 3?3"]
    count = make_links_call(service)
    assert count({"model": "toy", "rows": [english], "reversed": True}) == count({"model": "toy", "rows": [PAIR]})


@pytest.mark.parametrize("rows", [None, [], [PAIR] * 5, [["a", "b"]], [["a", "b", 3]], [[*PAIR[:2], "0-9"]]])
def test_invalid_links_are_rejected(service: Service, rows: Any) -> None:
    with pytest.raises(PageError) as error:
        make_links_call(service)({"model": "toy", "rows": rows})
    assert error.value.word == "bad_links"


def test_word_effects_match_model(service: Service) -> None:
    request = {"text": "ich mochte ein bier", "model": "toy"}
    answer = make_effects_call(service)({"request": request, "place": 2})
    heads = answer["strongest"]
    translation = service.translate(service.check(request))
    own = service.run_on_translator("toy", summarise_effects, translation, 2, MAX_LISTED_HEADS)
    assert heads == [asdict(head) for head in own.strongest]
    for kind, effects in own.heads.items():
        np.testing.assert_allclose(answer["heads"][kind], effects, atol=1e-4)
    assert len(heads) == MAX_LISTED_HEADS
    assert heads[0]["predicted"] != 0


def test_effects_against_a_rival_match_the_model(service: Service) -> None:
    request = {"text": "ich mochte ein bier", "model": "toy"}
    translation = service.translate(service.check(request))
    query = {"request": request, "place": 2, "rival": 5}
    own = service.run_on_translator("toy", summarise_effects, translation, 2, MAX_LISTED_HEADS, 5)
    assert make_effects_call(service)(query)["strongest"] == [asdict(head) for head in own.strongest]
    assert make_effects_call(service)(query)["rival"]["id"] == 5
    first = own.strongest[0]
    head = {"kind": first.kind, "layer": first.layer, "head": first.head}
    assert make_measured_effect_call(service)(query | head)["measured"] == pytest.approx(first.measured, abs=1e-5)


@pytest.mark.parametrize("wrong", [{"rival": -1}, {"rival": 10**6}, {"head": 99}, {"layer": None}, {"kind": "self"}])
def test_measured_effect_needs_head_and_token(service: Service, wrong: dict[str, Any]) -> None:
    query = {"request": {"text": "ich mochte ein bier", "model": "toy"}, "place": 2, "rival": 5}
    with pytest.raises(PageError):
        make_measured_effect_call(service)(query | {"kind": "cross", "layer": 0, "head": 1} | wrong)


@pytest.mark.parametrize("place", [None, -1, 99, "0", True])
def test_effects_of_missing_word_are_rejected(service: Service, place: Any) -> None:
    with pytest.raises(PageError):
        make_effects_call(service)({"request": {"text": "ich mochte ein bier", "model": "toy"}, "place": place})


@pytest.mark.parametrize("kind", KINDS)
def test_effect_maps_match_model(service: Service, kind: Kind) -> None:
    request = {"text": "ich mochte ein bier", "model": "toy"}
    maps = decode_array(make_effect_maps_call(service)({"request": request, "kind": kind})["effects"])
    translation = service.translate(service.check(request))
    np.testing.assert_allclose(maps, service.run_on_translator("toy", make_effect_maps, translation, kind), atol=1e-6)
    leads = decode_array(make_effect_maps_call(service)({"request": request, "kind": kind, "lead": True})["effects"])
    expected = service.run_on_translator("toy", make_effect_maps, translation, kind, LIKELIEST)
    np.testing.assert_allclose(leads, expected, atol=1e-6)
    with pytest.raises(PageError):
        make_effect_maps_call(service)({"request": request, "kind": "self"})


@pytest.mark.parametrize("kind", KINDS)
def test_effect_maps_of_one_word_match_model(service: Service, kind: Kind) -> None:
    request = {"text": "ich mochte ein bier", "model": "toy"}
    translation = service.translate(service.check(request))
    call = make_effect_maps_call(service)
    for query, rival in (({}, None), ({"lead": True}, LIKELIEST), ({"lead": True, "rival": 5}, 5)):
        answer = call({"request": request, "kind": kind, "place": 2} | query)
        (own,) = service.run_on_translator("toy", word_effects, translation, [2], rival)
        np.testing.assert_allclose(decode_array(answer["effects"]), own.cells[kind], atol=1e-6)
        label = service.model_info("toy").target_tokenizer.label(5)
        assert answer["rival"] == ({"id": 5, "label": make_visible(label)} if rival == 5 else None)
    for wrong in ({"place": 99}, {"place": "x"}, {"place": 2, "rival": -1}):
        with pytest.raises(PageError):
            call({"request": request, "kind": kind} | wrong)

"""What if: the page hears what the model does under the changes, and how it then scores the words of the original."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from headlight.model.experiments import importance
from headlight.viz.answers.service import Service
from headlight.viz.settings import Settings
from headlight.viz.tabs.whatif import changed_of, importance_of
from headlight.viz.wire.rpc import answering
from tests.viz.tabs.test_beside import BEER, FIRST

OFF = {"action": "remove", "kind": "cross", "layer": 0}


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings(model="toy", max_characters=99))


def ask(service: Service, interventions: Any, request: Any = FIRST) -> dict[str, Any]:
    """What the browser hears, as it reads it."""
    sent = json.dumps({"request": request, "interventions": interventions})
    values: dict[str, Any] = json.loads(answering(changed_of(service))(sent))
    return values


def test_the_page_the_api_and_code_give_one_answer(service: Service) -> None:
    told = ask(service, [OFF])
    code = service.translator().translate(BEER, interventions=[OFF])
    asked = service.translate(service.check(FIRST | {"interventions": [OFF]}))
    assert told["answer"]["text"] == code.text == asked.text
    assert told["answer"]["log_probability"] == pytest.approx(code.log_probability, abs=1e-5)
    assert told["answer"]["request"]["interventions"] == [OFF]


def test_the_words_of_the_original_are_scored_before_and_under_the_change(service: Service) -> None:
    told = ask(service, [OFF])
    plain = service.translator().translate(BEER)
    ids = tuple(token.id for token in plain.target_tokens)
    held = service.translator().translate(BEER, target=ids, interventions=[OFF])
    assert told["before"] == pytest.approx(plain.log_probability, abs=1e-5)
    assert told["after"] == pytest.approx(held.log_probability, abs=1e-5)
    assert told["after"] < told["before"] - 0.01
    words = [word for word in told["words"] if word["before"] is not None]
    assert [word["before"] for word in words] == [*plain.text.split(), "</s>"]
    assert [place for word in words for place in word["places"]] == list(range(len(ids)))
    for word in words:
        for name, translation in (("log_before", plain), ("log_after", held)):
            chances = [translation.target_tokens[place].probability or 0.0 for place in word["places"]]
            assert word[name] == pytest.approx(sum(map(math.log, chances)), abs=1e-5)
    assert sum(word["log_after"] for word in words) == pytest.approx(told["after"], abs=1e-4)
    held_ids = [token["id"] for token in told["held"]["target"]]
    assert held_ids == list(ids)


def test_a_swapped_word_of_the_sentence_changes_a_word_of_the_translation(service: Service) -> None:
    start = BEER.index("bier")
    told = ask(service, [{"action": "swap", "start": start, "end": start + 4, "text": "cola"}])
    assert told["answer"]["source_text"] == BEER.replace("bier", "cola")
    changed = [(word["before"], word["after"]) for word in told["words"] if word["before"] != word["after"]]
    assert ("beer", "coke") in changed
    assert 0 < told["chrf"] < 100


def test_a_change_that_does_nothing_changes_nothing(service: Service) -> None:
    told = ask(service, [{"action": "scale", "kind": "cross", "amount": 1}])
    assert told["after"] == pytest.approx(told["before"], abs=1e-5)
    assert told["chrf"] == 100
    assert all(word["before"] == word["after"] for word in told["words"])


@pytest.mark.parametrize(
    ("interventions", "word"),
    [
        ("off", "wrong_type"),
        ([{"action": "explode"}], "not_choice"),
        ([OFF | {"layer": 99}], "not_whole"),
        ([{"action": "swap", "start": 0, "end": 3, "text": "x" * 100}], "too_long"),
        ([{"action": "erase", "start": 0, "end": len(BEER)}], "nothing_left"),
    ],
)
def test_a_change_that_cannot_be_made_is_said(service: Service, interventions: Any, word: str) -> None:
    assert ask(service, interventions)["word"] == word


def test_a_request_that_is_none_is_said(service: Service) -> None:
    assert ask(service, [OFF], request=None)["word"] == "not_names"
    assert ask(service, [OFF], request={"model": "toy"})["word"] == "missing"


def measured(service: Service, **values: Any) -> dict[str, Any]:
    """One answer about importance, as the browser reads it."""
    found: dict[str, Any] = json.loads(answering(importance_of(service))(json.dumps({"request": FIRST} | values)))
    return found


def test_importance_comes_batch_by_batch_until_every_part_is_measured(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importance, "MOST_ROWS", 5)
    config = service.translator().model.config
    losses: list[dict[str, Any]] = []
    told = {"next": 0, "all": 1}
    while told["next"] < told["all"]:
        told = measured(service, first=told["next"])
        assert 0 < len(told["losses"]) <= 5
        losses += told["losses"]
    layers = config.encoder_layers + 2 * config.decoder_layers
    assert len(losses) == told["all"] == 3 + layers + layers * config.heads
    plain = service.translator().translate(BEER)
    ids = tuple(token.id for token in plain.target_tokens)
    for each in losses[::7]:
        off = {"action": "remove"} | {name: each[name] for name in ("kind", "layer", "head")}
        without = service.translator().translate(BEER, target=ids, interventions=[off])
        assert each["loss"] == pytest.approx(plain.log_probability - without.log_probability, abs=2e-4)


@pytest.mark.parametrize("first", [-1, 9999, "all", None])
def test_importance_begins_nowhere_else(service: Service, first: Any) -> None:
    assert measured(service, first=first)["word"] == "not_whole"

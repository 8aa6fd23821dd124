"""Two models: the second one's translation and the token matching."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from headlight.model.records import DecodingOptions, TranslationRequest
from headlight.viz.errors import PageError
from headlight.viz.server.calls import call_json
from headlight.viz.service.model_cards import ModelCard
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from headlight.viz.tabs.two_models import make_second_answer_call, match_languages, model_menu
from tests.letters import NEAR, decoded

BEER = "ich mochte ein bier"
FIRST = {"text": BEER, "model": "toy"}


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings(model="toy"))


def ask(service: Service, other: Any, request: Any = FIRST) -> dict[str, Any]:
    """The parsed response of the browser call."""
    values: dict[str, Any] = json.loads(
        call_json(make_second_answer_call(service), {"request": request, "other": other})
    )
    return values


def test_second_model_matches_standalone_translation(service: Service) -> None:
    other = {"text": BEER, "model": "de-en", "beam_size": 3}
    answer = ask(service, other)["answer"]
    alone = service.translate(service.check(other, model_defaults=True))
    assert (answer["model"]["name"], answer["text"]) == ("de-en", alone.text)
    assert answer["request"]["options"]["beam_size"] == 3
    for kind in ("encoder", "decoder", "cross"):
        numbers = decoded(answer["attention"][kind], causal=kind == "decoder")
        np.testing.assert_allclose(numbers, alone.attention.of(kind), atol=NEAR)


def test_source_tokens_are_matched_by_characters(service: Service) -> None:
    response = ask(service, {"text": BEER, "model": "de-en"})
    first = service.translate(service.check(FIRST)).source_tokens
    second = response["answer"]["source"]
    assert response["source"]["same"] is True
    assert len(first) != len(second)
    together = {
        (one, other) for unit in response["source"]["units"] for one in unit["first"] for other in unit["second"]
    }
    for one, token in enumerate(first):
        for other, each in enumerate(second):
            touch = max(token.start, each["start"]) < min(token.end, each["end"])
            ends = token.special and each.get("special", False)
            assert not (touch or ends) or (one, other) in together
    assert [unit["label"] for unit in response["source"]["units"]] == ["ich", "mochte", "ein", "bier", "</s>"]


def test_differing_translations_are_matched_by_words(service: Service) -> None:
    cola = "ich mochte ein cola"
    response = ask(service, {"text": cola, "model": "de-en"}, {"text": cola, "model": "toy"})
    ours, theirs = (text.lower().split() for text in ("i want a coke .", response["answer"]["text"].replace(".", " .")))
    assert ours != theirs
    assert response["target"]["same"] is False
    shared = [unit["label"].lower() for unit in response["target"]["units"] if unit["first"] and unit["second"]]
    assert shared[-1] == "</s>"
    assert set(shared[:-1]) <= set(ours) & set(theirs)
    assert {"i", "a", "."} <= set(shared)


def test_forced_second_model_matches_every_row(service: Service) -> None:
    target = service.translate(service.check(FIRST)).text
    response = ask(service, {"text": BEER, "model": "de-en", "target": target})
    assert response["answer"]["text"] == target
    assert response["target"]["same"] is True
    assert all(unit["first"] and unit["second"] for unit in response["target"]["units"])


def test_same_model_matches_itself(service: Service) -> None:
    response = ask(service, FIRST)
    for side in ("source", "target"):
        assert all(unit["first"] == unit["second"] for unit in response[side]["units"])


def test_reverse_model_is_matched_crosswise(service: Service) -> None:
    first = service.translate(service.check(FIRST))
    response = json.loads(
        call_json(
            make_second_answer_call(service),
            {"request": FIRST, "other": {"text": first.text, "model": "en-de"}, "back": True},
        )
    )
    answer = response["answer"]
    assert answer["source_text"] == first.text
    read, output = response["target"], response["source"]  # the second model reads the output of the first
    assert read["same"] is True
    assert sorted(place for unit in read["units"] for place in unit["first"]) == list(range(len(first.target_tokens)))
    assert sorted(place for unit in read["units"] for place in unit["second"]) == list(range(len(answer["source"])))
    assert sorted(place for unit in output["units"] for place in unit["first"]) == list(range(len(first.source_tokens)))
    assert sorted(place for unit in output["units"] for place in unit["second"]) == list(range(len(answer["target"])))


def test_unit_labels_are_short_and_escaped(service: Service) -> None:
    text = "<b>ich</b> " + "x" * 40
    units = ask(service, {"text": text, "model": "toy"}, {"text": text, "model": "de-en"})["source"]["units"]
    assert "".join(unit["full"] for unit in units[:-1]) == text.replace(" ", "")
    assert max(len(unit["label"]) for unit in units) == 16
    assert [unit["special"] for unit in units] == [False] * (len(units) - 1) + [True]


class ModelCache:
    """A service that knows these models."""

    settings = Settings()

    def __init__(self, *cards: ModelCard) -> None:
        self.cards = cards
        self.known: dict[str, ModelDefaults] = {}

    def models(self) -> tuple[ModelCard, ...]:
        return self.cards

    @property
    def catalogue(self) -> ModelCache:
        return self

    def card(self, name: str, kind: str) -> ModelCard:
        return next(card for card in self.cards if (card.name, card.kind) == (name, kind))

    def model_defaults(self, name: str) -> ModelDefaults:
        return self.known.get(name, ModelDefaults())


def card(name: str, **changed: Any) -> ModelCard:
    about: dict[str, Any] = {"kind": "transformer", "languages": ("de", "en"), "parameters": 1, "bytes": 1}
    return ModelCard(**(about | {"name": name, "summary": "", "revision": ""} | changed))


class ModelDefaults(NamedTuple):
    """The options that a model accepts."""

    sources: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    source: str = ""
    target: str = ""
    unsupported: tuple[str, ...] = ()
    in_python: DecodingOptions = DecodingOptions()

    def options(self) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize(
    ("defaults", "languages", "back", "expected"),
    [
        (ModelDefaults(("cs", "de"), ("en", "fr"), "cs", "fr"), {}, False, ("de", "en")),
        (ModelDefaults(("cs", "de"), ("en", "fr"), "cs", "fr"), {"target_language": "fr"}, False, ("de", "fr")),
        (ModelDefaults(("cs", "en"), ("de", "fr"), "cs", "fr"), {}, True, ("en", "de")),
        (ModelDefaults((), ("fr", "it"), "", "fr"), {}, False, ("", "")),
        (ModelDefaults(), {}, False, ("", "")),
    ],
)
def test_multilingual_second_model_uses_first_models_languages(
    defaults: ModelDefaults, languages: dict[str, str], back: bool, expected: tuple[str, str]
) -> None:
    first = SimpleNamespace(request=TranslationRequest(text="", model="one"))
    shelf = ModelCache(card("one"), card("many", languages=()))
    shelf.known = {"many": defaults}
    request = TranslationRequest(text="", model="many", **languages)  # type: ignore[arg-type]
    matched = match_languages(first, request, shelf, back=back)  # type: ignore[arg-type]
    assert (matched.source_language, matched.target_language) == expected


def test_menu_lists_local_translators() -> None:
    cards = card("toy"), card("a", default=True), card("b", downloaded=False), card("c", kind="classifier"), card("d")
    assert [each["name"] for each in model_menu(ModelCache(*cards))] == ["a", "d", "toy"]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "field", "word"),
    [
        ({"other": {"text": BEER, "model": "nobody"}}, "model", "unknown_model"),
        ({"other": {"text": BEER, "model": 7}}, "model", "not_text"),
        ({"other": {"text": BEER, "beam_size": 99}}, "beam_size", "not_whole"),
        ({"other": {"text": " "}}, "text", "blank_text"),
        ({"other": None}, "text", "not_names"),
        ({"request": [], "other": FIRST}, "text", "not_names"),
        ({"other": {**FIRST, "capture": ["*"]}}, "capture", "unknown_name"),
    ],
)
def test_invalid_values_are_rejected_by_name(service: Service, values: dict[str, Any], field: str, word: str) -> None:
    with pytest.raises(PageError) as error:
        make_second_answer_call(service)({"request": FIRST} | values)
    assert (error.value.field, error.value.word) == (field, word)

"""Decoding: the tree, the reason for each outcome, and opening nodes."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

import gradio as gr
import pytest

from headlight.model.records import BeamNode, BeamTree
from headlight.viz.errors import PageError
from headlight.viz.figure_phrases import LANGUAGES, phrases
from headlight.viz.page import build_page
from headlight.viz.server.calls import call_json
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from headlight.viz.tabs.decoding import (
    build,
    finished_nodes,
    make_probabilities_call,
    make_search_call,
    outcome_reasons,
    path_texts,
)
from headlight.viz.tabs.figure_json import figure_json, parse_style
from tests.viz.figures_examples import make_translation, make_tree
from tests.viz.local_translator import local_translator

BEER = "ich mochte ein bier"
LOOK = {"theme": "light", "language": "en"}
END = 2
Outcome = Literal["kept", "finished", "dropped"]


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings(model="toy", max_beam=7))


def search(service: Service, **request: Any) -> dict[str, Any]:
    return make_search_call(service)({"request": {"text": BEER, **request}, **LOOK})


def node(step: int, token: int, outcome: Outcome, score: float = -1.0, parent: int = -1) -> BeamNode:
    return BeamNode(parent, step, token, f" t{token}", score, score, outcome)


# ---------------------------------------------------------------- the search


def test_nodes_match_tree_order(service: Service) -> None:
    result = search(service, beam_size=3)
    tree = service.translate(service.check({"text": BEER, "beam_size": 3})).tree
    assert len(result["nodes"]) == len(tree.nodes) > 3
    for values, node in zip(result["nodes"], tree.nodes, strict=True):
        assert values[:3] == [node.parent, node.step, node.id]
        assert values[6:9] == [round(node.log_probability, 6), round(node.score, 6), node.outcome]
    assert result["beam"] == 3


def test_best_finished_node_is_displayed_translation(service: Service) -> None:
    result = search(service, beam_size=3)
    tree = service.translate(service.check({"text": BEER, "beam_size": 3})).tree
    scores = [result["nodes"][place][7] for place in result["finished"]]
    assert scores == sorted(scores, reverse=True)
    assert list(tree.path(result["finished"][0])) == result["written"]["ids"]


def test_node_text_is_assembled_from_path_changes(service: Service) -> None:
    result = search(service, beam_size=4)
    tree = service.translate(service.check({"text": BEER, "beam_size": 4})).tree
    decode = local_translator(service, "toy").target_tokenizer.decode
    texts: dict[int, str] = {-1: ""}
    for place, (parent, _, _, _, length, added, *_) in enumerate(result["nodes"]):
        texts[place] = texts[parent][:length] + added
        assert texts[place] == decode(list(tree.path(place)))
    assert texts[result["finished"][0]] == result["written"]["text"]


def test_completed_character_replaces_placeholder() -> None:
    tree = make_tree(steps=2)
    read = {(0,): "x�", (0, 0): "xé"}
    translation = make_translation(("a",), ("b",), tree)
    changes = list(path_texts(tree.nodes, lambda ids: read.get(ids, ""), translation))
    assert changes[0] == (0, "x�")
    child = next(place for place, node in enumerate(tree.nodes) if tree.path(place) == (0, 0))
    assert changes[child] == (1, "é")


@pytest.mark.parametrize("outcome", ["kept", "dropped", "finished"])
def test_any_node_opens_with_full_attention(service: Service, outcome: str) -> None:
    result = search(service, beam_size=3)
    tree = service.translate(service.check({"text": BEER, "beam_size": 3})).tree
    place = next(at for at, values in enumerate(result["nodes"]) if values[8] == outcome)
    ids = list(tree.path(place))
    opened = service.translate(service.check({"text": BEER, "beam_size": 3, "target": ids}))
    assert [token.id for token in opened.target_tokens] == ids
    assert opened.attention.cross.shape[2] == len(ids)


@pytest.mark.parametrize("request_", [{"beam_size": 1}, {"temperature": 1.0, "seed": 3}, {"target": "I want a beer"}])
def test_greedy_search_has_no_tree(service: Service, request_: dict[str, Any]) -> None:
    result = search(service, **request_)
    assert result["nodes"] == result["finished"] == []
    assert result["samples"] is ("temperature" in request_)
    assert result["written"]["ids"]


# ---------------------------------------------------------------- why a node met its outcome


def test_every_outcome_has_a_reason() -> None:
    nodes = [
        node(0, 7, "kept", -1.0),
        node(0, 8, "kept", -2.0),
        node(0, 9, "dropped", -3.0),  # two better ones went on
        node(1, END, "finished", -1.0, 0),
        node(1, 7, "kept", -1.1, 0),
        node(1, END, "dropped", -1.2, 1),  # the third, where two count
        node(1, 8, "kept", -1.3, 1),
        node(2, END, "finished", -1.4, 4),
        node(2, 7, "dropped", -1.5, 4),  # it was to go on, but two had finished
        node(2, 8, "dropped", -1.6, 6),
        node(2, 9, "dropped", -1.7, 6),
    ]
    expected = ["kept", "kept", "worse", "ended", "kept", "late_end", "kept", "ended", "over", "over", "worse"]
    assert outcome_reasons(nodes, 2, {END}) == expected


def test_truncated_and_finished_hypotheses_are_distinguished() -> None:
    nodes = [node(0, 7, "finished", -1.0), node(0, END, "finished", -2.0), node(0, 8, "dropped", -3.0)]
    assert outcome_reasons(nodes, 2, {END}) == ["limit", "ended", "worse"]
    assert finished_nodes(BeamTree(tuple(nodes)), {END}) == [
        1,
        0,
    ]  # what ended comes first, however likely the other is


def test_reasons_of_real_search_match_outcomes(service: Service) -> None:
    fits = {"kept": {"kept"}, "finished": {"ended", "limit"}, "dropped": {"worse", "late_end", "over"}}
    for beam in (2, 5):
        for values in search(service, beam_size=beam)["nodes"]:
            assert values[9] in fits[values[8]]


def test_every_reason_and_outcome_has_phrases() -> None:
    for language in LANGUAGES:
        for reason in ("kept", "stranded", "ended", "limit", "worse", "late_end", "over"):
            assert phrases(language)[f"decoding_reason_{reason}"]
        for outcome in ("kept", "finished", "dropped"):
            assert phrases(language)[f"decoding_outcome_{outcome}"]


# ---------------------------------------------------------------- the pictures


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_figures_use_page_language(service: Service, theme: str, language: str) -> None:
    request_values = {"request": {"text": BEER, "beam_size": 3}, "theme": theme, "language": language}
    bars = make_probabilities_call(service)(request_values)["figure"]
    annotations = [each["text"] for each in bars["layout"]["annotations"][:2]]
    assert annotations == [phrases(language)[f"figure_probabilities_{part}"] for part in ("probability", "others")]


def test_page_figure_has_no_title_and_is_compact() -> None:
    look = parse_style(LOOK)
    translation = make_translation(("a", "b"), ("c", "d", "e"))
    figure = figure_json("probabilities", look, translation)
    assert figure["layout"]["title"]["text"] == ""
    assert 24 <= figure["layout"]["margin"]["t"] < 70


def test_bars_match_captured_probabilities(service: Service) -> None:
    figure = make_probabilities_call(service)({"request": {"text": BEER, "beam_size": 3}, **LOOK})["figure"]
    tokens = service.translate(service.check({"text": BEER, "beam_size": 3})).target_tokens
    assert figure["data"][0]["x"] == pytest.approx([token.probability for token in tokens])


# ---------------------------------------------------------------- endpoints


REQUESTS = [
    ({"request": {"text": "  "}}, "text", "blank_text"),
    ({"request": {"text": BEER, "beam_size": 8}}, "beam_size", "not_whole"),
    ({"request": [BEER]}, "text", "not_names"),
]
LOOKS = [
    ({"theme": "sepia"}, "theme", "not_choice"),
    ({"theme": None}, "theme", "not_choice"),
    ({"language": 3}, "language", "not_choice"),
]


@pytest.mark.parametrize(
    ("server", "changed", "field", "word"),
    [(make_search_call, *each) for each in REQUESTS]
    + [(make_probabilities_call, *each) for each in (*REQUESTS, *LOOKS)],
)
def test_invalid_values_are_rejected_by_name(
    service: Service, server: Any, changed: dict[str, Any], field: str, word: str
) -> None:
    with pytest.raises(PageError) as error:
        server(service)({"request": {"text": BEER}, **LOOK} | changed)
    assert (error.value.field, error.value.word) == (field, word)
    response = json.loads(call_json(server(service), {"request": {"text": BEER}, **LOOK} | changed))
    assert (response["what"], response["field"], response["word"]) == ("error", field, word)


def test_tab_runs_standalone() -> None:
    async def build_blocks() -> gr.Blocks:  # in a loop: outside, Gradio leaves some open
        return build_page(Settings(model="toy"), {"decoding": build})

    page = asyncio.run(build_blocks())
    names = {block.elem_id for block in page.blocks.values() if getattr(block, "elem_id", None)}
    assert {"widget-translate", "widget-decoding", "panel-decoding"} <= names
    assert "panel-heads" not in names

"""The Models tab: cards as data without executable markup."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headlight.model.checkpoints.checksums import weights_digest
from headlight.viz.figure_phrases import phrases
from headlight.viz.service.markdown import (
    Block,
    blocks,
    find_failure,
    find_licence,
    find_test_scores,
    find_training_curve,
    sections,
)
from headlight.viz.service.service import Service
from headlight.viz.settings import MODELS, Settings
from headlight.viz.tabs.models import cards_json
from tests.hub_server import Repository, local_hub

HOSTILE = """# <script>alert(1)</script>

Hello <img src=x onerror=alert(1)> [here](javascript:alert(1)) [there](https://example.org/a) ![picture](https://a.b/c.png)
[data](data:text/html,x) <https://example.org>

<div onclick="alert(1)">block</div>

- Licence of the weights: `<b>` none. Really.

## Scores <b>

| a | b |
| --- | ---: |
| <i>1</i> | 2 |
"""


def walk(nodes: list[Any]) -> Iterator[Block]:
    for node in nodes:
        if isinstance(node, dict):
            yield node
            yield from walk(node["inside"])


def text(node: Any) -> str:
    return node if isinstance(node, str) else "".join(map(text, node["inside"]))


@pytest.fixture(scope="module")
def cards() -> dict[str, dict[str, Any]]:
    values = json.loads(json.dumps(cards_json(Service(Settings())), allow_nan=False))
    return {card["name"]: card for card in values}


def test_models_are_listed_with_default_translator_first(cards: dict[str, Any]) -> None:
    names = list(cards)
    assert names[0] == "de-en"
    assert cards["de-en"]["default"] is True
    assert names[-1] == "sentiment"
    assert {path.parent.name for path in MODELS.glob("*/config.json")} == set(names)


def test_card_has_sizes_licence_scores_limits_and_training(cards: dict[str, Any]) -> None:
    card = cards["de-en"]
    assert card["languages"] == ["de", "en"]
    assert card["parameters"] > 9_000_000
    assert card["bytes"] == sum(path.stat().st_size for path in (MODELS / "de-en").iterdir() if path.is_file())
    assert card["licence"] == phrases("en")["models_licence_restricted"]  # so the page says it in its language
    others = {each["licence"] for each in cards.values()} - {card["licence"]}
    assert others <= {"CC0 1.0"}
    by_title = {section["title"]: section for section in card["sections"]}
    table = next(block for block in by_title["Scores"]["blocks"] if block["tag"] == "table")
    assert "BLEU" in text(table)
    assert any(block["tag"] == "ul" for block in by_title["What it cannot do"]["blocks"])
    assert by_title["Scores"]["curve"] is None
    curve = by_title["How it learnt"]["curve"]
    assert len(curve["series"]) >= 2
    assert all(len(each["values"]) == len(curve["steps"]) for each in curve["series"])


def test_first_paragraph_is_not_repeated(cards: dict[str, Any]) -> None:
    for card in cards.values():
        (summary,) = card["summary"]
        assert summary not in card["introduction"]


def test_html_in_card_is_escaped() -> None:
    nodes = [node for section in sections(HOSTILE) for node in walk(section.blocks)]
    assert {node["tag"] for node in nodes} <= {
        "p",
        "a",
        "ul",
        "li",
        "code",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    assert {node.get("href") for node in nodes if node["tag"] == "a"} == {
        "https://example.org/a",
        "https://example.org",
    }
    assert all(set(node) <= {"tag", "inside", "href", "end"} for node in nodes)
    whole = "".join(text(block) for section in sections(HOSTILE) for block in section.blocks)
    for markup in ("<img src=x onerror=alert(1)>", '<div onclick="alert(1)">block</div>', "<i>1</i>", "picture"):
        assert markup in whole


def test_card_is_split_at_headings_outside_code() -> None:
    card = "---\nlanguage: de\n---\n# title\n\none\n\n## A\n\n```\n## not a heading\n```\n\n### B\n\ntwo\n\n## C\n"
    parts = sections(card)
    assert [section.title for section in parts] == ["", "A", "C"]
    assert [block["tag"] for block in parts[1].blocks] == ["pre", "h4", "p"]
    assert text(parts[0].blocks[0]) == "one"
    assert parts[1].blocks[0]["inside"] == ["## not a heading"]


def test_numeric_columns_are_right_aligned() -> None:
    (table,) = blocks("| a | b |\n| --- | ---: |\n| 1 | 2 |")
    cells = [node for node in walk([table]) if node["tag"] in ("th", "td")]
    assert [cell.get("end", False) for cell in cells] == [False, True, False, True]


def test_curve_is_parsed_from_step_table() -> None:
    curve = find_training_curve(
        blocks("| step | loss | bleu a |\n| --- | --- | --- |\n| 1,000 | 2.5 | 7 |\n| 2000 | 1.5 | 11 |")
    )
    assert curve == {
        "steps": (1000.0, 2000.0),
        "series": [{"name": "loss", "values": (2.5, 1.5)}, {"name": "bleu a", "values": (7.0, 11.0)}],
    }


@pytest.mark.parametrize(
    "table",
    [
        "no table",
        "| file | bytes |\n| --- | --- |\n| a | 1 |\n| b | 2 |",
        "| step | loss |\n| --- | --- |\n| 1 | 2 |",
        "| step | loss |\n| --- | --- |\n| 1 | 2 |\n| 2 | – |",
        "| step |\n| --- |",
    ],
)
def test_no_curve_without_steps(table: str) -> None:
    assert find_training_curve(blocks(table)) is None


def test_scores_and_goals_are_parsed_from_test_table() -> None:
    lines = ["| long ones, 1,000 | 89.5% | 86% |", "| few | 1,000 | |", "| none | – | 1 |"]
    table = "\n".join(["before", "", "| test | accuracy | goal |", "| --- | ---: | ---: |", *lines])
    assert find_test_scores(blocks(table)) == {
        "measure": "accuracy",
        "tests": [
            {"test": "long ones, 1,000", "score": 89.5, "goal": 86.0},
            {"test": "few", "score": 1000.0, "goal": None},
        ],
    }


@pytest.mark.parametrize(
    "table", ["no table", "| file | bytes |\n| --- | --- |\n| a | 1 |", "| test | a |\n| --- | --- |\n| x | – |"]
)
def test_no_scores_without_tests(table: str) -> None:
    assert find_test_scores(blocks(table)) is None


def test_bundled_models_show_their_own_scores(cards: dict[str, Any]) -> None:
    for name, card in cards.items():
        if name == "toy":
            continue
        card_text = (MODELS / name / "README.md").read_text(encoding="utf-8")
        for test in card["scores"]["tests"]:
            assert f"| {test['score']:.1f}" in card_text.replace("%", "") or f"| {test['score']:.2f}%" in card_text
    measured = json.loads((MODELS / "de-en" / "reliability.json").read_text(encoding="utf-8"))["measured"]
    displayed = cards["de-en"]["reliability"]
    assert displayed["curve"] == measured["with_back"]["calibration"]
    assert sum(number for number, *_ in displayed["curve"]) == displayed["answers"]
    assert displayed["plain"] == {"right": measured["plain"]["right"], "read": measured["plain"]["read"]}
    assert cards["toy"]["reliability"] is None


@pytest.mark.parametrize(
    ("plain", "expected"),
    [
        ({"read": 60, "sentences": 120, "right": 50}, {"right": 50, "read": 60}),
        ({"read": 0, "sentences": 120}, None),
        ({}, None),
    ],
)
def test_unlabelled_plain_answers_do_not_count_as_wrong(
    tmp_path: Path, plain: dict[str, int], expected: dict[str, int] | None
) -> None:
    shutil.copytree(MODELS / "toy", tmp_path / "new")
    measured = {"alone": {"answers": 3, "area": 0.5, "calibration": [[3, 0.5, 1.0]]}, "plain": plain}
    report = {"weights": weights_digest(tmp_path / "new"), "measured": measured}
    (tmp_path / "new" / "reliability.json").write_text(json.dumps(report), encoding="utf-8")
    (card,) = cards_json(Service(Settings(models_folder=tmp_path)))
    assert card["reliability"]["plain"] == expected


@pytest.mark.parametrize(
    "measured",
    [
        {},
        {"alone": {"answers": 3, "area": 0.5, "calibration": []}},
        {"alone": {"answers": 3, "area": 0.5, "calibration": [[1, 0.5, float("nan")]]}},
        {"alone": {"answers": "<b>", "area": 0.5, "calibration": [[1, 0.5, 1.0]]}},
        [],
        "nothing",
    ],
)
def test_malformed_third_party_measurements_are_ignored(tmp_path: Path, measured: Any) -> None:
    shutil.copytree(MODELS / "toy", tmp_path / "odd")
    (tmp_path / "odd" / "reliability.json").write_text(json.dumps({"measured": measured}), encoding="utf-8")
    (tmp_path / "odd" / "README.md").write_text("# odd\n\n## Scores\n\n| test | a |\n| --- | --- |\n| x | nan |\n")
    (card,) = cards_json(Service(Settings(models_folder=tmp_path)))
    assert (card["reliability"], card["scores"]) == (None, None)
    json.dumps(card, allow_nan=False)


@pytest.mark.parametrize(
    ("line", "licence"),
    [
        ("- Licence of the weights: for research. The code is Apache-2.0.", "for research"),
        ("- Data: mine. Licence of data and\n  weights: CC0 1.0.", "CC0 1.0"),
        ("License: MIT", "MIT"),
        ("Nothing is said.", ""),
    ],
)
def test_licence_is_parsed_from_card(line: str, licence: str) -> None:
    assert find_licence(line) == licence


def test_model_without_card_is_listed(tmp_path: Path) -> None:
    shutil.copytree(MODELS / "toy", tmp_path / "bare")
    (tmp_path / "bare" / "README.md").unlink()
    (card,) = cards_json(Service(Settings(models_folder=tmp_path)))
    assert (card["name"], card["licence"], card["summary"], card["sections"]) == ("bare", "", [], [])


def test_list_nesting_is_limited() -> None:
    deep = "\n".join("  " * depth + "- x" for depth in range(200))
    json.dumps(blocks(deep))


def test_known_sections_and_measures_have_phrases() -> None:
    from headlight.viz.figure_phrases import LANGUAGES, phrases

    for language in LANGUAGES:
        for name in ("scores", "limits", "learnt", "heads", "data", "repeat", "files"):
            assert f"models_section_{name}" in phrases(language)


def test_hub_models_are_last_and_have_cards_when_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(MODELS / "toy", tmp_path / "models" / "toy")
    settings = Settings(models_folder=tmp_path / "models", models=("a/opus-mt-fr-en", "b/opus-mt-es-en"))
    files = {path.name: path.read_bytes() for path in (MODELS / "toy").iterdir()}
    with local_hub(monkeypatch, tmp_path / "home") as hub:
        hub.repositories["b/opus-mt-es-en"] = Repository()
        hub.repositories["b/opus-mt-es-en"].push(files | {"README.md": b"# Spanish\n\nBy somebody else.\n"})
        service = Service(settings)
        entries = [(card["name"], card["where"], card["downloaded"]) for card in cards_json(service)]
        assert entries == [
            ("toy", "here", True),
            ("a/opus-mt-fr-en", "hub", False),
            ("b/opus-mt-es-en", "hub", False),
        ]
        service.fetch("b/opus-mt-es-en")
        fetched = {card["name"]: card for card in cards_json(service)}
        assert list(fetched) == ["toy", "b/opus-mt-es-en", "a/opus-mt-fr-en"]
        card = fetched["b/opus-mt-es-en"]
        assert (text(card["summary"][0]), card["downloaded"]) == ("By somebody else.", True)
        assert (fetched["a/opus-mt-fr-en"]["summary"], fetched["a/opus-mt-fr-en"]["parameters"]) == ([], 0)


def test_failure_is_shortest_quoted_pair_of_a_list() -> None:
    card = """
"Not" → "of a list"

- Science: "A long sentence about light." → "A longer answer
  about nothing."
- Idioms: "Das ist mir Wurst." → "That's sausage to me."; "Ich verstehe nur Bahnhof." → "I only understand station."
"""
    assert find_failure(blocks(card)) == {"text": "Das ist mir Wurst.", "answer": "That's sausage to me."}
    assert find_failure(blocks("- Irony and what is only implied")) is None


def test_translators_name_a_failure_and_others_do_not(cards: dict[str, dict[str, Any]]) -> None:
    assert cards["de-en"]["failure"]["text"] == "Das ist mir Wurst."
    assert cards["sentiment"]["failure"] is None

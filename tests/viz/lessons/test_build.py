"""The calls of the lesson "Build it yourself": what the page reads, and lines that it sends."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

from headlight.model.training.build_lesson.lines import GAPS
from headlight.viz.errors import PageError
from headlight.viz.figure_phrases import phrases
from headlight.viz.lessons import LESSONS
from headlight.viz.lessons.build import read_build, run_build_line
from headlight.viz.lessons.build_parts import BUILD_PARTS

WALK = {step.name for step in next(lesson for lesson in LESSONS if lesson.name == "walk").steps}


@pytest.fixture(scope="module")
def answer() -> dict[str, Any]:
    result: dict[str, Any] = json.loads(json.dumps(read_build({})))
    return result


def test_all_fourteen_parts_are_there_in_both_languages(answer: dict[str, Any]) -> None:
    names = [part["name"] for part in answer["parts"]]
    assert len(names) == 14
    for language in ("en", "zh"):
        table = phrases(language)
        for kind in ("part", "idea", "task", "hint", "passes"):
            assert [name for name in names if f"build_{kind}_{name}" not in table] == []
        assert [stage for stage in answer["stages"] if f"build_stage_{stage}" not in table] == []


def test_listings_have_one_gap_for_their_part_and_are_python(answer: dict[str, Any]) -> None:
    right = {part["name"]: part["right"] for part in answer["parts"]} | {"q": "y", "k": "memory", "v": "memory"}
    for part in answer["parts"]:
        text = "\n".join(line for line, _ in part["listing"])
        assert text.count("{" + part["name"] + "}") == (part["name"] != "cross"), part["name"]
        compile(text.format(**right), part["name"], "exec")
        assert 3 <= len(part["listing"]) <= 10


def test_second_part_says_that_its_rows_have_a_place_and_where_it_comes_from() -> None:
    for language, place in (("en", "place"), ("zh", "位置")):
        table = phrases(language)
        assert place in table["build_x_is"]
        assert "{part}" in table["build_hint_qkv"]
        assert place in table["build_hint_qkv"]


def test_phrases_of_the_mask_and_the_whole_model_have_their_numbers() -> None:
    for language in ("en", "zh"):
        table = phrases(language)
        for key, names in {
            "build_loss_copied": ["part"],
            "build_trained_later": ["part", "loss", "perfect", "starts"],
            "build_whole_start": ["perfect", "starts"],
            "build_whole_own": ["right", "all"],
            "build_passes_scale": ["low", "high"],
            "build_place_why": ["base", "paper", "second", "largest", "last"],
        }.items():
            assert [name for name in names if "{" + name + "}" not in table[key]] == [], key
        assert "0" in table["build_mask_right"]


def test_answer_has_the_numbers_of_the_finished_model(answer: dict[str, Any]) -> None:
    assert answer["right_count"] == answer["sentences"] == 84
    assert answer["wavelength_base"] == 100
    compile(answer["script"], "headlight_build.py", "exec")
    assert answer["printed"]["encoder.normed"][1][1] == -1.47  # (−1.25 − 0.51) ÷ 1.2
    assert answer["printed"]["encoder.powers"][1][1][5] == 7.85  # e^2.06


def test_parts_lead_to_steps_of_the_walk() -> None:
    for part in BUILD_PARTS:
        lesson, _, step = part.large.partition(".")
        assert lesson == "walk"
        assert step in WALK, part.name


def test_every_verdict_has_a_phrase_with_its_values() -> None:
    for part, gap in GAPS.items():
        for candidate in gap.candidates:
            check_verdict(run_build_line({"part": part, "text": candidate.text}))
    for sides in product("ym", repeat=3):
        check_verdict(run_build_line({"part": "cross", "sides": dict(zip("qkv", sides, strict=True))}))


def check_verdict(verdict: dict[str, Any]) -> None:
    if verdict["failure"] is None:
        return
    for language in ("en", "zh"):
        text = phrases(language)[f"build_test_{verdict['failure']['word']}"]
        assert "{" not in text.format(**verdict["failure"]["values"])


@pytest.mark.parametrize(("text", "reason"), [("q @", "syntax"), ("open('x')", "name"), ("q" * 200, "length")])
def test_lines_that_cannot_be_read_say_why(text: str, reason: str) -> None:
    verdict = run_build_line({"part": "scores", "text": text})
    assert not verdict["passes"]
    assert verdict["unread"]["reason"] == reason
    assert f"build_unread_{reason}" in phrases()


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({}, "part"),
        ({"part": "no such part"}, "part"),
        ({"part": ["scores"]}, "part"),
        ({"part": "scores"}, "text"),
        ({"part": "scores", "text": 3}, "text"),
        ({"part": "cross"}, "sides"),
        ({"part": "cross", "sides": {"q": "y"}}, "sides"),
        ({"part": "cross", "sides": {"q": "y", "k": "x", "v": "m"}}, "sides"),
        ({"part": "cross", "sides": {"q": "y", "k": [], "v": "m"}}, "sides"),
    ],
)
def test_bad_requests_name_the_field(values: dict[str, Any], field: str) -> None:
    with pytest.raises(PageError) as error_info:
        run_build_line(values)
    assert error_info.value.field == field

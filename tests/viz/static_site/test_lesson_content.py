"""The lessons of a static page, and their stored answers."""

from __future__ import annotations

from typing import Any

import pytest

from headlight.viz.lessons.build import run_build_line
from headlight.viz.static_site.lesson_content import (
    STEPS,
    build_verdicts,
    combinations,
    control_values,
    experiment_results,
    static_lessons,
    values_key,
)
from headlight.viz.tabs.learn import read_lessons


def test_lessons_have_the_named_steps_in_their_order() -> None:
    lessons = static_lessons(read_lessons({}))
    assert {lesson["name"]: tuple(step["name"] for step in lesson["steps"]) for lesson in lessons} == STEPS
    minutes = {lesson["name"]: lesson["minutes"] for lesson in read_lessons({})}
    assert all(0 < lesson["minutes"] <= minutes[lesson["name"]] for lesson in lessons)
    assert next(lesson for lesson in lessons if lesson["name"] == "walk")["minutes"] == minutes["walk"]


def test_links_to_lessons_that_are_left_out_are_removed() -> None:
    step = {"name": "tokens", "see": "mistakes.live.0", "experiment": None}
    (lesson,) = static_lessons([{"name": "walk", "minutes": 3, "steps": [step]}])
    assert lesson["steps"][0]["see"] == ""
    (lesson,) = static_lessons([{"name": "walk", "minutes": 3, "steps": [step | {"see": "heads.spread.0"}]}])
    assert lesson["steps"][0]["see"] == "heads.spread.0"


def test_every_setting_is_run_once_and_found_by_its_key() -> None:
    controls = [
        {"form": "choice", "name": "width", "options": ["4", "8"]},
        {"form": "slider", "name": "length", "low": 4, "high": 13, "step": 4},
        {"form": "button", "name": "seed", "max_presses": 1},
    ]
    settings: list[Any] = []

    def run(values: Any) -> dict[str, Any]:
        settings.append(values["set"])
        return {"figures": [len(settings)], "model": {"d_model": 8}}

    lesson = {"name": "heads", "steps": [{"name": "spread", "experiment": {"controls": controls}}]}
    results = experiment_results([lesson], run, {"text": "a"})["heads.spread"]
    assert len(settings) == len(results) == 2 * 3 * 2
    assert results['["8",12,1]'] == {"figures": [12]}
    assert values_key(settings[0]) == '["4",4,0]'
    assert settings == list(combinations(controls))


def test_defaults_are_among_the_values_that_can_be_chosen() -> None:
    controls = [
        control
        for lesson in static_lessons(read_lessons({}))
        for step in lesson["steps"]
        for control in (step["experiment"] or {"controls": []})["controls"]
    ]
    assert controls
    assert all(control["start"] in control_values(control) for control in controls)


def test_free_text_cannot_be_listed() -> None:
    with pytest.raises(ValueError, match="Values of a control 'text' cannot be listed"):
        control_values({"form": "text", "name": "sentence"})


def test_each_gap_has_one_line_that_passes() -> None:
    verdicts = build_verdicts(run_build_line)
    passing: dict[str, int] = {}
    for key, verdict in verdicts.items():
        part = key.partition(" ")[0]
        passing[part] = passing.get(part, 0) + verdict["passes"]
    assert passing.pop("cross") >= 1
    assert set(passing.values()) == {1}

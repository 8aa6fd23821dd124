"""The lessons of a static page, and their stored answers."""

from __future__ import annotations

from typing import Any

import pytest

from headlight.viz.lessons.build import run_build_line
from headlight.viz.lessons.experiment_server import make_experiment_call
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from headlight.viz.static_site.lesson_content import (
    SENTENCE_STEPS,
    SERVER_LESSONS,
    SERVER_STEPS,
    STEPS,
    build_verdicts,
    combinations,
    control_values,
    experiment_results,
    static_lessons,
    values_key,
)
from headlight.viz.static_site.page_content import PANELS
from headlight.viz.tabs.learn import read_lessons


def test_lessons_have_the_named_steps_in_their_order() -> None:
    lessons = static_lessons(read_lessons({}), PANELS)
    assert {lesson["name"]: tuple(step["name"] for step in lesson["steps"]) for lesson in lessons} == STEPS
    everything = {lesson["name"]: {step["name"] for step in lesson["steps"]} for lesson in read_lessons({})}
    assert set(SERVER_LESSONS) == everything.keys() - STEPS.keys()
    assert {name: set(steps) for name, steps in SERVER_STEPS.items()} == {
        name: everything[name] - set(steps) for name, steps in STEPS.items() if everything[name] - set(steps)
    }
    minutes = {lesson["name"]: lesson["minutes"] for lesson in read_lessons({})}
    assert all(0 < lesson["minutes"] <= minutes[lesson["name"]] for lesson in lessons)
    assert next(lesson for lesson in lessons if lesson["name"] == "walk")["minutes"] == minutes["walk"]


def test_links_to_lessons_and_panels_that_are_left_out_are_removed() -> None:
    def links(see: str, tab: str) -> tuple[str, str]:
        step = {"name": "tokens", "see": see, "tab": tab, "experiment": None}
        (lesson,) = static_lessons([{"name": "walk", "minutes": 3, "steps": [step]}], ("heads",))
        return lesson["steps"][0]["see"], lesson["steps"][0]["tab"]

    assert links("train.watch.0", "positions") == ("", "")
    assert links("mistakes.trained.0", "") == ("", "")
    assert links("heads.spread.0", "heads") == ("heads.spread.0", "heads")
    assert links("mistakes.live.0.set-mistake-late_mask", "")[0] == "mistakes.live.0.set-mistake-late_mask"


def test_controls_without_a_list_of_values_are_left_out() -> None:
    lessons = {lesson["name"]: lesson for lesson in static_lessons(read_lessons({}), PANELS)}
    steps = {step["name"]: step for step in (*lessons["mistakes"]["steps"], *lessons["verdict"]["steps"])}
    controls = {name: step["experiment"]["controls"] for name, step in steps.items()}
    assert [control["name"] for control in controls["live"]] == ["mistake"]
    assert [control["name"] for control in controls["shares"]] == ["review"]
    assert "own" not in controls["shares"][0]["options"]


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
    results = experiment_results([lesson], run, {"toy": {"text": "a"}})["heads.spread"]
    assert len(settings) == len(results) == 2 * 3 * 2
    assert results['["8",12,1]'] == {"figures": [12]}
    assert values_key(settings[0]) == '["4",4,0]'
    assert settings == list(combinations(controls))


def test_experiments_on_a_sentence_are_run_for_one_of_each_model() -> None:
    controls = [{"form": "switch", "name": "counts", "start": True}]
    lesson = {"name": "norms", "steps": [{"name": "padding", "experiment": {"controls": controls}}]}
    requests = {"de-en": {"text": "Ein Hund.", "model": "de-en"}, "en-de": {"text": "A dog.", "model": "en-de"}}

    def run(values: Any) -> dict[str, Any]:
        return {"figures": [values["request"]["model"], values["set"]["counts"]], "model": {"d_model": 8}}

    results = experiment_results([lesson], run, requests)
    assert results.keys() == {"norms.padding.de-en", "norms.padding.en-de"}
    assert results["norms.padding.en-de"] == {
        "[false]": {"figures": ["en-de", False], "sentence": "A dog."},
        "[true]": {"figures": ["en-de", True], "sentence": "A dog."},
    }


def test_steps_on_a_sentence_are_those_whose_result_depends_on_it() -> None:
    run = make_experiment_call(Service(Settings()))
    requests = [{"text": text, "model": "toy"} for text in ("der hund bellt", "ich mag dich")]
    for lesson in static_lessons(read_lessons({}), PANELS):
        for step in filter(lambda step: step["experiment"], lesson["steps"]):
            first, second = (
                run({"lesson": lesson["name"], "step": step["name"], "request": request}) for request in requests
            )
            assert (first != second) == (step["name"] in SENTENCE_STEPS.get(lesson["name"], ())), step["name"]


def test_defaults_are_among_the_values_that_can_be_chosen() -> None:
    controls = [
        control
        for lesson in static_lessons(read_lessons({}), PANELS)
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

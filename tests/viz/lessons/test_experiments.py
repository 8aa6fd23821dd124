"""Experiments of lessons: validation, results and phrases for every control value, caching."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest

from headlight.viz.errors import PageError
from headlight.viz.figure_phrases import LANGUAGES, phrases
from headlight.viz.lessons import LESSONS, experiment_server
from headlight.viz.lessons.controls import (
    Button,
    Choice,
    Control,
    PositionPicker,
    Slider,
    Switch,
    TextInput,
    check_controls,
)
from headlight.viz.lessons.experiment import Experiment, ExperimentInput
from headlight.viz.lessons.experiment_server import EXPERIMENTS, make_experiment_call
from headlight.viz.lessons.result_figures import (
    BarChart,
    CurveSeries,
    ExperimentResult,
    Heatmap,
    LinePlot,
    Phrase,
    SideBySide,
    Table,
    TextColumns,
    format_number,
)
from headlight.viz.lessons.result_figures import TextBlock as OneText
from headlight.viz.server.calls import call_json
from headlight.viz.service.service import Service
from headlight.viz.settings import Settings
from tests.viz.lessons.asked import unpacked

SENTENCE = {"text": "ich mochte ein bier", "model": "toy"}
CONTROLS: tuple[Control, ...] = (
    Choice("kind", ("a", "b"), "a"),
    Switch("on"),
    Slider("width", 2, 7, 5),
    Button("seed", max_presses=3),
    PositionPicker("erased", max_selected=3),
    TextInput("own", max_length=5),
)


def counted(experiment_input: ExperimentInput) -> ExperimentResult:
    return ExperimentResult(
        (BarChart("bars", ["a"], [float(experiment_input.values["width"])]),),
        {"width": experiment_input.values["width"]},
    )


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings())


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], Experiment]:
    """An experiment that is not part of a lesson."""
    steps_by_name = {("any", "step"): Experiment(counted, CONTROLS)}
    monkeypatch.setattr(experiment_server, "EXPERIMENTS", steps_by_name)
    return steps_by_name


def asking(**values: Any) -> dict[str, Any]:
    return {"request": SENTENCE, "lesson": "any", "step": "step", "set": values}


# ---------------------------------------------------------------- what may be set


def test_unset_controls_have_start_values() -> None:
    values = check_controls(CONTROLS, {"width": 7, "erased": [4, 1, 4]}, Settings())
    assert values == {"kind": "a", "on": False, "width": 7, "seed": 0, "erased": (1, 4), "own": ""}
    assert check_controls(CONTROLS, None, Settings()) == check_controls(CONTROLS, {}, Settings())


@pytest.mark.parametrize(
    "values",
    [
        {"kind": "c"}, {"kind": ["a"]}, {"on": 1}, {"width": 8}, {"width": 2.5}, {"width": True}, {"seed": -1},
        {"seed": 4}, {"erased": "1"}, {"erased": [0, 1, 2, 3]}, {"erased": [400]}, {"erased": [-1]}, {"erased": [None]},
        {"own": "longer"}, {"own": "\ud800"}, {"own": 3}, {"another": 1}, [], "kind",
    ],
)  # fmt: skip
def test_unknown_control_values_are_rejected(values: Any, service: Service, steps: object) -> None:
    with pytest.raises(PageError):
        check_controls(CONTROLS, values, Settings())
    message = json.loads(call_json(make_experiment_call(service), asking() | {"set": values}))
    assert message["what"] == "error"
    assert f"error_{message['word']}" in phrases("en")


@pytest.mark.parametrize(("lesson", "step"), [("any", "other"), ("", ""), (None, "step"), (["any"], "step")])
def test_step_without_experiment_is_rejected(lesson: Any, step: Any, service: Service, steps: object) -> None:
    with pytest.raises(PageError) as error:
        make_experiment_call(service)(asking() | {"lesson": lesson, "step": step})
    assert error.value.word == "unknown_name"


# ---------------------------------------------------------------- results


def test_identical_experiments_are_computed_once(service: Service, steps: dict[Any, Experiment]) -> None:
    runs: list[Any] = []
    both = Barrier(3)

    def run(experiment_input: ExperimentInput) -> ExperimentResult:
        runs.append(experiment_input.values)
        return counted(experiment_input)

    steps["any", "step"] = replace(steps["any", "step"], run=run)
    ask = make_experiment_call(service)
    answers: list[Any] = []

    def visit() -> None:
        both.wait()
        answers.append(ask(asking(width=3)))

    visitors = [Thread(target=visit) for _ in range(3)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()
    assert len(runs) == 1
    assert all(answer == answers[0] for answer in answers)
    assert answers[0]["numbers"] == {"width": "3"}
    assert answers[0]["model"]["heads"] == 4
    ask(asking(width=3, kind="a"))  # its default value
    assert len(runs) == 1
    ask(asking(width=4))
    ask(asking(width=3) | {"request": SENTENCE | {"text": "ich mochte ein cola"}})
    assert len(runs) == 3


def test_failed_experiment_is_recomputed(service: Service, steps: dict[Any, Experiment]) -> None:
    is_first: list[bool] = [True]

    def run(asked: ExperimentInput) -> ExperimentResult:
        if is_first and is_first.pop():
            raise PageError("text", "too_long_to_show")
        return counted(asked)

    steps["any", "step"] = replace(steps["any", "step"], run=run)
    ask = make_experiment_call(service)
    with pytest.raises(PageError):
        ask(asking())
    assert ask(asking())["numbers"] == {"width": "5"}


def test_too_large_result_is_rejected(service: Service, steps: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment_server, "MAX_ANSWER_BYTES", 10)
    with pytest.raises(PageError) as error:
        make_experiment_call(service)(asking())
    assert error.value.word == "too_long_to_show"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.41187, "0.4119"), (-0.5, "−0.5000"), (23.6342, "23.634"), (1940.83, "1940.8"), (3, "3"), (-2.0, "−2"),
        (4.8e-7, "4.8·10⁻⁷"), (-1.3e-4, "−1.3·10⁻⁴"), (0.0, "0"), (2.5e7, "2.5·10⁷"), (9.96e-7, "1.0·10⁻⁶"),
        (float("inf"), "∞"), (float("nan"), "–"), (np.float32(0.25), "0.2500"),
    ],
)  # fmt: skip
def test_numbers_are_formatted_with_suitable_digits(number: float, text: str) -> None:
    assert format_number(number) == text


def test_every_figure_form_is_plain_json() -> None:
    matrix = np.arange(6, dtype=np.float32).reshape(2, 3)
    forms = (
        Heatmap(Phrase("title"), matrix, rows=["a", Phrase("b")]),
        SideBySide((Heatmap("x", matrix), BarChart("y", ["a"], [np.float32(0.5)]))),
        LinePlot("lines", [1, 2], (CurveSeries(Phrase("one"), [0.5, 1.0]),), powers=("x",)),
        Table("table", ["name", Phrase("count", {"of": 3})], [["a", 0.5], [Phrase("b"), 2]]),
        TextColumns((OneText("before", "<b>hund</b>"),)),
    )
    result = ExperimentResult(
        forms, {"share": 0.25, "name": Phrase("b")}, ("clear",), "yes", {"erased": ["Der", "Hund"]}
    )
    message = json.loads(json.dumps(result.as_json(), allow_nan=False))
    heat, beside, _, table, texts = message["figures"]
    np.testing.assert_array_equal(unpacked(heat["numbers"]), matrix)
    assert heat["rows"] == ["a", {"say": "b", "values": {}}]
    assert [part["form"] for part in beside["parts"]] == ["heat", "bars"]
    assert table["columns"][1] == {"say": "count", "values": {"of": "3"}}
    assert table["rows"] == [["a", "0.5000"], [{"say": "b", "values": {}}, "2"]]
    assert beside["parts"][1]["says"] == ["0.5000"]
    assert BarChart("x", ["a", "b", "c"], [4.8e-7, -0.25, 0.0], digits=2).as_json()["says"] == [
        "4.8·10⁻⁷",
        "−0.25",
        "0.00",
    ]
    assert texts["texts"][0]["text"] == "<b>hund</b>"
    assert message["numbers"] == {"share": "0.2500", "name": {"say": "b", "values": {}}}


@pytest.mark.parametrize("shape", [(3,), (2, 2, 2), (1000, 201)])
def test_heatmap_size_is_limited(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="rows and columns"):
        Heatmap("x", np.zeros(shape, dtype=np.float32))


# ---------------------------------------------------------------- every experiment of every lesson


def control_settings(experiment: Experiment) -> Iterator[dict[str, Any]]:
    """The initial values, and each control at its limits."""
    yield {}
    for control in experiment.controls:
        match control:
            case Choice():
                yield from ({control.name: option} for option in control.options if option != control.start)
            case Switch():
                yield {control.name: not control.start}
            case Slider():
                yield from ({control.name: end} for end in (control.low, control.high))
            case Button():
                yield {control.name: control.max_presses}
            case PositionPicker():
                yield from ({control.name: places} for places in ([0], [0, 1, 399]))
            case TextInput():
                yield from ({control.name: text} for text in ("", "x" * control.max_length, "<b>&</b>"))


def phrases_in(value: Any) -> Iterator[tuple[str, set[str]]]:
    """Every phrase of a result, with the names of its values."""
    if isinstance(value, dict):
        if "say" in value:
            yield value["say"], set(value["values"])
        for each in value.values():
            yield from phrases_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from phrases_in(each)


@pytest.mark.slow(after=8)
@pytest.mark.parametrize(("lesson", "step"), EXPERIMENTS)
@pytest.mark.parametrize("model", ["de-en", "toy"])
def test_every_control_value_has_result_and_phrases(lesson: str, step: str, model: str, service: Service) -> None:
    ask = make_experiment_call(service)
    experiment = EXPERIMENTS[lesson, step]
    request = {"text": "Der Hund schläft im Garten.", "model": model}
    tables = [phrases(language) for language in LANGUAGES]
    for settings in control_settings(experiment):
        answer = ask({"request": request, "lesson": lesson, "step": step, "set": settings})
        json.dumps(answer, allow_nan=False)
        for name, values in phrases_in(answer):
            for table in tables:
                phrase = table.get(f"lesson_{lesson}_say_{name}") or table[name]
                assert set(re.findall(r"\{(\w+)\}", phrase)) <= values, name
        asked = next(each.question for one in LESSONS if one.name == lesson for each in one.steps if each.name == step)
        assert not answer["right"] or answer["right"] in asked.options
        for control in experiment.controls:
            assert all(f"lesson_{lesson}_control_{control.name}" in table for table in tables)

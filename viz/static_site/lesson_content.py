"""The lessons of a static page: steps that need no server, results of experiments, verdicts on lines of code."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from headlight.model.training.build_lesson.lines import GAPS, SIDES
from headlight.viz.lessons import LESSONS

# Lessons and steps that need the server: they train models, or run edited code on a text of the reader.
SERVER_LESSONS = ("train",)
SERVER_STEPS: Mapping[str, tuple[str, ...]] = {"masks": ("trained",), "mistakes": ("trained",), "verdict": ("erase",)}
# The other steps by lesson.
STEPS: Mapping[str, tuple[str, ...]] = {
    lesson.name: tuple(step.name for step in lesson.steps if step.name not in SERVER_STEPS.get(lesson.name, ()))
    for lesson in LESSONS
    if lesson.name not in SERVER_LESSONS
}
# Experiments on a sentence. Their results are stored for one sentence of each model.
SENTENCE_STEPS: Mapping[str, tuple[str, ...]] = {
    "positions": ("word", "shuffle"),
    "heads": ("split", "several", "live"),
    "masks": STEPS["masks"],
    "norms": ("axes", "company", "padding", "differences"),
    "mistakes": STEPS["mistakes"],
}
# Of controls by `STEP.CONTROL` or by name, because each combination is stored.
FEWER_VALUES: Mapping[str, Mapping[str, int]] = {
    "length": {"step": 4},
    "recurrence.length": {"low": 4, "step": 4},
    "seed": {"max_presses": 4},
    "split.seed": {"max_presses": 2},
    "weights_seed": {"max_presses": 1},
    "position": {"step": 4},
    "shift": {"step": 3},
    "pair": {"step": 4},
    "place": {"low": 1, "step": 4},
    "places": {"high": 16, "step": 4},
    "ahead": {"step": 3},
    "mean.padding": {"step": 4},
    "game": {"max_presses": 5},
}
FREE_FORMS = ("text", "places")  # of controls whose values cannot be listed; their experiments get the default
Values = Mapping[str, Any]


def static_lessons(lessons: Iterable[Values], panels: Collection[str]) -> list[Values]:
    """Return the lessons with their steps that need no server, and without links to other lessons and panels."""
    return [_static_lesson(lesson, panels) for lesson in lessons if lesson["name"] in STEPS]


def _static_lesson(lesson: Values, panels: Collection[str]) -> Values:
    steps = [_static_step(step, panels) for step in lesson["steps"] if step["name"] in STEPS[lesson["name"]]]
    return {**lesson, "steps": steps, "minutes": max(1, round(lesson["minutes"] * len(steps) / len(lesson["steps"])))}


def _static_step(step: Values, panels: Collection[str]) -> Values:
    lesson, _, target = step["see"].partition(".")
    link = step["see"] if target.partition(".")[0] in STEPS.get(lesson, ()) else ""
    tab = step["tab"] if step["tab"] in panels else ""
    return {**step, "see": link, "tab": tab, "experiment": step["experiment"] and _static_experiment(step)}


def _static_experiment(step: Values) -> Values:
    def fewer(name: str) -> Mapping[str, int]:
        return FEWER_VALUES.get(f"{step['name']}.{name}", FEWER_VALUES.get(name, {}))

    controls = step["experiment"]["controls"]
    listed = [control for control in controls if control["form"] not in FREE_FORMS]
    left_out = [control["visible_if"] for control in controls if control not in listed]  # options that show them

    def options(control: Values) -> Mapping[str, Any]:
        names = [each for each in control.get("options", ()) if (control["name"], each) not in left_out]
        return {"options": names} if names else {}

    return {"controls": [{**control, **options(control), **fewer(control["name"])} for control in listed]}


# ------------------------------------------------------------ experiments


def experiment_results(
    lessons: Iterable[Values], run: Callable[[Values], Values], requests: Mapping[str, Values]
) -> dict[str, Any]:
    """Run the experiment of each step with every combination of its controls' values.

    `requests` are sentences by model, the first for experiments that need none. Returns the results by step
    (`LESSON.STEP`, for experiments on a sentence `LESSON.STEP.MODEL`) and by `values_key`, without the model's values.
    """
    results: dict[str, Any] = {}
    for lesson in lessons:
        for step in lesson["steps"]:
            name = f"{lesson['name']}.{step['name']}"
            if not step["experiment"]:
                continue
            if step["name"] in SENTENCE_STEPS.get(lesson["name"], ()):
                for model, request in requests.items():
                    stored = {"sentence": request["text"]}
                    results[f"{name}.{model}"] = _step_results(lesson, step, run, request, stored)
            else:
                results[name] = _step_results(lesson, step, run, next(iter(requests.values())), {})
    return results


def _step_results(
    lesson: Values, step: Values, run: Callable[[Values], Values], request: Values, more: Values
) -> dict[str, Any]:
    return {
        values_key(chosen): {
            **_without_model(run({"lesson": lesson["name"], "step": step["name"], "set": chosen, "request": request})),
            **more,
        }
        for chosen in combinations(step["experiment"]["controls"])
    }


def combinations(controls: Iterable[Values]) -> Iterator[dict[str, Any]]:
    """Yield the values of controls by name, in every combination."""
    controls = list(controls)
    for values in product(*map(control_values, controls)):
        yield {control["name"]: value for control, value in zip(controls, values, strict=True)}


def control_values(control: Values) -> Iterable[Any]:
    """Return the values that a reader can choose."""
    if control["form"] == "choice":
        return tuple(control["options"])
    if control["form"] == "switch":
        return (False, True)
    if control["form"] == "button":
        return range(control["max_presses"] + 1)
    if control["form"] == "slider":
        return range(control["low"], control["high"] + 1, control["step"])
    raise ValueError(f"Values of a control {control['form']!r} cannot be listed.")


def values_key(values: Values) -> str:
    """Return the key of a result. `core/stored-answers.js` makes the same."""
    return json.dumps(list(values.values()), ensure_ascii=False, separators=(",", ":"))


def _without_model(result: Values) -> Values:
    return {name: value for name, value in result.items() if name != "model"}


# ------------------------------------------------------------ Build it yourself


def build_verdicts(run: Callable[[Mapping[str, Any]], Any]) -> dict[str, Any]:
    """Run every candidate and every choice of sides. `core/stored-answers.js` makes the same keys."""
    return {line_key(values): run(values) for values in _lines()}


def _lines() -> Iterator[dict[str, Any]]:
    for part, gap in GAPS.items():
        yield from ({"part": part, "text": candidate.text} for candidate in gap.candidates)
    for sides in product(SIDES, repeat=3):
        yield {"part": "cross", "sides": dict(zip("qkv", sides, strict=True))}


def line_key(values: Mapping[str, Any]) -> str:
    """Return the key of a line in the stored verdicts."""
    return " ".join([values["part"], *([values["text"]] if "text" in values else values["sides"].values())])

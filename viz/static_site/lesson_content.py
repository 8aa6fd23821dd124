"""The lessons of a static page: steps that need no server, results of experiments, verdicts on lines of code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from headlight.model.training.build_lesson.lines import GAPS, SIDES
from headlight.viz.lessons.walk import WALK

# Steps by lesson: those whose tensors the engine computes, and experiments that need no sentence.
STEPS: Mapping[str, tuple[str, ...]] = {
    "walk": tuple(step.name for step in WALK.steps),
    "positions": ("doors", "similarity", "wave", "rotation"),
    "heads": ("shapes", "spread", "saturate", "slope"),
    "norms": ("hand", "residual"),
}
FEWER_VALUES = {  # of controls, because each combination is stored
    "length": {"step": 4},
    "seed": {"max_presses": 4},
    "position": {"step": 4},
    "shift": {"step": 3},
    "pair": {"step": 4},
}
Values = Mapping[str, Any]


def static_lessons(lessons: Iterable[Values]) -> list[Values]:
    """Return the lessons with their steps that need no server, and without links to others."""
    return [_static_lesson(lesson) for lesson in lessons if lesson["name"] in STEPS]


def _static_lesson(lesson: Values) -> Values:
    steps = [_static_step(step) for step in lesson["steps"] if step["name"] in STEPS[lesson["name"]]]
    return {**lesson, "steps": steps, "minutes": max(1, round(lesson["minutes"] * len(steps) / len(lesson["steps"])))}


def _static_step(step: Values) -> Values:
    link = step["see"] if step["see"].partition(".")[0] in STEPS else ""
    return {**step, "see": link, "experiment": step["experiment"] and _static_experiment(step["experiment"])}


def _static_experiment(experiment: Values) -> Values:
    return {"controls": [control | FEWER_VALUES.get(control["name"], {}) for control in experiment["controls"]]}


# ------------------------------------------------------------ experiments


def experiment_results(lessons: Iterable[Values], run: Callable[[Values], Values], request: Values) -> dict[str, Any]:
    """Run the experiment of each step with every combination of its controls' values.

    Returns the results by step (`LESSON.STEP`) and by `values_key`, without the values of the model.
    """
    return {
        f"{lesson['name']}.{step['name']}": {
            values_key(chosen): _without_model(
                run({"lesson": lesson["name"], "step": step["name"], "set": chosen, "request": request})
            )
            for chosen in combinations(step["experiment"]["controls"])
        }
        for lesson in lessons
        for step in lesson["steps"]
        if step["experiment"]
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

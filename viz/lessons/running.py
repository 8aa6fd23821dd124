"""Runs experiments for visitors: validated, cached, and concurrent equal requests run once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from headlight.viz.answers.lru import ByteLru
from headlight.viz.answers.service import Service
from headlight.viz.answers.single_flight import Lead, SingleFlight
from headlight.viz.errors import PageError, shown
from headlight.viz.lessons import LESSONS
from headlight.viz.lessons.experiment import Experiment
from headlight.viz.lessons.tensors import model_values

KEPT = 16_000_000  # bytes of answers, as they travel
MOST_ANSWER = 4_000_000  # bytes of one
STEPS: dict[tuple[str, str], Experiment] = {
    (lesson.name, step.name): step.experiment
    for lesson in LESSONS
    for step in lesson.steps
    if step.experiment is not None
}


def experiments_of(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """The function that runs the experiment of a step with the control values, for a sentence."""
    kept: ByteLru[dict[str, Any]] = ByteLru(KEPT)
    flights: SingleFlight[dict[str, Any]] = SingleFlight()

    def run_experiment(values: Mapping[str, Any]) -> dict[str, Any]:
        experiment = experiment_of(values.get("lesson"), values.get("step"))
        given = experiment.given(values.get("set"), service.check(values.get("request")), service)
        key = (values["lesson"], values["step"], tuple(given.values.items()), service.key(given.request))

        def keep(answer: dict[str, Any]) -> None:
            kept.put(key, answer, len(json.dumps(answer)))

        found = flights.enter(key, find=lambda: kept.get(key), keep=keep)
        if not isinstance(found, Lead):
            assert found is not None  # noqa: S101 - only a request that can be cancelled gets nothing
            return found
        with found as lead:
            answer = experiment.run(given).as_json()
            if len(json.dumps(answer)) > MOST_ANSWER:
                raise PageError("text", "too_long_to_show")
            return lead.done(answer | {"model": model_values(given.outline)})

    return run_experiment


def experiment_of(lesson: Any, step: Any) -> Experiment:
    """The experiment of a step, by the names of its lesson and its own."""
    named = isinstance(lesson, str) and isinstance(step, str)
    if not named or (lesson, step) not in STEPS:
        choices = ", ".join(".".join(each) for each in STEPS)
        raise PageError("step", "unknown_name", {"given": shown(f"{lesson}.{step}"), "choices": choices})
    return STEPS[lesson, step]

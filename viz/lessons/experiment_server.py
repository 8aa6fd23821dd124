"""The page's call that runs an experiment: results are cached, and concurrent equal requests share one run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from headlight.viz.errors import PageError, repr_short
from headlight.viz.lessons import LESSONS
from headlight.viz.lessons.experiment import Experiment
from headlight.viz.lessons.tensors import model_values
from headlight.viz.service.lru import ByteLru
from headlight.viz.service.service import Service
from headlight.viz.service.single_flight import Leader, SingleFlight

CACHE_BYTES = 16_000_000  # JSON bytes of all cached answers
MAX_ANSWER_BYTES = 4_000_000  # JSON bytes of one answer
EXPERIMENTS: dict[tuple[str, str], Experiment] = {
    (lesson.name, step.name): step.experiment
    for lesson in LESSONS
    for step in lesson.steps
    if step.experiment is not None
}


def make_experiment_call(service: Service) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return the call `run_experiment`, which runs a step's experiment with control values for a sentence."""
    cache: ByteLru[dict[str, Any]] = ByteLru(CACHE_BYTES)
    flights: SingleFlight[dict[str, Any]] = SingleFlight()

    def run_experiment(values: Mapping[str, Any]) -> dict[str, Any]:
        experiment = find_experiment(values.get("lesson"), values.get("step"))
        inputs = experiment.make_input(values.get("set"), service.check(values.get("request")), service)
        key = (values["lesson"], values["step"], tuple(inputs.values.items()), service.cache_key(inputs.request))

        def keep(answer: dict[str, Any]) -> None:
            cache.put(key, answer, len(json.dumps(answer)))

        result = flights.get_or_lead(key, find=lambda: cache.get(key), keep=keep)
        if not isinstance(result, Leader):
            assert result is not None  # noqa: S101 - only a cancellable request gets None
            return result
        with result as leader:
            answer = experiment.run(inputs).as_json()
            if len(json.dumps(answer)) > MAX_ANSWER_BYTES:
                raise PageError("text", "too_long_to_show")
            return leader.finish(answer | {"model": model_values(inputs.model_info)})

    return run_experiment


def find_experiment(lesson: Any, step: Any) -> Experiment:
    """Return the experiment of a step by the names of the lesson and the step."""
    is_valid = isinstance(lesson, str) and isinstance(step, str)
    if not is_valid or (lesson, step) not in EXPERIMENTS:
        choices = ", ".join(".".join(names) for names in EXPERIMENTS)
        raise PageError("step", "unknown_name", {"given": repr_short(f"{lesson}.{step}"), "choices": choices})
    return EXPERIMENTS[lesson, step]

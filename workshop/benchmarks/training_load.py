"""Translation latency with and without a concurrent training run.

Answers are asked one after the other from a service in this process, in turns: one while nothing trains, one while the
largest pair of runs does. A new run begins as soon as the last one is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from headlight.model.records import TranslationRequest
from headlight.model.translate.translator import Translator
from headlight.viz.service.request_queue import Visitor
from headlight.viz.service.service import Service
from headlight.viz.service.training_runs import TrainingRun, TrainingRunPool
from headlight.viz.settings import Settings
from workshop.benchmarks.arithmetic import paired_ratio, summary
from workshop.benchmarks.page import HUNDRED, Log

TRAINING_VISITOR = Visitor("", "learner")
LARGEST = {"corpus": "mini", "layers": 3, "heads": 8, "d_model": 64}
STOP_TIMEOUT = 60.0  # seconds for a process to end, on a busy machine


def measure(repetitions: int, say: Log) -> dict[str, Any]:
    """Seconds of answers alone and during a training run, and of complete default runs."""
    service, runs = Service(Settings(cache_mb=0)), TrainingRunPool()
    request = service.check({"text": HUNDRED[: HUNDRED.index(".") + 1]})
    time_answer(service, request)  # loads the model
    alone, beside = [], []
    for number in range(repetitions):
        say(f"answers alone and beside a training run: {number + 1} of {repetitions}")
        alone.append(time_answer(service, request))
        run = runs.start(TRAINING_VISITOR, [LARGEST, LARGEST | {"positions": False}])
        poll_run(runs, run, lambda run=run: len(run.messages) > 3)  # type: ignore[misc]
        beside.append(time_answer(service, request))
        if run.over:
            raise RuntimeError("The run was over before the answer was there.")
        runs.on_visitor_left(TRAINING_VISITOR)
        runs.wait_for(lambda run=run: run.over, STOP_TIMEOUT)  # type: ignore[misc]
    whole = []
    for number in range(min(repetitions, 5)):
        say(f"whole default runs: {number + 1}")
        start = time.monotonic()
        run = runs.start(TRAINING_VISITOR, [{}])
        poll_run(runs, run, lambda run=run: run.over)  # type: ignore[misc]
        whole.append(time.monotonic() - start)
    ratio = paired_ratio(beside, alone)
    return {"alone": summary(alone), "beside": summary(beside), "ratio": ratio, "whole": summary(whole)}


def poll_run(runs: TrainingRunPool, run: TrainingRun, until: Callable[[], bool]) -> None:
    """Poll the run like a page does; unpolled runs are stopped."""
    while not runs.wait_for(until, 1.0):
        runs.poll(TRAINING_VISITOR, run.name, 0)


def time_answer(service: Service, request: TranslationRequest) -> float:
    """Seconds of one translation."""
    start = time.monotonic()
    service.run_on_translator(request.model, Translator.translate, request)
    return time.monotonic() - start

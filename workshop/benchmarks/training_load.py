"""Translation latency with and without a concurrent training run.

A service in this process translates alternately while no run trains and while the largest pair of runs trains. Each
translation during training has a new run.
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
from workshop.benchmarks.arithmetic import compute_paired_ratio, summarise_quartiles
from workshop.benchmarks.page import SENTENCE_100_TOKENS, Log

TRAINING_VISITOR = Visitor("", "learner")
LARGEST = {"corpus": "mini", "layers": 3, "heads": 8, "d_model": 64}
STOP_TIMEOUT = 60.0  # seconds for a process to end, on a busy machine


def measure(repetitions: int, log: Log) -> dict[str, Any]:
    """Measure answers without and during a training run, and complete default runs."""
    service, runs = Service(Settings(cache_mb=0)), TrainingRunPool()
    request = service.check({"text": SENTENCE_100_TOKENS[: SENTENCE_100_TOKENS.index(".") + 1]})
    time_answer(service, request)  # loads the model
    alone, during = [], []
    for number in range(repetitions):
        log(f"answers alone and during a training run: {number + 1} of {repetitions}")
        alone.append(time_answer(service, request))
        run = runs.start(TRAINING_VISITOR, [LARGEST, LARGEST | {"positions": False}])
        poll_run(runs, run, lambda run=run: len(run.messages) > 3)  # type: ignore[misc]
        during.append(time_answer(service, request))
        if run.is_over:
            raise RuntimeError("The training run ended before the answer arrived.")
        runs.stop_all(TRAINING_VISITOR)
        runs.wait_for(lambda run=run: run.is_over, STOP_TIMEOUT)  # type: ignore[misc]
    full_runs = []
    for number in range(min(repetitions, 5)):
        log(f"whole default runs: {number + 1}")
        start = time.monotonic()
        run = runs.start(TRAINING_VISITOR, [{}])
        poll_run(runs, run, lambda run=run: run.is_over)  # type: ignore[misc]
        full_runs.append(time.monotonic() - start)
    ratio = compute_paired_ratio(during, alone)
    return {
        "alone": summarise_quartiles(alone),
        "beside": summarise_quartiles(during),
        "ratio": ratio,
        "whole": summarise_quartiles(full_runs),
    }


def poll_run(runs: TrainingRunPool, run: TrainingRun, until: Callable[[], bool]) -> None:
    """Poll the run as the page does, because an unpolled run is stopped."""
    while not runs.wait_for(until, 1.0):
        runs.poll(TRAINING_VISITOR, run.name, 0)


def time_answer(service: Service, request: TranslationRequest) -> float:
    """Return the seconds of one translation."""
    start = time.monotonic()
    service.run_on_translator(request.model, Translator.translate, request)
    return time.monotonic() - start

"""Training steps: requests and responses."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from headlight.model.training.live_run_settings import LiveRunSettings
from headlight.viz.errors import PageError
from headlight.viz.lessons.experiment_server import EXPERIMENTS
from headlight.viz.lessons.result_figures import TrainingRuns
from headlight.viz.lessons.training_steps import MAX_SEEN, check_runs, make_training_calls
from headlight.viz.server.calls import call_json
from headlight.viz.server.visitors import VISITOR
from headlight.viz.service.request_queue import Visitor
from headlight.viz.service.service import Service
from headlight.viz.service.training_runs import TrainingRunPool
from headlight.viz.settings import Settings
from tests.viz.lessons.asked import Asked

SOON = 60.0
SAYS = 'import sys; sys.stdin.readline(); print(\'{"what": "done"}\', flush=True); sys.stdin.read()'


@pytest.fixture(scope="module")
def service() -> Service:
    return Service(Settings())


@pytest.fixture
def runs(service: Service, monkeypatch: pytest.MonkeyPatch) -> Iterator[TrainingRunPool]:
    """Runs that send one message, and then wait."""
    pool = TrainingRunPool(command=(sys.executable, "-c", SAYS))
    monkeypatch.setattr(service, "training", pool)
    token = VISITOR.set(Visitor("203.0.113.1", "anna"))
    yield pool
    pool.stop_all(VISITOR.get())
    assert pool.wait_for(lambda: pool.queue.running_count == 0, SOON)
    VISITOR.reset(token)


def test_run_can_be_started_polled_and_stopped(service: Service, runs: TrainingRunPool) -> None:
    begin, more, stop = make_training_calls(service)
    name = begin({"runs": [asdict(LiveRunSettings())]})["run"]
    (run,) = runs._runs.values()
    assert runs.wait_for(lambda: bool(run.messages), SOON)
    assert more({"run": name, "seen": 0}) == {"before": 0, "messages": [{"what": "done"}], "over": False}
    assert more({"run": name, "seen": 1})["messages"] == []
    for other in ({}, {"run": "another"}, {"run": 7}):  # a late message of an earlier run
        assert stop(other) == {}
        assert not run.is_stopped
    assert stop({"run": name}) == {}
    assert runs.wait_for(lambda: run.is_over, SOON)
    with pytest.raises(PageError):
        more({"run": name, "seen": 0})


@pytest.mark.parametrize(
    "settings",
    [
        None, {}, [], "runs", [{}, {}, {}], [None], [{"steps": 10**9}], [{"layers": 12}], [{"layers": "2"}],
        [{"d_model": 4096}], [{"rate": float("nan")}], [{"corpus": "../../x"}], [{"mistake": "unknown"}], [[]],
        [{"positions": 0}],
    ],
)  # fmt: skip
def test_invalid_run_settings_are_rejected(settings: Any, service: Service, runs: TrainingRunPool) -> None:
    with pytest.raises(PageError):
        check_runs(settings)
    message = json.loads(call_json(make_training_calls(service)[0], {"runs": settings}))
    assert message["what"] == "error"
    assert runs.count() == 0


@pytest.mark.parametrize("seen", [-1, MAX_SEEN + 1, "0", True, 0.5])
def test_seen_count_is_validated(seen: Any, service: Service, runs: TrainingRunPool) -> None:
    with pytest.raises(PageError):
        make_training_calls(service)[1]({"run": "any", "seen": seen})


def test_every_training_figure_starts_with_untrained_models(service: Service) -> None:
    asked = Asked(service, "toy")
    training = [
        (lesson, step, figure)
        for lesson, step in EXPERIMENTS
        if lesson in ("train", "mistakes")
        for figure in asked.run_experiment(lesson, step).figures
        if isinstance(figure, TrainingRuns)
    ]
    assert {step for lesson, step, _ in training if lesson == "train"} == {"watch", "order", "warmup", "unseen", "own"}
    for _, _, figure in training:
        assert len(check_runs(list(figure.runs))) == len(figure.runs)
        start_message, *moments = figure.untrained
        assert [each["run"] for each in start_message["runs"]] == list(figure.runs)
        assert [(each["run"], each.get("step", 0)) for each in moments] == [
            (number, 0) for number in range(len(figure.runs))
        ]
        assert 0 <= figure.sentence < len(start_message["runs"][0]["sources"])


def test_training_process_imports_neither_gradio_nor_plotly() -> None:
    code = (
        "import sys, headlight.model.training.live_run_process, headlight.model.training.live_run\n"
        "print(*sorted({'gradio', 'plotly', 'transformers'} & set(sys.modules)))"
    )
    root = Path(__file__).resolve().parents[3]
    ran = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []

"""Training steps: the figure before a run starts, and the calls that start, poll and stop a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from headlight.model.errors import TrainingError
from headlight.model.training.live_run import (
    RunHeader,
    Snapshot,
    make_header_message,
    make_snapshot_message,
    make_untrained_snapshot,
)
from headlight.model.training.live_run_process import MAX_RUNS
from headlight.model.training.live_run_settings import CHOICES, CORPUS_BY_NAME, LiveRunSettings
from headlight.viz.errors import PageError, repr_short
from headlight.viz.field_values import check_int
from headlight.viz.lessons.batch_sentences import find_model_languages
from headlight.viz.lessons.controls import Choice, Control, Switch
from headlight.viz.lessons.experiment import ExperimentInput
from headlight.viz.lessons.result_figures import TrainingRuns
from headlight.viz.server.visitors import VISITOR
from headlight.viz.service.service import Service

MAX_SEEN = 1000  # limit on the number of messages that a client has received
SIZE_CONTROLS: tuple[Control, ...] = (
    Choice("layers", tuple(map(str, CHOICES["layers"])), "2", as_slider=True),
    Choice("heads", tuple(map(str, CHOICES["heads"])), "4", as_slider=True),
    Choice("d_model", tuple(map(str, CHOICES["d_model"])), "32", as_slider=True),
)
LEARNING_CONTROLS: tuple[Control, ...] = (
    Choice("rate", tuple(f"{rate:g}" for rate in CHOICES["rate"]), "0.002", as_slider=True),
    Choice("warmup", tuple(map(str, CHOICES["warmup"])), "20", as_slider=True),
    Switch("positions", start=True),
)


def run_from_controls(values: Mapping[str, Any], **overrides: Any) -> LiveRunSettings:
    """Return the settings of a run from control values and from the `overrides` of the step."""
    parsers: dict[str, Callable[[Any], Any]] = {
        "layers": int, "heads": int, "d_model": int, "rate": float, "warmup": int, "positions": bool, "corpus": str,
    }  # fmt: skip
    settings = {name: parsers[name](value) for name, value in values.items() if name in parsers}
    return LiveRunSettings(**settings | overrides)


def choose_corpus(inputs: ExperimentInput, name: str) -> str:
    """Return the corpus whose source sentences are in the language of the visitor's model, if there is one."""
    own_name = f"{name}_{find_model_languages(inputs)[0]}"
    return own_name if own_name in CORPUS_BY_NAME else name


def make_training_figure(
    *runs: LiveRunSettings, sentence: int = 0
) -> tuple[TrainingRuns, list[tuple[RunHeader, Snapshot]]]:
    """Return the figure of runs that have not started, and the snapshots of the untrained models that have one."""
    models = [make_untrained_snapshot(run) for run in runs]
    messages = [make_header_message([header for header, _ in models])]
    messages += [make_snapshot_message(number, snapshot) for number, (_, snapshot) in enumerate(models)]
    snapshots = [(header, snapshot) for header, snapshot in models if isinstance(snapshot, Snapshot)]
    return TrainingRuns([asdict(run) for run in runs], messages, sentence), snapshots


# ---------------------------------------------------------------- calls from the page


def make_training_calls(service: Service) -> Sequence[Callable[[Mapping[str, Any]], dict[str, Any]]]:
    """Return the functions that start, poll and stop a run. The training itself runs in a separate process."""

    def begin_training(values: Mapping[str, Any]) -> dict[str, Any]:
        runs = check_runs(values.get("runs"))
        return {"run": service.training.start(VISITOR.get(), [asdict(run) for run in runs]).name}

    def more_training(values: Mapping[str, Any]) -> dict[str, Any]:
        seen = check_int("seen", values.get("seen", 0), low=0, high=MAX_SEEN)
        return service.training.poll(VISITOR.get(), values.get("run"), seen)

    def stop_training(values: Mapping[str, Any]) -> dict[str, Any]:
        service.training.stop(VISITOR.get(), values.get("run"))
        return {}

    return begin_training, more_training, stop_training


def check_runs(value: Any) -> list[LiveRunSettings]:
    """Parse the runs in a request from the browser. Raise a `PageError` for an unknown field or value."""
    if not isinstance(value, list) or not 0 < len(value) <= MAX_RUNS:
        raise PageError(
            "runs", "wrong_type", {"name": "runs", "given": repr_short(value), "needed": f"[{{…}}] × {MAX_RUNS}"}
        )
    try:
        return [LiveRunSettings(**values) for values in value]
    except (TypeError, TrainingError) as error:  # an unknown field or value
        raise PageError("runs", "wrong_field", {"name": "runs"}) from error
